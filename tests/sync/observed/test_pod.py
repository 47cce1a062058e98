"""The projection of a pod."""

from typing import Any

import orjson
import pytest

from intent import Object
from intent.annotations import LWS_NAME, SERVICE
from sync.kinds import POD
from sync.observed.pod import Failure, project

GPU = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}


def pod(spec: Object | None = None, **status: Any) -> Object:
    """Return the second pod of group 1 of r1-decode."""
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
    """Return a status with one container."""
    return pod(containerStatuses=[{"name": "vllm", "state": state} | fields])


def test_a_pod_names_its_lws_and_group() -> None:
    row = project(pod())

    assert (row.namespace, row.service, row.lws, row.group) == ("team-a", "r1", "r1-decode", "1")


@pytest.mark.parametrize(
    ("written", "read"), [("4", 4), ("", 0), ("four", 0), ("-4", 0), (4, 0), ("9" * 5000, 0)]
)
def test_a_pod_has_the_size_of_its_group(written: Any, read: int) -> None:
    found = pod()
    found["metadata"]["annotations"] = {"leaderworkerset.sigs.k8s.io/size": written}

    assert project(found).group_size == read


def test_a_pod_with_a_node_is_scheduled() -> None:
    assert project(pod({"nodeName": "n1"})).scheduled


def test_a_pod_without_a_node_has_the_schedulers_message() -> None:
    said = {"type": "PodScheduled", "status": "False", "message": "0/4 nodes are available"}

    row = project(pod(conditions=[said]))

    assert (row.scheduled, row.held) == (False, "0/4 nodes are available")


def test_a_long_message_is_truncated() -> None:
    said = {"type": "PodScheduled", "status": "False", "message": "no " * 1000}

    assert len(project(pod(conditions=[said])).held) == 200


def test_a_pod_is_ready_by_its_condition() -> None:
    assert project(pod(conditions=[{"type": "Ready", "status": "True"}])).ready


def test_pods_of_a_group_share_what_they_have_in_common() -> None:
    """The controller keeps 50,000 of them."""
    text = orjson.dumps(labelled())
    one, other = POD.projected(POD.read(text)), POD.projected(POD.read(text))

    assert one.namespace is other.namespace
    assert one.service is other.service is one.projection.service
    assert one.projection.lws is other.projection.lws
    assert one.owners[0].uid is other.owners[0].uid
    assert one.projection.accelerators is other.projection.accelerators


def labelled() -> Object:
    """Return a pod of a LeaderWorkerSet with accelerators."""
    found = pod({"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]})
    owner = {"kind": "StatefulSet", "name": "p-0", "uid": "an-uid", "controller": True}
    labels = {SERVICE: "a-service", LWS_NAME: "a-leaderworkerset"}
    found["metadata"] |= {"namespace": "a-namespace", "labels": labels, "ownerReferences": [owner]}
    return found


def test_accelerators_of_all_containers_are_summed_up() -> None:
    row = project(pod({"containers": [GPU, GPU, {"resources": {"limits": {"cpu": "4"}}}]}))

    assert row.accelerators == (("nvidia.com/gpu", 16),)


@pytest.mark.parametrize("reason", ["CrashLoopBackOff", "ImagePullBackOff", "CreateContainerConfigError"])
def test_a_container_that_cannot_start_is_a_failure(reason: str) -> None:
    row = project(container({"waiting": {"reason": reason, "message": "back-off"}}))

    assert row.failure == Failure("vllm", reason, "back-off")


def test_an_init_container_that_cannot_start_is_a_failure() -> None:
    waiting = {"waiting": {"reason": "ErrImagePull"}}

    row = project(pod(initContainerStatuses=[{"name": "routing-proxy", "state": waiting}]))

    assert row.failure == Failure("routing-proxy", "ErrImagePull")


def test_a_container_that_is_being_created_is_no_failure() -> None:
    assert project(container({"waiting": {"reason": "ContainerCreating"}})).failure is None


def test_a_container_between_two_crashes_is_a_failure() -> None:
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}

    row = project(container({"running": {}}, lastState=ended, restartCount=3, ready=False))

    assert row.failure == Failure("vllm", "CrashLoopBackOff", "ended with code 137 (OOMKilled)")


@pytest.mark.parametrize(
    "fields", [{"restartCount": 1}, {"ready": True}, {"lastState": {"terminated": {"exitCode": 0}}}]
)
def test_a_recovered_container_is_no_failure(fields: Object) -> None:
    crashed = {"lastState": {"terminated": {"exitCode": 1}}, "restartCount": 3, "ready": False}

    assert project(container({"running": {}}, **(crashed | fields))).failure is None


def test_a_pod_deleted_after_its_first_restart_has_its_exit_code() -> None:
    crashed = {"lastState": {"terminated": {"exitCode": 1}}, "restartCount": 1}
    obj = container({"terminated": {}}, **crashed)
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert project(obj).failure == Failure("vllm", "CrashLoopBackOff", "ended with code 1 (Error)")


def test_a_pod_being_deleted_has_no_waiting_failure() -> None:
    obj = container({"waiting": {"reason": "ImagePullBackOff"}})
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert project(obj).failure is None


def test_a_pod_that_failed_as_a_whole_has_its_reason() -> None:
    row = project(pod(phase="Failed", reason="Evicted", message="the node was low on memory"))

    assert row.failure == Failure("", "Evicted", "the node was low on memory")


def test_a_pod_being_deleted_is_marked() -> None:
    obj = pod()
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert project(obj).deleting
