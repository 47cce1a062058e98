"""Accept connections: how many, from which callers, and for how long. Knows HTTP, not admission.

The sockets are accepted here and not by `loop.create_server` or aiohttp's runner, so that a connection counts
from the moment it is accepted: one that never completes its TLS handshake takes as much memory as any other.
"""

import asyncio
import errno
import random
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Final, Literal

from aiohttp import web

from webhook.server.callers import Callers, Peer
from webhook.server.connection import Connection, Tls
from webhook.server.shares import FullError, LoopTurns, Shares

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Cut = Literal["handshake", "headers", "crowded"]
CUTS: Final[tuple[Cut, ...]] = (
    "handshake",  # it failed, or took too long
    "headers",  # they took too long
    "crowded",  # too many connections
)

ACCEPTED: Final = 2
"""Connections that are accepted before the event loop reads what has arrived."""
PAUSE: Final = 0.1
"""Seconds until it accepts again, where files are missing."""
UNREAD: Final = 64 * 1024
"""Half of the bytes that the system keeps of a connection until they are read. Else it grows to 6 MiB each,
which count against the memory of the container."""
_TOO_MANY_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes, counts and times. The table in `docs/webhook.md` is generated from this class."""

    body_bytes: int = 7 * 2**20
    """Two objects of 3 MiB and the rest of a review, as controller-runtime allows."""
    reviews: int = 64
    """Bodies that may be arriving at once; another one evicts the one that has waited longest."""
    connections: int = 512
    """On each port; an API server keeps at most 25 idle ones, and a process may open 1024 files."""
    pending: int = 128
    """Connections of one address whose handshake is not complete; 4 of them at once make theirs."""
    handshake_seconds: float = 10.0
    """From connecting to the end of the TLS handshake."""
    header_seconds: float = 5.0
    """From the first byte of a request to the end of its headers."""
    body_seconds: float = 10.0
    """From the end of the headers to the end of the body."""
    linger_seconds: float = 1.0
    """How long to read and discard after a refusal, so that a client that is still sending receives it."""
    keepalive_seconds: float = 120.0
    """How long an idle connection is kept; API servers keep it for 90 s, and must close it first."""
    connection_seconds: float = 300.0
    """After one to two times this, an answer asks its caller to connect anew, which spreads the load."""
    drain_seconds: float = 10.0
    """How long to keep answering after SIGTERM, until every node has removed this endpoint."""
    finish_seconds: float = 20.0
    """How long to wait after that for requests that have begun."""


def _ignore(_reason: Cut) -> None:
    return


@dataclass(slots=True)
class ConnectionTracker:
    """The open connections of one socket."""

    server: web.Server
    limits: Limits
    tls: ssl.SSLContext | None
    count: Callable[[Cut], None]
    """Counts a connection that was cut, with the reason."""
    callers: Callers
    turns: LoopTurns
    connections: dict[Connection, asyncio.Task[None]] = field(default_factory=dict)
    """Every accepted connection, with the task of its TLS handshake."""
    shares: Shares[Connection] = field(init=False)
    """The same by their callers. From one that holds too many, that is cut which was used longest ago."""
    filled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while there may be connections."""

    def __post_init__(self) -> None:
        """Divide the limit."""
        self.shares = Shares(self.limits.connections, self.callers.reserved, self.crowd, lambda one: one.last)

    def crowd(self, connection: Connection) -> None:
        """Cut a connection for another one."""
        _cut(self, connection, "crowded")

    def made(self, connection: Connection) -> None:
        """Count a connection for the caller that its certificate names, now that it is verified."""
        certificate = connection.transport.get_extra_info("peercert") if connection.transport else None
        peer = self.callers.verified(connection.address, certificate)
        if peer is not connection.peer and self.shares.remove(connection.peer, b"", connection):
            connection.peer = peer
            self.shares.add(peer, b"", connection)

    def lost(self, connection: Connection) -> None:
        """Forget a connection."""
        self.connections.pop(connection, None)
        self.shares.remove(connection.peer, b"", connection)


@asynccontextmanager
async def listening(  # noqa: PLR0913 - what one socket has of its own
    handler: Handler,
    sock: socket.socket,
    limits: Limits,
    tls: ssl.SSLContext | None = None,
    count: Callable[[Cut], None] = _ignore,
    *,
    callers: Callers,
    turns: LoopTurns,
) -> AsyncIterator[ConnectionTracker]:
    """Accept connections until the context ends; then finish the requests that have begun."""
    loop = asyncio.get_running_loop()
    tracker = ConnectionTracker(web.Server(handler), limits, tls, count, callers, turns)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD)
    sock.listen(1024)
    _accept_from_now(tracker, sock)
    sweeper = loop.create_task(_sweep(tracker))
    try:
        yield tracker
    finally:
        loop.remove_reader(sock)
        sock.close()
        await _finish(tracker)
        sweeper.cancel()


def _accept_from_now(tracker: ConnectionTracker, sock: socket.socket) -> None:
    if sock.fileno() >= 0:  # it may have been closed meanwhile
        asyncio.get_running_loop().add_reader(sock, _accept_all, tracker, sock)


def _accept_all(tracker: ConnectionTracker, sock: socket.socket) -> None:
    """Accept what waits, since the system's queue knows no callers; some of it, to read what has arrived.

    Where files are missing and no connection of this socket can be cut, it tries again after a pause.
    """
    for _ in range(ACCEPTED):
        try:
            accepted, (address, *_rest) = sock.accept()
        except OSError as error:  # or the caller has left
            if error.errno in _TOO_MANY_FILES:
                if tracker.connections:
                    tracker.shares.give_way()
                else:
                    loop = asyncio.get_running_loop()
                    loop.remove_reader(sock)
                    loop.call_later(PAUSE, _accept_from_now, tracker, sock)
            return
        peer = tracker.callers.accepted(address)
        if peer.pending >= tracker.limits.pending and not peer.is_known:
            tracker.count("crowded")
            accepted.close()
        else:
            _accept(tracker, accepted, address, peer)


def _accept(tracker: ConnectionTracker, accepted: socket.socket, address: str, peer: Peer) -> None:
    """Take a connection and start its handshake; others are cut if there are too many."""
    accepted.setblocking(False)
    age = tracker.limits.connection_seconds * random.uniform(1, 2)  # noqa: S311 - to spread, not to hide
    connection = Connection(
        tracker.server,
        address,
        peer,
        tracker.turns,
        old_at=monotonic() + age,
        made=tracker.made,
        lost=tracker.lost,
        loop=asyncio.get_running_loop(),
        keepalive_timeout=tracker.limits.keepalive_seconds,
        lingering_time=tracker.limits.linger_seconds,
        auto_decompress=False,
        access_log=None,
    )
    try:
        tracker.shares.add(peer, b"", connection)
    except FullError:
        tracker.count("crowded")
        accepted.close()
        return
    peer.pending += 1
    task = asyncio.create_task(_shake_hands(tracker, connection, accepted))
    task.add_done_callback(partial(_shaken, peer, accepted))
    tracker.connections[connection] = task
    tracker.filled.set()


def _cut(tracker: ConnectionTracker, connection: Connection, reason: Cut) -> None:
    tracker.count(reason)
    handshake = tracker.connections[connection]
    tracker.lost(connection)
    _end(connection, handshake)


def _end(connection: Connection, handshake: asyncio.Task[None]) -> None:
    if connection.transport:
        connection.transport.abort()
    else:
        handshake.cancel()


async def _shake_hands(tracker: ConnectionTracker, connection: Connection, accepted: socket.socket) -> None:
    """Complete the TLS handshake within its limit; aiohttp serves the connection from then on.

    It takes turns of its caller, with at most `callers.HANDSHAKES` of that caller at once.
    """
    peer = connection.peer
    try:
        async with asyncio.timeout(tracker.limits.handshake_seconds), peer.handshakes:
            await tracker.turns.wait(peer)
            if _has_left(accepted):
                raise ConnectionResetError
            taken = socket.socket(accepted.family, accepted.type, accepted.proto, accepted.detach())
            await _connect(connection, taken, tracker.tls)
    except OSError:  # a timeout too, and `ssl.SSLError`: scanners send anything
        if connection in tracker.connections:
            tracker.lost(connection)
            tracker.count("handshake")


def _has_left(accepted: socket.socket) -> bool:
    """Return whether the caller has closed the connection before its turn."""
    with suppress(BlockingIOError):
        return not accepted.recv(1, socket.MSG_PEEK)
    return False


async def _connect(connection: Connection, taken: socket.socket, tls: ssl.SSLContext | None) -> None:
    """Serve an accepted socket; return when the handshake is complete."""
    loop = asyncio.get_running_loop()
    if tls is None:
        await loop.connect_accepted_socket(lambda: connection, taken)
        return
    shaken = loop.create_future()
    transport, _protocol = await loop.connect_accepted_socket(lambda: Tls(connection, tls, shaken), taken)
    try:
        await shaken
    except BaseException:
        transport.abort()
        raise


def _shaken(peer: Peer, accepted: socket.socket, _task: asyncio.Task[None]) -> None:
    """Let another connection of the address take its place; close one whose turn never came."""
    peer.pending -= 1
    accepted.close()


async def _sweep(tracker: ConnectionTracker) -> None:
    """Cut the connections whose headers take too long; never returns. Without connections it has no timer."""
    seconds = tracker.limits.header_seconds
    while True:
        if not tracker.connections:
            tracker.filled.clear()
        await tracker.filled.wait()
        await asyncio.sleep(seconds / 5)
        begun = monotonic() - seconds
        for connection in tuple(tracker.connections):
            if connection.is_slower_than(begun):
                _cut(tracker, connection, "headers")


async def _finish(tracker: ConnectionTracker) -> None:
    """Wait for the requests that have begun: after `pre_shutdown` aiohttp reads no more of a body."""
    end = monotonic() + tracker.limits.finish_seconds
    is_busy = True
    while is_busy and monotonic() < end:
        await asyncio.sleep(0.02)
        is_busy = any(one.is_busy for one in tracker.connections)
    tracker.server.pre_shutdown()
    await tracker.server.shutdown(max(1.0, end - monotonic()))
    for connection, handshake in tuple(tracker.connections.items()):  # handshakes that never completed
        _end(connection, handshake)
