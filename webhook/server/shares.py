"""Divide what is limited among the callers: by peer, and within a peer by namespace.

Known callers come first, and a part of each limit is kept for them. Among the others no peer gets more than
another one while that waits, whatever it says of namespaces.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from webhook.server.callers import Peer

T = TypeVar("T")
RESTS: Final = 4
"""Iterations of the event loop, which read what has arrived, between two pieces of work that waited."""


class FullError(Exception):
    """The caller holds its share already."""


@dataclass(slots=True)
class _Part:
    """What the server, a peer, a namespace of it, or one item holds."""

    turns: float = 0.0
    """How often it was the turn of this part; a new one begins with the `clock` of the whole."""
    clock: float = 0.0
    """The most turns of a part after its turn, so that a part gains nothing by leaving and coming back."""
    served: bool = False
    """Whether it has had a turn: of two with as many, a new one is first."""
    size: int = 0
    parts: dict[Any, "_Part"] = field(default_factory=dict)

    def next(self) -> tuple[Any, "_Part"]:
        """Count one turn of the part whose turn it is, and forget those that hold nothing and owe nothing."""
        for key in [key for key, part in self.parts.items() if not part.size and part.turns <= self.clock]:
            del self.parts[key]
        waiting = [pair for pair in self.parts.items() if pair[1].size]
        key, part = min(waiting, key=lambda pair: (not _is_known(pair[0]), pair[1].turns, pair[1].served))
        part.served = True
        if not _is_known(key):
            part.turns += 1
            self.clock = max(self.clock, part.turns)
        return key, part

    def fullest(self, new: Any, size: int) -> "_Part":
        """Return the part that holds most, those of known callers last.

        Of equal ones it is that with the key `new`, if it has more than the new item of this size.
        """
        holding = [pair for pair in self.parts.items() if pair[1].size]
        return max(
            holding,
            key=lambda pair: (not _is_known(pair[0]), pair[1].size, pair[0] == new and pair[1].size > size),
        )[1]

    def hold(self, path: tuple[Any, ...], size: int) -> None:
        """Hold more, or less if `size` is negative, here and in the parts along a path."""
        self.size += size
        if path:
            part = self.parts.setdefault(path[0], _Part(self.clock))
            part.hold(path[1:], size)
            if not part.size:
                del self.parts[path[0]]


def _is_known(key: object) -> bool:
    return isinstance(key, Peer) and key.is_known


class Shares(Generic[T]):
    """Items by peer and namespace, of a limited size in all."""

    def __init__(
        self,
        limit: float,
        reserved: float,
        leave: Callable[[T], None],
        used: Callable[[T], float] | None = None,
    ) -> None:
        """Keep the part `reserved` of the limit for known callers.

        An item that must leave for another is passed to `leave`: of its namespace the one that was `used`
        longest ago, or without `used` the newest.
        """
        self.limit, self.others, self.leave, self.used = limit, limit * (1 - reserved), leave, used
        self.root = _Part()
        self.places: dict[T, tuple[Peer, bytes, int]] = {}

    def add(self, peer: Peer, namespace: bytes, item: T, size: int = 1) -> None:
        """Add an item; others leave until it fits. Raises `FullError` if it would have to leave itself."""
        self.places[item] = peer, namespace, size
        self.root.hold((peer, namespace, item), size)
        while not self._fits(peer):
            self.give_way(item)

    def __len__(self) -> int:
        """Return the size of all items."""
        return self.root.size

    def remove(self, item: T) -> bool:
        """Remove an item; return False if it has left before."""
        if item not in self.places:
            return False
        peer, namespace, size = self.places.pop(item)
        self.root.hold((peer, namespace, item), -size)
        return True

    def pop(self) -> tuple[Peer, bytes, T] | None:
        """Remove the item whose turn it is; of one namespace they leave in the order in which they came."""
        if not self.root.size:
            return None
        peer, part = self.root.next()
        namespace, inner = part.next()
        item = next(iter(inner.parts))
        self.remove(item)
        return peer, namespace, item

    def charge(self, peer: Peer, namespace: bytes, turns: float) -> None:
        """Count more turns against a part, even if none of it waits: its last one took as long as these."""
        part = self.root
        for key in (peer, namespace):
            part = part.parts.setdefault(key, _Part(part.clock))
            part.turns += turns

    def give_way(self, new: T | None = None) -> None:
        """Have one item leave: of the peer that holds most, and of such a namespace.

        None of a known caller does for the new one of another. Raises `FullError` if it is the new one.
        """
        peer, namespace, size = self.places[new] if new is not None else (None, b"", 0)
        items = self.root.fullest(peer, size).fullest(namespace, size).parts
        item = min(items, key=self.used) if self.used else next(reversed(items))
        self.remove(item)
        if item is new:
            raise FullError
        self.leave(item)

    def _fits(self, peer: Peer) -> bool:
        others = sum(part.size for key, part in self.root.parts.items() if not key.is_known)
        return self.root.size <= self.limit and (peer.is_known or others <= self.others)


@asynccontextmanager
async def held(
    waiting: Shares[asyncio.Timeout], peer: Peer, namespace: bytes, seconds: float, size: int = 1
) -> AsyncIterator[None]:
    """Hold a share for a time at most. Raises `FullError` if another item needs it, and TimeoutError."""
    timer = asyncio.timeout(seconds)
    try:
        async with timer:
            waiting.add(peer, namespace, timer, size)
            yield
    except TimeoutError:
        if waiting.remove(timer):
            raise
        raise FullError from None
    finally:
        waiting.remove(timer)


def expire(timer: asyncio.Timeout) -> None:
    """End what waits within a time limit, since it must leave."""
    if not timer.expired():
        timer.reschedule(0.0)


class LoopTurns:
    """The time of an event loop: callers that wait for it take turns, a piece of work each.

    While nobody waits, work begins at once. Otherwise the event loop first reads what has arrived, so that a
    new caller waits for the piece of work that has begun, however many of another peer wait.
    """

    def __init__(self, pause: float = 0.0) -> None:
        """Leave at least `pause` seconds between two pieces of work."""
        self.waiting: Shares[asyncio.Future[None]] = Shares(float("inf"), 0.0, lambda _turn: None)
        self.is_busy, self.pause, self.owed = False, pause, 0.0

    async def wait(self, peer: Peer, namespace: bytes = b"") -> None:
        """Return when it is the turn of this caller."""
        if not self.is_busy:
            self.is_busy = True
            self._later(0)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.add(peer, namespace, turn)
        try:
            await turn
        finally:
            self.waiting.remove(turn)

    def _later(self, rests: int) -> None:
        loop = asyncio.get_running_loop()
        pause, self.owed = self.pause + self.owed, 0.0
        if pause:
            loop.call_later(pause, self._next, 0)
        else:
            loop.call_soon(self._next, rests)

    def _next(self, rests: int) -> None:
        if rests or self.owed:
            self._later(rests - 1)
        elif waits := self.waiting.pop():
            if not waits[2].done():
                waits[2].set_result(None)
            self._later(RESTS)
        else:
            self.is_busy = False
