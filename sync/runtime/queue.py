"""The queue of services to reconcile: no duplicates, no service with two workers, optional delays.

There are two lanes. Services in which something changed go before the resync of all services that a new
leader makes, so that a new service does not wait for unchanged ones. While there are changes, every fourth
service is taken from the resync, so that the resync ends.

No namespace delays another one. In each lane namespaces take turns: thousands of refused services of one
namespace delay a service of another by one place. And a namespace has at most as many reconciles at once as
workers are free: alone it gets half of them, the next one a quarter. So a service of another namespace finds
a free worker, however long the reconciles of the others take (the dynamic thresholds of Choudhury and Hahne,
for the memory of switches).

Nor do many namespaces, which may be those of one tenant. Those whose reconciles held workers for long lately
are costly: together they get three quarters of the workers, and the others go before them.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from intent.service.member import ServiceKey
from sync.runtime.clock import Backoff
from sync.runtime.costs import Costs
from sync.runtime.turns import Turns

SHARE: Final = 4
"""While there are changes, one service of this many is taken from the resync."""
COSTLY: Final = 5.0
"""Seconds of workers that a namespace may use before it is costly (`costs.HALF`)."""


@dataclass(slots=True)
class Queue:
    """Keys in the order in which they were added (client-go `util/workqueue`, without its classes)."""

    workers: int = 1
    """The number of reconciles at once, of all namespaces together."""
    ready: Turns[None] = field(default_factory=Turns)
    """Services in which something changed, or whose delay has ended."""
    unchanged: Turns[None] = field(default_factory=Turns)
    """The resync: services in which nothing is known to have changed."""
    taken: int = 0
    """The number of services taken from `ready` since the last one of the resync."""
    busy: set[ServiceKey] = field(default_factory=set)
    shares: Counter[str] = field(default_factory=Counter)
    """The number of busy services by namespace."""
    costs: Costs = field(default_factory=Costs)
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
            self.unchanged.drop(key)
            self.ready.put(key, None)
            self.since.setdefault(key, time.monotonic())
            self.filled.set()

    def resync(self, keys: Iterable[ServiceKey]) -> None:
        """Queue services, those of a namespace in this order, after all in which something changed."""
        for key in keys:
            if key in self.busy:
                self.again.add(key)
            elif key not in self.ready:
                self.unchanged.put(key, None)
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

    def resize(self, workers: int) -> None:
        """Set the number of reconciles at once."""
        if workers != self.workers:
            self.workers = workers
            self.filled.set()

    async def get(self) -> ServiceKey:
        """Return the next key, waiting for one; `done` must follow."""
        while (key := self.take()) is None:
            self.filled.clear()
            await self.filled.wait()
        return key

    def take(self) -> ServiceKey | None:
        """Return the next key that may begin now, if there is one; `done` must follow."""
        if key := self._next():
            self.since.pop(key, None)
            self.busy.add(key)
            self.shares[key[0]] += 1
            self.begun[key] = time.monotonic()
        return key

    def done(self, key: ServiceKey) -> None:
        """End the reconcile of a key."""
        self.busy.discard(key)
        self.shares.subtract((key[0],))
        self.shares += Counter()  # without zeros
        self.costs.charge(key[0], time.monotonic() - self.begun.pop(key))
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

    def lasting(self, seconds: float) -> int:
        """Return the number of running reconciles that have run for this long."""
        end = time.monotonic() - seconds
        return sum(at < end for at in self.begun.values())

    def _next(self) -> ServiceKey | None:
        """Take the next service whose namespace may have one more worker; None if there is none."""
        lanes = (self.unchanged, self.ready) if self.taken >= SHARE - 1 else (self.ready, self.unchanged)
        running, free = self._running(), self.workers - len(self.busy)
        held = sum(self.shares[namespace] for namespace in self.shares if self._is_costly(namespace, running))

        def has_share(namespace: str) -> bool:
            return self.shares[namespace] < free

        def is_cheap(namespace: str) -> bool:
            return has_share(namespace) and not self._is_costly(namespace, running)

        rules = (is_cheap, has_share) if held < max(1, self.workers * 3 // 4) else (is_cheap,)
        for lane in lanes:
            for may in rules:
                if found := lane.take(may):
                    self.taken = 0 if lane is self.unchanged else self.taken + 1
                    return found[0]
        return None

    def _running(self) -> dict[str, float]:
        """Return for how many seconds the running reconciles of each namespace have run."""
        seconds, now = dict[str, float](), time.monotonic()
        for (namespace, _), at in self.begun.items():
            seconds[namespace] = seconds.get(namespace, 0.0) + now - at
        return seconds

    def _is_costly(self, namespace: str, running: Mapping[str, float]) -> bool:
        """Return whether the reconciles of a namespace used more than their part of the workers lately."""
        return self.costs.of(namespace) + running.get(namespace, 0.0) > COSTLY

    def _overdue(self, key: ServiceKey, still: Callable[[], bool]) -> None:
        self.soon.pop(key, None)
        if still():
            self.add(key)

    def _due(self, key: ServiceKey) -> None:
        self.later.pop(key, None)
        self.add(key)


def _age(times: dict[ServiceKey, float]) -> float:
    """Return the age of the first of some times, which are in order. Another thread asks: it reads a copy."""
    now = time.monotonic()
    return now - next(iter(times.copy().values()), now)
