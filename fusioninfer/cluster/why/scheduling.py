"""Causes between a LeaderWorkerSet and the nodes: its manager, its pods, its gang, the scheduler, nodes."""

from collections.abc import Iterator

from fusioninfer.cluster.text import name_of
from fusioninfer.cluster.why.case import Case, Cause, Effect, cause
from intent import Object
from intent.lws import KIND as LWS
from intent.shapes import listed, mapping, text
from plan.amounts import PlanError
from plan.demand import DEFAULT_SCHEDULER
from plan.forecast import forecast
from plan.supply import supplies
from plan.workload import workloads
from sync.kinds import POD_GROUP
from sync.observed import lws as observed_lws
from sync.observed.condition import shortened
from sync.status.conditions import scheduled
from sync.status.reasons import STATES


def workload(case: Case) -> Iterator[Cause]:
    """Return what keeps LeaderWorkerSets from having their pods."""
    for lws in case.sets:
        name, seen = name_of(lws), observed_lws.project(lws)
        if not seen.current:
            message = f"its status is of generation {seen.observed}, not {seen.generation}"
            effect: Effect = "degrades" if case.pods_of(lws) else "blocks"
            yield cause("NotReconciled", f"{LWS} {name}", message, effect)
        yield from _refused(case, name)


def _refused(case: Case, lws: str) -> Iterator[Cause]:
    """Return why pods are refused, of the StatefulSet of the leaders, or of the workers of a leader."""
    events = case.answer("events").objects
    for name in sorted({text(mapping(event.get("involvedObject")).get("name")) for event in events}):
        is_own = name == lws or name.removeprefix(f"{lws}-").isdecimal()
        refused = [one for one in case.warnings("StatefulSet", name) if one.get("reason") == "FailedCreate"]
        if is_own and refused and not any(name_of(pod).startswith(f"{name}-") for pod in case.pods):
            yield cause("PodsRefused", f"StatefulSet {name}", shortened(refused[0].get("message")))
            return


def scheduling(case: Case) -> Iterator[Cause]:
    """Return why pods are not on nodes."""
    seen = case.observed
    if not any(role.desired for role in seen.roles):
        return
    verdict = scheduled(seen)
    if STATES["Scheduled", verdict.reason] == "Unknown" or verdict.reason == "AllScheduled":
        return
    if verdict.reason == "WaitingForPodGroup" and case.live.answer(POD_GROUP.kind).unknown:
        return
    effect: Effect = "degrades" if verdict.reason == "PartlyScheduled" else "blocks"
    message = verdict.message
    if verdict.reason in {"WaitingForResources", "PartlyScheduled"}:
        yield from _waiting(case, effect)
        message += _planned(case)
    yield cause(verdict.reason, case.title, message, effect)


def _planned(case: Case) -> str:
    """Return what a plan says about the service, as the end of a message; empty if that is not known."""
    nodes, placed = case.answer("nodes"), case.answer("placed")
    if nodes.unknown or placed.unknown:
        return ""
    try:
        planned = workloads((*case.sets, *case.live.of(POD_GROUP)), case.pods)
    except PlanError:
        return ""
    there = supplies(nodes.objects, placed.objects)
    plan = forecast(planned, there, present=len(there))
    unknown = (workload.unknown for workload in planned if workload.unknown)
    return "".join(f". {line}" for line in (*unknown, *plan.waiting, *plan.further))


def _waiting(case: Case, effect: Effect) -> Iterator[Cause]:
    """Return causes that make more nodes useless: the queue, and a scheduler that does not run."""
    group = case.observed.pod_group
    queues = case.answer("queues")
    if group and not queues.unknown:
        name = group.queue or "default"
        queue = queues.named(name)
        state = text(mapping(queue.get("status")).get("state"))
        if state != "Open":
            message = f"Queue {name} is {state or 'not open'}" if queue else f"Queue {name} does not exist"
            yield cause("QueueNotOpen", f"{POD_GROUP.kind} {group.name}", message, effect)
    own = (pod for lws in case.sets for pod in case.pods_of(lws) if not _has_been_seen(pod, case))
    unseen = next(own, None)
    if unseen and not (group and group.message):
        scheduler = text(mapping(unseen.get("spec")).get("schedulerName")) or DEFAULT_SCHEDULER
        message = f"no scheduler has reported about it; its schedulerName is {scheduler}"
        yield cause("SchedulerNotRunning", f"Pod {name_of(unseen)}", message, effect)


def _has_been_seen(pod: Object, case: Case) -> bool:
    """Return whether a scheduler has placed a pod, or reported why not."""
    conditions = map(mapping, listed(mapping(pod.get("status")).get("conditions")))
    return bool(
        mapping(pod.get("spec")).get("nodeName")
        or any(condition.get("type") == "PodScheduled" for condition in conditions)
        or case.warnings("Pod", name_of(pod))
    )
