"""Causes between a LeaderWorkerSet and the nodes: its manager, its pods, its gang, the scheduler, nodes."""

from collections.abc import Iterator, Mapping
from typing import Final

from fusioninfer.cluster.text import name_of
from fusioninfer.cluster.why.case import Case
from fusioninfer.cluster.why.cause import Cause, Effect, cause
from intent import Object
from intent.lws import KIND as LWS
from intent.shapes import listed, mapping, text
from plan.forecast import forecast
from plan.sentences import further, waiting
from plan.services import TooManyPodsError, workloads
from plan.supply import out_of_service, supply, with_pods
from sync.kinds import POD_GROUP
from sync.observed import lws as observed_lws
from sync.observed.condition import shortened
from sync.status.conditions import scheduled
from sync.status.reasons import STATES

SCHEDULER: Final = "default-scheduler"


def workload(case: Case) -> Iterator[Cause]:
    """Return what keeps LeaderWorkerSets from having their pods."""
    for lws in case.sets:
        name, seen = name_of(lws), observed_lws.project(lws)
        about = f"{LWS} {name}"
        if not seen.replicas:
            yield cause("ScaledToZero", about, "replicas is 0")
        if not seen.current or not (lws.get("status") or _stateful_sets(case, name)):
            message = f"its status is of generation {seen.observed}, not {seen.generation}"
            yield cause("NotReconciled", about, message, "degrades" if case.pods_of(name) else "blocks")
        yield from _refused(case, name)


def _stateful_sets(case: Case, lws: str) -> list[str]:
    """Return the StatefulSets of a LeaderWorkerSet: of its leaders, and of each leader's workers."""
    names = (name_of(one) for one in case.read.answer("statefulsets").objects)
    return [name for name in names if name == lws or name.removeprefix(f"{lws}-").isdecimal()]


def _refused(case: Case, lws: str) -> Iterator[Cause]:
    for name in _stateful_sets(case, lws):
        events = [one for one in case.warnings("StatefulSet", name) if one.get("reason") == "FailedCreate"]
        if events and not any(text(name_of(pod)).startswith(f"{name}-") for pod in case.read.pods.objects):
            message = shortened(events[0].get("message"))
            yield cause("PodsRefused", f"StatefulSet {name}", message)
            return


# --- scheduling -------------------------------------------------------------------------------------


def scheduling(case: Case) -> Iterator[Cause]:
    """Return why pods are not on nodes."""
    seen = case.observed
    if not any(role.desired for role in seen.roles):
        return
    verdict = scheduled(seen)
    if STATES["Scheduled", verdict.reason] == "Unknown" or verdict.reason == "AllScheduled":
        return
    if verdict.reason == "WaitingForPodGroup" and _unknown(case, POD_GROUP.kind):
        return
    effect: Effect = "degrades" if verdict.reason == "PartlyScheduled" else "blocks"
    if verdict.reason in {"WaitingForResources", "PartlyScheduled"}:
        yield from _waiting(case, effect)
        message = f"{verdict.message}{_planned(case)}"
        yield cause(verdict.reason, case.service, message, effect)
    else:
        yield cause(verdict.reason, case.service, verdict.message)


def _planned(case: Case) -> str:
    """Return what a plan says about the service, as the end of a message; empty if that is not known."""
    nodes, placed = case.read.answer("nodes"), case.read.answer("placed")
    if nodes.unknown or placed.unknown:
        return ""
    try:
        planned = workloads((*case.sets, *case.read.live.of(POD_GROUP)), case.read.pods.objects)
    except TooManyPodsError:
        return ""
    there = with_pods((supply(one) for one in nodes.objects if not out_of_service(one)), placed.objects)
    plan = forecast(planned, there, present=len(there))
    unknown = (one.unknown for one in plan.workloads if one.unknown)
    return "".join(f". {line}" for line in (*unknown, *waiting(plan), *further(plan)))


def _unknown(case: Case, kind: str) -> bool:
    answer = case.read.live.objects.get(kind)
    return bool(answer and answer.unknown)


def _waiting(case: Case, effect: Effect) -> Iterator[Cause]:
    """Return causes that make more nodes useless: the queue, the scheduler, a resource that no node has."""
    group = case.observed.pod_group
    queues = case.read.answer("queues")
    if group and not queues.unknown:
        name = group.queue or "default"
        state = next(
            (mapping(one.get("status")).get("state") for one in queues.objects if name_of(one) == name), ""
        )
        there = any(name_of(one) == name for one in queues.objects)
        if not there or state != "Open":
            message = f"Queue {name} is {state or 'not open'}" if there else f"Queue {name} does not exist"
            yield cause("QueueNotOpen", f"{POD_GROUP.kind} {group.name}", message, effect)
    nodes = case.read.answer("nodes")
    if not nodes.unknown:
        offered = {name for one in nodes.objects for name, has in supply(one).allocatable.items() if has}
        missing = sorted(_requested(case).keys() - offered)
        if missing:
            message = f"no node offers {', '.join(missing)}"
            yield cause("ResourceNotOffered", case.service, message, effect)
    unseen = [pod for pod in _held(case) if not (_condition(pod) or case.warnings("Pod", name_of(pod)))]
    if unseen and not (group and group.message):
        scheduler = text(mapping(unseen[0].get("spec")).get("schedulerName")) or SCHEDULER
        message = f"no scheduler has reported about it; its schedulerName is {scheduler}"
        yield cause("SchedulerNotRunning", f"Pod {name_of(unseen[0])}", message, effect)


def _held(case: Case) -> list[Object]:
    """Return the pods of the service that are on no node."""
    own = [pod for lws in case.sets for pod in case.pods_of(name_of(lws))]
    return [pod for pod in own if not mapping(pod.get("spec")).get("nodeName")]


def _condition(pod: Object) -> Object:
    found = map(mapping, listed(mapping(pod.get("status")).get("conditions")))
    return next((one for one in found if one.get("type") == "PodScheduled"), {})


def _requested(case: Case) -> Mapping[str, int]:
    """Return the largest request of a held pod, by accelerator."""
    largest: dict[str, int] = {}
    held = {name_of(pod) for pod in _held(case)}
    for pod in case.observed.pods:
        for resource, amount in pod.accelerators if pod.name in held else ():
            largest[resource] = max(largest.get(resource, 0), amount)
    return largest
