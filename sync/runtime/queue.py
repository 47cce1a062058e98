"""Services to reconcile: each once, none by two workers at a time, some later.

There are two lanes. A service in which something changed goes before the sweep over all services that a new
leader makes, so that a new service does not wait for the unchanged ones. While there is news, each fourth
service is one of the sweep, so that the sweep ends. Namespaces take turns: thousands of services of one, all
refused and tried again, cost a service of another one place.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from intent.service.member import ServiceKey
from sync.runtime.clock import Backoff

SHARE: Final = 4
"""Of so many services, one is of the sweep while there is news."""


@dataclass(slots=True)
class Queue:
    """Keys in the order in which they came (client-go `util/workqueue`, without its classes)."""

    ready: dict[ServiceKey, None] = field(default_factory=dict)
    """Services in which something changed, or that are due."""
    turns: dict[str, dict[ServiceKey, None]] = field(default_factory=dict)
    """The same by namespace, in the order in which these have their turn."""
    unchanged: dict[ServiceKey, None] = field(default_factory=dict)
    """The sweep: services in which nothing is known to have changed."""
    taken: int = 0
    """How many of `ready` were taken since the last of the sweep."""
    busy: set[ServiceKey] = field(default_factory=set)
    again: set[ServiceKey] = field(default_factory=set)
    later: dict[ServiceKey, asyncio.TimerHandle] = field(default_factory=dict)
    soon: dict[ServiceKey, asyncio.TimerHandle] = field(default_factory=dict)
    failures: dict[ServiceKey, Backoff] = field(default_factory=dict)
    filled: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, key: ServiceKey) -> None:
        """Want a look now; while one is on its way, want another after it."""
        if key in self.busy:
            self.again.add(key)
        else:
            self.unchanged.pop(key, None)
            self.ready[key] = None
            self.turns.setdefault(key[0], {})[key] = None
            self.filled.set()

    def sweep(self, keys: Iterable[ServiceKey]) -> None:
        """Want a look at each, in this order, after all in which something changed."""
        for key in keys:
            if key in self.busy:
                self.again.add(key)
            elif key not in self.ready:
                self.unchanged[key] = None
        self.filled.set()

    def look_within(self, key: ServiceKey, seconds: float, still: Callable[[], bool]) -> None:
        """Want a look in so many seconds, whatever `add_later` says meanwhile, if it `still` wants one."""
        if key not in self.soon:
            self.soon[key] = asyncio.get_running_loop().call_later(seconds, self._overdue, key, still)

    def add_later(self, key: ServiceKey, seconds: float | None) -> None:
        """Want a look in so many seconds, or, with None, only if something changes."""
        if earlier := self.later.pop(key, None):
            earlier.cancel()
        if seconds is not None:
            self.later[key] = asyncio.get_running_loop().call_later(seconds, self._due, key)

    def retry(self, key: ServiceKey, at_least: float) -> None:
        """Want another look after a failure, later each time."""
        self.add_later(key, self.failures.setdefault(key, Backoff()).next(at_least))

    async def get(self) -> ServiceKey:
        """Wait for the next key; `done` must follow."""
        while not (self.ready or self.unchanged):
            self.filled.clear()
            await self.filled.wait()
        key = next(iter(self.unchanged)) if self._is_swept() else self._in_turn()
        self.unchanged.pop(key, None)
        self.ready.pop(key, None)
        self.busy.add(key)
        return key

    def done(self, key: ServiceKey) -> None:
        """End the look at a key."""
        self.busy.discard(key)
        if key in self.again:
            self.again.discard(key)
            self.add(key)

    def _in_turn(self) -> ServiceKey:
        """Take the first service of the namespace whose turn it is; then the others have theirs."""
        namespace = next(iter(self.turns))
        keys = self.turns.pop(namespace)
        key = next(iter(keys))
        del keys[key]
        if keys:
            self.turns[namespace] = keys
        return key

    def _is_swept(self) -> bool:
        """Choose from which lane the next one is."""
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
