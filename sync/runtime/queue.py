"""The queue of services to reconcile: no duplicates, no service with two workers, optional delays.

There are two lanes. Services in which something changed go before the sweep over all services that a new
leader makes, so that a new service does not wait for unchanged ones. While there are changes, every fourth
service is taken from the sweep, so that the sweep ends. Namespaces take turns: thousands of refused services
of one namespace delay a service of another by one place.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from intent.service.member import ServiceKey
from sync.runtime.clock import Backoff

SHARE: Final = 4
"""While there are changes, one service of this many is taken from the sweep."""


@dataclass(slots=True)
class Queue:
    """Keys in the order in which they were added (client-go `util/workqueue`, without its classes)."""

    ready: dict[ServiceKey, None] = field(default_factory=dict)
    """Services in which something changed, or whose delay has ended."""
    turns: dict[str, dict[ServiceKey, None]] = field(default_factory=dict)
    """The same by namespace, in the order of their turns."""
    unchanged: dict[ServiceKey, None] = field(default_factory=dict)
    """The sweep: services in which nothing is known to have changed."""
    taken: int = 0
    """The number of services taken from `ready` since the last one of the sweep."""
    busy: set[ServiceKey] = field(default_factory=set)
    again: set[ServiceKey] = field(default_factory=set)
    later: dict[ServiceKey, asyncio.TimerHandle] = field(default_factory=dict)
    soon: dict[ServiceKey, asyncio.TimerHandle] = field(default_factory=dict)
    failures: dict[ServiceKey, Backoff] = field(default_factory=dict)
    since: dict[ServiceKey, float] = field(default_factory=dict)
    """When each waiting service was queued, the oldest first. Times are monotonic."""
    begun: dict[ServiceKey, float] = field(default_factory=dict)
    """When each running reconcile began, the oldest first."""
    filled: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, key: ServiceKey) -> None:
        """Queue a service now; if it is being reconciled, once more afterwards."""
        if key in self.busy:
            self.again.add(key)
        else:
            self.unchanged.pop(key, None)
            self.ready[key] = None
            self.turns.setdefault(key[0], {})[key] = None
            self.since.setdefault(key, time.monotonic())
            self.filled.set()

    def sweep(self, keys: Iterable[ServiceKey]) -> None:
        """Queue services in this order, after all in which something changed."""
        for key in keys:
            if key in self.busy:
                self.again.add(key)
            elif key not in self.ready:
                self.unchanged[key] = None
                self.since.setdefault(key, time.monotonic())
        self.filled.set()

    def add_within(self, key: ServiceKey, seconds: float, still: Callable[[], bool]) -> None:
        """Queue a service after some seconds, regardless of `add_later`, if `still` returns true by then."""
        if key not in self.soon:
            self.soon[key] = asyncio.get_running_loop().call_later(seconds, self._overdue, key, still)

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
        while not (self.ready or self.unchanged):
            self.filled.clear()
            await self.filled.wait()
        key = next(iter(self.unchanged)) if self._is_swept() else self._in_turn()
        self.unchanged.pop(key, None)
        self.ready.pop(key, None)
        self.since.pop(key, None)
        self.busy.add(key)
        self.begun[key] = time.monotonic()
        return key

    def done(self, key: ServiceKey) -> None:
        """End the reconcile of a key."""
        self.busy.discard(key)
        self.begun.pop(key, None)
        if key in self.again:
            self.again.discard(key)
            self.add(key)

    def give_back(self, key: ServiceKey) -> None:
        """End the reconcile of a key before it began, and queue it again."""
        self.again.add(key)
        self.done(key)

    def depth(self) -> int:
        """Return the number of services that wait, without those with a delay."""
        return len(self.since)

    def oldest(self) -> float:
        """Return the seconds for which the first of the waiting services has waited; 0 if none waits."""
        return _age(self.since)

    def longest(self) -> float:
        """Return the seconds for which the longest of the running reconciles has run; 0 if none runs."""
        return _age(self.begun)

    def lasting(self, seconds: float) -> int:
        """Return the number of running reconciles that have run for this long."""
        end = time.monotonic() - seconds
        return sum(at < end for at in self.begun.values())

    def _in_turn(self) -> ServiceKey:
        """Return the next service of the namespace whose turn it is, and move the namespace to the end."""
        namespace = next(iter(self.turns))
        keys = self.turns.pop(namespace)
        key = next(iter(keys))
        del keys[key]
        if keys:
            self.turns[namespace] = keys
        return key

    def _is_swept(self) -> bool:
        """Return whether the next service is taken from the sweep."""
        is_swept = bool(self.unchanged) and (not self.ready or self.taken >= SHARE - 1)
        self.taken = 0 if is_swept else self.taken + 1
        return is_swept

    def _overdue(self, key: ServiceKey, still: Callable[[], bool]) -> None:
        self.soon.pop(key, None)
        if still():
            self.add(key)

    def _due(self, key: ServiceKey) -> None:
        self.later.pop(key, None)
        self.add(key)


def _age(times: dict[ServiceKey, float]) -> float:
    """Return the age of the first of some times, which are in order."""
    return time.monotonic() - next(iter(times.values())) if times else 0.0
