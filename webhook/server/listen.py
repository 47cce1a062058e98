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
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, Literal

from aiohttp import web

from webhook.server.connection import Connection

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Cut = Literal["handshake", "headers", "crowded"]
CUTS: Final[tuple[Cut, ...]] = (
    "handshake",  # it failed, or took too long
    "headers",  # they took too long
    "crowded",  # too many connections
)

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
    connections: dict[Connection, asyncio.Task[None]] = field(default_factory=dict)
    """Every accepted connection, with the task of its TLS handshake."""


@asynccontextmanager
async def listening(
    handler: Handler,
    sock: socket.socket,
    limits: Limits,
    tls: ssl.SSLContext | None = None,
    count: Callable[[Cut], None] = _ignore,
) -> AsyncIterator[ConnectionTracker]:
    """Accept connections until the context ends; then finish the requests that have begun."""
    loop = asyncio.get_running_loop()
    tracker = ConnectionTracker(web.Server(handler), limits, tls, count)
    sock.setblocking(False)
    sock.listen(1024)
    loop.add_reader(sock, _accept, tracker, sock)
    sweeper = loop.create_task(_sweep(tracker))
    try:
        yield tracker
    finally:
        loop.remove_reader(sock)
        sock.close()
        await _finish(tracker)
        sweeper.cancel()


def _accept(tracker: ConnectionTracker, sock: socket.socket) -> None:
    """Accept one connection and start its handshake; evict another one if there are too many."""
    if len(tracker.connections) >= tracker.limits.connections:
        _evict(tracker)
    try:
        accepted, _address = sock.accept()
    except OSError as error:  # or the caller has left
        if error.errno in _TOO_MANY_FILES:
            _evict(tracker)
        return
    accepted.setblocking(False)
    age = tracker.limits.connection_seconds * random.uniform(1, 2)  # noqa: S311 - to spread, not to hide
    connection = Connection(
        tracker.server,
        tracker.connections,
        old_at=monotonic() + age,
        loop=asyncio.get_running_loop(),
        keepalive_timeout=tracker.limits.keepalive_seconds,
        lingering_time=tracker.limits.linger_seconds,
        auto_decompress=False,
        access_log=None,
    )
    tracker.connections[connection] = asyncio.create_task(_shake_hands(tracker, connection, accepted))


def _evict(tracker: ConnectionTracker) -> None:
    """Cut one connection; callers that have sent a request may keep half of the connections.

    A flood of new connections then cannot displace the API servers, nor can many idle callers keep new ones
    out: of the larger half the connection is cut that was opened, or used, longest ago.
    """
    known = [one for one in tracker.connections if one.has_asked]
    unknown = [one for one in tracker.connections if not one.has_asked]
    oldest = min(known if len(known) > len(unknown) else unknown, key=lambda one: one.last, default=None)
    if oldest:
        _cut(tracker, oldest, "crowded")


def _cut(tracker: ConnectionTracker, connection: Connection, reason: Cut) -> None:
    tracker.count(reason)
    _end(connection, tracker.connections.pop(connection))


def _end(connection: Connection, handshake: asyncio.Task[None]) -> None:
    if connection.transport:
        connection.transport.abort()
    else:
        handshake.cancel()


async def _shake_hands(tracker: ConnectionTracker, connection: Connection, sock: socket.socket) -> None:
    """Complete the TLS handshake within its limit; aiohttp serves the connection from then on."""
    try:
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: connection,
            sock,
            ssl=tracker.tls,
            ssl_handshake_timeout=tracker.limits.handshake_seconds if tracker.tls else None,
        )
    except OSError:  # including `ssl.SSLError`: scanners send anything
        if connection in tracker.connections:
            del tracker.connections[connection]
            tracker.count("handshake")


async def _sweep(tracker: ConnectionTracker) -> None:
    """Cut the connections whose headers take too long; never returns."""
    seconds = tracker.limits.header_seconds
    while True:
        await asyncio.sleep(seconds / 5)
        begun = monotonic() - seconds
        for connection in tuple(tracker.connections):
            if connection.is_slower_than(begun):
                _cut(tracker, connection, "headers")


async def _finish(tracker: ConnectionTracker) -> None:
    """Wait for the requests that have begun: after `pre_shutdown` aiohttp reads no more of a body."""
    seconds = tracker.limits.finish_seconds
    end = monotonic() + seconds
    for _ in range(int(seconds / 0.02)):
        await asyncio.sleep(0.02)
        if not any(one.is_busy for one in tracker.connections):
            break
    tracker.server.pre_shutdown()
    await tracker.server.shutdown(max(1.0, end - monotonic()))
    for connection, handshake in tuple(tracker.connections.items()):  # handshakes that never completed
        _end(connection, handshake)
