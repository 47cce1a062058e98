"""Listen: who is connected, how many, and for how long. Knows HTTP, and nothing of reviews.

The sockets are accepted here and not by `loop.create_server`, so that a connection counts from its first
byte on: one that never shakes hands takes as much memory as any other.
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
    """How much, how many, how long. `docs/edge.md` is made from this."""

    body_bytes: int = 7 * 2**20
    """Two objects of 3 MiB and what is around them, as controller-runtime counts."""
    reviews: int = 64
    """Bodies that may be on their way at once; the one that waits longest makes room."""
    connections: int = 512
    """On each port; an API server keeps 25 idle ones at most, and a process may open 1024 files."""
    handshake_seconds: float = 10.0
    """From connecting to the end of the TLS handshake."""
    header_seconds: float = 5.0
    """From the first byte of a request to the end of its headers."""
    body_seconds: float = 10.0
    """From the end of the headers to the end of the body."""
    linger_seconds: float = 1.0
    """How long to read on, and forget, after a refusal: a client that is still sending must see it."""
    keepalive_seconds: float = 120.0
    """How long an idle connection is kept; API servers keep it for 90 s, and must be the first to close."""
    connection_seconds: float = 300.0
    """After this, or up to as much again, an answer asks its caller to connect anew: to a new replica too."""
    drain_seconds: float = 10.0
    """How long to go on after SIGTERM: until every node has heard that this endpoint is gone."""
    finish_seconds: float = 20.0
    """How long, after that, for what is still on its way."""


def _tell_nobody(_why: Cut) -> None:
    return


@dataclass(slots=True)
class ConnectionTracker:
    """Who is connected to one socket, and who is told why a connection was cut."""

    server: web.Server
    limits: Limits
    tls: ssl.SSLContext | None
    tell: Callable[[Cut], None]
    connections: dict[Connection, asyncio.Task[None]] = field(default_factory=dict)
    """From the first byte on, each with what shakes hands."""


@asynccontextmanager
async def listening(
    handler: Handler,
    sock: socket.socket,
    limits: Limits,
    tls: ssl.SSLContext | None = None,
    tell: Callable[[Cut], None] = _tell_nobody,
) -> AsyncIterator[ConnectionTracker]:
    """Accept connections; at the end accept no more, and let those in the midst of a request finish it."""
    loop = asyncio.get_running_loop()
    tracker = ConnectionTracker(web.Server(handler), limits, tls, tell)
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
    """Take one who knocks, and see that there is room; the one before has begun to shake hands."""
    if len(tracker.connections) >= tracker.limits.connections:
        _make_room(tracker)
    try:
        accepted, _address = sock.accept()
    except OSError as error:  # or who knocked has left
        if error.errno in _TOO_MANY_FILES:
            _make_room(tracker)
        return
    accepted.setblocking(False)
    connection = _connection(tracker)
    tracker.connections[connection] = asyncio.create_task(_greet(tracker, connection, accepted))


def _make_room(tracker: ConnectionTracker) -> None:
    """Cut one; half of the room is for those who have asked something.

    So neither does a flood of strangers drive out the API servers, nor does a crowd of idle callers keep a
    newcomer out: of the half that is too many, who came first goes, or who asked longest ago.
    """
    known = [one for one in tracker.connections if one.has_asked]
    strangers = [one for one in tracker.connections if not one.has_asked]
    longest = min(known if len(known) > len(strangers) else strangers, key=_last, default=None)
    if longest:
        _cut(tracker, longest, "crowded")


def _last(connection: Connection) -> float:
    return connection.last


def _cut(tracker: ConnectionTracker, connection: Connection, why: Cut) -> None:
    tracker.tell(why)
    _end(connection, tracker.connections.pop(connection))


def _end(connection: Connection, shaking: asyncio.Task[None]) -> None:
    if connection.transport:
        connection.transport.abort()
    else:
        shaking.cancel()


async def _greet(tracker: ConnectionTracker, connection: Connection, sock: socket.socket) -> None:
    """Shake hands in time; then the connection goes by itself."""
    try:
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: connection,
            sock,
            ssl=tracker.tls,
            ssl_handshake_timeout=tracker.limits.handshake_seconds if tracker.tls else None,
        )
    except OSError:  # also `ssl.SSLError`: scanners speak whatever they like
        if connection in tracker.connections:
            del tracker.connections[connection]
            tracker.tell("handshake")


def _connection(tracker: ConnectionTracker) -> Connection:
    age = tracker.limits.connection_seconds * random.uniform(1, 2)  # noqa: S311 - to spread, not to hide
    return Connection(
        tracker.server,
        tracker.connections,
        old_at=monotonic() + age,
        loop=asyncio.get_running_loop(),
        keepalive_timeout=tracker.limits.keepalive_seconds,
        lingering_time=tracker.limits.linger_seconds,
        auto_decompress=False,
        access_log=None,
    )


async def _sweep(tracker: ConnectionTracker) -> None:
    """Cut, for ever, the connections whose headers have been on their way for too long."""
    seconds = tracker.limits.header_seconds
    while True:
        await asyncio.sleep(seconds / 5)
        begun = monotonic() - seconds
        for connection in tuple(tracker.connections):
            if connection.is_slower_than(begun):
                _cut(tracker, connection, "headers")


async def _finish(tracker: ConnectionTracker) -> None:
    """Wait for the requests that have begun: once told to shut down, aiohttp takes no more of a body."""
    seconds = tracker.limits.finish_seconds
    end = monotonic() + seconds
    for _ in range(int(seconds / 0.02)):
        await asyncio.sleep(0.02)
        if not any(one.is_busy for one in tracker.connections):
            break
    tracker.server.pre_shutdown()
    await tracker.server.shutdown(max(1.0, end - monotonic()))
    for connection, shaking in tuple(tracker.connections.items()):  # who still shakes hands
        _end(connection, shaking)
