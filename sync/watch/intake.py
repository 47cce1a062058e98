"""Reads the objects of a watch: namespaces take turns, and of each object only the latest version is read.

Reading an object takes many times longer than receiving it. If one tenant changes thousands of objects, or
one of them fifty times a second, an event of another tenant waits until these are received, and one is read.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kube.pool import BytePool
from kube.wire import Head, WatchEvent, read_at_any_depth, read_head, read_object
from sync.clock import Pace
from sync.observed.cached import UnreadableObject, unreadable
from sync.turns import Turns
from sync.watch.cache import Cache


@dataclass(frozen=True, slots=True)
class News:
    """An event about an object that was received."""

    head: Head
    body: bytes
    """The JSON of the object; empty if it is not read."""
    is_deleted: bool
    oversized: UnreadableObject | None = None
    """The row of an object whose JSON is too long to be read; its body is not kept."""


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
        head = await read_at_any_depth(read_head, body)
        if event.type != "BOOKMARK":
            if not head.metadata.name:
                raise ValueError("the object has no name")
            is_deleted, namespace = event.type == "DELETED", head.metadata.namespace
            await self.pool.room(namespace)
            size = len(body)
            oversized = self.cache.oversized(head, size) if size > self.cache.kind.most else None
            news = News(head, b"" if is_deleted or oversized else body, is_deleted, oversized)
            before = self.waiting.put((namespace, head.metadata.name), news)
            self.pool.take(namespace, len(news.body) - (len(before.body) if before else 0))
            self.filled.set()
        return head.metadata.version

    def clear(self) -> None:
        """Drop what waits: a list came that is newer."""
        self.lists += 1
        while self._take():
            pass

    def _take(self) -> News | None:
        """Return the next event, if any waits."""
        found = self.waiting.take()
        if found is None:
            return None
        (namespace, _), news = found
        self.pool.take(namespace, -len(news.body))
        return news

    async def run(self) -> None:
        """Read what was received, until cancelled."""
        pace = Pace()
        while True:
            if news := self._take():
                await self._read(news)
                await pace.rest()
            else:
                self.filled.clear()
                await self.filled.wait()

    async def _read(self, news: News) -> None:
        """Store an object in the cache, or remove it; one that cannot be parsed affects itself only."""
        metadata = msgspec.to_builtins(news.head)
        if news.is_deleted:
            self.cache.lose(metadata)
            return
        if news.oversized:
            self.cache.put(news.oversized)
            return
        since = self.lists
        try:
            obj = await read_at_any_depth(read_object, news.body)
        except ValueError as error:
            obj = error
        if self.lists != since:
            return  # the object may be deleted: a list came while it was read
        if isinstance(obj, ValueError):
            self.cache.put(unreadable(metadata, obj))
        else:
            self.cache.take(obj)
