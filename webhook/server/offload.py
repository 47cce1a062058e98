"""Answer expensive admission requests in a second process, so that no tenant waits for another one.

The webhook's own process answers one request after the other. A request is expensive if its body is large, or
if an earlier request of the same namespace took long within the last minute. Expensive requests wait in one
queue per namespace, and the namespaces take turns (docs/adr/0016).
"""

import asyncio
import os
import pickle
import re
import struct
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from webhook.review import AdmissionAnswer

LARGE: Final = 256 * 1024
"""Bytes of a body above which parsing alone takes milliseconds."""
EXPENSIVE_SECONDS: Final = 0.01
"""CPU seconds of one request; an ordinary one takes a twentieth of that."""
REMEMBERED_SECONDS: Final = 60.0
"""How long the requests of a namespace count as expensive after one was."""
NAMESPACES: Final = 1024
"""The number of expensive namespaces that are remembered."""
QUEUED: Final = 64
"""The number of requests of one namespace that may wait."""
QUEUED_BYTES: Final = 64 * 2**20
"""The size of all waiting bodies."""
SECONDS: Final = 10.0
"""A request that takes longer is ended, with the process."""
START_SECONDS: Final = 60.0
"""How long the process may take to start; on a throttled processor, imports alone take many seconds."""
_LENGTH: Final = struct.Struct(">I")
_CHUNK: Final = 64 * 1024
_NAMESPACE: Final = re.compile(rb'"namespace":"([^"\\]{1,63})"')


class FullError(Exception):
    """Too many requests, or too many bytes, are waiting."""


class LostError(Exception):
    """The process ended before it answered."""


@dataclass(frozen=True, slots=True)
class OffloadAnswer:
    """The answer of the second process, as `webhook.server.worker` describes it.

    The outcome `late` means that the process was not asked, since the caller's deadline had passed.
    """

    outcome: str
    content: bytes


@dataclass(slots=True)
class _Waiting:
    path: str
    body: bytes
    until: float
    """The caller's deadline, on the clock of `monotonic`."""
    done: asyncio.Future[OffloadAnswer]


@dataclass(slots=True)
class Offload:
    """The queues, and the process behind them, which starts with the first expensive request."""

    answers: Mapping[str, Callable[[bytes], AdmissionAnswer]]
    expensive: dict[bytes, float] = field(default_factory=dict)
    """Until when the requests of a namespace count as expensive, the oldest entry first."""
    queues: dict[bytes, deque[_Waiting]] = field(default_factory=dict)
    """The waiting requests by namespace; the namespace whose turn is next is first."""
    waiting_bytes: int = 0
    process: asyncio.subprocess.Process | None = None
    task: asyncio.Task[None] | None = None

    def takes(self, body: bytes) -> bool:
        """Return whether a request is expensive."""
        if len(body) > LARGE:
            return True
        return bool(self.expensive) and self.expensive.get(namespace(body), 0.0) > monotonic()

    def note(self, body: bytes, seconds: float) -> None:
        """Remember the namespace of a request that took long."""
        if seconds < EXPENSIVE_SECONDS:
            return
        name = namespace(body)
        self.expensive.pop(name, None)
        self.expensive[name] = monotonic() + REMEMBERED_SECONDS
        if len(self.expensive) > NAMESPACES:
            del self.expensive[next(iter(self.expensive))]

    async def review(self, path: str, body: bytes, until: float) -> OffloadAnswer:
        """Queue a request and wait for its answer. Raises `FullError` or `LostError`."""
        name = namespace(body)
        queue = self.queues.setdefault(name, deque())
        if len(queue) >= QUEUED or not self._make_space(queue, len(body)):
            if not queue:
                self.queues.pop(name, None)
            raise FullError
        waiting = _Waiting(path, body, until, asyncio.get_running_loop().create_future())
        queue.append(waiting)
        self.waiting_bytes += len(body)
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._work())
        return await waiting.done

    def _make_space(self, queue: deque[_Waiting], size: int) -> bool:
        """Evict requests until a body of `size` fits; return False if it would exceed its own share.

        The newest request of the namespace with the most waiting bytes is evicted first, as long as that
        namespace holds more than `queue` would: so no namespace locks the others out.
        """
        while self.waiting_bytes + size > QUEUED_BYTES:
            name, fullest = max(self.queues.items(), key=lambda one: _bytes(one[1]))
            if _bytes(fullest) <= _bytes(queue) + size:
                return False
            last = fullest.pop()
            self.waiting_bytes -= len(last.body)
            if not fullest:
                del self.queues[name]
            if not last.done.done():
                last.done.set_exception(FullError())
        return True

    async def close(self) -> None:
        """End the process."""
        if self.task is not None:
            self.task.cancel()
        await self._end()

    async def _work(self) -> None:
        """Answer the waiting requests, one namespace after the other, until none is left."""
        while self.queues:
            name, queue = next(iter(self.queues.items()))
            waiting = queue.popleft()
            del self.queues[name]
            if queue:
                self.queues[name] = queue
            self.waiting_bytes -= len(waiting.body)
            if waiting.done.done():  # its caller has left
                continue
            if monotonic() > waiting.until:
                waiting.done.set_result(OffloadAnswer("late", b""))
                continue
            try:
                answer = await self._answered(waiting)
            except (OSError, asyncio.IncompleteReadError):  # a TimeoutError is an OSError
                await self._end()
                if not waiting.done.done():
                    waiting.done.set_exception(LostError())
            else:
                if not waiting.done.done():
                    waiting.done.set_result(answer)

    async def _answered(self, waiting: _Waiting) -> OffloadAnswer:
        """Ask the process; ask a new one if the old one ended, which mostly happened before this request."""
        if self.process is not None:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                return await self._asked(self.process, waiting)
            await self._end()
        process = await self._started()
        if monotonic() > waiting.until:
            return OffloadAnswer("late", b"")
        return await self._asked(process, waiting)

    async def _asked(self, process: asyncio.subprocess.Process, waiting: _Waiting) -> OffloadAnswer:
        async with asyncio.timeout(SECONDS):
            await _send(process, waiting.path.encode() + b"\0", waiting.body)
            head, _, content = (await _receive(process)).partition(b"\0")
        seconds, _, outcome = head.partition(b" ")
        if self.expensive.get(namespace(waiting.body)):
            self.note(waiting.body, float(seconds))  # not the time that a busy node took
        return OffloadAnswer(outcome.decode(), content)

    async def _started(self) -> asyncio.subprocess.Process:
        """Start the process, and wait for its first frame: that it is ready.

        It imports what this one imports, whatever the working directory holds.
        """
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "webhook.server.worker"),
            stdin=pipe,
            stdout=pipe,
            start_new_session=True,
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


def _bytes(queue: deque[_Waiting]) -> int:
    return sum(len(waiting.body) for waiting in queue)


async def _send(process: asyncio.subprocess.Process, *parts: bytes) -> None:
    """Write one frame in chunks, so that other requests are answered between them."""
    stream = process.stdin
    if stream is None:
        raise BrokenPipeError
    stream.write(_LENGTH.pack(sum(map(len, parts))))
    for part in parts:
        for at in range(0, len(part), _CHUNK):
            stream.write(part[at : at + _CHUNK])
            await stream.drain()


async def _receive(process: asyncio.subprocess.Process) -> bytes:
    stream = process.stdout
    if stream is None:
        raise BrokenPipeError
    (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
    return await stream.readexactly(length)


def namespace(body: bytes) -> bytes:
    """Return the namespace of an admission request, which Go writes before the object; empty if absent."""
    found = _NAMESPACE.search(body, 0, 4096)
    return found[1] if found else b""
