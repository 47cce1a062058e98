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
class Crowd:
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
) -> AsyncIterator[Crowd]:
    """Accept connections; at the end accept no more, and let those in the midst of a request finish it."""
    loop = asyncio.get_running_loop()
    crowd = Crowd(web.Server(handler), limits, tls, tell)
    sock.setblocking(False)
    sock.listen(1024)
    loop.add_reader(sock, _accept, crowd, sock)
    sweeper = loop.create_task(_sweep(crowd))
    try:
        yield crowd
    finally:
        loop.remove_reader(sock)
        sock.close()
        await _finish(crowd)
        sweeper.cancel()


def _accept(crowd: Crowd, sock: socket.socket) -> None:
    """Take one who knocks, and see that there is room; the one before has begun to shake hands."""
    if len(crowd.connections) >= crowd.limits.connections:
        _make_room(crowd)
    try:
        accepted, _address = sock.accept()
    except OSError as error:  # or who knocked has left
        if error.errno in _TOO_MANY_FILES:
            _make_room(crowd)
        return
    accepted.setblocking(False)
    connection = _connection(crowd)
    crowd.connections[connection] = asyncio.create_task(_greet(crowd, connection, accepted))


def _make_room(crowd: Crowd) -> None:
    """Cut one; half of the room is for those who have asked something.

    So neither does a flood of strangers drive out the API servers, nor does a crowd of idle callers keep a
    newcomer out: of the half that is too many, who came first goes, or who asked longest ago.
    """
    known = [one for one in crowd.connections if one.has_asked]
    strangers = [one for one in crowd.connections if not one.has_asked]
    longest = min(known if len(known) > len(strangers) else strangers, key=_last, default=None)
    if longest:
        _cut(crowd, longest, "crowded")


def _last(connection: Connection) -> float:
    return connection.last


def _cut(crowd: Crowd, connection: Connection, why: Cut) -> None:
    crowd.tell(why)
    _end(connection, crowd.connections.pop(connection))


def _end(connection: Connection, shaking: asyncio.Task[None]) -> None:
    if connection.transport:
        connection.transport.abort()
    else:
        shaking.cancel()


async def _greet(crowd: Crowd, connection: Connection, sock: socket.socket) -> None:
    """Shake hands in time; then the connection goes by itself."""
    try:
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: connection,
            sock,
            ssl=crowd.tls,
            ssl_handshake_timeout=crowd.limits.handshake_seconds if crowd.tls else None,
        )
    except OSError:  # also `ssl.SSLError`: scanners speak whatever they like
        if connection in crowd.connections:
            del crowd.connections[connection]
            crowd.tell("handshake")


def _connection(crowd: Crowd) -> Connection:
    age = crowd.limits.connection_seconds * random.uniform(1, 2)  # noqa: S311 - to spread, not to hide
    return Connection(
        crowd.server,
        crowd.connections,
        old_at=monotonic() + age,
        loop=asyncio.get_running_loop(),
        keepalive_timeout=crowd.limits.keepalive_seconds,
        lingering_time=crowd.limits.linger_seconds,
        auto_decompress=False,
        access_log=None,
    )


async def _sweep(crowd: Crowd) -> None:
    """Cut, for ever, the connections whose headers have been on their way for too long."""
    seconds = crowd.limits.header_seconds
    while True:
        await asyncio.sleep(seconds / 5)
        begun = monotonic() - seconds
        for connection in tuple(crowd.connections):
            if connection.is_slower_than(begun):
                _cut(crowd, connection, "headers")


async def _finish(crowd: Crowd) -> None:
    """Wait for the requests that have begun: once told to shut down, aiohttp takes no more of a body."""
    seconds = crowd.limits.finish_seconds
    end = monotonic() + seconds
    for _ in range(int(seconds / 0.02)):
        await asyncio.sleep(0.02)
        if not any(one.is_busy for one in crowd.connections):
            break
    crowd.server.pre_shutdown()
    await crowd.server.shutdown(max(1.0, end - monotonic()))
    for connection, shaking in tuple(crowd.connections.items()):  # who still shakes hands
        _end(connection, shaking)
