"""Answer expensive admission requests in a second process, so that no tenant waits for another one.

The webhook's own process answers one request after the other. A request is expensive if its body is large, or
if an earlier request of the same caller and namespace took long within the last minute. Of a caller that is
not known every namespace counts as expensive until a request of it was cheap once: such a caller may name any
namespace. Expensive requests wait in `webhook.server.shares` (docs/adr/0016, docs/adr/0050).
"""

import asyncio
import os
import pickle
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from webhook.review import AdmissionAnswer
from webhook.server.callers import Peer
from webhook.server.shares import FullError, Shares
from webhook.server.worker import LENGTH, Answered

LARGE: Final = 256 * 1024
"""Bytes of a body above which parsing alone takes milliseconds."""
EXPENSIVE_SECONDS: Final = 0.01
"""CPU seconds of one request; an ordinary one takes a twentieth of that."""
REMEMBERED_SECONDS: Final = 60.0
"""How long the requests of a namespace count as expensive after one was."""
CHEAP: Final = 0.0
NAMESPACES: Final = 512
"""The number of namespaces that are remembered of one caller."""
SURPRISES: Final = 0.01
"""The part of the time that requests of unknown callers may take here that turn out to be expensive."""
SURPRISED_SECONDS: Final = 30.0
"""The time over which this part is taken."""
QUEUED_BYTES: Final = 64 * 2**20
"""The size of all waiting bodies; each counts as `LARGE` at least, so that there are 256."""
SECONDS: Final = 10.0
"""A request that takes longer is ended, with the process, whatever kept that from its processor."""
START_SECONDS: Final = 60.0
"""How long the process may take to start; on a throttled processor, imports alone take many seconds."""
_CHUNK: Final = 64 * 1024
_NAMESPACE: Final = re.compile(rb'"namespace":"([^"\\]{1,63})"')


class LostError(Exception):
    """The process ended before it answered."""


@dataclass(slots=True, eq=False)
class _Waiting:
    path: str
    body: bytes
    until: float
    """The caller's deadline, on the clock of `monotonic`."""
    done: asyncio.Future[Answered]


@dataclass(slots=True)
class Offload:
    """The requests that wait, and the process behind them, which starts with the first one."""

    answers: Mapping[str, Callable[[bytes], AdmissionAnswer]]
    reserved: float = 0.0
    """The part of the queue that is kept for known callers."""
    waiting: Shares[_Waiting] = field(init=False)
    surprised: float = 0.0
    """When the requests of unknown callers are forgotten that were unexpectedly expensive."""
    process: asyncio.subprocess.Process | None = None
    task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        """Divide the queue. From a namespace that fills it the newest request leaves."""
        self.waiting = Shares(QUEUED_BYTES, self.reserved, _refuse)

    def takes(self, peer: Peer, body: bytes) -> bool:
        """Return whether a request is expensive, or may be."""
        if len(body) > LARGE:
            return True
        until = peer.pairs.get(namespace(body)) if peer.pairs else None
        if peer.is_known:
            return until is not None and until > monotonic()
        return until != CHEAP

    def note(self, peer: Peer, body: bytes, seconds: float) -> None:
        """Remember the namespace of a request that took long here, unexpectedly.

        An unknown caller with which such requests of all of them exceed their part counts as new, and stays
        so until no more than the part is left of those up to its own: each has one, however many they are.
        """
        if seconds < EXPENSIVE_SECONDS:
            return
        now = monotonic()
        if not peer.is_known:
            self.surprised = max(self.surprised, now) + seconds / SURPRISES
            peer.new_until = self.surprised - SURPRISED_SECONDS
            if peer.new_until > now:
                peer.pairs.clear()
        _remember(peer, namespace(body), now + REMEMBERED_SECONDS)
        held = max(REMEMBERED_SECONDS, peer.new_until - now)  # also if it connects anew
        asyncio.get_running_loop().call_later(held, _forget, peer)

    async def review(self, path: str, peer: Peer, body: bytes, until: float) -> Answered:
        """Queue a request and wait for its answer. Raises `FullError` or `LostError`."""
        waiting = _Waiting(path, body, until, asyncio.get_running_loop().create_future())
        self.waiting.add(peer, namespace(body), waiting, max(len(body), LARGE))
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._work())
        try:
            return await waiting.done
        finally:
            self.waiting.remove(peer, namespace(body), waiting)

    def start(self) -> None:
        """Start the process before the first request: where no caller is known, that goes there."""
        self.task = asyncio.create_task(self._work())

    async def close(self) -> None:
        """End the process."""
        if self.task is not None:
            self.task.cancel()
        await self._end()

    async def _work(self) -> None:
        """Start the process, and answer the waiting requests until none is left."""
        if self.process is None:
            try:
                await self._started()
            except (OSError, asyncio.IncompleteReadError):
                await self._end()  # its first frame would be taken for an answer
        while found := self.waiting.pop():
            peer, name, waiting = found
            if waiting.done.done():  # its caller has left
                continue
            if monotonic() > waiting.until:
                waiting.done.set_result(Answered("late"))
                continue
            try:
                answer, seconds = await self._answered(waiting)
            except (OSError, asyncio.IncompleteReadError):  # a TimeoutError is an OSError
                await self._end()
                seconds = SECONDS
                if not waiting.done.done():
                    waiting.done.set_exception(LostError())
            else:
                if not waiting.done.done():
                    waiting.done.set_result(answer)
            self.waiting.charge(peer, name, seconds / EXPENSIVE_SECONDS)
            learn(peer, name, seconds, is_large=len(waiting.body) > LARGE)

    async def _answered(self, waiting: _Waiting) -> tuple[Answered, float]:
        """Ask the process, or a new one if that has ended; return the CPU seconds too."""
        process = self.process
        if process is None or process.returncode is not None:
            await self._end()
            process = await self._started()
            if monotonic() > waiting.until:
                return Answered("late"), EXPENSIVE_SECONDS
        async with asyncio.timeout(SECONDS):
            await _send(process, waiting.path.encode() + b"\0", waiting.body)
            head, _, content = (await _receive(process)).partition(b"\0")
        seconds, _, outcome = head.partition(b" ")
        return Answered(outcome.decode(), content), float(seconds)  # not the time that a busy node took

    async def _started(self) -> asyncio.subprocess.Process:
        """Start the process, and wait for its first frame: that it is ready.

        It imports what this one imports, whatever the working directory holds.
        """
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "webhook.server.worker"),
            stdin=pipe,
            stdout=pipe,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        async with asyncio.timeout(START_SECONDS):
            await _send(self.process, pickle.dumps(dict(self.answers)))
            await _receive(self.process)
        return self.process

    async def _end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _refuse(waiting: _Waiting) -> None:
    """Refuse a request that waits, for another one."""
    if not waiting.done.done():
        waiting.done.set_exception(FullError())


def learn(peer: Peer, name: bytes, seconds: float, *, is_large: bool) -> None:
    """Remember what a request took in the second process; of a large one only that it is still expensive."""
    until = peer.pairs.get(name)
    if peer.new_until > monotonic() or (is_large and until is None):
        return
    if seconds >= EXPENSIVE_SECONDS:
        _remember(peer, name, monotonic() + REMEMBERED_SECONDS)
    elif until is None or until < monotonic():
        _remember(peer, name, CHEAP)


def _forget(_peer: Peer) -> None:
    """Refer to a caller no longer."""


def _remember(peer: Peer, name: bytes, until: float) -> None:
    peer.pairs.pop(name, None)
    peer.pairs[name] = until
    if len(peer.pairs) > NAMESPACES:
        del peer.pairs[next(iter(peer.pairs))]


async def _send(process: asyncio.subprocess.Process, *parts: bytes) -> None:
    """Write one frame in chunks, so that other requests are answered between them."""
    stream = process.stdin
    if stream is None:
        raise BrokenPipeError
    stream.write(LENGTH.pack(sum(map(len, parts))))
    for part in parts:
        for at in range(0, len(part), _CHUNK):
            stream.write(part[at : at + _CHUNK])
            await stream.drain()


async def _receive(process: asyncio.subprocess.Process) -> bytes:
    stream = process.stdout
    if stream is None:
        raise BrokenPipeError
    (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
    return await stream.readexactly(length)


def namespace(body: bytes) -> bytes:
    """Return the namespace of an admission request, which Go writes before the object; empty if absent."""
    found = _NAMESPACE.search(body, 0, 4096)
    return found[1] if found else b""
