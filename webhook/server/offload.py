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
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, cast

from webhook.review import AdmissionAnswer
from webhook.server.callers import Peer
from webhook.server.shares import FullError, Shares

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
_NAMESPACE: Final = re.compile(rb'"namespace":"([^"\\]{1,63})"')


@dataclass(slots=True, eq=False)
class _Waiting:
    path: str
    body: bytes
    done: asyncio.Future[AdmissionAnswer]


@dataclass(slots=True)
class Offload:
    """The requests that wait, and the process behind them, which starts with the first one."""

    answers: Mapping[str, Callable[[bytes], AdmissionAnswer]]
    reserved: float = 0.0
    """The part of the queue that is kept for known callers."""
    waiting: Shares[_Waiting] = field(init=False)
    surprised: float = 0.0
    """When the requests of unknown callers are forgotten that were unexpectedly expensive."""
    process: subprocess.Popen[bytes] | None = None
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

    async def review(self, path: str, peer: Peer, body: bytes) -> AdmissionAnswer:
        """Queue a request and wait for its answer. Raises `FullError`."""
        waiting = _Waiting(path, body, asyncio.get_running_loop().create_future())
        self.waiting.add(peer, namespace(body), waiting, max(len(body), LARGE))
        if self.task is None or self.task.done():
            self.start()
        try:
            return await waiting.done
        finally:
            self.waiting.remove(waiting)

    def start(self) -> None:
        """Start the process, also before the first request: where no caller is known, that goes there."""
        self.task = asyncio.create_task(self._work())

    async def close(self) -> None:
        """End the process."""
        if self.task is not None:
            self.task.cancel()
        await self._end()

    async def _work(self) -> None:
        """Start the process, and answer the waiting requests until none is left."""
        try:
            await self._running()
        except Exception:  # noqa: BLE001 - its first answer would be taken for that of a request
            await self._end()
        while waits := self.waiting.pop():
            peer, name, waiting = waits
            try:
                process = await self._running()
                if waiting.done.done():  # its caller has left, or its deadline has passed
                    continue
                async with asyncio.timeout(SECONDS):
                    sent = waiting.path, waiting.body
                    text, outcome, seconds = await asyncio.to_thread(_exchange, process, sent)
            except Exception:  # noqa: BLE001 - its next answer would be taken for that of another request
                await self._end()
                text, outcome, seconds = b"", "lost", SECONDS
            if not waiting.done.done():
                waiting.done.set_result(AdmissionAnswer(text, outcome))
            self.waiting.charge(peer, name, seconds / EXPENSIVE_SECONDS)
            learn(peer, name, seconds, is_large=len(waiting.body) > LARGE)

    async def _running(self) -> subprocess.Popen[bytes]:
        """Return the process; a new one, when it is ready, if there is none or it has ended."""
        if self.process is None or self.process.poll() is not None:
            await self._end()
            self.process = start()
            async with asyncio.timeout(START_SECONDS):
                await asyncio.to_thread(_exchange, self.process, dict(self.answers))
        return self.process

    async def _end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            await asyncio.to_thread(process.communicate)  # which closes its pipes


def start() -> subprocess.Popen[bytes]:
    """Start a second process. It imports what this one imports, whatever the working directory holds.

    No signal of a terminal ends it; of another session, Linux would ignore its niceness (`sched(7)`).
    """
    return subprocess.Popen(
        (sys.executable, "-P", "-m", "webhook.server.worker"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        process_group=0,
    )


def _exchange(process: subprocess.Popen[bytes], sent: Any) -> Any:
    """Send a pickle and read another one, in a thread, so that other requests are answered meanwhile.

    Raises OSError or EOFError as soon as the process ends, and anything if its answer is no pickle.
    """
    stdin, stdout = cast("Any", process.stdin), cast("Any", process.stdout)
    pickle.dump(sent, stdin)
    stdin.flush()
    return pickle.load(stdout)  # noqa: S301 - our own code wrote it


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


def namespace(body: bytes) -> bytes:
    """Return the namespace of an admission request, which Go writes before the object; empty if absent."""
    match = _NAMESPACE.search(body, 0, 4096)
    return match[1] if match else b""
