"""Records what happened to a service as Events: objects created and deleted, the gate opened, changes undone.

Unlike a finding (`events`), an occurrence does not last. Rules of this file, as of client-go's recorder:
1. An occurrence that repeats increases the count of its Event, at intervals that double.
2. A service may write `BURST` Events at once, then one in `REFILL` seconds; what exceeds that waits, counted.
3. Events are best effort: one that the API server refuses is logged and dropped. After one that it does not
 answer, the others of the service wait: nothing waits for an Event.
"""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog

from intent.errors import Subject
from intent.names import api_path
from intent.service.member import ServiceKey
from kube.client import NO_ANSWER, NOT_FOUND, ApiError, logged
from kube.request import create, patch
from sync.runtime.clock import now
from sync.runtime.event import EventType, rendered
from sync.runtime.events import Send
from sync.runtime.pause import PausedError

log: Final = structlog.stdlib.get_logger(__name__)
BURST: Final = 25
"""Events that a service may write at once."""
REFILL: Final = 60.0
"""Seconds after which a service may write one more."""
AGAIN: Final = 10.0
"""Seconds after which a repetition is written; doubled each time, up to `LONGEST`."""
LONGEST: Final = 1800.0
"""Seconds after which an occurrence is forgotten: the API server deletes an Event after an hour."""
MOST: Final = 100
"""Maximum number of occurrences of a service that are remembered."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened to a subject."""

    subject: Subject
    reason: str
    message: str
    type: EventType = "Normal"
    about: str = ""
    """Distinguishes occurrences of one reason; empty: the reason is enough."""

    @property
    def identity(self) -> tuple[str, str, str, str, str]:
        """What two occurrences share that are one Event."""
        one = self.subject
        return one.uid, one.kind, one.name, self.reason, self.about


@dataclass(slots=True)
class Told:
    """The Event of one occurrence. Times are monotonic."""

    latest: Occurrence
    due: float
    """When the occurrences that wait are written."""
    waiting: int = 0
    """Occurrences that are not written yet."""
    name: str = ""
    """The name of the Event; empty: there is none."""
    times: int = 0
    """The count of the Event."""
    writes: int = 0
    at: float = 0.0
    """When it was written last."""


@dataclass(slots=True)
class Service:
    """The Events of one service, and when it may write another one without a burst."""

    told: dict[tuple[str, ...], Told] = field(default_factory=dict)
    free_at: float = -math.inf

    def may_write(self, moment: float) -> bool:
        """Return whether one more Event may be written now, and count it."""
        free_at = max(self.free_at, moment - BURST * REFILL) + REFILL
        if free_at > moment:
            return False
        self.free_at = free_at
        return True

    def postpone(self, until: float) -> None:
        """Delay the Events that wait."""
        for told in self.told.values():
            told.due = max(told.due, until)


@dataclass(slots=True)
class OccurrenceRecorder:
    """The occurrences of every service."""

    services: dict[ServiceKey, Service] = field(default_factory=dict)

    async def record(self, send: Send, key: ServiceKey, found: Iterable[Occurrence]) -> float | None:
        """Write the Events that are due; return the seconds until the next one, None if none waits."""
        service, moment = self.services.setdefault(key, Service()), time.monotonic()
        for one in found:
            told = service.told.setdefault(one.identity, Told(one, moment))
            told.latest, told.waiting = one, told.waiting + 1
        for told in service.told.values():
            if not told.waiting or told.due > moment:
                continue
            if not service.may_write(moment):
                told.due = moment + REFILL
            elif not await _is_answered(send, told):
                service.postpone(moment + AGAIN)
        _forget(service, moment)
        return min((told.due - moment for told in service.told.values() if told.waiting), default=None)

    def forget(self, key: ServiceKey) -> None:
        """Drop the occurrences of a service that is gone."""
        self.services.pop(key, None)


def _forget(service: Service, moment: float) -> None:
    """Drop occurrences that were written long ago, and the first ones if there are too many."""
    old = [at for at, told in service.told.items() if not told.waiting and told.at + LONGEST < moment]
    for identity in old:
        del service.told[identity]
    for identity in list(service.told)[:-MOST]:
        del service.told[identity]


async def _is_answered(send: Send, told: Told) -> bool:
    """Create the Event or increase its count, and drop what is refused; return whether there is an answer."""
    is_answered = True
    try:
        await _count(send, told)
    except PausedError:
        pass
    except (ApiError, *NO_ANSWER) as error:
        is_answered = isinstance(error, ApiError)
        log.warning("event not written", reason=told.latest.reason, error=logged(error))
    told.waiting, told.at = 0, time.monotonic()
    told.due = told.at + min(LONGEST, AGAIN * 2.0 ** min(told.writes, 20))
    told.writes += 1
    return is_answered


async def _count(send: Send, told: Told) -> None:
    """Increase the count of the Event; create it if it does not exist, or has expired."""
    one, count = told.latest, told.times + told.waiting
    events = api_path("/api/v1/namespaces", one.subject.namespace, "events")
    name = told.name or f"{one.subject.name}.{time.time_ns():x}"  # as client-go names Events
    body = rendered(one.subject, name, one.type, one.reason, one.message, told.waiting)
    if told.name:
        change = {"count": count, "lastTimestamp": now(), "message": body["message"]}
        try:
            await send(patch(api_path(events, told.name), change))
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
        else:
            told.times = count
            return
    await send(create(events, body))
    told.name, told.times = name, told.waiting
