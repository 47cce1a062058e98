"""Services that want a look: each once, none by two workers at a time, some later."""

import asyncio
from dataclasses import dataclass, field

from intent.service.member import ServiceKey
from sync.backoff import Backoff


@dataclass(slots=True)
class Queue:
    """Keys in the order in which they came (client-go `util/workqueue`, without its classes)."""

    ready: dict[ServiceKey, None] = field(default_factory=dict)
    busy: set[ServiceKey] = field(default_factory=set)
    again: set[ServiceKey] = field(default_factory=set)
    later: dict[ServiceKey, asyncio.TimerHandle] = field(default_factory=dict)
    failures: dict[ServiceKey, Backoff] = field(default_factory=dict)
    filled: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, key: ServiceKey) -> None:
        """Want a look now; while one is on its way, want another after it."""
        if key in self.busy:
            self.again.add(key)
        else:
            self.ready[key] = None
            self.filled.set()

    def look_later(self, key: ServiceKey, seconds: float | None) -> None:
        """Want a look in so many seconds, or, with None, only if something changes."""
        if earlier := self.later.pop(key, None):
            earlier.cancel()
        if seconds is not None:
            self.later[key] = asyncio.get_running_loop().call_later(seconds, self._due, key)

    def retry(self, key: ServiceKey, at_least: float) -> None:
        """Want another look after a failure, later each time."""
        self.look_later(key, self.failures.setdefault(key, Backoff()).next(at_least))

    async def get(self) -> ServiceKey:
        """Wait for the next key; `done` must follow."""
        while not self.ready:
            self.filled.clear()
            await self.filled.wait()
        key = next(iter(self.ready))
        del self.ready[key]
        self.busy.add(key)
        return key

    def done(self, key: ServiceKey) -> None:
        """End the look at a key."""
        self.busy.discard(key)
        if key in self.again:
            self.again.discard(key)
            self.add(key)

    def _due(self, key: ServiceKey) -> None:
        self.later.pop(key, None)
        self.add(key)
