"""The conditions: one function each, from the observed objects to a reason and a message.

A reason has one status (`reasons.REASONS`). A condition that would be `True` because of objects that are not
of the present generation is `NotObserved` instead; `Initialized` depends only on what exists, so it is not
checked.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from intent.errors import counted
from intent.gang import needs_gang
from sync.status.components import crash, phase
from sync.status.groups import RoleView, Wait, absent, group_size
from sync.status.observed import Observed, behind, cause
from sync.status.reasons import STATES, Verdict
from sync.status.routes import routes_ready

WAITING: Final = "FI410"
KEPT: Final = "pods keep what they have until a refresh"
FOLLOWED: Final = "the service follows, and pods get it once admission allows it"


def initialized(seen: Observed) -> Verdict:
    """Judge `Initialized`: the InferenceService was read and its LeaderWorkerSets exist."""
    if not seen.service.roles:
        return Verdict("CannotBeRead", cause(seen) or "it has no role that runs an engine")
    missing = [role.name for role in seen.roles if role.lws is None]
    if missing:
        return Verdict("LeaderWorkerSetMissing", f"no LeaderWorkerSet yet for {_named(missing)}")
    return Verdict("InferenceServiceCreating", "every role has its LeaderWorkerSet")


# --- Scheduled --------------------------------------------------------------------------------------


def scheduled(seen: Observed) -> Verdict:
    """Judge `Scheduled`: of every role at least one whole replica is on nodes."""
    roles = [role for role in seen.roles if role.desired]
    blocked = [role for role in roles if not role.placed]
    if blocked:
        return _blocked(seen, blocked)
    if late := behind(seen):
        return Verdict("NotObserved", late)
    partly = [role for role in roles if role.placed < role.desired]
    if partly:
        return Verdict("PartlyScheduled", "; ".join(map(_partly, partly)))
    return Verdict("AllScheduled", "every replica is on nodes")


def _blocked(seen: Observed, roles: list[RoleView]) -> Verdict:
    """Return why no replica of these roles is on nodes."""
    if waits_for := next((error.message for error in seen.errors if error.code == WAITING), ""):
        return Verdict("WaitingForRole", waits_for)
    missing = {role.name: role.wait for role in roles if role.wait}
    if not missing:
        return Verdict("PodsMissing", "; ".join(map(_short_of_pods, roles)))
    scheduler, parts = seen.service.scheduler, [one.role for one in roles]
    if seen.pod_group is None and any(needs_gang(one.nodes, one.component_type, scheduler) for one in parts):
        return Verdict(
            "WaitingForPodGroup", f"pods wait for PodGroup {seen.service.name}, which does not exist"
        )
    return Verdict("WaitingForResources", _with_quote(missing, seen))


def _with_quote(missing: Mapping[str, Wait], seen: Observed) -> str:
    """Return what roles wait for, and quote the scheduler once."""
    group = seen.pod_group.message if seen.pod_group else ""
    quote = next((one.message for one in missing.values() if one.message), group)
    text = "; ".join(f"role {name} {wait}" for name, wait in missing.items())
    return f"{text}. The scheduler says: {quote}" if quote else text


def _short_of_pods(one: RoleView) -> str:
    fullest = min(one.groups, key=lambda group: absent(group, one.role), default=())
    return (
        f"role {one.name} has {len(fullest)} of {counted(group_size(fullest, one.role), 'pod')} of a replica"
    )


def _partly(role: RoleView) -> str:
    has = f"role {role.name} has {role.placed} of {counted(role.desired, 'replica')} on nodes"
    return f"{has}, {role.wait}" if role.wait else has


# --- TemplatesApplied ------------------------------------------------------------------------------


def templates_applied(seen: Observed) -> Verdict | None:
    """Judge `TemplatesApplied`: every role has its templates as they are now; None if none are named."""
    named, gone = seen.templates, seen.templates.missing
    if not named.names:
        return None
    if named.trouble:
        return Verdict("TemplatesUnknown", f"InferenceTemplates are not known: {named.trouble}")
    if missing := _missing(seen):
        return Verdict("TemplateMissing", "; ".join(missing))
    changed = [
        f"InferenceTemplate {one.namespace}/{one.name} was {'deleted' if one.name in gone else 'changed'}"
        for one in seen.outdated
    ]
    if changed:
        later = FOLLOWED if seen.service.follows else KEPT
        return Verdict("TemplateChanged", f"{', '.join(changed)}; {later}")
    if late := [one.name for one in seen.roles if one.role.base_refs and one.lws is None]:
        return Verdict("NotApplied", f"no LeaderWorkerSet yet of {' and '.join(late)}")
    return Verdict("TemplatesCurrent", "every role has its templates as they are now")


def _missing(seen: Observed) -> list[str]:
    """Return the templates that do not exist and are needed, by the router or a role that has none yet."""
    named, applied = seen.templates, {one.name for one in seen.applied}
    home = seen.service.namespace
    return [
        f"InferenceTemplate {name} exists neither in namespace {home} nor in that of FusionInfer"
        for name in named.missing
        if name not in applied or seen.service.router is not None
    ]


# --- Ready, Active ----------------------------------------------------------------------------------


def is_ready(seen: Observed) -> Verdict:
    """Judge `Ready`: requests are served. The message names the first thing that is missing."""
    return next(_obstacles(seen), Verdict("ServiceReady", _replicas(seen.roles)))


def _obstacles(seen: Observed) -> Iterator[Verdict]:
    """Yield what keeps a service from being ready, in the order of its start."""
    yield from _if_false("Initialized", initialized(seen), "NotInitialized")
    yield from _if_false("Scheduled", scheduled(seen), "NotScheduled")
    if empty := [role.name for role in seen.roles if not role.desired]:
        yield Verdict("ScaledToZero", f"scaled to zero: {_named(empty)}")
    if missing := [role for role in seen.roles if not role.ready]:
        yield Verdict("RoleNotReady", _replicas(missing))
    routes = routes_ready(seen)
    yield from _if_false("RoutesReady", routes, "RoutesNotReady")
    if late := behind(seen):
        yield Verdict("NotObserved", late)
    if STATES["RoutesReady", routes.reason] == "Unknown":
        yield Verdict("NotObserved", routes.message)


def _if_false(condition: str, verdict: Verdict, reason: str) -> Iterator[Verdict]:
    """Yield the message of a condition that is false, under another reason."""
    if STATES[condition, verdict.reason] == "False":
        yield Verdict(reason, verdict.message)


def active(seen: Observed) -> Verdict:
    """Judge `Active`: every replica of every role is ready."""
    unfinished = [role for role in seen.roles if phase(seen, role) not in {"Running", "Unknown"}]
    if unfinished:
        return Verdict("InferenceServiceProcessing", _replicas(unfinished))
    if late := behind(seen):
        return Verdict("NotObserved", late)
    return Verdict("InferenceServiceAvailable", _replicas(seen.roles))


# --- Failed -----------------------------------------------------------------------------------------


def failed(seen: Observed) -> Verdict:
    """Judge `Failed`: something is wrong that does not resolve with time; one cause, one remedy."""
    if error := cause(seen):
        return Verdict("InferenceServiceFailed", error)
    failure = crash(seen)
    return Verdict("PodsFailing", failure) if failure else Verdict("NothingFailed", "no error is known")


# --- the list ---------------------------------------------------------------------------------------


JUDGES: Final[dict[str, Callable[[Observed], Verdict | None]]] = {
    "Initialized": initialized,
    "Scheduled": scheduled,
    "RoutesReady": routes_ready,
    "TemplatesApplied": templates_applied,
    "Ready": is_ready,
    "Active": active,
    "Failed": failed,
}
"""By type of condition, in the order of the list; None: it does not concern the service."""


def _replicas(roles: Iterable[RoleView]) -> str:
    """Return the counts of ready replicas: `role decode has 1 of 2 replicas ready`."""
    counts = (
        f"role {role.name} has {role.ready} of {counted(role.desired, 'replica')} ready" for role in roles
    )
    return "; ".join(counts)


def _named(roles: Iterable[str]) -> str:
    names = list(roles)
    return f"role{'' if len(names) == 1 else 's'} {' and '.join(names)}"
