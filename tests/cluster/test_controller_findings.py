"""Findings about the members of a service are reported on each member, once, as an Event with a code.

All services of this file are in one namespace at once: a finding is reported once it holds for two seconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import pytest

from intent import Object
from intent.annotations import QUEUE_NAME
from tests.cluster.testbed.api import create, items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import (
    DECODE,
    MONOLITHIC,
    PREFILL,
    apply,
    becomes,
    metric,
    pod_group_and_owners,
    told,
)
from tests.cluster.testbed.groups import LWS_LABELS
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named, read

POD_GROUP: Final = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}


def prefill(service: str, name: str = "prefill", **annotations: str) -> Object:
    """Return the file of prefill in another service."""
    return named(read(PREFILL), f"{service}-{name}", service=service, **annotations)


def decode(service: str, name: str = "decode", **annotations: str) -> Object:
    """Return the file of decode in another service."""
    return named(read(DECODE), f"{service}-{name}", service=service, **annotations)


def worker(service: str) -> Object:
    """Return the file of the worker in another service."""
    return named(read(MONOLITHIC), f"{service}-worker", service=service)


def in_queue(lws: Object, queue: str) -> Object:
    """Return it with the annotation that names Volcano's queue."""
    metadata = lws["metadata"]
    return {**lws, "metadata": {**metadata, "annotations": {**metadata["annotations"], QUEUE_NAME: queue}}}


ROLES: Final = {"roles": "prefill,decode"}
HEALTHY: Final = {
    "fi401": (prefill("fi401"), decode("fi401")),
    "fi402": (prefill("fi402"), decode("fi402")),
    "fi404": (prefill("fi404"), decode("fi404")),
    "fi405": (prefill("fi405"), decode("fi405")),
    "fi406": (prefill("fi406", **ROLES), decode("fi406")),
    "fi409": (prefill("fi409"), decode("fi409")),
}
"""Services with a PodGroup."""
JOINING: Final = {
    "fi401": decode("fi401", "more"),
    "fi402": worker("fi402"),
    "fi404": decode("fi404", "more", role_name="more", scheduler_name="default-scheduler"),
    "fi405": in_queue(decode("fi405", "more", role_name="more"), "other"),
    "fi406": decode("fi406", "more", role_name="more", roles="prefill,decode,more"),
}
"""The member that joins each service and breaks a rule."""
TOLD: Final = {
    "FI401": ("fi401-decode", "fi401-more"),
    "FI402": ("fi402-decode", "fi402-prefill", "fi402-worker"),
    "FI404": ("fi404-decode", "fi404-more", "fi404-prefill"),
    "FI405": ("fi405-decode", "fi405-more", "fi405-prefill"),
    "FI406": ("fi406-decode", "fi406-more", "fi406-prefill"),
    "FI407": ("fi407-worker",),
    "FI409": ("fi409-prefill",),
    "FI410": ("fi410-prefill",),
}
"""The members that get an Event of each code."""


JOINED: Final = {"fi401-more": "fi401", "fi402-worker": "fi402"}
"""Members that join all the same, with the service of each."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The PodGroups of all services, before and after; who was told what, and what the controller counts."""

    before: dict[str, Object | None]
    after: dict[str, Object | None]
    told: list[tuple[str, str]]
    counted: dict[str, float]


@pytest.fixture(scope="module")
def broken(fusioninfer: Cluster) -> Iterator[Broken]:
    namespace = add_namespace(fusioninfer)
    create(fusioninfer.api, path("podgroups", namespace), foreign("fi407"))
    apply(fusioninfer, namespace, listed(*(lws for pair in HEALTHY.values() for lws in pair)))
    until(lambda: all(pod_groups(fusioninfer, namespace).values()), "each service has its PodGroup")
    before = pod_groups(fusioninfer, namespace)

    apply(fusioninfer, namespace, listed(*JOINING.values(), worker("fi407"), prefill("fi410")))
    create(fusioninfer.api, path("podgroups", namespace), of_lws(fusioninfer, namespace, "fi409-prefill"))

    expected = sorted((name, code) for code, names in TOLD.items() for name in names)
    said = becomes(lambda: told(fusioninfer, namespace), expected)
    count = becomes(lambda: counted(fusioninfer), {code: float(len(names)) for code, names in TOLD.items()})
    for name in JOINED:
        until(partial(has_policy, fusioninfer, namespace, name), f"{name} has a policy")
    yield Broken(before, pod_groups(fusioninfer, namespace), said, count)
    empty_namespace(fusioninfer, namespace)


@pytest.mark.parametrize("code", TOLD)
def test_each_member_concerned_gets_one_event(broken: Broken, code: str) -> None:
    who = tuple(name for name, said in broken.told if said == code)

    assert TOLD[code] == who


@pytest.mark.parametrize("code", TOLD)
def test_current_findings_are_counted(broken: Broken, code: str) -> None:
    assert len(TOLD[code]) == broken.counted[code]


@pytest.mark.parametrize("service", ["fi404", "fi405", "fi406", "fi407", "fi409"])
def test_the_pod_group_is_left_alone(broken: Broken, service: str) -> None:
    assert broken.before[service] == broken.after[service]


@pytest.mark.parametrize(("newcomer", "service"), JOINED.items())
def test_a_member_that_breaks_a_rule_about_roles_has_a_policy_and_is_not_required(
    broken: Broken, service: str, newcomer: str
) -> None:
    spec = (broken.after[service] or {})["spec"]

    required = {policy["name"]: policy["minSubGroups"] for policy in spec["subGroupPolicy"]}

    assert (spec["minMember"], required[newcomer]) == (6, 0)


def listed(*objects: Object) -> Object:
    """Return objects as one file."""
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def foreign(name: str) -> Object:
    """Return a PodGroup of another owner."""
    return {**POD_GROUP, "metadata": {"name": name}, "spec": {"minMember": 1, "queue": "default"}}


def of_lws(cluster: Cluster, namespace: str, lws: str) -> Object:
    """Return a PodGroup as LWS's own provider makes it: owned by the leader pod of a group."""
    leaders = f"{LWS_LABELS}name={lws},{LWS_LABELS}worker-index=0"
    pod = until(lambda: items(cluster.api, path("pods", namespace), labelSelector=leaders), "a leader")[0]
    known = {key: pod["metadata"][key] for key in ("name", "uid")}
    owner = {"apiVersion": "v1", "kind": "Pod", **known}
    metadata = {"name": f"{lws}-0-5f8d", "labels": {LWS_LABELS + "name": lws}, "ownerReferences": [owner]}
    return {**POD_GROUP, "metadata": metadata, "spec": {"minMember": 2}}


def pod_groups(cluster: Cluster, namespace: str) -> dict[str, Object | None]:
    """Read the PodGroup of every service."""
    services = (*HEALTHY, "fi407")
    return {service: pod_group_and_owners(cluster, namespace, service) for service in services}


def has_policy(cluster: Cluster, namespace: str, name: str) -> bool:
    """Return whether a member that joined is in the PodGroup of its service."""
    group = pod_group_and_owners(cluster, namespace, JOINED[name]) or {"spec": {}}
    return name in {policy["name"] for policy in group["spec"].get("subGroupPolicy", ())}


def counted(cluster: Cluster) -> dict[str, float]:
    """Read how many findings of each code hold now."""
    port = cluster.ports["sync-metrics"]
    return {code: metric(port, "fusioninfer_sync_findings", code=code) for code in TOLD}
