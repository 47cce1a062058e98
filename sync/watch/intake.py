"""Reads the objects of a watch: namespaces take turns, and of each object only the latest version is read.

Reading an object takes many times longer than receiving it. If one tenant changes thousands of objects, or
one of them fifty times a second, an event of another tenant waits until these are received, and one is read.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kube.pool import BytePool
from kube.wire import WatchEvent, read_at_any_depth, read_head
from sync.clock import Pace
from sync.observed.cached import resource_version
from sync.queue import Turns
from sync.watch.cache import Cache, NamespacedName


class News(NamedTuple):
    """An event about an object that was received."""

    version: int
    body: bytes
    """The JSON of the object; empty if it was deleted."""


@dataclass(slots=True)
class Intake:
    """The events of one watch that wait to be read into a cache."""

    cache: Cache[Any]
    pool: BytePool
    """The memory for the objects; while their namespace has too much of it, none are received."""
    waiting: Turns[News] = field(default_factory=Turns)
    lists: int = 0
    """Lists that came since the start. An event received before the last one is not stored."""
    filled: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, event: WatchEvent) -> str:
        """Receive an event, and return the version to watch from next.

        Raises ValueError if it has no version, or its object no name.
        """
        body = bytes(event.object)
        metadata = (await read_at_any_depth(read_head, body)).metadata
        if event.type != "BOOKMARK":
            if not metadata.name:
                raise ValueError("the object has no name")
            await self.pool.room(metadata.namespace)
            version = resource_version({"resourceVersion": metadata.version})
            news = News(version, b"" if event.type == "DELETED" else body)
            before = self.waiting.put((metadata.namespace, metadata.name), news)
            self.pool.take(metadata.namespace, len(news.body) - (len(before.body) if before else 0))
            self.filled.set()
        return metadata.version

    def clear(self) -> None:
        """Drop what waits: a list came that is newer."""
        self.lists += 1
        while self._take():
            pass

    def _take(self) -> tuple[NamespacedName, News] | None:
        """Return the next object with its event, if any waits."""
        if taken := self.waiting.take():
            (namespace, _), news = taken
            self.pool.take(namespace, -len(news.body))
        return taken

    async def run(self) -> None:
        """Read what was received, until cancelled."""
        pace = Pace()
        while True:
            if taken := self._take():
                await self._read(*taken)
                await pace.rest()
            else:
                self.filled.clear()
                await self.filled.wait()

    async def _read(self, name: NamespacedName, news: News) -> None:
        """Store an object in the cache, or remove it."""
        if not news.body:
            self.cache.lose(name, news.version)
            return
        since = self.lists
        row = await self.cache.read(news.body)
        if self.lists != since:
            return  # the object may be deleted: a list came while it was read
        if row is None:
            self.cache.drop(name)
        else:
            self.cache.put(row)
