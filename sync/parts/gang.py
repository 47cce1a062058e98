"""The gang of a service: its PodGroup, or what it waits for, or why there is none.

PodGroup: `volcano.sh/apis` `pkg/apis/scheduling/v1beta1`; subgroups since 1.14. No `minTaskMember`: it counts
pods, and strands half replicas. No `minResources`: on a full cluster a gang that lost pods would never be
queued again.

Rules of this file:
1. Without a PodGroup the pods are not scheduled: that is the gate. It opens when every required role exists.
2. An open gate never closes. Its roles are recorded on the PodGroup, and in `remembered` if that is lost.
3. A PodGroup stays while the templates of a LeaderWorkerSet name it, annotated or ejected, or a pod does:
 without it, new pods would wait forever. An ejected one keeps its policy, and is required only if it owns
 the PodGroup.
4. No clock: durations are arguments.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf
from typing import Final

from intent import Object
from intent.annotations import GROUP_INDEX, LWS_NAME, ROLES, SERVICE
from intent.commands import command
from intent.errors import FieldError, Finding
from intent.gang import ENCODER
from intent.service.member import Member, agreed
from intent.service.rules import contradictions, declared_roles, missing, waiting
from intent.settings import Settings
from sync.observed.pod_group import KIND, PodGroup
from sync.parts.desired import Desired, manifest, member_reference
from sync.snapshot import Situation

REST_AFTER: Final = 60.0
"""Seconds without replicas after which a role is no longer required.

Not at once: users apply roles one after the other, and scale them one by one.
"""
UNASSIGNED: Final = "unassigned"
UNREACHABLE: Final = 1_000_000
"""More pods than an LWS has: a group of this size never starts, so its pods wait for their own policy."""
DISAGREE: Final = "FI404"
"""Members disagree on scheduler, queue or roles: nothing changes until they agree."""
ORDER: Final = {"prefiller": 0, "decoder": 1, "worker": 2, "encoder": 3}


def gang(situation: Situation, settings: Settings) -> Desired:
    """Desire the PodGroup of the existing members: those of the author and those of the controller."""
    members = situation.live
    findings = (*contradictions(members, settings), *_ejected_findings(situation))
    if not any(one.scheduler for one in members):
        return _without_members(situation, findings)
    findings = (*findings, *_outside_causes(situation, members))
    disagree = any(one.error.code == DISAGREE for one in findings)
    if disagree or _foreign(situation) or (situation.stored and situation.stored.deleting):
        is_of_another = bool(situation.stored and situation.stored.service not in {"", situation.key[1]})
        return _held(situation, findings, REST_AFTER if is_of_another else None)
    owners = (*members, *situation.live_ejected)
    if situation.stored and not _belongs(situation.stored, owners):
        return Desired(findings=findings)
    if situation.remembered and not _belongs(situation.remembered, owners):
        situation = replace(situation, remembered=None)
    return _with_gate(situation, members, findings, settings)


def _with_gate(
    situation: Situation, members: tuple[Member, ...], findings: tuple[Finding, ...], settings: Settings
) -> Desired:
    """Return the gang if its gate is open or opens now, else what it waits for."""
    opened = _opened(situation, members)
    if opened is None and missing(members):
        return Desired(findings=(*findings, *waiting(members)))
    roles = opened or declared_roles(members)
    if not roles:
        fitting = [one for one in members if one.name not in situation.conflicting]
        roles = frozenset([one.role_name for one in fitting if one.component_type != ENCODER])
    required = _required(situation, members, roles)
    queue = agreed(one.queue for one in members if one.queue) or settings.queue
    pod_group = _pod_group(situation, members, required, roles, queue)
    waiting_to_rest = (*members, *(one for one, is_required in _kept(situation) if is_required))
    findings = (*findings, *_not_scaled(situation, members, required))
    again = _seconds_to_rest(situation, waiting_to_rest)
    return Desired((pod_group,), findings=findings, requeue_after=again)


def _held(situation: Situation, findings: tuple[Finding, ...], again: float | None = None) -> Desired:
    """Leave the PodGroup as it is: nothing is changed, created or deleted."""
    held = frozenset({(KIND, situation.pod_group)})
    return Desired(held_objects=held, findings=findings, requeue_after=again)


def _without_members(situation: Situation, findings: tuple[Finding, ...]) -> Desired:
    """Leave the PodGroup as it is while a LeaderWorkerSet or a pod needs it, but require none that is gone.

    A policy that requires groups of a LeaderWorkerSet that is gone would keep all other pods waiting. Where
    all members are ejected the policies are their author's, who may name a LeaderWorkerSet to come: once
    edited, they stay as they are.
    """
    stored, ejected = situation.stored, situation.live_ejected
    if not situation.is_named:
        again = situation.needed_for if situation.needed_for < inf else None
        return _held(situation, findings, again) if situation.needed_for else Desired(findings=findings)
    names = {one.name for one in ejected}
    applied = stored.policies if stored and not stored.edited else ()
    is_lost = any(one.required and one.name not in names for one in applied)
    is_owned = bool(_owners(situation, ejected))
    if stored is None or not is_lost or not is_owned or _foreign(situation) or stored.deleting:
        return _held(situation, findings)
    required = _required(situation, (), stored.roles)
    return Desired((_pod_group(situation, (), required, stored.roles, stored.queue),), findings=findings)


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


# --- the gang ---------------------------------------------------------------------------------------


def _required(situation: Situation, members: tuple[Member, ...], roles: frozenset[str]) -> frozenset[str]:
    """Return the names of the LeaderWorkerSets of which the gang needs a group: those of these roles."""
    needed = [one for one, is_required in _kept(situation) if is_required]
    for one in members:
        is_of_role = one.role_name in roles and one.component_type != ENCODER and one.needs_others
        if is_of_role and one.name not in situation.conflicting:
            needed.append(one)
    return frozenset([one.name for one in needed if not _is_resting(situation, one)])


def _pod_group(
    situation: Situation,
    members: tuple[Member, ...],
    required: frozenset[str],
    roles: frozenset[str],
    queue: str,
) -> Object:
    """Render the one PodGroup of a service, or of one revision, as an apply configuration.

    Ejected LeaderWorkerSets keep their policy. `minMember` is at least 1: with 0 Volcano marks the PodGroup
    Completed while nothing runs. Without a queue Volcano's webhook sets that of the namespace, or `default`.
    """
    ordered = sorted(
        [one for one in members if one.needs_others] + [one for one, _ in _kept(situation)],
        key=lambda one: (ORDER[one.component_type], one.name),
    )
    owners = _owners(situation, ordered)
    policies = [_policy(one.name, one.size, int(one.name in required)) for one in ordered]
    policies.append(_unassigned(situation.key[1], {one.name for one in ordered}))
    owning = [one for one in ordered if (one.name, one.uid) in owners]
    priority_class = agreed([each for one in owning for each in one.priority_classes])
    spec = {
        "minMember": max(1, sum(one.size for one in ordered if one.name in required)),
        "subGroupPolicy": policies,
        **({"queue": queue} if queue else {}),
        **({"priorityClassName": priority_class} if priority_class else {}),
    }
    references = [member_reference(name, uid) for name, uid in owners]
    made = manifest(KIND, situation.key, situation.pod_group, references, spec=spec)
    return {**made, "metadata": {**made["metadata"], "annotations": {ROLES: ",".join(sorted(roles))}}}


def _kept(situation: Situation) -> tuple[tuple[Member, bool], ...]:
    """Return the ejected LeaderWorkerSets with a policy, and whether their groups are required as before.

    Only an owner of the PodGroup was a member. Nothing is required of another one that names the PodGroup:
    its author could keep the members from starting.
    """
    before = situation.before
    if before is None or not situation.live_ejected:
        return ()
    uids, required = _uids(before), {one.name: bool(one.required) for one in before.policies}
    ejected = (one for one in situation.live_ejected if one.name in required)
    return tuple((one, required[one.name] and one.uid in uids) for one in ejected)


def _owners(situation: Situation, members: Iterable[Member]) -> tuple[tuple[str, str], ...]:
    """Return name and uid of the owners: members, and ejected ones that own the PodGroup already."""
    before = situation.before
    uids = {one.uid for one in situation.members} | (_uids(before) if before else set())
    return tuple((one.name, one.uid) for one in members if one.uid in uids)


def _uids(pod_group: PodGroup) -> set[str]:
    return {owner.uid for owner in pod_group.owners}


def _unassigned(service: str, taken: set[str]) -> Object:
    """Render the policy for pods that the controller has not assigned yet: they wait. It is the last one.

    The first policy that matches wins. A LeaderWorkerSet may have that name; none may end in a dash.
    """
    name = f"{UNASSIGNED}-" if UNASSIGNED in taken else UNASSIGNED
    selector = {"matchLabels": {SERVICE: service}}
    return _policy(name, UNREACHABLE, 0) | {"labelSelector": selector, "matchLabelKeys": [LWS_NAME]}


def _policy(name: str, size: int, required: int) -> Object:
    """Render the policy of a member: its groups are all-or-nothing; a required role needs at least one.

    Pods without a label of `matchLabelKeys` match nothing.
    """
    return {
        "name": name,
        "labelSelector": {"matchLabels": {LWS_NAME: name}},
        "matchLabelKeys": [GROUP_INDEX],
        "subGroupSize": size,
        "minSubGroups": required,
    }


def _is_resting(situation: Situation, one: Member) -> bool:
    """Return whether a member has had no replicas for so long that its role is not required.

    One of a revision rests only after pods of its gang were bound: its DisaggregatedSet may create it long
    before it scales it up, and another role would start without it. While all of them are at zero none rests:
    they are scaled up one after the other.
    """
    if one.replicas or _is_at_zero(situation, one):
        return False
    if situation.before is not None and one.name in situation.before.resting:
        return True
    may_rest = not one.revision or any(member.name in situation.bound for member in situation.members)
    return may_rest and _seconds_left(situation, one) <= 0


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
    """Report causes outside of the members (FI407, FI409)."""
    for one in members:
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
    for one in situation.live_ejected:
        if stored and one.uid in _uids(stored):
            message = (
                f"needs PodGroup {stored.name}, which stays while this object exists; "
                f"print it with `fusioninfer eject` to own it"
            )
            yield _finding(one, f"metadata.annotations[{SERVICE}]", message, "FI416")


def _not_scaled(
    situation: Situation, members: tuple[Member, ...], required: frozenset[str]
) -> Iterator[Finding]:
    """FI417: a role of a revision stays empty though another has replicas, and no pod of the gang is bound.

    The controller of DisaggregatedSets scales one role after the other. If a write between them fails, it
    waits for those that it scaled (`isRevisionStable`, `pkg/controllers/disaggregatedset/executor.go`).
    """
    empty = [one for one in members if one.revision and not one.replicas]
    for one in empty:
        is_due = not _is_at_zero(situation, one) and _seconds_left(situation, one) <= 0
        if one.name in required and is_due:
            others = ", ".join(each.name for each in members if each.replicas)
            where = f"--namespace={one.namespace}"
            scale = command("kubectl", "scale", "leaderworkerset", one.name, "--replicas=1", where)
            message = (
                f"has no replicas: the gang waits for it, and LeaderWorkerSet's controller scales it after "
                f"{others}, which waits for the gang; to end this, run: {scale}"
            )
            yield _finding(one, "spec.replicas", message, "FI417")


def _finding(one: Member, path: str, message: str, code: str) -> Finding:
    return Finding(one.subject, FieldError(path, None, message, code))
