"""Rules of a service that need more than one of its members.

The controller reads members from the API server, the offline command from files; both apply these rules.
Members are sorted by age, then by name: of two conflicting members the younger one violates the rule.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, Final

from intent.annotations import COMPONENT_TYPE as COMPONENT
from intent.annotations import QUEUE_NAME, ROLE_NAME, ROLES, SCHEDULER_NAME, SERVICE
from intent.errors import FieldError, Finding
from intent.gang import DISAGGREGATED, ENCODER, NO_GANG
from intent.service.kv_transfer import mismatch
from intent.service.member import Member
from intent.settings import Settings

SHOWN: Final = 5
"""The most members that a message lists: there may be a hundred, each with a message."""


def present(members: Iterable[Member]) -> tuple[Member, ...]:
    """Return the members that are not being deleted, oldest first."""
    return tuple(sorted((member for member in members if not member.deleting), key=lambda member: member.age))


def contradictions(members: tuple[Member, ...], settings: Settings) -> tuple[Finding, ...]:
    """Report contradictions among members (FI401, FI402, FI404, FI415, FI420)."""
    return (
        *_shared_roles(members),
        *_worker_in_company(members),
        *disagreements(members, settings),
        *_priorities(members),
        *_kv_transfers(members, settings),
    )


def disagreements(members: tuple[Member, ...], settings: Settings) -> tuple[Finding, ...]:
    """Report scheduler, queue and roles, if members disagree (FI404)."""
    scheduled = tuple(member for member in members if member.needs_others)
    rows: tuple[tuple[str, str, tuple[Member, ...], Callable[[Member], str]], ...] = (
        (SCHEDULER_NAME, "the scheduler", scheduled, lambda member: member.scheduler or NO_GANG),
        (QUEUE_NAME, "the queue", scheduled, lambda member: member.queue or settings.queue or "default"),
        (ROLES, "the roles", members, lambda member: ",".join(sorted(member.roles))),
    )
    return tuple(
        _finding(member, key, own or None, f"{says}; nothing changes until they agree", "FI404")
        for key, what, voters, value in rows
        for member, own, says in disagreement(voters, what, value)
    )


def disagreement(
    members: tuple[Member, ...], what: str, value: Callable[[Member], str]
) -> Iterator[tuple[Member, str, str]]:
    """Yield each member with its value and those of the others, if they disagree; an empty one does not."""
    votes = {member.name: value(member) for member in members}
    if len({*votes.values()} - {""}) < 2:
        return
    for member in members:
        own = votes[member.name]
        others = [f"{name}: {_short(vote)}" for name, vote in votes.items() if vote not in {"", own}]
        yield member, own, f"members disagree on {what} ({_listed(others)})"


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if line == text and len(line) < 60 else f"{line[:60]} ..."


def conflicting_members(members: tuple[Member, ...]) -> frozenset[str]:
    """Return the names of members that violate a rule about roles; `members` are those of `present`.

    The oldest member decides whether the service is a worker, or prefillers and decoders: one applied by
    mistake takes no requests from a worker. But a prefiller and a decoder are no mistake. Encoders fit both.
    """
    engines = [member for member in members if member.component_type != ENCODER]
    halves = [member for member in engines if member.component_type in DISAGGREGATED]
    if {member.component_type for member in halves} < {*DISAGGREGATED} and engines[:1] != halves[:1]:
        halves = engines[:1]
    fitting = [*halves, *(member for member in members if member.component_type == ENCODER)]
    holders = {member.role_name: member.name for member in reversed(fitting)}
    return frozenset(member.name for member in members) - frozenset(holders.values())


def declared_roles(members: tuple[Member, ...]) -> frozenset[str]:
    """Return the union of the `roles` annotations of all members."""
    return frozenset[str]().union(*(member.roles for member in members))


def missing(members: tuple[Member, ...]) -> tuple[str, ...]:
    """Return the roles that a gang still lacks, for messages; empty if it may start."""
    conflicting = conflicting_members(members)
    fitting = tuple(member for member in members if member.name not in conflicting)
    if declared := declared_roles(members):
        return tuple(f"role {role}" for role in sorted(declared - {member.role_name for member in fitting}))
    types = {member.component_type for member in fitting}
    if not fitting or "worker" in types:
        return ()
    return tuple(f"a {component_type}" for component_type in DISAGGREGATED if component_type not in types)


def waiting(members: tuple[Member, ...]) -> tuple[Finding, ...]:
    """Report the missing roles on every member of a gang (FI410), at its own part in the service."""
    lacks = missing(members)
    if not lacks:
        return ()
    kind, _, name = lacks[0].partition(" ")
    wanted = f"{ROLE_NAME}: {name}" if kind == "role" else f"{COMPONENT}: {name}"
    message = f"waits for {' and '.join(lacks)}: apply a LeaderWorkerSet with {wanted}"
    return tuple(
        _finding(peer, _own_part(peer), None, f"{_gang_of(peer)}service {peer.service} {message}", "FI410")
        for peer in members
        if peer.scheduler
    )


def _gang_of(member: Member) -> str:
    """Return the part of a service that is a gang, for messages: others may have what it waits for."""
    if member.gang == member.service:
        return ""
    return f"this {'slice' if '.' in member.gang else 'revision'} of "


def _own_part(member: Member) -> str:
    """Return the annotation that says which part of a service a member is."""
    return ROLES if member.roles else SERVICE if member.component_type == "worker" else COMPONENT


def _shared_roles(members: tuple[Member, ...]) -> Iterator[Finding]:
    """FI401: role names are unique; workers are covered by FI402."""
    for peer in members:
        others = [other.name for other in members if other.role_name == peer.role_name and other is not peer]
        if others and peer.component_type != "worker":
            message = f"is also the role of {_listed(others)}; give each member its own role name"
            yield _finding(peer, ROLE_NAME, peer.role_name, message, "FI401")


def _worker_in_company(members: tuple[Member, ...]) -> Iterator[Finding]:
    """FI402: a worker is the only member, encoders aside."""
    members = tuple(peer for peer in members if peer.component_type != ENCODER)
    if len(members) < 2 or all(peer.component_type != "worker" for peer in members):
        return
    for peer in members:
        others = _listed([f"{other.name} ({other.component_type})" for other in members if other is not peer])
        message = f"service {peer.service} also has {others}; use one worker, or prefillers and decoders"
        message += f"; if this one only encodes, {ENCODER}" if peer.component_type == "worker" else ""
        yield _finding(peer, COMPONENT, peer.component_type, message, "FI402")


def _priorities(members: tuple[Member, ...]) -> Iterator[Finding]:
    """FI415: all pod templates of a gang have one `priorityClassName`, because a PodGroup has one."""
    gang = [member for member in members if member.scheduler]
    if len({priority for member in gang for priority in member.priority_classes}) < 2:
        return
    had = ((member.name, " and ".join(name or "none" for name in member.priority_classes)) for member in gang)
    shown = _listed([f"{name}: {classes}" for name, classes in had])
    message = f"pod templates disagree on priorityClassName ({shown}); the gang gets none until they agree"
    for member in gang:
        yield Finding(member.subject, FieldError("spec.leaderWorkerTemplate", None, message, "FI415"))


def _kv_transfers(members: tuple[Member, ...], settings: Settings) -> Iterator[Finding]:
    """FI420: the connector can transfer KV caches between each prefiller and decoder."""
    halves = [half for half in members if half.kv_transfer]
    for half, other in product(halves, halves):
        sides = {side.component_type: side.kv_transfer for side in (half, other) if side.kv_transfer}
        if message := mismatch(sides, settings.engines):
            yield Finding(half.subject, FieldError("spec", None, f"{message} ({other.name})", "FI420"))


def _listed(others: list[str]) -> str:
    """List the others in a message: the first `SHOWN`, and the number of further ones."""
    more = [f"{len(others) - SHOWN} more"] if len(others) > SHOWN else []
    return ", ".join((*others[:SHOWN], *more))


def _finding(member: Member, key: str, value: Any, message: str, code: str) -> Finding:
    return Finding(member.subject, FieldError(f"metadata.annotations[{key}]", value, message, code))
