"""What is left when everything is quiet again, held against what the command prints of the files.

Each check yields sentences about what is wrong; nobody's pods, and nothing of ours, may be lost or doubled.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from intent import Object
from intent.annotations import ROLES
from intent.lws import KIND as LWS
from tests.cluster.chaos.people import Service, files
from tests.cluster.testbed.api import GROUPS, items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.differences import differences
from tests.cluster.testbed.groups import LWS_LABELS
from tests.cluster.testbed.services import MADE, Objects, comparable, is_ours, offline

KEPT: Final = (
    *("inferenceservices", *MADE, "statefulsets", "controllerrevisions", "replicasets"),
    *("endpointslices", "pods"),
)
"""Every kind of which something may be left."""
AUTHORED: Final = ("inferenceservices", "leaderworkersets")
LONGEST: Final = 120
"""Characters of a value that are shown."""
Pods = Mapping[str, str]
"""Uids by name."""


@dataclass(frozen=True, slots=True)
class Remains:
    """The objects of a namespace, by resource."""

    objects: Mapping[str, tuple[Object, ...]]

    def of(self, *resources: str) -> Iterator[tuple[str, Object]]:
        """Return the objects of some resources, each with its resource."""
        return ((resource, obj) for resource in resources for obj in self.objects[resource])


def look(cluster: Cluster, namespace: str) -> Remains:
    """Read everything that stands in a namespace."""
    return Remains(
        {each: tuple(items(cluster.api, path(each, namespace))) for each in KEPT if each in GROUPS}
    )


def expected(
    cluster: Cluster, namespace: str, spare: str, services: Iterable[Service], directory: Path
) -> Objects:
    """Return what the command prints of the files of services, with defaults by a dry run, elsewhere."""
    file = directory / "left.json"
    objects = [obj for service in services for obj in files(service)]
    if not objects:
        return {}
    file.write_text("\n---\n".join(json.dumps(obj) for obj in objects))
    printed = offline(cluster, spare, file)
    return {key: json.loads(json.dumps(obj).replace(spare, namespace)) for key, obj in printed.items()}


def problems(there: Remains, wanted: Objects, services: Iterable[Service]) -> list[str]:
    """Return the differences between what there is and what there should be."""
    return [
        *(*_differing(there, wanted), *_ownerless(there, services), *_going(there)),
        *(*_miscounted(there), *_outdated(there), *_unbound(there)),
    ]


def _differing(there: Remains, wanted: Objects) -> Iterator[str]:
    found = {
        (resource, obj["metadata"]["name"]): comparable(obj)
        for resource, obj in there.of(*MADE)
        if is_ours(obj) or resource == "leaderworkersets"
    }
    for key in sorted({*found, *wanted}):
        should_be = wanted.get(key)
        if key[0] == "podgroups" and should_be and key in found:
            should_be = _opened_before(should_be, found[key], key[1])
        for where, what in differences(_plain(should_be), _plain(found.get(key))).items():
            should, is_now = (f"{value!r}"[:LONGEST] for value in what)
            yield f"{'/'.join(key)} {where}: should be {should}, is {is_now}"


def _opened_before(wanted: Object, found: Object, service: str) -> Object:
    """Return the PodGroup as it is if its gate opened before a role was renamed.

    The new role joined an open gate, so no group of it is required (`sync/parts/gang.py`). The printed
    PodGroup is that of a gate that opens now.
    """
    roles, recorded = _roles(wanted), _roles(found)
    if recorded == roles or not recorded & roles:
        return wanted
    joined = {f"{service}-{role}" for role in roles - recorded}
    policies = [
        {**one, "minSubGroups": 0} if one["name"] in joined else one
        for one in wanted["spec"]["subGroupPolicy"]
    ]
    least = sum(one["minSubGroups"] * one["subGroupSize"] for one in policies)
    annotations = {**wanted["annotations"], ROLES: found["annotations"][ROLES]}
    spec = {**wanted["spec"], "subGroupPolicy": policies, "minMember": max(1, least)}
    return {**wanted, "annotations": annotations, "spec": spec}


def _roles(pod_group: Object) -> set[str]:
    return set(pod_group["annotations"].get(ROLES, "").split(",")) - {""}


def _plain(value: Any) -> Any:
    """Leave out what is empty: LWS gives containers `resources: {}`, and client-side apply takes it away."""
    if isinstance(value, dict):
        plain = {key: _plain(each) for key, each in value.items()}
        return {key: each for key, each in plain.items() if each not in ({}, [])}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _ownerless(there: Remains, services: Iterable[Service]) -> Iterator[str]:
    """Find objects without an owner, or with an owner that is gone."""
    written = {(obj["kind"], obj["metadata"]["name"]) for service in services for obj in files(service)}
    uids = {obj["metadata"]["uid"] for _, obj in there.of(*there.objects)}
    for resource, obj in there.of(*there.objects):
        owners = [owner["uid"] for owner in obj["metadata"].get("ownerReferences", ())]
        authored = resource in AUTHORED and (obj["kind"], obj["metadata"]["name"]) in written
        if not uids & set(owners) and not authored:
            yield f"{resource}/{obj['metadata']['name']} has no owner that exists: {owners}"


def _going(there: Remains) -> Iterator[str]:
    """Find what is to be gone soon."""
    for resource, obj in there.of(*there.objects):
        if "deletionTimestamp" in obj["metadata"]:
            yield f"{resource}/{obj['metadata']['name']} is being deleted"


def _miscounted(there: Remains) -> Iterator[str]:
    """Find pods that should not be, and those that should."""
    wanted = Counter(name for _, lws in there.of("leaderworkersets") for name in pod_names(lws))
    found = Counter(pod["metadata"]["name"] for pod in engine_pods(there))
    for name in sorted({*wanted, *found}):
        if wanted[name] != found[name]:
            yield f"pods/{name}: should be {wanted[name]}, is {found[name]}"


def _outdated(there: Remains) -> Iterator[str]:
    """Find pods that are still to be replaced: a new revision is rolled out group by group."""
    for pod in engine_pods(there):
        if not all(_is_made_from(pod, template) for template in _templates(there, pod)):
            yield f"pods/{pod['metadata']['name']} is of a template that was changed"


def _templates(there: Remains, pod: Object) -> Iterator[Object]:
    """Return the template of a pod, if its set is there."""
    labels = pod["metadata"]["labels"]
    for _, lws in there.of("leaderworkersets"):
        if lws["metadata"]["name"] == labels[LWS_LABELS + "name"]:
            both = lws["spec"]["leaderWorkerTemplate"]
            leader = both.get("leaderTemplate") if labels[LWS_LABELS + "worker-index"] == "0" else None
            yield leader or both["workerTemplate"]


def _is_made_from(pod: Object, template: Object) -> bool:
    """Return whether a pod has the labels and the words of a template."""
    labels = template.get("metadata", {}).get("labels", {})
    return labels.items() <= pod["metadata"]["labels"].items() and _words(pod) == _words(template)


def _words(pod: Object) -> list[Any]:
    return [(each["image"], each.get("command"), each.get("args")) for each in pod["spec"]["containers"]]


def _unbound(there: Remains) -> Iterator[str]:
    for pod in engine_pods(there):
        if not pod["spec"].get("nodeName"):
            yield f"pods/{pod['metadata']['name']} waits, though there is capacity"


def pod_names(lws: Object) -> Iterator[str]:
    """Name the pods that a LeaderWorkerSet wants."""
    name, spec = lws["metadata"]["name"], lws["spec"]
    for group in range(spec["replicas"]):
        yield f"{name}-{group}"
        yield from (f"{name}-{group}-{index}" for index in range(1, spec["leaderWorkerTemplate"]["size"]))


def engine_pods(there: Remains) -> Iterator[Object]:
    """Return the pods of LeaderWorkerSets."""
    return (pod for _, pod in there.of("pods") if LWS_LABELS + "name" in pod["metadata"]["labels"])


def uids(there: Remains) -> Pods:
    """Return the uid of each of these pods."""
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in engine_pods(there)}


def restarted(before: Pods, there: Remains, services: Iterable[Service]) -> list[str]:
    """Name the pods that were restarted although their templates did not change."""
    after = uids(there)
    kept = (
        name
        for service in services
        if service.there and not service.restarted
        for _, lws in there.of("leaderworkersets")
        if lws["metadata"]["labels"].get("fusioninfer.io/service") == service.name
        for name in pod_names(_at_its_smallest(lws, service))
    )
    return [f"pods/{name} was started anew" for name in kept if before.get(name) != after.get(name)]


def _at_its_smallest(lws: Object, service: Service) -> Object:
    replicas = min(service.fewest, lws["spec"]["replicas"])
    return {"kind": LWS, "metadata": lws["metadata"], "spec": {**lws["spec"], "replicas": replicas}}
