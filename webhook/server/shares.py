"""Divide what is limited among the callers: by peer, and within a peer by namespace.

Known callers come first, and a part of each limit is kept for them. Among the others no peer gets more than
another one while that waits, whatever it says of namespaces.
"""

import asyncio
from collections.abc import Callable, Mapping
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
        for key in [key for key, one in self.parts.items() if not one.size and one.turns <= self.clock]:
            del self.parts[key]
        waiting = [one for one in self.parts.items() if one[1].size]
        key, part = min(waiting, key=lambda one: (not _is_known(one[0]), one[1].turns, one[1].served))
        part.served = True
        if not _is_known(key):
            part.turns += 1
            self.clock = max(self.clock, part.turns)
        return key, part


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

    def add(self, peer: Peer, namespace: bytes, item: T, size: int = 1) -> None:
        """Add an item; first others leave until it fits. Raises `FullError`."""
        while not self.fits(peer, size):
            self.give_way(peer, namespace, size)
        part = self.root
        path: tuple[object, ...] = (peer, namespace, item)
        for key in path:
            part.size += size
            part = part.parts.setdefault(key, _Part(part.clock))
        part.size = size

    def __len__(self) -> int:
        """Return the size of all items."""
        return self.root.size

    def remove(self, peer: Peer, namespace: bytes, item: T) -> bool:
        """Remove an item; return False if it has left before."""
        whole = [self.root]
        path: tuple[object, ...] = (peer, namespace, item)
        for key in path:
            if key not in whole[-1].parts:
                return False
            whole.append(whole[-1].parts[key])
        size = whole[-1].size
        for part in whole:
            part.size -= size
        for part, key in zip(whole, path, strict=False):
            if not part.parts[key].size:
                del part.parts[key]
                break
        return True

    def pop(self) -> tuple[Peer, bytes, T] | None:
        """Remove the item whose turn it is; of one namespace they leave in the order in which they came."""
        if not self.root.size:
            return None
        peer, part = self.root.next()
        namespace, inner = part.next()
        item = next(iter(inner.parts))
        self.remove(peer, namespace, item)
        return peer, namespace, item

    def charge(self, peer: Peer, namespace: bytes, turns: float) -> None:
        """Count more turns against a part, even if none of it waits: its last one took as long as these."""
        part = self.root
        for key in (peer, namespace):
            part = part.parts.setdefault(key, _Part(part.clock))
            part.turns += turns

    def fits(self, peer: Peer, size: int = 1) -> bool:
        """Return whether an item can be added without another one leaving."""
        known = sum(part.size for one, part in self.root.parts.items() if one.is_known)
        others = self.root.size - known
        return self.root.size + size <= self.limit and (peer.is_known or others + size <= self.others)

    def give_way(self, peer: Peer | None = None, namespace: bytes = b"", size: int = 0) -> None:
        """Have one item leave, for a new one: of the peer that would hold most, and of such a namespace.

        None of a known caller does for another caller. Raises `FullError` if it would be the new one.
        """
        known = {one: part for one, part in self.root.parts.items() if part.size and one.is_known}
        others = {one: part for one, part in self.root.parts.items() if part.size and not one.is_known}
        parts = others if others or not (peer is None or peer.is_known) else known
        fullest = _fullest(parts, peer, size)
        inner = _fullest(parts[fullest].parts, namespace if fullest is peer else None, size)
        items = parts[fullest].parts[inner].parts
        if self.used is None and (fullest, inner) == (peer, namespace):
            raise FullError
        item = min(items, key=self.used) if self.used else next(reversed(items))
        self.remove(fullest, inner, item)
        self.leave(item)


def _fullest(parts: Mapping[Any, _Part], new: Any, size: int) -> Any:
    """Return the part that holds most, with `size` more of the new one. Raises `FullError` if that has none.

    Of equal ones it is the new one, if that has any.
    """
    parts = {one: part for one, part in parts.items() if part.size}
    added = (parts[new].size if new in parts else 0) + size if new is not None else -1
    fullest = max(parts, key=lambda one: parts[one].size, default=None)
    if fullest is None or added > parts[fullest].size or (new in parts and added == parts[fullest].size):
        fullest = new
    if fullest not in parts:
        raise FullError
    return fullest


def expire(timer: asyncio.Timeout) -> None:
    """End what waits within a time limit, since it must leave."""
    if not timer.expired():
        timer.reschedule(0.0)


def _keep(_turn: object) -> None:
    """Do nothing: without a limit, none leaves."""


class LoopTurns:
    """The time of an event loop: callers that wait for it take turns, a piece of work each.

    While nobody waits, work begins at once. Otherwise the event loop first reads what has arrived, so that a
    new caller waits for the piece of work that has begun, however many of another peer wait.
    """

    def __init__(self, pause: float = 0.0) -> None:
        """Leave at least `pause` seconds between two pieces of work."""
        self.waiting: Shares[asyncio.Future[None]] = Shares(float("inf"), 0.0, _keep)
        self.is_busy, self.pause, self.owed = False, pause, 0.0

    async def wait(self, peer: Peer, namespace: bytes = b"") -> None:
        """Return when it is the turn of this caller."""
        loop = asyncio.get_running_loop()
        if not self.is_busy:
            self.is_busy = True
            self._later(0)
            return
        turn: asyncio.Future[None] = loop.create_future()
        self.waiting.add(peer, namespace, turn)
        try:
            await turn
        finally:
            self.waiting.remove(peer, namespace, turn)

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
        elif found := self.waiting.pop():
            if not found[2].done():
                found[2].set_result(None)
            self._later(RESTS)
        else:
            self.is_busy = False
