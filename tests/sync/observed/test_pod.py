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


def test_a_pod_names_its_lws_its_group_and_its_pod_group() -> None:
    obj = pod()
    obj["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "r1-0123abcd"}

    row = project(obj)

    assert (row.namespace, row.service, row.lws, row.group) == ("team-a", "r1", "r1-decode", "1")
    assert (row.pod_group, project(pod()).pod_group) == ("r1-0123abcd", "")


@pytest.mark.parametrize(
    ("written", "read"), [("4", 4), ("", 0), ("four", 0), ("-4", 0), (4, 0), ("9" * 5000, 0)]
)
def test_a_pod_has_the_size_of_its_group(written: Any, read: int) -> None:
    found = pod()
    found["metadata"]["annotations"] = {"leaderworkerset.sigs.k8s.io/size": written}

    assert project(found).group_size == read


def held(message: str) -> Object:
    return pod(conditions=[{"type": "PodScheduled", "status": "False", "message": message}])


def test_a_pod_is_scheduled_by_its_node_and_ready_by_its_condition() -> None:
    """Without a node it has the scheduler's message, up to a length."""
    waits = project(held("0/4 nodes are available"))

    assert project(pod({"nodeName": "n1"})).scheduled
    assert (waits.scheduled, waits.held, waits.ready) == (False, "0/4 nodes are available", False)
    assert len(project(held("no " * 1000)).held) == 200
    assert project(pod(conditions=[{"type": "Ready", "status": "True"}])).ready


def test_pods_of_a_group_share_what_they_have_in_common() -> None:
    """The controller keeps 50,000 of them."""
    text = orjson.dumps(labelled())
    one, other = POD.projected(orjson.loads(text)), POD.projected(orjson.loads(text))

    assert one.namespace is other.namespace
    assert one.service is other.service
    assert one.lws is other.lws
    assert one.accelerators is other.accelerators


def labelled() -> Object:
    """Return a pod of a LeaderWorkerSet with accelerators."""
    found = pod({"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]})
    labels = {SERVICE: "a-service", LWS_NAME: "a-leaderworkerset"}
    found["metadata"] |= {"namespace": "a-namespace", "labels": labels}
    return found


def test_accelerators_of_all_containers_are_summed_up() -> None:
    row = project(pod({"containers": [GPU, GPU, {"resources": {"limits": {"cpu": "4"}}}]}))

    assert row.accelerators == (("nvidia.com/gpu", 16),)


def going(obj: Object) -> Object:
    """Return a pod that is being deleted."""
    return obj | {"metadata": obj["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}}


def waiting(reason: str, message: str = "") -> Object:
    return container({"waiting": {"reason": reason, "message": message}})


KILLED = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
ONCE: Object = {"lastState": {"terminated": {"exitCode": 1}}, "restartCount": 1}
PULL = {"name": "routing-proxy", "state": {"waiting": {"reason": "ErrImagePull"}}}
EVICTED: Object = {"phase": "Failed", "reason": "Evicted", "message": "the node was low on memory"}


@pytest.mark.parametrize(
    ("obj", "failure"),
    [
        (waiting("CrashLoopBackOff", "back-off"), Failure("vllm", "CrashLoopBackOff", "back-off")),
        (waiting("ImagePullBackOff"), Failure("vllm", "ImagePullBackOff")),
        (waiting("CreateContainerConfigError"), Failure("vllm", "CreateContainerConfigError")),
        (pod(initContainerStatuses=[PULL]), Failure("routing-proxy", "ErrImagePull")),
        (waiting("ContainerCreating"), None),
        (
            container({"running": {}}, lastState=KILLED, restartCount=3, ready=False),
            Failure("vllm", "CrashLoopBackOff", "ended with code 137 (OOMKilled)"),
        ),
        (
            going(container({"terminated": {}}, **ONCE)),
            Failure("vllm", "CrashLoopBackOff", "ended with code 1 (Error)"),
        ),
        (going(waiting("ImagePullBackOff")), None),
        (pod(**EVICTED), Failure("", "Evicted", "the node was low on memory")),
    ],
    ids=[
        *("crash loop", "image", "configuration", "init container", "being created", "between two crashes"),
        *("deleted after its first restart", "deleted while waiting", "as a whole"),
    ],
)
def test_a_container_that_cannot_run_is_a_failure(obj: Object, failure: Failure | None) -> None:
    assert project(obj).failure == failure


@pytest.mark.parametrize(
    "fields", [{"restartCount": 1}, {"ready": True}, {"lastState": {"terminated": {"exitCode": 0}}}]
)
def test_a_recovered_container_is_no_failure(fields: Object) -> None:
    crashed = {"lastState": {"terminated": {"exitCode": 1}}, "restartCount": 3, "ready": False}

    assert project(container({"running": {}}, **(crashed | fields))).failure is None


def test_a_pod_being_deleted_is_marked() -> None:
    assert project(going(pod())).deleting
