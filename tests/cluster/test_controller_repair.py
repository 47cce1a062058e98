"""Manual changes of a PodGroup are reverted: no resync is so frequent that it would hide a missed change."""

from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from intent import Object
from intent.annotations import ROLES
from tests.cluster.testbed.api import delete, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import DECODE, PREFILL, apply, becomes, pod_group_and_owners
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named, read

STRANGER: Final = {
    "name": "stranger",
    "labelSelector": {"matchLabels": {"app": "stranger"}},
    "matchLabelKeys": ["app"],
    "subGroupSize": 1,
    "minSubGroups": 1,
}
EDITS: Final[dict[str, Object]] = {
    "min-member": {"spec": {"minMember": 1}},
    "policies-gone": {"spec": {"subGroupPolicy": None}},
    "other-policies": {"spec": {"subGroupPolicy": [STRANGER]}},
    "min-task-member": {"spec": {"minTaskMember": {"decode": 8}}},
    "min-resources": {"spec": {"minResources": {"nvidia.com/gpu": "80"}}},
    "priority-class": {"spec": {"priorityClassName": "system-node-critical"}},
    "roles-gone": {"metadata": {"annotations": {ROLES: None}}},
    "owners": {"metadata": {"ownerReferences": None}},
}
"""An edit for each service of that name."""
WARM_UP, QUEUED, DELETED = "warm-up", "queued", "deleted"
SERVICES: Final = (*EDITS, WARM_UP, QUEUED, DELETED)


Repaired = Mapping[str, Object]
"""The PodGroup of each service, owners too, before it is edited."""


@pytest.fixture(scope="module")
def home(fusioninfer: Cluster) -> Iterator[str]:
    with new_namespace(fusioninfer) as namespace:
        yield namespace


@pytest.fixture(scope="module")
def before(fusioninfer: Cluster, home: str) -> Repaired:
    """Apply a service for each edit, and wait for one repair.

    Earlier tests may have broken the watches, and the controller backs off.
    """
    apply(fusioninfer, home, {"apiVersion": "v1", "kind": "List", "items": members()})
    found = until(lambda: pod_groups(fusioninfer, home), "each service has its PodGroup")
    patch(fusioninfer.api, path("podgroups", home, WARM_UP), EDITS["min-member"])
    assert found[WARM_UP] == becomes(lambda: pod_group_and_owners(fusioninfer, home, WARM_UP), found[WARM_UP])
    return found


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_reverted(fusioninfer: Cluster, home: str, before: Repaired, name: str) -> None:
    patch(fusioninfer.api, path("podgroups", home, name), EDITS[name])

    assert before[name] == becomes(lambda: pod_group_and_owners(fusioninfer, home, name), before[name])


def test_a_queue_that_no_member_names_is_left_to_others(
    fusioninfer: Cluster, home: str, before: Repaired
) -> None:
    """Volcano's webhook writes the queue of the namespace there, once, when the PodGroup is created."""
    patch(fusioninfer.api, path("podgroups", home, QUEUED), {"spec": {"queue": "root", "minMember": 1}})

    expected = {**before[QUEUED], "spec": {**before[QUEUED]["spec"], "queue": "root"}}
    assert expected == becomes(lambda: pod_group_and_owners(fusioninfer, home, QUEUED), expected)


def test_a_deleted_pod_group_is_created_again(fusioninfer: Cluster, home: str, before: Repaired) -> None:
    delete(fusioninfer.api, path("podgroups", home, DELETED))

    assert before[DELETED] == becomes(
        lambda: pod_group_and_owners(fusioninfer, home, DELETED), before[DELETED]
    )


def members() -> list[Object]:
    """Return prefill and decode of each service."""
    return [
        named(read(file), f"{service}-{role}", service=service)
        for service in SERVICES
        for role, file in {"prefill": PREFILL, "decode": DECODE}.items()
    ]


def pod_groups(cluster: Cluster, namespace: str) -> Repaired:
    """Read the PodGroups; none unless each service has one that both members own."""
    found = {service: pod_group_and_owners(cluster, namespace, service) for service in SERVICES}
    complete = all(each and len(each["owners"] or ()) == 2 for each in found.values())
    return {service: each for service, each in found.items() if each} if complete else {}
