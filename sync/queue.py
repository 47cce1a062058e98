"""The queue of services to reconcile: no duplicates, no service with two reconciles, optional delays.

There are two lanes. Services in which something changed go before the resync of all services that a new
leader makes, so that a new service does not wait for unchanged ones. While there are changes, every fourth
service is taken from the resync, so that the resync ends.

No namespace delays another one. In each lane namespaces take turns: thousands of refused services of one
namespace delay a service of another by one place. And a namespace has at most one in `SPACES` of all
reconciles at once: a service of another namespace finds a free slot, unless that many namespaces use their
whole share. Then it waits for its turn: for the end of one reconcile of each namespace before it (ADR 56).
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from intent.service.member import ServiceKey
from sync.clock import Backoff

V = TypeVar("V")
LANES: Final = 4
"""While there are changes, one service of this many is taken from the resync."""
SPACES: Final = 8
"""The number of namespaces that may have their whole share of the reconciles at once."""


@dataclass(slots=True)
class Turns(Generic[V]):
    """Waiting items by namespace, which take turns: in each the first that came is the first that goes.

    However many items one namespace has, an item of another one waits for one turn of each at most.
    """

    waiting: dict[str, dict[ServiceKey, V]] = field(default_factory=dict)
    """By namespace, in the order of their turns; none is empty."""

    def __contains__(self, key: ServiceKey) -> bool:
        """Return whether an item waits."""
        return key in self.waiting.get(key[0], ())

    def put(self, key: ServiceKey, value: V) -> V | None:
        """Add an item, or replace the one of this key in its place; return the replaced value."""
        items = self.waiting.setdefault(key[0], {})
        before = items.get(key)
        items[key] = value
        return before

    def drop(self, key: ServiceKey) -> None:
        """Remove an item, if it waits."""
        items = self.waiting.get(key[0], {})
        items.pop(key, None)
        if not items:
            self.waiting.pop(key[0], None)

    def take(self, may: Callable[[str], bool] = lambda _namespace: True) -> tuple[ServiceKey, V] | None:
        """Remove and return the first item of the first namespace that may have a turn.

        That namespace then has the last turn. A namespace that is passed over keeps its place.
        """
        namespace = next(filter(may, self.waiting), None)
        if namespace is None:
            return None
        items = self.waiting.pop(namespace)
        key = next(iter(items))
        value = items.pop(key)
        if items:
            self.waiting[namespace] = items
        return key, value


@dataclass(slots=True)
class Queue:
    """Keys in the order in which they were added (client-go `util/workqueue`, without its classes)."""

    share: int = 1
    """The number of reconciles at once of one namespace."""
    ready: Turns[None] = field(default_factory=Turns)
    """Services in which something changed, or whose delay has ended."""
    unchanged: Turns[None] = field(default_factory=Turns)
    """The resync: services in which nothing is known to have changed."""
    taken: int = 0
    """The number of services taken from `ready` since the last one of the resync."""
    again: set[ServiceKey] = field(default_factory=set)
    later: dict[ServiceKey, asyncio.TimerHandle] = field(default_factory=dict)
    failures: dict[ServiceKey, Backoff] = field(default_factory=dict)
    since: dict[ServiceKey, float] = field(default_factory=dict)
    """When each waiting service was queued, the oldest first. Times are monotonic."""
    begun: dict[ServiceKey, float] = field(default_factory=dict)
    """When each running reconcile began, the oldest first."""
    filled: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, key: ServiceKey) -> None:
        """Queue a service now; if it is being reconciled, once more afterwards."""
        if key in self.begun:
            self.again.add(key)
        else:
            self.unchanged.drop(key)
            self.ready.put(key, None)
            self.since.setdefault(key, time.monotonic())
            self.filled.set()

    def resync(self, keys: Iterable[ServiceKey]) -> None:
        """Queue services, those of a namespace in this order, after all in which something changed."""
        for key in keys:
            if key in self.begun:
                self.again.add(key)
            elif key not in self.ready:
                self.unchanged.put(key, None)
                self.since.setdefault(key, time.monotonic())
        self.filled.set()

    def add_later(self, key: ServiceKey, seconds: float | None) -> None:
        """Queue a service after some seconds, replacing an earlier delay; None removes the delay."""
        if earlier := self.later.pop(key, None):
            earlier.cancel()
        if seconds is not None:
            self.later[key] = asyncio.get_running_loop().call_later(seconds, self._due, key)

    def retry(self, key: ServiceKey, at_least: float) -> None:
        """Queue a service after a failure, with a growing delay."""
        self.add_later(key, self.failures.setdefault(key, Backoff()).next(at_least))

    async def get(self) -> ServiceKey:
        """Return the next key, waiting for one; `done` must follow."""
        while (key := self.take()) is None:
            self.filled.clear()
            await self.filled.wait()
        return key

    def take(self) -> ServiceKey | None:
        """Return the next key of which the namespace has not used its share, if any; `done` must follow."""
        lanes = (self.unchanged, self.ready) if self.taken >= LANES - 1 else (self.ready, self.unchanged)
        for lane in lanes if len(self.begun) < SPACES * self.share else ():
            if found := lane.take(self._has_share):
                key, _ = found
                self.taken = 0 if lane is self.unchanged else self.taken + 1
                self.since.pop(key, None)
                self.begun[key] = time.monotonic()
                return key
        return None

    def done(self, key: ServiceKey) -> None:
        """End the reconcile of a key."""
        del self.begun[key]
        self.filled.set()
        if key in self.again:
            self.again.discard(key)
            self.add(key)

    def depth(self) -> int:
        """Return the number of services that wait, without those with a delay."""
        return len(self.since)

    def oldest(self) -> float:
        """Return the seconds for which the first of the waiting services has waited; 0 if none waits."""
        return _age(self.since)

    def longest(self) -> float:
        """Return the seconds for which the longest of the running reconciles has run; 0 if none runs."""
        return _age(self.begun)

    def _has_share(self, namespace: str) -> bool:
        return sum(key[0] == namespace for key in self.begun) < self.share

    def _due(self, key: ServiceKey) -> None:
        self.later.pop(key, None)
        self.add(key)


def _age(times: dict[ServiceKey, float]) -> float:
    """Return the age of the first of some times, which are in order. Another thread asks: it reads a copy."""
    now = time.monotonic()
    return now - next(iter(times.copy().values()), now)
