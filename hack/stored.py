"""Write the fixture of the upgrades anew: what a real API server stores of each golden case under a release.

    git worktree add build/release c558d28b
    python -m hack.stored build/release

runs the webhook and the controller of that folder on the real API server with LWS's controller, writes each
accepted golden case of that folder in each state (`tests/upgrades/stored.py`), waits until nothing changes,
and keeps what is stored. Uids become numbers; nothing else is changed.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import yaml

from intent import Object
from intent.annotations import PREFIX
from tests.cluster.testbed.api import apply, create, delete, items, patch, path
from tests.cluster.testbed.build import build
from tests.cluster.testbed.cluster import Cluster, run_kubectl
from tests.cluster.testbed.control_plane import running
from tests.cluster.testbed.modules import CRDS, ROUTE_CRDS, ROUTE_DEFINITIONS, UNSCHEDULED
from tests.cluster.testbed.ours import (
    SHARED,
    install_manifests,
    start_sync,
    start_webhook,
    wait_admission,
)
from tests.cluster.testbed.service_accounts import kubeconfig_of
from tests.cluster.testbed.services import FOR_ISTIO, MADE, is_ours
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import CLIENT_SIDE, unannotated
from tests.cluster.testbed.written import SERVER_SIDE as SERVER_SIDE_APPLY
from tests.laws.convergence.schema import templates
from tests.upgrades import stored
from tests.upgrades.forgeries import forged, with_container

Case = tuple[str, list[Object]]
Change = Callable[[Cluster, str], None]
AUTHORED: Final = {
    "inferencetemplates": "InferenceTemplate",
    "inferenceservices": "InferenceService",
    "disaggregatedsets": "DisaggregatedSet",
    "leaderworkersets": "LeaderWorkerSet",
}
"""Kinds that authors write: everything of them is kept."""
KEPT: Final = frozenset({*AUTHORED, "configmaps"})
MORE: Final = ("disaggregatedset",)
"""Examples of the documentation whose kind no golden case has."""
KINDS: Final = {
    **AUTHORED,
    "horizontalpodautoscalers": "HorizontalPodAutoscaler",
    "podgroups": "PodGroup",
    "serviceaccounts": "ServiceAccount",
    "rolebindings": "RoleBinding",
    "configmaps": "ConfigMap",
    "inferencepools": "InferencePool",
    "deployments": "Deployment",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "services": "Service",
    "gateways": "Gateway",
    "httproutes": "HTTPRoute",
    "ingresses": "Ingress",
    "inferenceobjectives": "InferenceObjective",
}
UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
POLICY: Final = "policy"
"""The other manager."""
ENLARGED: Final = ("isvc-readme-disaggregated", "isvc-scaling", "story-3-monolithic")
"""The cases of which there are oversized ones."""
LARGE: Final = "x" * 500_000
CONTROL: Final = ("lws",)
"""What works on the objects: there are no pods, which would take most of the time."""


# --- what is written --------------------------------------------------------------------------------


def cases(source: Path) -> Iterator[Case]:
    """Yield the golden cases of a release that are accepted, and some examples, with their objects."""
    golden = source / "tests" / "golden"
    for expected in sorted(golden.glob("*/expected.yaml")):
        yield expected.parent.name, read(expected.parent / "input.yaml")
    for name in MORE:
        yield name, read(source / "docs" / "examples" / f"{name}.yaml")


def read(file: Path) -> list[Object]:
    """Read the objects of a file, templates first, since admission reads them."""
    found = [one for one in yaml.safe_load_all(file.read_text()) if one]
    return sorted(found, key=lambda one: one["kind"] != AUTHORED["inferencetemplates"])


def placed(objects: Iterable[Object], namespace: str) -> list[Object]:
    """Return objects in a namespace."""
    return [{**one, "metadata": {**one["metadata"], "namespace": namespace}} for one in objects]


def written_last(state: str, objects: list[Object]) -> list[Object]:
    """Return what the author of a case wrote last, in a state."""
    if state == stored.OVERSIZED:
        return [enlarged(one) for one in objects]
    if state != stored.WITHDRAWN:
        return objects
    return [unannotated(one) if one["kind"] == AUTHORED["leaderworkersets"] else one for one in objects]


def enlarged(obj: Object) -> Object:
    """Return an object with half a megabyte in the first container of each pod template."""
    whole: Object = json.loads(json.dumps(obj))
    spec = whole["spec"]
    group = spec.get("leaderWorkerTemplate", {})
    own = [group[field] for field in group if field.endswith("Template")]
    for template in (*own, *(role["template"] for role in spec.get("roles", ()) if "template" in role)):
        template["spec"]["containers"][0].setdefault("env", []).append({"name": "LARGE", "value": LARGE})
    return whole


def exists(state: str, case: Case) -> bool:
    """Return whether a case has a state: a file is withdrawn whose own annotations opt in."""
    name, objects = case
    if state == stored.OVERSIZED:
        return name in ENLARGED
    return state != stored.WITHDRAWN or any(map(is_whole, objects))


def is_whole(obj: Object) -> bool:
    """Return whether an object is a LeaderWorkerSet that the API server takes without templates."""
    group = obj["spec"].get("leaderWorkerTemplate", {}) if "spec" in obj else {}
    return bool(group) and "containers" in group["workerTemplate"].get("spec", {})


# --- what happens to it -----------------------------------------------------------------------------


def of_namespace(cluster: Cluster, resource: str, namespace: str) -> list[tuple[str, Object]]:
    """Return the paths of the objects of a resource in a namespace, and the objects."""
    found = items(cluster.api, path(resource, namespace))
    return [(path(resource, namespace, one["metadata"]["name"]), one) for one in found]


def sets(cluster: Cluster, namespace: str) -> list[tuple[str, Object]]:
    """Return the LeaderWorkerSets of a namespace with their paths."""
    return of_namespace(cluster, "leaderworkersets", namespace)


def scale(cluster: Cluster, namespace: str) -> None:
    """Give each LeaderWorkerSet a replica more."""
    for where, lws in sets(cluster, namespace):
        patch(cluster.api, f"{where}/scale", {"spec": {"replicas": lws["spec"]["replicas"] + 1}})


def edit(cluster: Cluster, namespace: str) -> None:
    """Apply a label to each object and an annotation to each pod template, as another manager."""
    for resource in (*AUTHORED, *MADE):
        if resource == FOR_ISTIO:
            continue
        for where, one in of_namespace(cluster, resource, namespace):
            kind = {"apiVersion": api_version(resource), "kind": KINDS[resource]}
            mine = {**kind, "metadata": {"labels": {"policy.example/team": "a"}}}
            if resource == "leaderworkersets":
                noted = {"metadata": {"annotations": {"policy.example/zone": "eu"}}}
                mine["spec"] = {"leaderWorkerTemplate": {field: noted for field, _ in templates(one)}}
            apply(cluster.api, where, mine, manager=POLICY, force=True)


def eject(cluster: Cluster, namespace: str) -> None:
    """Delete InferenceServices without their objects, then remove annotations and records together."""
    for where, service in of_namespace(cluster, "inferenceservices", namespace):
        delete(cluster.api, where, propagationPolicy="Orphan")
        orphan(cluster, namespace, service["metadata"]["uid"])
        patch(cluster.api, where, {"metadata": {"finalizers": None}})
    for where, lws in sets(cluster, namespace):
        keys = [key for key in lws["metadata"].get("annotations", {}) if key.startswith(PREFIX)]
        patch(cluster.api, where, {"metadata": {"annotations": dict.fromkeys(keys)}})


def orphan(cluster: Cluster, namespace: str, uid: str) -> None:
    """Remove an owner from its objects, as the garbage collector does, which does not run here."""
    for resource in KINDS:
        for where, one in of_namespace(cluster, resource, namespace):
            owners = one["metadata"].get("ownerReferences", [])
            left = [owner for owner in owners if owner["uid"] != uid]
            if left != owners:
                patch(cluster.api, where, {"metadata": {"ownerReferences": left or None}})


def forge(cluster: Cluster, namespace: str) -> None:
    """Add an init container to each record."""
    for where, lws in sets(cluster, namespace):
        if changed := forged(lws, with_container):
            annotations = changed["metadata"]["annotations"]
            patch(cluster.api, where, {"metadata": {"annotations": annotations}}, fieldManager="forger")


CHANGES: Final[dict[str, Change]] = {
    stored.SCALED: scale,
    stored.EDITED: edit,
    stored.EJECTED: eject,
    stored.FORGED: forge,
}
"""What somebody else does to the applied objects of a namespace, by state."""


# --- what is kept -----------------------------------------------------------------------------------


def api_version(resource: str) -> str:
    """Return the API version of a resource."""
    return path(resource).removesuffix(f"/{resource}").removeprefix("/apis/").removeprefix("/api/")


def everything(cluster: Cluster) -> dict[str, list[Object]]:
    """Return what is stored, by namespace: all that authors write, and what our controller applied."""
    found = defaultdict(list)
    for resource, kind in KINDS.items():
        for one in items(cluster.api, path(resource)):
            if resource in KEPT or is_ours(one):
                whole = {"apiVersion": api_version(resource), "kind": kind, **one}
                found[one["metadata"]["namespace"]].append(whole)
    return found


def at_rest(cluster: Cluster) -> dict[str, list[Object]]:
    """Return what is stored once nothing changes any more."""
    looks: list[dict[str, list[Object]]] = []

    def unchanged() -> bool:
        looks.append(everything(cluster))
        return looks[-2:-1] == looks[-1:]

    until(unchanged, "nothing changes", seconds=1800, every=10.0)
    return looks[-1]


def numbered(objects: list[Object]) -> list[Object]:
    """Return objects without the versions of this API server, and with a number for each uid."""
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"00000000-0000-4000-8000-{len(numbers) + 1:012d}")

    for one in objects:
        del one["metadata"]["resourceVersion"]
    found: list[Object] = json.loads(UID.sub(number, json.dumps(objects)))
    return found


# --- all of it --------------------------------------------------------------------------------------


def start(cluster: Cluster, source: Path) -> None:
    """Start webhook and controller of a release, with templates."""
    for folder in ("base", "templates"):
        install_manifests(cluster, source / "manifests" / folder)
    token = kubeconfig_of(cluster, cluster.url, SHARED, "fusioninfer-webhook")
    reading = {"--templates-namespace": SHARED}
    start_webhook(cluster, flags={**reading, "--kubeconfig": token}, source=source)
    wait_admission(cluster)
    start_sync(cluster, flags=reading, source=source)


def apply_all(cluster: Cluster, state: str, found: list[Case]) -> None:
    """Have kubectl apply every case in the namespaces of a state."""
    words = SERVER_SIDE_APPLY if state in {stored.SERVER_SIDE, stored.OVERSIZED} else CLIENT_SIDE
    each = [one for case, objects in found for one in placed(objects, stored.namespace_of(case, state))]
    whole = {"apiVersion": "v1", "kind": "List", "items": each}
    done = run_kubectl(cluster, *words, "--validate=false", "--filename=-", stdin=json.dumps(whole))
    sys.stderr.write(done.stderr)


def last(state: str, those: list[Case]) -> list[Case]:
    """Return what the authors of cases wrote last, in a state."""
    return [(case, written_last(state, objects)) for case, objects in those]


def main(source: Path) -> None:
    """Run a release, write all cases in all states, and keep what is stored."""
    accepted = list(cases(source))
    found = {state: [case for case in accepted if exists(state, case)] for state in stored.STATES}
    with running(
        build(sys.stderr, (*UNSCHEDULED, *ROUTE_DEFINITIONS)), (*CRDS, *ROUTE_CRDS), CONTROL
    ) as cluster:
        start(cluster, source)
        for state, those in found.items():
            for case, _ in those:
                name = stored.namespace_of(case, state)
                create(cluster.api, path("namespaces"), {"metadata": {"name": name}})
            apply_all(cluster, state, those if state == stored.WITHDRAWN else last(state, those))
        at_rest(cluster)
        apply_all(cluster, stored.WITHDRAWN, last(stored.WITHDRAWN, found[stored.WITHDRAWN]))
        for state, change in CHANGES.items():
            for case, _ in found[state]:
                change(cluster, stored.namespace_of(case, state))
        there = at_rest(cluster)
    stored.write(
        [
            stored.Stored(
                case,
                state,
                tuple(placed(written_last(state, objects), stored.namespace_of(case, state))),
                tuple(numbered(there[stored.namespace_of(case, state)])),
            )
            for state, those in found.items()
            for case, objects in those
        ]
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
