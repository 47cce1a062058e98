"""`Scheduled`: whether a whole replica of every role is on nodes, and what the pods wait for."""

from collections.abc import Iterable

from intent.gang import needs_gang
from intent.inferenceservice.read import RoleIntent
from sync.status import failures
from sync.status.groups import Wait, counted, groups, placed, wait
from sync.status.observed import Observed, behind, desired
from sync.status.verdict import Verdict


def scheduled(seen: Observed) -> Verdict:
    """Whether of every role at least one whole replica is on nodes."""
    roles = [role for role in seen.service.roles if desired(seen, role)]
    blocked = [role for role in roles if not placed(seen, role)]
    if blocked:
        return _blocked(seen, blocked)
    if late := behind(seen):
        return Verdict("NotObserved", late)
    partly = [role for role in roles if placed(seen, role) < desired(seen, role)]
    if partly:
        return Verdict("PartlyScheduled", "; ".join(_partly(seen, role) for role in partly))
    return Verdict("AllScheduled", "every replica is on nodes")


def _blocked(seen: Observed, roles: list[RoleIntent]) -> Verdict:
    """Say why no replica of these roles is on nodes."""
    if waits_for := failures.waiting_for_role(seen):
        return Verdict("WaitingForRole", waits_for)
    lacking = waits(seen, roles)
    if not lacking:
        return Verdict("PodsMissing", "; ".join(_short_of_pods(seen, role) for role in roles))
    if seen.pod_group is None and any(_in_gang(seen, role) for role in roles):
        return Verdict(
            "WaitingForPodGroup", f"pods wait for PodGroup {seen.service.name}, which is not there"
        )
    return Verdict("WaitingForResources", _with_words(lacking, seen))


def waits(seen: Observed, roles: Iterable[RoleIntent]) -> list[Wait]:
    """Say what each of these roles waits for, if it waits."""
    return [found for role in roles if (found := wait(seen, role))]


def _with_words(lacking: list[Wait], seen: Observed) -> str:
    """Say what is lacking, and quote the scheduler once."""
    group = seen.pod_group.message if seen.pod_group else ""
    words = next((one.words for one in lacking if one.words), group)
    said = "; ".join(map(str, lacking))
    return f"{said}. The scheduler says: {words}" if words else said


def _short_of_pods(seen: Observed, role: RoleIntent) -> str:
    most = max((len(group) for group in groups(seen, role)), default=0)
    return f"role {role.name} has {most} of {counted(role.nodes, 'pod')} of a replica"


def _partly(seen: Observed, role: RoleIntent) -> str:
    has = f"role {role.name} has {placed(seen, role)} of {counted(desired(seen, role), 'replica')} on nodes"
    found = wait(seen, role)
    return f"{has}, {found.lacks}" if found else has


def _in_gang(seen: Observed, role: RoleIntent) -> bool:
    return needs_gang(role.nodes, role.component_type, seen.service.scheduler)
