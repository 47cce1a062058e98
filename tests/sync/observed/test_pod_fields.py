"""The fields of a pod that are parsed are those that its projection reads."""

import copy
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from typing import Any, Final

import orjson
import pytest

from intent import Object
from kube.wire import read_object
from sync.kinds import POD

METADATA: Final[Object] = {
    "namespace": "team-a",
    "name": "r1-decode-1-1",
    "uid": "u",
    "resourceVersion": "4",
    "labels": {
        "fusioninfer.io/service": "r1",
        "leaderworkerset.sigs.k8s.io/name": "r1-decode",
        "leaderworkerset.sigs.k8s.io/group-index": "1",
    },
    "annotations": {"leaderworkerset.sigs.k8s.io/size": "4", "fusioninfer.io/paused": "true"},
    "ownerReferences": [{"kind": "StatefulSet", "name": "s", "uid": "v", "controller": True}],
    "managedFields": [
        {"manager": "fusioninfer", "operation": "Apply", "fieldsV1": {"f:spec": {"f:nodeName": {}}}}
    ],
}
RESOURCES: Final[Object] = {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "4"}}
SPEC: Final[Object] = {"nodeName": "n1", "containers": [{"name": "vllm", "resources": RESOURCES}]}
WAITING: Final[Object] = {"name": "vllm", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}}
CRASHED: Final[Object] = {
    "name": "vllm",
    "ready": False,
    "restartCount": 3,
    "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
}
HELD: Final[Object] = {"type": "PodScheduled", "status": "False", "message": "0/4 nodes are available"}
READY: Final[Object] = {"type": "Ready", "status": "True"}
STATUSES: Final[tuple[Object, ...]] = (
    {"conditions": [READY, HELD], "containerStatuses": [WAITING]},
    {"conditions": [READY], "initContainerStatuses": [WAITING], "containerStatuses": [CRASHED]},
    {"containerStatuses": [CRASHED]},
    {"initContainerStatuses": [CRASHED | {"ready": True}], "containerStatuses": [CRASHED | {"ready": True}]},
    {"phase": "Failed", "reason": "Evicted", "message": "the node was low on memory"},
)
PODS: Final[tuple[Object, ...]] = (
    *({"metadata": METADATA, "spec": SPEC, "status": status} for status in STATUSES),
    {
        "metadata": METADATA | {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": SPEC | {"containers": [{"resources": {"requests": RESOURCES["requests"]}}]},
        "status": STATUSES[2],
    },
)
"""Pods in which every field that is read decides something."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every field and item."""
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from places(item, (*path, key))


def rows(pod: Object) -> tuple[Any, Any]:
    """Return the rows of a pod that is parsed partly, and as a whole."""
    body = orjson.dumps(pod)
    partial, whole = (POD.projected(read(body)) for read in (POD.read, read_object))
    return (partial, partial.resource_version), (whole, whole.resource_version)


@pytest.mark.parametrize("value", [None, 5, 2**63, 1.5, "", [], {}, [None]])
@pytest.mark.parametrize("pod", PODS)
def test_a_pod_with_another_value_in_any_field_has_the_same_row(pod: Object, value: Any) -> None:
    for *way, last in places(pod):
        changed = copy.deepcopy(pod)
        reduce(getitem, way, changed)[last] = value

        partial, whole = rows(changed)

        assert partial == whole, (*way, last)


@pytest.mark.parametrize("pod", PODS)
def test_a_pod_without_any_of_its_fields_has_the_same_row(pod: Object) -> None:
    for *way, last in places(pod):
        changed = copy.deepcopy(pod)
        del reduce(getitem, way, changed)[last]

        partial, whole = rows(changed)

        assert partial == whole, (*way, last)


def test_fields_that_are_not_projected_are_not_built() -> None:
    pod = copy.deepcopy(PODS[0])
    pod["spec"] |= {"volumes": [{"name": "v"}]}
    pod["spec"]["containers"] = [{"env": [{"name": "A", "value": "1"}], "resources": {}}]
    pod["metadata"]["managedFields"] = [{"manager": "m", "fieldsV1": {"f:metadata": {"f:labels": {}}}}]

    found = POD.read(orjson.dumps(pod))

    assert found["spec"] == {"nodeName": "n1", "containers": [{"resources": {}}]}
    assert found["metadata"]["managedFields"] == [{"manager": "m", "fieldsV1": {}}]
