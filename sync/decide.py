"""Decides what is written and what is deleted, as pure functions: the writer and `fusioninfer diff` ask.

Rules of this file:
1. An object is ours by its `managedFields`, its owners and its name (`kinds.is_ours`); others are left alone.
2. A dry run decides: what would change nothing is not written. Defaults of the API server are no difference.
3. A desired state that another writer reverts five times in a minute is left out for a while.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, Literal, TypeVar

from intent import Object
from intent.annotations import NOT_EXPANDED, UNANSWERED
from intent.inferenceservice.v1alpha1 import KIND
from kube.client import NOT_FOUND, ApiError
from sync.clock import MINUTE
from sync.kinds import OUTPUTS, Kind, is_ours, part_of
from sync.observed.cached import AppliedObject
from sync.parts.desired import Desired, Refusal
from sync.snapshot import Snapshot

A = TypeVar("A", bound=AppliedObject)
ABSENT: Final = "FI870"
"""The API server does not serve the kind, or one that lacks fields that are needed."""
FOREIGN: Final = "FI871"
"""An object of the same name exists and the controller did not make it."""
REFUSED: Final = "FI872"
"""The API server or another webhook refuses the object."""
UNEXPANDED: Final = "FI873"
"""The object would be stored without an answer of admission."""
BLOCKED: Final = "FI874"
"""A rule of the kind forbids the write."""
CONTESTED: Final = "FI876"
"""Another writer reverts each write."""
FIGHT: Final = 5
"""Repairs within a minute after which another writer is taken to revert each write."""
REWORDINGS: Final = 5
"""Writes of a status within `REWORDING` seconds that change nothing but its messages.

Refusals quote ports and times, so they may change with each try. The messages of a scheduler about a new pod
come within a moment, and are written at once.
"""
REWORDING: Final = 150.0
INVALID: Final = 422
LASTING: Final = (400, 403, INVALID)
"""Status codes that another try does not change."""
_NOT_EXPANDED: Final = re.compile(f'"{NOT_EXPANDED}([^"]*)')
"""The reason in a label that admission wrote, as the API server quotes it."""
ChangeVerb = Literal["created", "changed", "deleted", "restored", "recreated"]
"""`restored`: another client had changed the object; `recreated`: another client had deleted it."""
VERBS: Final[dict[tuple[bool, bool], ChangeVerb]] = {
    (False, False): "created",
    (False, True): "recreated",
    (True, False): "changed",
    (True, True): "restored",
}
"""What a write does, by whether the object is stored and whether the same was applied before."""


@dataclass(slots=True)
class ApplyHistory:
    """What was applied to one object lately. Times are monotonic, and `now` is the present one."""

    desired: bytes = b""
    """The digest of what was applied last."""
    stored: bytes = b""
    """The fingerprint of what was stored then."""
    repairs: list[float] = field(default_factory=list)
    """Times, within the last minute, at which the same desired state was applied again."""
    shape: bytes = b""
    """Of a status: the digest of what was applied last, without its messages."""
    rewordings: list[float] = field(default_factory=list)
    """Of a status: recent times at which only its messages changed."""

    def is_settled(self, desired: bytes, stored: bytes) -> bool:
        """Return whether this was applied before, and what is stored is the result: no write is needed."""
        return (self.desired, self.stored) == (desired, stored)

    def contested_for(self, desired: bytes, now: float) -> float:
        """Return the seconds for which this is left out, since another writer reverts it; 0 if none does."""
        if self.desired != desired or len(self.repairs) < FIGHT:
            return 0.0
        self.repairs = self.repairs[-FIGHT:]
        return max(0.0, self.repairs[0] + MINUTE - now)

    def note(self, desired: bytes, now: float) -> bool:
        """Record a write: a repair if the desired state is the same as before, else a fresh start.

        Returns whether it is a repair.
        """
        is_repair = self.desired == desired
        self.repairs = [*self.repairs, now] if is_repair else []
        return is_repair

    def settle(self, desired: bytes, stored: bytes) -> None:
        """Record what is stored after the desired state was applied."""
        self.desired, self.stored = desired, stored

    def reword_in(self, desired: bytes, shape: bytes, now: float) -> float:
        """Return the seconds until a status may be written; 0 unless only its messages changed."""
        if desired == self.desired or shape != self.shape:
            return 0.0
        self.rewordings = [at for at in self.rewordings if at > now - REWORDING]
        if len(self.rewordings) >= REWORDINGS:
            return self.rewordings[0] + REWORDING - now
        self.rewordings.append(now)
        return 0.0


# --- one write --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Skip:
    """Nothing is written: it would change nothing, or the object is being deleted."""


@dataclass(frozen=True, slots=True)
class Write:
    """The object is written."""

    verb: ChangeVerb
    premerge: Object
    """The merge patch that precedes the apply; empty if none is needed."""
    version: str
    """The version of the object that the dry run saw; empty: any."""
    is_plain: bool
    """Whether it is an apply to a stored object, and nothing else."""


@dataclass(frozen=True, slots=True)
class Attempt(Generic[A]):
    """An object that is to be written for a service, and what is known of it."""

    kind: Kind[A]
    desired: Object
    digest: bytes
    """The digest of the desired object."""
    row: A
    """The desired object as a cache would hold it."""
    stored: A | None
    """The stored object; None if there is none."""
    history: ApplyHistory


def before_dry_run(
    attempt: Attempt[A], service: str, owners: frozenset[str], now: float
) -> Skip | Refusal | None:
    """Decide what needs no request; None: a dry run decides. `owners` are `Snapshot.owners`."""
    stored, row = attempt.stored, attempt.row
    if stored and (stored.deleting or stored.fingerprint == row.fingerprint):
        return Skip()
    if stored and not is_ours(attempt.kind, stored, service, owners):
        return foreign(attempt.kind, row.name)
    if problem := attempt.kind.blocked(stored, row):
        return Refusal(BLOCKED, problem, attempt.kind.kind, (attempt.kind.kind, row.name))
    if stored and attempt.history.contested_for(attempt.digest, now):
        fight = f"was applied {FIGHT} times in a minute, and another writer changed it each time"
        return refused(attempt.kind, row.name, CONTESTED, f"{fight}; it is left alone")
    return None


def decide(attempt: Attempt[A], answer: Object | None, *, is_released: bool) -> Skip | Refusal | Write:
    """Decide by the answer to a dry run; None: the API server rejects what a premerge can make valid.

    `is_released`: a field was given to another manager, so the apply has to give it up.
    """
    kind, stored = attempt.kind, attempt.stored
    if answer and (problem := kind.verify(attempt.desired, answer)):
        return Refusal(ABSENT, problem, kind.kind, (kind.kind,))
    premerge = kind.premerge(stored, attempt.desired, answer is None) if stored else {}
    is_plain = bool(stored and answer) and not premerge and not is_released
    if stored and answer and is_plain and stored.fingerprint == kind.projected(answer).fingerprint:
        return Skip()
    verb = VERBS[stored is not None, attempt.history.desired == attempt.digest]
    version = str(answer["metadata"].get("resourceVersion", "")) if stored and answer else ""
    return Write(verb, premerge, version, is_plain)


# --- refusals ---------------------------------------------------------------------------------------


def lasting(kind: Kind[Any], name: str, error: ApiError) -> Refusal | None:
    """Return the refusal for an error that another try does not change; None if it may."""
    install = f"; install the CRDs of {kind.resource.source}" if kind.resource.source else ""
    if error.code == INVALID and UNANSWERED in str(error):
        message = f"admission does not answer for {kind.kind} {name}"
        return Refusal(UNEXPANDED, message, kind.kind, (kind.kind, name))
    if error.code == INVALID and (why := _NOT_EXPANDED.search(str(error))):
        return refused(kind, name, REFUSED, f"is refused: {why[1]}")
    if error.code == NOT_FOUND and not error.named:
        message = f"this cluster has no {kind.kind} of {kind.resource.api_version}"
        return Refusal(ABSENT, message + install, part_of(kind.kind, name), (kind.kind,))
    if error.undeclared:
        message = f"this cluster's {kind.kind} lacks fields that are needed"
        return Refusal(ABSENT, message + install, part_of(kind.kind, name), (kind.kind,))
    return refused(kind, name, REFUSED, f"is refused: {error}") if error.code in LASTING else None


def retryable(kind: Kind[Any], name: str, error: ApiError, problem: str) -> Refusal:
    """Return the refusal for an error that may pass; the request is tried again, with a growing delay."""
    return replace(refused(kind, name, REFUSED, f"{problem}: {error}"), retryable=True)


def foreign(kind: Kind[Any], name: str) -> Refusal:
    """Return the refusal for an object that the controller does not own."""
    return refused(kind, name, FOREIGN, "was not made for this service; it is left alone")


def refused(kind: Kind[Any], name: str, code: str, problem: str) -> Refusal:
    """Return the refusal of one object: a code, and what is wrong with it."""
    return Refusal(code, f"{kind.kind} {name} {problem}", part_of(kind.kind, name), (kind.kind, name))


# --- deletions --------------------------------------------------------------------------------------


def prunable(
    snapshot: Snapshot, desired: Desired, unapplied: Iterable[str]
) -> Iterator[tuple[Kind[Any], AppliedObject]]:
    """Yield the objects of a service that are no longer desired, in the reverse order of applying.

    `unapplied` has the kinds with a desired object that could not be applied: others of such a kind stay, so
    a renamed role keeps its pods until the new ones can be made. Each is deleted only if one of its owners
    exists: that is read live (`live.OwnerCheck`).
    """
    key, uid = snapshot.situation.key, snapshot.service.uid if snapshot.service else ""
    names = {(obj["kind"], obj["metadata"]["name"]) for obj in desired.objects}
    kept = names | desired.held_objects
    held = desired.held | {kind for kind, _ in names}.intersection(unapplied)
    for name in reversed([name for name in OUTPUTS if name in snapshot.own and name not in held]):
        for row in snapshot.own[name]:
            if (name, row.name) in kept or row.deleting or not row.applied:
                continue
            is_of_another = any(one.kind == KIND and one.uid != uid for one in row.owners)
            if not is_of_another and OUTPUTS[name].names(key[1], row.name):
                yield OUTPUTS[name], row
