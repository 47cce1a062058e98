"""The projection of a PodGroup, and when two count as equal."""

import copy
from typing import Any

import pytest

from intent import Object
from sync.observed.index_keys import IndexKey
from sync.observed.pod_group import pod_group, surplus
from tests.sync.samples import APPLIED, decode, planned, prefill

WANTED = planned(prefill(), decode()).objects[0]


def stored(**spec: Any) -> Object:
    """Return the PodGroup as the API server would, with another spec."""
    obj = copy.deepcopy(WANTED)
    obj["metadata"] |= {"uid": "pg", "resourceVersion": "7", "managedFields": APPLIED, "generation": 1}
    obj["spec"] |= spec
    return obj | {"status": {"phase": "Running"}}


def test_a_label_alone_makes_no_pod_group_ours() -> None:
    obj = stored()
    obj["metadata"]["managedFields"] = []

    assert pod_group(obj).service == ""


OWNERS = WANTED["metadata"]["ownerReferences"]
THEIRS = {"apiVersion": "v1", "kind": "ConfigMap", "uid": "c"}


@pytest.mark.parametrize(
    ("spec", "metadata", "differs"),
    [
        ({}, {}, False),
        ({"networkTopology": {"mode": "hard"}}, {}, False),
        ({"minMember": 1}, {}, True),
        ({"queue": "other"}, {}, True),
        ({"priorityClassName": "high"}, {}, True),
        ({"subGroupPolicy": []}, {}, True),
        ({"minTaskMember": {"prefill": 1}}, {}, True),
        ({"minResources": {"nvidia.com/gpu": 16}}, {}, True),
        ({}, {"ownerReferences": OWNERS[:-1]}, True),
        ({}, {"ownerReferences": [*OWNERS, THEIRS]}, False),
        ({}, {"labels": {}}, True),
    ],
)
def test_only_an_edit_of_ours_makes_a_difference(spec: Object, metadata: Object, *, differs: bool) -> None:
    obj = stored(**spec)
    obj["metadata"] |= metadata

    row = pod_group(obj)

    assert (row.service, row.fingerprint != pod_group(WANTED).fingerprint) == ("r1", differs)


def test_a_queue_that_is_not_desired_is_volcanos() -> None:
    assert surplus(pod_group(stored(queue="of-the-namespace")), pod_group(WANTED)) == ()


def test_fields_that_belong_to_the_controller_alone_are_listed() -> None:
    assert pod_group(stored(minResources={"cpu": 1})).owned == (*pod_group(WANTED).owned, "minResources")


def test_policies_that_require_no_group_are_listed() -> None:
    assert pod_group(stored()).resting == {"unassigned"}


def test_a_pod_group_made_by_lws_names_its_lws() -> None:
    obj: Object = {
        "metadata": {
            "namespace": "team-a",
            "name": "d-0-5c9",
            "labels": {"leaderworkerset.sigs.k8s.io/name": "d"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "d-0", "uid": "u"}],
        }
    }

    assert IndexKey("LeaderWorkerSet", "team-a", "d") in pod_group(obj).index_keys


@pytest.mark.parametrize(("status", "message"), [("True", "6/6 tasks"), ("False", "")])
def test_volcanos_message_is_kept_while_the_gang_is_unschedulable(status: str, message: str) -> None:
    said = {"type": "Unschedulable", "status": status, "message": "6/6 tasks"}

    assert pod_group({"status": {"conditions": [said]}}).message == message
