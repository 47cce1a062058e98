"""Records Events: findings while they hold, and what happened once.

A finding is an occurrence that lasts. Rules of this file:
1. An Event has a name by its object and what it is about, not by its message, which may change with each try
 (it quotes a port, a time). It is applied server-side: a new leader creates no second one, and one that has
 expired is created again.
2. A finding is written once it has lasted, and again if it returns, persists, or is reworded.
3. What happened once and repeats increases the count of its Event, at intervals that double.
 A service may write `BURST` new Events at once, then one in `REFILL` seconds, findings first: an author who
 renames roles makes new ones with every edit. What exceeds that waits, counted.
4. Events are best effort: nothing waits for one. One that is refused is tried again with a growing delay if
 its finding holds, else dropped. After one that the API server does not answer, the others wait.
"""

import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import structlog

from catalog.codes import CODES
from intent import Object
from intent.errors import Finding, Subject, printable
from intent.names import api_path
from kube.client import NO_ANSWER, ApiError, logged
from kube.request import Request, apply
from sync.clock import now
from sync.status.reasons import EventType

PATIENCE: Final = 2.0
"""Seconds for which a finding must persist before its Event: files are applied one after the other."""
REPEAT: Final = 1800.0
"""Seconds after which the Event of a finding is repeated: Events expire after an hour. The longest delay."""
AGAIN: Final = 10.0
"""Seconds after which a repetition, a changed message, or a failed write is written again; the delay doubles
with each write."""
BURST: Final = 50
"""New Events that a service may write at once. A usual service has fewer than ten."""
REFILL: Final = 60.0
"""Seconds after which a service may write one more."""
MOST: Final = 100
"""Maximum number of Events of a service that are remembered, beside those of findings that hold."""
LONGEST: Final = 1024
"""Maximum length of `message` in the API."""
Send = Callable[[Request], Awaitable[Object | None]]
"""Sends a request; None: the service is paused."""
log: Final = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened to a subject."""

    subject: Subject
    reason: str
    message: str
    name: str
    """The name of its Event (`event_name`)."""
    type: EventType = "Normal"
    lasts: bool = False
    """Whether it is a finding: it lasts until it is not found any more."""


@dataclass(slots=True)
class Event:
    """The Event of one occurrence. Times are monotonic."""

    latest: Occurrence
    due: float
    """When the occurrences that wait are written."""
    waiting: int = 0
    """Occurrences that are not written yet; of a finding 1 while it holds."""
    first: str = field(default_factory=now)
    """When it happened first (RFC 3339)."""
    times: int = 0
    """The count of the Event; 0: this process did not write it."""
    told: int = 0
    """A hash of the message that was written last."""
    tries: int = 0
    """Writes, with those that failed, but not that a finding persists: no other message waits for that."""
    at: float = 0.0
    """When it was written last, or when the finding ended."""

    @property
    def holds(self) -> bool:
        """Whether it is of a finding that holds."""
        return bool(self.latest.lasts and self.waiting)

    def note(self, one: Occurrence, moment: float) -> None:
        """Note that something happened, or is found."""
        if not one.lasts:
            self.waiting += 1
        elif not self.waiting:
            self.waiting, self.due = 1, moment + PATIENCE
        elif self.times and hash(one.message) != self.told:
            self.due = min(self.due, self.at + self._delay())
        self.latest = one

    async def write(self, send: Send) -> bool:
        """Write it, and decide when to do so again; return whether the API server answered."""
        told, is_answered, delay = hash(self.latest.message), True, self._delay()
        self.waiting, count = int(self.latest.lasts), self.times + self.waiting
        path = api_path("/api/v1/namespaces", self.latest.subject.namespace, "events", self.latest.name)
        try:
            if await send(apply(path, rendered(self.latest, self.first, count))) is None:
                return True  # a finding is written when the service is resumed
        except (ApiError, *NO_ANSWER) as error:
            is_answered = isinstance(error, ApiError)
            log.warning("event not written", reason=self.latest.reason, error=logged(error))
        else:
            self.tries -= self.latest.lasts and told == self.told
            self.told, self.times, delay = told, count, REPEAT if self.latest.lasts else delay
        self.tries, self.at = self.tries + 1, time.monotonic()
        self.due = self.at + delay
        return is_answered

    def _delay(self) -> float:
        return min(REPEAT, AGAIN * 2.0 ** min(self.tries, 20))


@dataclass(slots=True)
class ServiceEvents:
    """The Events that this process wrote about one service."""

    events: dict[str, Event] = field(default_factory=dict)
    """By name."""
    full_at: float = -math.inf
    """When `BURST` new ones may be written at once again."""
    codes: tuple[str, ...] = ()
    """Those of the findings that hold."""

    async def record(self, send: Send, found: Iterable[Occurrence]) -> float | None:
        """Write the Events that are due; return the seconds until the next one, None if none waits.

        `found` has what happened since the last call, and all findings that hold.
        """
        moment, found = time.monotonic(), tuple(found)
        for one in found:
            self.events.setdefault(one.name, Event(one, moment)).note(one, moment)
        holding = {one.name for one in found}
        for event in self.events.values():
            if event.holds and event.latest.name not in holding:
                event.waiting, event.at = 0, moment
        due = [event for event in self.events.values() if event.waiting and event.due <= moment]
        for event in sorted(due, key=lambda event: not event.latest.lasts):
            is_new, free_at = not event.times, self.full_at - (BURST - 1) * REFILL
            if is_new and free_at > moment:
                event.due = free_at
            elif not await event.write(send):
                return AGAIN
            elif is_new and event.tries:  # 0: the service is paused
                self.full_at = max(self.full_at, moment) + REFILL
        self._forget(moment)
        waits = (event.due - moment for event in self.events.values() if event.waiting)
        return min((seconds for seconds in waits if seconds > 0), default=None)

    def _forget(self, moment: float) -> None:
        """Drop what was written or ended long ago, and the first ones if there are too many."""
        passed = [(at, event) for at, event in self.events.items() if not event.holds]
        old = [at for at, event in passed if not event.waiting and event.at + REPEAT < moment]
        for at in dict.fromkeys((*old, *(at for at, _ in passed[:-MOST]))):
            del self.events[at]


def lasting(findings: Iterable[Finding]) -> Iterator[Occurrence]:
    """Yield findings as occurrences, by the names of their Events; duplicates once."""
    named = {
        (event_name(one.subject, one.error.code, one.error.path, *one.about), one.error.message): one
        for one in findings
    }
    seen = Counter[str]()
    for (first, _), one in named.items():
        name = f"{first}.{seen[first]}" if seen[first] else first
        seen[first] += 1
        yield Occurrence(one.subject, CODES[one.error.code].event, _message(one), name, "Warning", lasts=True)


def _message(finding: Finding) -> str:
    """Return the message: what is wrong, the code, the remedy, and the cause if it has one."""
    error, row = finding.error, CODES[finding.error.code]
    where = "" if error.value is None else f"{error.path} is {error.value}: "
    tail = f" ({error.code}: {row.remedy}{row.cause and f'. Cause: {row.cause}'})"
    return printable(f"{where}{error.message}")[: LONGEST - len(tail)] + tail


def event_name(subject: Subject, *about: str) -> str:
    """Return the name of the Event of an object about something."""
    digest = blake2b("/".join((subject.uid, *about)).encode(), digest_size=8)
    return f"{subject.name}.{digest.hexdigest()}"


def rendered(one: Occurrence, first: str, count: int) -> Object:
    """Render a `v1` Event of what happened first at a time (RFC 3339), and so many times until now."""
    subject = one.subject
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": one.name, "namespace": subject.namespace},
        "involvedObject": {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
        },
        "type": one.type,
        "reason": one.reason,
        "message": printable(one.message)[:LONGEST],
        "source": {"component": "fusioninfer-sync"},
        "firstTimestamp": first,
        "lastTimestamp": now(),
        "count": count,
    }
