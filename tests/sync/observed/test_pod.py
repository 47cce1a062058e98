"""What is kept of a pod."""

from typing import Any

import pytest

from intent import Object
from sync.observed.pod import Failure, project

GPU = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}


def pod(spec: Object | None = None, **status: Any) -> Object:
    """Make the second pod of group 1 of r1-decode."""
    labels = {
        "fusioninfer.io/service": "r1",
        "leaderworkerset.sigs.k8s.io/name": "r1-decode",
        "leaderworkerset.sigs.k8s.io/group-index": "1",
    }
    return {
        "metadata": {"namespace": "team-a", "name": "r1-decode-1-1", "labels": labels},
        "spec": {"containers": [{"name": "vllm", **GPU}]} | (spec or {}),
        "status": status,
    }


def container(state: Object, **fields: Any) -> Object:
    """Make a status with one container."""
    return pod(containerStatuses=[{"name": "vllm", "state": state} | fields])


def test_a_pod_names_where_it_belongs() -> None:
    row = project(pod())

    assert (row.namespace, row.service, row.lws, row.group) == ("team-a", "r1", "r1-decode", "1")


def test_a_pod_with_a_node_is_scheduled() -> None:
    assert project(pod({"nodeName": "n1"})).scheduled


def test_a_pod_without_a_node_says_why() -> None:
    said = {"type": "PodScheduled", "status": "False", "message": "0/4 nodes are available"}

    row = project(pod(conditions=[said]))

    assert (row.scheduled, row.held) == (False, "0/4 nodes are available")


def test_a_long_message_is_cut() -> None:
    said = {"type": "PodScheduled", "status": "False", "message": "no " * 1000}

    assert len(project(pod(conditions=[said])).held) == 200


def test_a_pod_is_ready_by_its_condition() -> None:
    assert project(pod(conditions=[{"type": "Ready", "status": "True"}])).ready


def test_accelerators_of_all_containers_are_summed_up() -> None:
    row = project(pod({"containers": [GPU, GPU, {"resources": {"limits": {"cpu": "4"}}}]}))

    assert row.accelerators == (("nvidia.com/gpu", 16),)


@pytest.mark.parametrize("reason", ["CrashLoopBackOff", "ImagePullBackOff", "CreateContainerConfigError"])
def test_a_container_that_waits_in_vain_is_a_failure(reason: str) -> None:
    row = project(container({"waiting": {"reason": reason, "message": "back-off"}}))

    assert row.failure == Failure("vllm", reason, "back-off")


def test_an_init_container_that_waits_in_vain_is_a_failure() -> None:
    waiting = {"waiting": {"reason": "ErrImagePull"}}

    row = project(pod(initContainerStatuses=[{"name": "routing-proxy", "state": waiting}]))

    assert row.failure == Failure("routing-proxy", "ErrImagePull")


def test_a_container_that_is_being_created_is_none() -> None:
    assert project(container({"waiting": {"reason": "ContainerCreating"}})).failure is None


def test_a_container_between_two_crashes_is_a_failure() -> None:
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}

    row = project(container({"running": {}}, lastState=ended, restartCount=3, ready=False))

    assert row.failure == Failure("vllm", "CrashLoopBackOff", "ended with code 137 (OOMKilled)")


@pytest.mark.parametrize(
    "fields", [{"restartCount": 1}, {"ready": True}, {"lastState": {"terminated": {"exitCode": 0}}}]
)
def test_a_container_that_came_back_is_none(fields: Object) -> None:
    crashed = {"lastState": {"terminated": {"exitCode": 1}}, "restartCount": 3, "ready": False}

    assert project(container({"running": {}}, **(crashed | fields))).failure is None


def test_a_pod_that_goes_after_its_first_restart_says_how_it_ended() -> None:
    crashed = {"lastState": {"terminated": {"exitCode": 1}}, "restartCount": 1}
    obj = container({"terminated": {}}, **crashed)
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert project(obj).failure == Failure("vllm", "CrashLoopBackOff", "ended with code 1 (Error)")


def test_a_pod_that_goes_waits_for_nothing() -> None:
    obj = container({"waiting": {"reason": "ImagePullBackOff"}})
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert project(obj).failure is None


def test_a_pod_that_failed_as_a_whole_says_why() -> None:
    row = project(pod(phase="Failed", reason="Evicted", message="the node was low on memory"))

    assert row.failure == Failure("", "Evicted", "the node was low on memory")


def test_a_pod_on_its_way_out_says_so() -> None:
    obj = pod()
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert project(obj).deleting
