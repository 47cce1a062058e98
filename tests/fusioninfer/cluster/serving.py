"""A service of a prefiller and a decoder that serves, as `why` reads it."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, Final

from fusioninfer.cluster.reader import Answer
from fusioninfer.cluster.service import Live, snapshot_of
from fusioninfer.cluster.why.case import Case
from intent import Object
from sync.kinds import LWS
from sync.parts.service import desired_state
from tests.fusioninfer.cluster.healthy import NOW, lease
from tests.sync.samples import APPLIED, KEY, lws

Change = Callable[[Case], Case]


def pod(lws: str, index: int = 0, group: int = 0, **status: Any) -> Object:
    """Return a pod that is ready; `status` replaces fields of its status."""
    name = f"{lws}-{group}-{index}" if index else f"{lws}-{group}"
    engine = {
        "name": "vllm",
        "ready": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": "2026-06-01T00:00:00Z"}},
    }
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}]
    limits = {"limits": {"nvidia.com/gpu": "8"}}
    return {
        "metadata": {
            "namespace": KEY[0],
            "name": name,
            "labels": {
                "leaderworkerset.sigs.k8s.io/name": lws,
                "leaderworkerset.sigs.k8s.io/group-index": str(group),
                "leaderworkerset.sigs.k8s.io/worker-index": str(index),
                "fusioninfer.io/service": KEY[1],
            },
            "annotations": {"leaderworkerset.sigs.k8s.io/size": "2"},
        },
        "spec": {
            "nodeName": "gpu-0",
            "schedulerName": "volcano",
            "containers": [{"name": "vllm", "resources": limits}],
        },
        "status": {"phase": "Running", "conditions": conditions, "containerStatuses": [engine]} | status,
    }


def held(one: Object, message: str = "0/2 nodes are unavailable") -> Object:
    """Return a pod that is on no node."""
    one = copy.deepcopy(one)
    one["spec"].pop("nodeName")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    one["status"] = {"phase": "Pending", "conditions": [condition] if message else []}
    return one


def unready(one: Object, container: Object | None = None, **status: Any) -> Object:
    """Return a pod that is not ready; `container` changes the status of its container."""
    one = copy.deepcopy(one)
    one["status"]["conditions"][1]["status"] = "False"
    one["status"]["containerStatuses"][0] |= {"ready": False, **(container or {})}
    one["status"] |= status
    return one


PODS: Final = tuple(pod(name, index) for name in ("p", "d") for index in (0, 1))


def node(name: str, gpus: int) -> Object:
    """Return a node that is ready."""
    status = {
        "allocatable": {"cpu": "64", "pods": "110", "nvidia.com/gpu": str(gpus)},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {"metadata": {"name": name}, "status": status}


def event(kind: str, name: str, reason: str, message: str) -> Object:
    """Return a Warning Event."""
    about = {"kind": kind, "name": name}
    return {"type": "Warning", "reason": reason, "message": message, "involvedObject": about}


def stored_set(name: str, component_type: Any) -> Object:
    """Return a LeaderWorkerSet with a current status."""
    made = lws(name, component_type)
    made["metadata"]["generation"] = 1
    return made | {"status": {"replicas": 1, "observedGeneration": 1}}


def serving() -> Case:
    """Return what `why` reads of a service that serves."""
    sets = (stored_set("p", "prefiller"), stored_set("d", "decoder"))
    live = Live({"LeaderWorkerSet": Answer(sets)})
    made = []
    for obj in desired_state(snapshot_of(live, KEY), live.settings).objects:
        obj["metadata"] |= {"managedFields": APPLIED, "uid": f"uid-{obj['kind']}"}
        made.append(obj)
    answers = {
        "events": Answer(),
        "nodes": Answer((node("gpu-0", 8), node("gpu-1", 8))),
        "placed": Answer(PODS),
        "queues": Answer(({"metadata": {"name": "default"}, "status": {"state": "Open"}},)),
        "lease": Answer((lease(),)),
    }
    return Case(KEY[0], KEY[1], reduce(Live.storing, made, live), sets[0], PODS, answers, now=NOW)


# --- changes ----------------------------------------------------------------------------------------


def with_sets(change: Callable[[Object], Object | None]) -> Change:
    """Change the prefiller's LeaderWorkerSet in place, or replace it."""

    def apply(read: Case) -> Case:
        first, *others = copy.deepcopy(read.live.of(LWS))
        changed = change(first) or first
        held_objects = {**read.live.objects, "LeaderWorkerSet": Answer((changed, *others))}
        return replace(read, named=changed, live=replace(read.live, objects=held_objects))

    return apply


def with_pods(*pods: Object) -> Change:
    """Replace pods of their names."""

    def apply(read: Case) -> Case:
        known = {one["metadata"]["name"]: one for one in (*read.pods, *pods)}
        return replace(read, pods=tuple(known.values()))

    return apply


def without(kind: str) -> Change:
    """Remove the objects of a kind."""
    return lambda read: replace(read, live=replace(read.live, objects={**read.live.objects, kind: Answer()}))


def reading(name: str, *objects: Object, unknown: str = "") -> Change:
    """Replace what a reading returned."""
    return lambda read: replace(read, answers={**read.answers, name: Answer(objects, unknown)})


def both(*changes: Change) -> Change:
    """Apply several changes."""

    def apply(read: Case) -> Case:
        for change in changes:
            read = change(read)
        return read

    return apply
