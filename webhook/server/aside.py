"""Dear reviews are answered in a process of their own, so that no tenant waits for another one's.

The webhook's own process answers one review after the other. A review is dear if its body is large, or if a
review of the same namespace took long a short while ago. Dear ones wait in a queue, one for each namespace,
and the namespaces take turns (docs/adr/0016).
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
"""Bytes of a body: to read a larger one takes milliseconds already."""
DEAR_SECONDS: Final = 0.01
"""CPU of one review: twenty times that of an ordinary one."""
REMEMBERED_SECONDS: Final = 60.0
"""For so long the reviews of a namespace are dear after one was."""
NAMESPACES: Final = 1024
"""So many dear namespaces are remembered."""
QUEUED: Final = 64
"""Reviews of one namespace that may wait."""
QUEUED_BYTES: Final = 64 * 2**20
"""Bytes of all bodies that wait."""
SECONDS: Final = 10.0
"""A review that takes longer is ended, with the process."""
_LENGTH: Final = struct.Struct(">I")
_CHUNK: Final = 64 * 1024
_NAMESPACE: Final = re.compile(rb'"namespace":"([^"\\]{1,63})"')


class FullError(Exception):
    """Too much waits already."""


class LostError(Exception):
    """The process ended before it answered."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the process answered: an outcome, `malformed` or `bug`, and the content that goes with it.

    `late` says that it was not asked, as the caller waits no longer.
    """

    word: str
    content: bytes


@dataclass(slots=True)
class _Waiting:
    path: str
    body: bytes
    until: float
    """When its caller gives up, on the clock of `monotonic`."""
    done: asyncio.Future[Said]


@dataclass(slots=True)
class Aside:
    """The queue, and the process behind it. It starts when the first review comes."""

    answers: Mapping[str, Callable[[bytes], AdmissionAnswer]]
    dear: dict[bytes, float] = field(default_factory=dict)
    """Until when the reviews of a namespace are dear, the one marked first at the front."""
    queues: dict[bytes, deque[_Waiting]] = field(default_factory=dict)
    """What waits, by namespace; the one whose turn it is at the front."""
    waiting_bytes: int = 0
    process: asyncio.subprocess.Process | None = None
    task: asyncio.Task[None] | None = None

    def takes(self, body: bytes) -> bool:
        """Whether a review is to be answered aside."""
        return len(body) > LARGE or (bool(self.dear) and self.dear.get(namespace(body), 0.0) > monotonic())

    def note(self, body: bytes, seconds: float) -> None:
        """Remember the namespace of a review that took long."""
        if seconds < DEAR_SECONDS:
            return
        name = namespace(body)
        self.dear.pop(name, None)
        self.dear[name] = monotonic() + REMEMBERED_SECONDS
        if len(self.dear) > NAMESPACES:
            del self.dear[next(iter(self.dear))]

    async def review(self, path: str, body: bytes, until: float) -> Said:
        """Have a review answered when its turn comes. Raises `FullError` or `LostError`."""
        name = namespace(body)
        queue = self.queues.setdefault(name, deque())
        if len(queue) >= QUEUED or not self._has_room(queue, len(body)):
            if not queue:
                self.queues.pop(name, None)
            raise FullError
        waiting = _Waiting(path, body, until, asyncio.get_running_loop().create_future())
        queue.append(waiting)
        self.waiting_bytes += len(body)
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._work())
        return await waiting.done

    def _has_room(self, queue: deque[_Waiting], size: int) -> bool:
        """Make room for a body of a namespace with this queue, as long as another one holds more bytes.

        Of that one the review is sent away that came last: so no namespace keeps the others out.
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
        """Answer what waits; the namespaces take turns."""
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
                waiting.done.set_result(Said("late", b""))
                continue
            try:
                async with asyncio.timeout(SECONDS):
                    said = await self._answered(waiting)
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                await self._end()
                if not waiting.done.done():
                    waiting.done.set_exception(LostError())
            else:
                if not waiting.done.done():
                    waiting.done.set_result(said)

    async def _answered(self, waiting: _Waiting) -> Said:
        """Ask; and once more if a process that was there already ended: mostly that was before."""
        if self.process is not None:
            with suppress(OSError, asyncio.IncompleteReadError):
                return await self._asked(waiting)
            await self._end()
        return await self._asked(waiting)

    async def _asked(self, waiting: _Waiting) -> Said:
        since = monotonic()
        process = self.process or await self._started()
        await _send(process, waiting.path.encode() + b"\0", waiting.body)
        word, _, content = (await _receive(process)).partition(b"\0")
        if self.dear.get(namespace(waiting.body)):
            self.note(waiting.body, monotonic() - since)
        return Said(word.decode(), content)

    async def _started(self) -> asyncio.subprocess.Process:
        """Start the process. It imports what this one imports, whatever the working directory holds."""
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "webhook.server.worker"),
            stdin=pipe,
            stdout=pipe,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        await _send(self.process, pickle.dumps(dict(self.answers)))
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
    """Write a frame in pieces, so that others are answered between them."""
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
    """Find the namespace of a review; the API server writes it before the object. Empty if there is none."""
    found = _NAMESPACE.search(body, 0, 4096)
    return found[1] if found else b""
