"""Manual changes of a PodGroup are reverted within two seconds."""

from typing import Final

import pytest

from intent import Object
from intent.annotations import ROLES
from tests.cluster.testbed.api import delete, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import DECODE, PREFILL, SERVICE, apply, becomes, pod_group_and_owners
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.wait import until

SECONDS: Final = 2.0
PATIENCE: Final = 60.0
"""Until a controller that has just lost its API server receives changes again."""
STRANGER: Final = {
    "name": "stranger",
    "labelSelector": {"matchLabels": {"app": "stranger"}},
    "matchLabelKeys": ["app"],
    "subGroupSize": 1,
    "minSubGroups": 1,
}
EDITS: Final[dict[str, Object]] = {
    "minMember": {"spec": {"minMember": 1}},
    "policies-gone": {"spec": {"subGroupPolicy": None}},
    "other-policies": {"spec": {"subGroupPolicy": [STRANGER]}},
    "minTaskMember": {"spec": {"minTaskMember": {"decode": 8}}},
    "minResources": {"spec": {"minResources": {"nvidia.com/gpu": "80"}}},
    "priorityClassName": {"spec": {"priorityClassName": "system-node-critical"}},
    "roles-gone": {"metadata": {"annotations": {ROLES: None}}},
    "owners": {"metadata": {"ownerReferences": None}},
}


@pytest.fixture(scope="module", autouse=True)
def listening(fusioninfer: Cluster) -> None:
    """Wait for one repair: earlier tests may have broken the watches, and the controller backs off."""
    namespace = add_namespace(fusioninfer)
    before = served(fusioninfer, namespace)
    patch(fusioninfer.api, path("podgroups", namespace, SERVICE), {"spec": {"minMember": 1}})
    assert before == becomes(lambda: pod_group_and_owners(fusioninfer, namespace), before, PATIENCE)
    empty_namespace(fusioninfer, namespace)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_an_edit_is_undone(fusioninfer: Cluster, namespace: str, edit: Object) -> None:
    before = served(fusioninfer, namespace)

    patch(fusioninfer.api, path("podgroups", namespace, SERVICE), edit)

    assert before == becomes(lambda: pod_group_and_owners(fusioninfer, namespace), before, SECONDS)


def test_a_queue_that_no_member_names_is_left_to_others(fusioninfer: Cluster, namespace: str) -> None:
    """Volcano's webhook writes the queue of the namespace there, once, when the PodGroup is made."""
    before = served(fusioninfer, namespace)
    assert before is not None

    edit = {"spec": {"queue": "root", "minMember": 1}}
    patch(fusioninfer.api, path("podgroups", namespace, SERVICE), edit)

    expected = {**before, "spec": {**before["spec"], "queue": "root"}}
    assert expected == becomes(lambda: pod_group_and_owners(fusioninfer, namespace), expected, SECONDS)


def test_a_deleted_pod_group_is_made_again(fusioninfer: Cluster, namespace: str) -> None:
    before = served(fusioninfer, namespace)

    delete(fusioninfer.api, path("podgroups", namespace, SERVICE))

    assert before == becomes(lambda: pod_group_and_owners(fusioninfer, namespace), before, SECONDS)


def served(cluster: Cluster, namespace: str) -> Object | None:
    """Apply prefill and decode; return their PodGroup, owners too."""
    apply(cluster, namespace, PREFILL, DECODE)
    return until(lambda: pod_group_and_owners(cluster, namespace), "the PodGroup of prefill and decode")
