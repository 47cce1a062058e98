"""`fusioninfer why`: the dominant cause of each broken service, and its place among the others."""

import copy
import json
from collections import Counter
from dataclasses import replace
from functools import reduce
from typing import Any, Final

import pytest

from catalog.codes import CODES
from fusioninfer.cluster.reader import Answer
from fusioninfer.cluster.service import Live
from fusioninfer.cluster.why.case import Case, Cause
from fusioninfer.cluster.why.causes import causes
from fusioninfer.cluster.why.pods import telling_line
from intent import Object
from intent.annotations import REVISION
from sync.kinds import LWS
from sync.status.reasons import CAUSES, REASONS
from tests.builders.lws import lws as authored
from tests.fusioninfer.cluster.serving import (
    Change,
    both,
    event,
    held,
    node,
    pod,
    reading,
    serving,
    unready,
    with_pods,
    with_sets,
    without,
)


def annotated(**annotations: Any) -> Change:
    """Change annotations of the first LeaderWorkerSet; None removes one."""

    def change(obj: Object) -> None:
        for key, value in annotations.items():
            obj["metadata"]["annotations"][f"fusioninfer.io/{key}"] = value
            if value is None:
                del obj["metadata"]["annotations"][f"fusioninfer.io/{key}"]

    return with_sets(change)


def as_written(**fields: Any) -> Change:
    """Replace the first LeaderWorkerSet with one that was not expanded."""

    def change(_obj: Object) -> Object:
        made = authored(service="r1", component_type="prefiller")
        made["metadata"] |= {"name": "p", "namespace": "team-a", "generation": 1, "uid": "uid-p"} | fields
        return made | {"status": {"observedGeneration": 1}}

    return with_sets(change)


def spec(**fields: Any) -> Change:
    return with_sets(lambda obj: obj["spec"].update(fields))


def plain(read: Case) -> Case:
    """Name a LeaderWorkerSet that is none of ours."""
    made = authored()
    made["metadata"] = {"name": "own", "namespace": "team-a", "generation": 1}
    return replace(read, service="", named=made | {"status": {"observedGeneration": 1}})


def routed(read: Case) -> Case:
    """Ask for routes on both LeaderWorkerSets."""
    sets = copy.deepcopy(read.live.of(LWS))
    for one in sets:
        one["metadata"]["annotations"]["fusioninfer.io/strategy"] = "pd-disaggregation"
        record = {"v": 1, "served": {}}
        one["metadata"]["annotations"]["fusioninfer.io/expansion"] = json.dumps(record)
    return replace(read, live=reduce(Live.storing, sets, read.live))


def rolling(made: str) -> Change:
    """Make both of one revision, at a time; the prefiller was never scaled, and no pod is on a node."""

    def apply(read: Case) -> Case:
        sets = copy.deepcopy(read.live.of(LWS))
        for replicas, one in enumerate(sets):
            one["metadata"]["labels"][REVISION] = "0a1b2c3d"
            one["metadata"]["creationTimestamp"] = made
            one["spec"]["replicas"] = replicas
        return replace(read, live=reduce(Live.storing, sets, read.live))

    return apply


def waiting(reason: str, message: str = "") -> Object:
    return {"state": {"waiting": {"reason": reason, "message": message}}}


def ended(code: int, reason: str = "Error", at: str = "2026-06-01T00:00:00Z", restarts: int = 4) -> Object:
    last = {"exitCode": code, "reason": reason, "finishedAt": at}
    return waiting("CrashLoopBackOff") | {"lastState": {"terminated": last}, "restartCount": restarts}


def requesting(obj: Object) -> None:
    """Have pods request accelerators."""
    group = obj["spec"]["leaderWorkerTemplate"]
    for one in (group["workerTemplate"], group.get("leaderTemplate", group["workerTemplate"])):
        limits = {"nvidia.com/gpu": "8"}
        one["spec"]["containers"] = [{"name": "vllm", "resources": {"limits": limits}}]


LEADER, WORKER = pod("p"), pod("p", 1)
HELD: Final = (held(LEADER), held(WORKER))
INIT: Final[dict[str, Any]] = {
    "initContainerStatuses": [
        {"name": "download", "state": {"running": {"startedAt": "2026-06-01T00:00:00Z"}}}
    ],
    "containerStatuses": [{"name": "vllm", "ready": False, **waiting("PodInitializing")}],
}
BROKEN: Final[dict[str, tuple[Change, str]]] = {
    "NotAnnotated": (plain, "it has no fusioninfer.io/service"),
    "Bypassed": (
        as_written(annotations={"fusioninfer.io/service": "r1", "fusioninfer.io/inject": "disabled"}),
        "disabled",
    ),
    "NotExpanded": (as_written(), "stored without an answer of the webhook"),
    "BeingDeleted": (with_sets(lambda obj: obj["metadata"].update(deletionTimestamp="x")), "it is being"),
    "FI104": (
        as_written(annotations={"fusioninfer.io/service": "r1", "fusioninfer.io/component-type": "prefil"}),
        "it was not expanded: metadata.annotations",
    ),
    "ControllerNotRunning": (
        both(without("PodGroup"), reading("lease"), with_pods(*HELD)),
        "missing: PodGroup r1; nobody holds the Lease fusioninfer-sync",
    ),
    "Paused": (
        both(annotated(paused="true"), without("PodGroup"), with_pods(*HELD)),
        "it is paused; missing: PodGroup r1",
    ),
    "ObjectsMissing": (both(without("PodGroup"), with_pods(*HELD)), "missing: PodGroup r1"),
    "ScaledToZero": (spec(replicas=0), "scaled to zero: role p"),
    "NotReconciled": (
        both(
            with_sets(lambda obj: obj["metadata"].update(generation=2)), lambda read: replace(read, pods=())
        ),
        "its status is of generation 1, not 2",
    ),
    "FI417": (
        rolling("2026-05-31T23:58:59Z"),
        "run: kubectl scale leaderworkerset p --replicas=1 --namespace=team-a",
    ),
    "PodsRefused": (
        both(
            lambda read: replace(read, pods=()),
            reading("events", event("StatefulSet", "p", "FailedCreate", "exceeded quota: gpus")),
        ),
        "exceeded quota: gpus",
    ),
    "PodsMissing": (lambda read: replace(read, pods=()), "role p has 0 of 2 pods of a replica"),
    "QueueNotOpen": (both(with_pods(*HELD), reading("queues")), "Queue default does not exist"),
    "SchedulerNotRunning": (with_pods(held(LEADER, ""), held(WORKER, "")), "its schedulerName is volcano"),
    "WaitingForResources": (
        both(
            with_sets(requesting),
            with_pods(*HELD),
            reading("nodes", node("gpu-0", 8), node("gpu-1", 8)),
            reading("placed", pod("x")),
        ),
        (
            "The scheduler says: 0/2 nodes are unavailable. prefill waits: 1 of 2 pods have room; a pod "
            "requests 8 nvidia.com/gpu; of 2 nodes, 1 in use (nvidia.com/gpu), 1 large enough. 1 more node"
        ),
    ),
    "FI413": (
        with_pods(unready(LEADER, ended(1)), unready(WORKER, waiting("ImagePullBackOff", "no such image"))),
        "container vllm: ImagePullBackOff: no such image",
    ),
    "FI412": (
        with_pods(unready(LEADER, ended(1)), unready(WORKER)),
        "container vllm: CrashLoopBackOff: ended with code 1 (Error), 4 restarts",
    ),
    "FI414": (with_pods(unready(LEADER, waiting("CreateContainerConfigError", "secret x"))), "secret x"),
    "OutOfMemory": (with_pods(unready(LEADER, ended(137, "OOMKilled"))), "ended with code 137 (OOMKilled)"),
    "ContainerNotStarted": (
        both(
            with_pods(unready(LEADER, waiting("ContainerCreating"))),
            reading("events", event("Pod", "p-0", "FailedMount", "claim models not found")),
        ),
        "FailedMount: claim models not found",
    ),
    "InitContainerRunning": (with_pods(unready(LEADER, **INIT)), "init container download runs since"),
    "NotReady": (
        both(
            with_pods(unready(LEADER)),
            reading("events", event("Pod", "p-0", "Unhealthy", "Readiness probe failed: 503")),
        ),
        "running since 2026-06-01T00:00:00Z, and not ready; Readiness probe failed: 503",
    ),
    "RoutesRefused": (annotated(strategy="pd-disaggregation"), "FI8"),
    "RouteMissing": (routed, "missing: InferencePool, Deployment"),
}
"""For each reason: what makes it the dominant cause, and a part of its message."""


def found(change: Change) -> tuple[Cause, ...]:
    return causes(change(serving()))


def test_a_service_that_serves_has_no_cause() -> None:
    assert causes(serving()) == ()


@pytest.mark.parametrize("reason", BROKEN)
def test_the_dominant_cause_is_first(reason: str) -> None:
    change, message = BROKEN[reason]

    first, *_ = found(change)

    assert (first.reason, first.effect) == (reason, "blocks")
    assert message in first.message
    assert reason not in first.message
    assert first.remedy


def test_what_the_controller_says_of_a_missing_object_is_quoted() -> None:
    refused = "PodGroup r1 is refused: 403 Forbidden: quota; tried again within a minute (FI872: ask)"
    other = event("LeaderWorkerSet", "p", "ObjectRefused", "Service r1-api is refused: 403")
    events = (other, event("LeaderWorkerSet", "p", "ObjectRefused", refused))

    first, *_ = found(both(without("PodGroup"), with_pods(*HELD), reading("events", *events)))

    assert (first.reason, first.message) == ("ObjectsMissing", f"missing: PodGroup r1; {refused}")


def test_a_role_that_was_not_scaled_yet_is_no_cause() -> None:
    assert "FI417" not in {one.reason for one in found(rolling("2026-05-31T23:59:59Z"))}


def test_a_queue_that_is_closed_is_the_cause() -> None:
    closed = {"metadata": {"name": "default"}, "status": {"state": "Closed"}}

    first, *_ = found(both(with_pods(*HELD), reading("queues", closed)))

    assert (first.reason, first.message) == ("QueueNotOpen", "Queue default is Closed")


def test_every_reason_of_why_occurs_in_a_test() -> None:
    assert {row.reason for row in CAUSES.values() if not row.condition} <= BROKEN.keys()


def test_a_reason_has_one_row_and_is_no_code() -> None:
    others = Counter(row.reason for row in REASONS if not row.condition)

    assert set(others.values()) == {1}
    assert not others.keys() & ({row.reason for row in REASONS if row.condition} | CODES.keys())


@pytest.mark.parametrize(
    "change",
    [
        annotated(paused="true"),
        annotated(**{"service": None, "expansion": None, "component-type": None, "role-name": None}),
    ],
)
def test_a_service_that_is_paused_or_ejected_serves(change: Change) -> None:
    assert found(change) == ()


def test_a_worker_that_does_not_run_comes_before_the_leader_that_waits_for_it() -> None:
    first, *_ = found(with_pods(unready(LEADER), unready(WORKER, waiting("ContainerCreating"))))

    assert (first.object, first.message) == ("Pod p-0-1", "vllm: not started yet")


def test_a_replica_beyond_the_first_that_waits_only_degrades() -> None:
    more = both(spec(replicas=2), with_pods(held(pod("p", group=1)), held(pod("p", 1, group=1))))

    first, *_ = found(more)

    assert (first.reason, first.effect) == ("PartlyScheduled", "degrades")


def test_claimed_devices_have_no_room_that_is_known() -> None:
    def ask(obj: Object) -> None:
        claims = [{"name": "gpus", "resourceClaimTemplateName": "four"}]
        own = {"containers": [{"name": "vllm"}], "resourceClaims": claims}
        obj["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"] |= own

    first, *_ = found(both(with_sets(ask), with_pods(*HELD), reading("nodes", node("gpu-0", 8))))

    assert "would start" not in first.message
    assert "r1: not known whether its pods have room: claim gpus" in first.message


def test_a_pod_that_failed_as_a_whole_names_no_container() -> None:
    evicted = unready(LEADER, phase="Failed", reason="Evicted", message="the node was low on memory")

    first, *_ = found(with_pods(evicted))

    assert first.message.startswith("Evicted: the node was low on memory")


def test_the_container_that_ended_first_is_the_cause() -> None:
    later, earlier = "2026-06-01T00:00:09Z", "2026-06-01T00:00:01Z"
    crashed = with_pods(unready(LEADER, ended(1, at=later)), unready(WORKER, ended(7, at=earlier)))

    assert [one.object for one in found(crashed) if one.layer == "pods"] == ["Pod p-0-1", "Pod p-0"]


def test_the_log_of_a_crash_is_quoted() -> None:
    log = "INFO starting\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate\nexiting\x1b[0m"
    crashed = both(
        with_pods(unready(LEADER, ended(1))), lambda read: replace(read, logs={("p-0", "vllm"): log})
    )

    first, *_ = found(crashed)

    assert "its log: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate" in first.message


def test_a_log_without_errors_is_quoted_by_its_last_line() -> None:
    assert telling_line("one\ntwo\n\n") == "two"


@pytest.mark.parametrize("kind", ["PodGroup", "Gateway"])
def test_what_cannot_be_read_is_no_cause(kind: str) -> None:
    def refuse(read: Case) -> Case:
        objects = {**read.live.objects, kind: Answer(unknown="403 Forbidden")}
        return replace(read, live=replace(read.live, objects=objects))

    case = refuse(serving())

    assert [one for one in causes(case) if one.effect == "blocks"] == []
    assert f"{kind}: 403 Forbidden" in case.unknown
