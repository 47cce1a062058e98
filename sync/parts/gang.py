"""Plans the gang of a service from its members: the PodGroup, or what it waits for, or why there is none.

Rules of this file:
1. Without a PodGroup the pods are not scheduled: that is the gate. It opens when every required role exists.
2. An open gate never closes. Its roles are recorded on the PodGroup, and in `remembered` if that is lost.
3. A PodGroup stays while the templates of a LeaderWorkerSet name it, annotated or ejected: without it, new
 pods would wait forever. An ejected one keeps its policy, and is required only if it owns the PodGroup.
4. No clock: durations are arguments.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from intent.annotations import GROUP_INDEX, LWS_NAME, SERVICE
from intent.commands import command
from intent.errors import FieldError, Finding, Subject
from intent.gang import ENCODER
from intent.service.member import Member, agreed
from intent.service.rules import (
    conflicting_members,
    contradictions,
    declared_roles,
    disagreements,
    missing,
    present,
    waiting,
)
from intent.settings import Settings
from sync.observed.pod_group import PodGroup
from sync.snapshot import Situation

REST_AFTER: Final = 60.0
"""Seconds without replicas after which a role is no longer required.

Not at once: users apply roles one after the other, and scale them one by one.
"""
UNASSIGNED: Final = "unassigned"
UNREACHABLE: Final = 1_000_000
"""More pods than an LWS has: a group of this size never starts, so its pods wait for their own policy."""
ORDER: Final = {"prefiller": 0, "decoder": 1, "worker": 2, "encoder": 3}


@dataclass(frozen=True, slots=True)
class Policy:
    """One entry of `spec.subGroupPolicy`: pods with `label`, grouped by the value of `key`."""

    name: str
    label: tuple[str, str]
    key: str
    size: int
    required: int


@dataclass(frozen=True, slots=True)
class Gang:
    """The PodGroup that a service should have."""

    namespace: str
    name: str
    """The service, or for a revision of a DisaggregatedSet the service and the revision."""
    service: str
    queue: str
    """Empty if no member names one: Volcano's webhook sets that of the namespace, else `default`."""
    priority_class: str
    roles: tuple[str, ...]
    owners: tuple[tuple[str, str], ...]
    """Name and uid of every member; the uid is empty offline."""
    policies: tuple[Policy, ...]

    @property
    def min_member(self) -> int:
        """The number of pods that must start together.

        At least 1: with 0 Volcano marks the PodGroup Completed while nothing runs.
        """
        return max(1, sum(policy.size * policy.required for policy in self.policies))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an object was not written, with its code."""

    code: str
    message: str
    kind: str
    retryable: bool = False
    """Whether another try may succeed."""
    name: str = ""
    """The name of the object; empty if the refusal concerns all objects of the kind."""
    partly: bool = False
    """Whether the object was written without what is refused of it."""


@dataclass(frozen=True, slots=True)
class GangPlan:
    """The plan of one gang, and findings for its authors."""

    gang: Gang | None = None
    """None: there should be no PodGroup of ours."""
    hold: bool = False
    """Whether PodGroups are left as they are: nothing is changed, created or deleted."""
    findings: tuple[Finding, ...] = ()
    requeue_after: float | None = None
    """Seconds after which the plan may change by time alone."""


def plan(situation: Situation, settings: Settings) -> GangPlan:
    """Plan the gang of one service."""
    members = present(situation.members)
    findings = (*contradictions(members, settings), *_ejected_findings(situation))
    if not any(one.scheduler for one in members):
        return _plan_without_members(situation, findings)
    findings = (*findings, *_outside_causes(situation, members))
    if situation.volcano:
        return GangPlan(findings=findings)
    if _foreign(situation) or _is_deleting(situation.stored) or disagreements(members, settings):
        is_of_another = bool(situation.stored and situation.stored.service not in {"", situation.key[1]})
        return GangPlan(hold=True, findings=findings, requeue_after=REST_AFTER if is_of_another else None)
    owners = (*members, *present(situation.ejected))
    if situation.stored and not _belongs(situation.stored, owners):
        return GangPlan(findings=findings)
    if situation.remembered and not _belongs(situation.remembered, owners):
        situation = replace(situation, remembered=None)
    return _plan_with_gate(situation, members, findings, settings)


def plan_after_refusal(
    decided: GangPlan, refusal: Refusal, situation: Situation, settings: Settings
) -> GangPlan:
    """Plan again after a refusal. Where Volcano cannot schedule a gang there must never be a PodGroup."""
    if refusal.code == "FI408":
        return plan(replace(situation, volcano=refusal.message), settings)
    members = present(situation.members)
    findings = (refusal_finding(one.subject, "schedulerName", refusal) for one in members)
    return replace(decided, findings=(*decided.findings, *findings))


def _plan_with_gate(
    situation: Situation, members: tuple[Member, ...], findings: tuple[Finding, ...], settings: Settings
) -> GangPlan:
    """Return the gang if its gate is open or opens now, else what it waits for."""
    opened = _opened(situation, members)
    if opened is None and missing(members):
        return GangPlan(findings=(*findings, *waiting(members)))
    required = opened or declared_roles(members) or _roles_of_fitting(members)
    gang = _gang(situation, members, required, settings)
    waiting_to_rest = (*members, *(one for one, is_required in _kept(situation) if is_required))
    findings = (*findings, *_not_scaled(situation, members, gang))
    return GangPlan(gang=gang, findings=findings, requeue_after=_seconds_to_rest(situation, waiting_to_rest))


def _plan_without_members(situation: Situation, findings: tuple[Finding, ...]) -> GangPlan:
    """Leave the PodGroup as it is while a LeaderWorkerSet needs it, but require none that is gone.

    A policy that requires groups of a LeaderWorkerSet that is gone would keep all other pods waiting.
    """
    stored, ejected = situation.stored, present(situation.ejected)
    if not ejected:
        return GangPlan(findings=findings)
    names = {one.name for one in ejected}
    is_lost = stored is not None and any(one.required and one.name not in names for one in stored.policies)
    owners = _owners(situation, ejected)
    if stored is None or not is_lost or not owners or _foreign(situation) or stored.deleting:
        return GangPlan(hold=True, findings=findings)
    policies = (
        Policy(
            one.name, (LWS_NAME, one.name), GROUP_INDEX, one.size, one.required if one.name in names else 0
        )
        for one in stored.policies
        if one.size != UNREACHABLE
    )
    gang = Gang(
        namespace=situation.key[0],
        name=situation.pod_group,
        service=situation.key[1],
        queue=stored.queue,
        priority_class=_priority_class(ejected, owners),
        roles=tuple(sorted(stored.roles)),
        owners=owners,
        policies=(*policies, _unassigned(situation.key[1], names)),
    )
    return GangPlan(gang=gang, findings=findings)


# --- the gate ---------------------------------------------------------------------------------------


def _opened(situation: Situation, members: tuple[Member, ...]) -> frozenset[str] | None:
    """Return the roles with which the gate opened; None while it is closed, empty if they are not known.

    They are kept: a role that is added later must not keep the others from recovering while it cannot be
    placed. If none of them has a member any more, other roles have replaced them.
    """
    seen = [pg for pg in (situation.stored, situation.remembered) if pg]
    if not seen:
        return None
    roles = next((pg.roles for pg in seen if pg.roles), frozenset[str]())
    return roles if any(one.role_name in roles for one in members) else frozenset()


def _belongs(pod_group: PodGroup, members: tuple[Member, ...]) -> bool:
    """Return whether a PodGroup belongs to these members, and not to earlier ones of the same names."""
    uids = _uids(pod_group)
    return not uids or any(one.uid in uids for one in members)


def _foreign(situation: Situation) -> bool:
    """Return whether the PodGroup is not ours, or another service's: `a-<hash>` is a name of a service too.

    One of this service whose label somebody changed has a member as owner. An ejected owner proves nothing:
    it is seen by the service of that name too, beside that of its revision.
    """
    stored = situation.stored
    if stored is None or stored.service == situation.key[1]:
        return False
    return not stored.service or not _belongs(stored, situation.members)


def _is_deleting(pod_group: PodGroup | None) -> bool:
    return pod_group is not None and pod_group.deleting


def _roles_of_fitting(members: tuple[Member, ...]) -> frozenset[str]:
    conflicting = conflicting_members(members)
    conflicting |= {one.name for one in members if one.component_type == ENCODER}
    return frozenset(one.role_name for one in members if one.name not in conflicting)


# --- the gang ---------------------------------------------------------------------------------------


def _gang(
    situation: Situation, members: tuple[Member, ...], required: frozenset[str], settings: Settings
) -> Gang:
    namespace, service = situation.key
    kept = _kept(situation)
    ordered = sorted(
        (*(one for one in members if one.needs_others), *(one for one, _ in kept)),
        key=lambda one: (ORDER[one.component_type], one.name),
    )
    needed = {one.name for one in members if one.role_name in required and one.component_type != ENCODER}
    needed -= conflicting_members(members)
    needed |= {one.name for one, is_required in kept if is_required}
    owners = _owners(situation, ordered)
    policies = [
        _policy(one, required=one.name in needed and not _is_resting(situation, one)) for one in ordered
    ]
    return Gang(
        namespace=namespace,
        name=situation.pod_group,
        service=service,
        queue=agreed(one.queue for one in members if one.queue) or settings.queue,
        priority_class=_priority_class(ordered, owners),
        roles=tuple(sorted(required)),
        owners=owners,
        policies=(*policies, _unassigned(service, {one.name for one in ordered})),
    )


def _kept(situation: Situation) -> tuple[tuple[Member, bool], ...]:
    """Return the ejected LeaderWorkerSets with a policy, and whether their groups are required as before.

    Only an owner of the PodGroup was a member. Nothing is required of another one that names the PodGroup:
    its author could keep the members from starting.
    """
    before = situation.stored or situation.remembered
    if before is None:
        return ()
    uids, required = _uids(before), {one.name: bool(one.required) for one in before.policies}
    ejected = (one for one in present(situation.ejected) if one.name in required)
    return tuple((one, required[one.name] and one.uid in uids) for one in ejected)


def _owners(situation: Situation, members: Iterable[Member]) -> tuple[tuple[str, str], ...]:
    """Return name and uid of the owners: members, and ejected ones that own the PodGroup already."""
    before = situation.stored or situation.remembered
    uids = {one.uid for one in situation.members} | (_uids(before) if before else set())
    return tuple((one.name, one.uid) for one in members if one.uid in uids)


def _priority_class(members: Iterable[Member], owners: tuple[tuple[str, str], ...]) -> str:
    """Return the priority class on which the owners agree; empty if they differ."""
    return agreed(
        priority for one in members if (one.name, one.uid) in owners for priority in one.priority_classes
    )


def _uids(pod_group: PodGroup) -> set[str]:
    return {owner.uid for owner in pod_group.owners}


def _policy(one: Member, *, required: bool) -> Policy:
    """Return the policy of a member: its groups are all-or-nothing; a required role needs at least one."""
    return Policy(one.name, (LWS_NAME, one.name), GROUP_INDEX, one.size, int(required))


def _unassigned(service: str, taken: set[str]) -> Policy:
    """Return the policy for pods that the controller has not assigned yet: they wait. It is the last one.

    The first policy that matches wins. A LeaderWorkerSet may have that name; none may end in a dash.
    """
    name = f"{UNASSIGNED}-" if UNASSIGNED in taken else UNASSIGNED
    return Policy(name, (SERVICE, service), LWS_NAME, UNREACHABLE, 0)


def _is_resting(situation: Situation, one: Member) -> bool:
    """Return whether a member has had no replicas for so long that its role is not required.

    One of a revision rests only after pods of its gang were bound: its DisaggregatedSet may create it long
    before it scales it up, and another role would start without it. While all of them are at zero none rests:
    they are scaled up one after the other.
    """
    if one.replicas or _is_at_zero(situation, one):
        return False
    before = situation.stored or situation.remembered
    if before is not None and one.name in before.resting:
        return True
    return _may_rest(situation, one) and _seconds_left(situation, one) <= 0


def _may_rest(situation: Situation, one: Member) -> bool:
    gang = {member.name for member in situation.members}
    return not _is_at_zero(situation, one) and (not one.revision or bool(gang & situation.bound))


def _is_at_zero(situation: Situation, one: Member) -> bool:
    """Return whether a member is of a revision of which no pod is wanted."""
    gang = (*situation.members, *situation.ejected)
    return bool(one.revision) and not any(other.replicas for other in gang)


def _seconds_to_rest(situation: Situation, members: tuple[Member, ...]) -> float | None:
    """Return the seconds until the next empty member is no longer required, or is reported (FI417)."""
    left = [
        _seconds_left(situation, one)
        for one in members
        if not one.replicas and not _is_resting(situation, one) and not _is_at_zero(situation, one)
    ]
    return min((seconds for seconds in left if seconds > 0), default=None)


def _seconds_left(situation: Situation, one: Member) -> float:
    return REST_AFTER - situation.empty_for.get(one.name, 0.0)


# --- findings --------------------------------------------------------------------------------------


def _outside_causes(situation: Situation, members: tuple[Member, ...]) -> Iterator[Finding]:
    """Report causes outside of the members (FI407, FI408, FI409)."""
    for one in members:
        if situation.volcano:
            yield _finding(one, "schedulerName", situation.volcano, "FI408")
        if situation.stored and _foreign(situation):
            effect = f"has no label {SERVICE}; it is left alone and the pods wait"
            if service := situation.stored.service:
                effect = f"is of service {service}; it is left alone, and the pods start in that gang"
            message = f"PodGroup {situation.pod_group} {effect}"
            yield _finding(one, f"metadata.annotations[{SERVICE}]", message, "FI407")
        if one.name in situation.rivals:
            message = "LeaderWorkerSet's own Volcano provider puts every group into a PodGroup of its own"
            yield _finding(one, "schedulerName", message, "FI409")


def _ejected_findings(situation: Situation) -> Iterator[Finding]:
    """Report each ejected LeaderWorkerSet that owns the PodGroup, with the remedy (FI416)."""
    stored = situation.stored
    for one in present(situation.ejected):
        if stored and one.uid in _uids(stored):
            message = (
                f"needs PodGroup {stored.name}, which stays while this object exists; "
                f"print it with `fusioninfer eject` to own it"
            )
            yield _finding(one, f"metadata.annotations[{SERVICE}]", message, "FI416")


def _not_scaled(situation: Situation, members: tuple[Member, ...], gang: Gang) -> Iterator[Finding]:
    """FI417: a role of a revision stays empty though another has replicas, and no pod of the gang is bound.

    The controller of DisaggregatedSets scales one role after the other. If a write between them fails, it
    waits for those that it scaled (`isRevisionStable`, `pkg/controllers/disaggregatedset/executor.go`).
    """
    required = {policy.name for policy in gang.policies if policy.required}
    others = ", ".join(one.name for one in members if one.replicas)
    for one in members:
        is_empty = bool(one.revision) and one.name in required and not one.replicas
        if is_empty and not _is_at_zero(situation, one) and _seconds_left(situation, one) <= 0:
            where = f"--namespace={one.namespace}"
            scale = command("kubectl", "scale", "leaderworkerset", one.name, "--replicas=1", where)
            message = (
                f"has no replicas: the gang waits for it, and LeaderWorkerSet's controller scales it after "
                f"{others}, which waits for the gang; to end this, run: {scale}"
            )
            yield _finding(one, "spec.replicas", message, "FI417")


def refusal_finding(subject: Subject, path: str, refusal: Refusal) -> Finding:
    """Return the finding of a refusal: a warning if it may pass."""
    return Finding(subject, FieldError(path, None, refusal.message, refusal.code, refusal.retryable))


def _finding(one: Member, path: str, message: str, code: str) -> Finding:
    return Finding(one.subject, FieldError(path, None, message, code))
