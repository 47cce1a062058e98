"""Listen: sockets, connections and their patience. Knows HTTP, and nothing of reviews.

aiohttp bounds neither a TLS handshake nor the time that headers take, and once it is told to shut down
it drops the rest of a body. This module adds that, by the public parts of aiohttp only.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Final, cast

from aiohttp import EMPTY_PAYLOAD, web

SERVER: Final = "fusioninfer"
"""The `Server` header: no versions."""

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much, how many, how long. API servers keep idle connections for 90 s: we must keep them longer."""

    body_bytes: int = 7 * 2**20
    """Two objects of 3 MiB and what is around them, as controller-runtime counts."""
    reviews: int = 64
    """Bodies that may be on their way at once."""
    handshake_seconds: float = 10.0
    header_seconds: float = 5.0
    """From the first byte of a request to the end of its headers."""
    body_seconds: float = 10.0
    linger_seconds: float = 1.0
    """How long to read on, and forget, after a refusal: a client that is still sending must see it."""
    keepalive_seconds: float = 120.0
    drain_seconds: float = 10.0
    """How long to go on after SIGTERM: until every node has heard that this endpoint is gone."""
    finish_seconds: float = 20.0
    """How long, after that, for what is still on its way."""


class Connection(web.RequestHandler):
    """A connection that knows since when a request's headers have been on their way.

    aiohttp waits for them as long as it keeps an idle connection. Headers that begin in the packet that
    ends the request before them are only noticed with their next byte; API servers do not pipeline.
    """

    __slots__ = ("content", "since")

    def __init__(self, manager: web.Server, **settings: Any) -> None:
        super().__init__(manager, **settings)
        self.content = EMPTY_PAYLOAD
        self.since: float | None = None

    def data_received(self, data: bytes) -> None:
        """Note when the first byte of a request came; bytes of a body are no beginning."""
        if self.since is None and data and self.content.is_eof():
            self.since = monotonic()
        super().data_received(data)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is not HTTP without a log line: scanners send it all day. A bug keeps its own."""
        response = web.Response(status=status, body=b"not HTTP as we read it")
        if status >= 500:
            response = cast("web.Response", super().handle_error(request, status, exc, message))
        response.headers["Server"] = SERVER
        response.force_close()
        return response


def begin(request: web.BaseRequest) -> float:
    """Note that the headers are whole; return when their first byte came."""
    connection = cast("Connection", request.protocol)
    since = connection.since or monotonic()
    connection.content, connection.since = request.content, None
    return since


@asynccontextmanager
async def listening(
    handler: Handler, sock: socket.socket, limits: Limits, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Accept connections; at the end accept no more, and let those in the midst of a request finish it."""
    loop = asyncio.get_running_loop()
    server = web.Server(handler)
    listener = await loop.create_server(
        partial(_connection, server, limits),
        sock=sock,
        ssl=tls,
        ssl_handshake_timeout=limits.handshake_seconds if tls else None,
        backlog=1024,
    )
    sweeper = loop.create_task(_sweep(server, limits.header_seconds))
    try:
        yield
    finally:
        listener.close()
        await _finish(server, limits.finish_seconds)
        sweeper.cancel()


def _connection(server: web.Server, limits: Limits) -> Connection:
    return Connection(
        server,
        loop=asyncio.get_running_loop(),
        keepalive_timeout=limits.keepalive_seconds,
        lingering_time=limits.linger_seconds,
        auto_decompress=False,
        access_log=None,
    )


async def _sweep(server: web.Server, seconds: float) -> None:
    """Cut, for ever, the connections whose headers have been on their way for longer than that."""
    while True:
        await asyncio.sleep(seconds / 5)
        begun = monotonic() - seconds
        for connection in _connections(server):
            if connection.since is not None and connection.since < begun and connection.transport:
                connection.transport.abort()


async def _finish(server: web.Server, seconds: float) -> None:
    """Wait for the requests that have begun: once told to shut down, aiohttp takes no more of a body."""
    end = monotonic() + seconds
    for _ in range(int(seconds / 0.02)):
        await asyncio.sleep(0.02)
        if not any(map(_is_busy, _connections(server))):
            break
    server.pre_shutdown()
    await server.shutdown(max(1.0, end - monotonic()))


def _connections(server: web.Server) -> list[Connection]:
    return cast("list[Connection]", server.connections)  # what `_connection` makes


def _is_busy(connection: Connection) -> bool:
    return connection.since is not None or not connection.content.is_eof()
