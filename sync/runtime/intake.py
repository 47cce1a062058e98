"""Reads the objects of a watch: namespaces take turns, and of each object only the latest version is read.

Reading an object takes many times longer than receiving it. If one tenant changes thousands of objects, or
one of them fifty times a second, an event of another tenant waits until these are received, and one is read.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kube.client import read_at_any_depth
from kube.wire import Head, WatchEvent, read_head
from sync.observed.cached import unreadable
from sync.runtime.cache import Cache
from sync.runtime.clock import Pace
from sync.runtime.turns import Turns

HELD: Final = 2**25
"""Bytes of objects that wait to be read; if there are more, none are received."""


@dataclass(frozen=True, slots=True)
class News:
    """An event about an object that was received."""

    head: Head
    body: bytes
    """The JSON of the object."""
    is_deleted: bool


@dataclass(slots=True)
class Intake:
    """The events of one watch that wait to be read into a cache."""

    cache: Cache[Any]
    waiting: Turns[News] = field(default_factory=Turns)
    held: int = 0
    """The bytes of their objects."""
    lists: int = 0
    """Lists that came since the start. An event received before the last one is not stored."""
    filled: asyncio.Event = field(default_factory=asyncio.Event)
    emptied: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, event: WatchEvent) -> str:
        """Receive an event, and return the version to watch from next.

        Raises ValueError if it has no version, or its object no name.
        """
        body = bytes(event.object)
        head = await read_at_any_depth(read_head, body)
        if event.type != "BOOKMARK":
            if not head.metadata.name:
                raise ValueError("the object has no name")
            while self.held > HELD:
                self.emptied.clear()
                await self.emptied.wait()
            news = News(head, body, event.type == "DELETED")
            before = self.waiting.put((head.metadata.namespace, head.metadata.name), news)
            self.held += len(body) - (len(before.body) if before else 0)
            self.filled.set()
        return head.metadata.version

    def clear(self) -> None:
        """Drop what waits: a list came that is newer."""
        self.lists += 1
        self.waiting.clear()
        self.held = 0
        self.emptied.set()

    async def run(self) -> None:
        """Read what was received, until cancelled."""
        pace = Pace()
        while True:
            if found := self.waiting.take():
                self.held -= len(found[1].body)
                self.emptied.set()
                await self._read(found[1])
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
        since = self.lists
        try:
            obj = await read_at_any_depth(self.cache.kind.read, news.body)
        except ValueError as error:
            obj = error
        if self.lists != since:
            return  # the object may be deleted: a list came while it was read
        if isinstance(obj, ValueError):
            self.cache.put(unreadable(metadata, obj))
        else:
            self.cache.take(obj)
