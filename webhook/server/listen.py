"""Accept connections, and speak TLS and HTTP on them: how many, from which callers, and for how long.

The sockets are accepted here and not by `loop.create_server` or aiohttp's runner, so that a connection counts
from the moment it is accepted: one that never completes its TLS handshake takes as much memory as any other.

aiohttp has no limit on the time that headers take, other than that for idle connections. The one here needs
`_messages`, the parsed requests that no handler has taken yet (aiohttp 3.14, `web_protocol.py`,
`data_received`). The tests of slow headers fail if a later aiohttp changes it.
"""

import asyncio
import errno
import random
import socket
import ssl
from asyncio import sslproto
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, Literal, cast

from aiohttp import EMPTY_PAYLOAD, web

from webhook.server.callers import Callers
from webhook.server.shares import FullError, LoopTurns, Shares

Handler = Callable[["Request"], Awaitable[web.StreamResponse]]
Cut = Literal["handshake", "headers", "crowded"]
CUTS: Final[tuple[Cut, ...]] = (
    "handshake",  # it failed, or took too long
    "headers",  # they took too long
    "crowded",  # too many connections
)

SERVER: Final = "fusioninfer"
"""The `Server` header, without versions."""
ACCEPTED: Final = 2
"""Connections that are accepted before the event loop reads what has arrived."""
PAUSE: Final = 0.1
"""Seconds until it accepts again, where files are missing."""
UNREAD: Final = 64 * 1024
"""Half of the bytes that the system keeps of a connection until they are read. Else it grows to 6 MiB each,
which count against the memory of the container."""
READ: Final = 16 * 1024
"""Bytes that are decrypted at once, outside of any turn: a TLS record may hold one of them."""
PARSED: Final = 4 * 1024
"""aiohttp parses twice this of a body, or a sixteenth as many chunks, before its handler reads on."""
RECORDS: Final = 32
"""TLS records that a connection may send, and one more for each `RECORD` bytes of data before them.

An API server needs five for its handshake, and 13 for as much as is read at once.
"""
RECORD: Final = 64
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


@dataclass(slots=True, eq=False)
class Listener:
    """The open connections of one socket."""

    server: web.Server
    sock: socket.socket
    limits: Limits
    tls: ssl.SSLContext | None
    count: Callable[[Cut], None]
    """Counts a connection that was cut, with the reason."""
    callers: Callers
    turns: LoopTurns
    connections: dict["Connection", asyncio.Task[None]] = field(default_factory=dict)
    """Every accepted connection, with the task of its TLS handshake."""
    shares: Shares["Connection"] = field(init=False)
    """The same by their callers. From one that holds too many, that is cut which was used longest ago."""

    def __post_init__(self) -> None:
        """Divide the limit."""
        most, reserved = self.limits.connections, self.callers.reserved
        self.shares = Shares(most, reserved, lambda item: self.cut(item, "crowded"), lambda item: item.last)

    def accept_from_now(self) -> None:
        """Accept whatever connects to the socket, unless it has been closed meanwhile."""
        if self.sock.fileno() >= 0:
            asyncio.get_running_loop().add_reader(self.sock, self._accept_all)

    def _accept_all(self) -> None:
        """Accept what waits, since the system's queue knows no callers; some of it, to read what has arrived.

        Where files are missing and no connection of this socket can be cut, it tries again after a pause.
        """
        for _ in range(ACCEPTED):
            try:
                accepted, (address, *_rest) = self.sock.accept()
            except OSError as error:  # or the caller has left
                if error.errno in _TOO_MANY_FILES and self.connections:
                    self.shares.give_way()
                elif error.errno in _TOO_MANY_FILES:
                    loop = asyncio.get_running_loop()
                    loop.remove_reader(self.sock)
                    loop.call_later(PAUSE, self.accept_from_now)
                return
            accepted.setblocking(False)
            self._accept(Connection(self, address), accepted)

    def _accept(self, connection: "Connection", accepted: socket.socket) -> None:
        """Take a connection and start its handshake; others are cut if there are too many."""
        try:
            self.shares.add(connection.peer, b"", connection)
        except FullError:
            self.count("crowded")
            accepted.close()
            return
        task = asyncio.create_task(self._shake_hands(connection, accepted))
        task.add_done_callback(lambda _task: accepted.close())  # also if its turn never came
        self.connections[connection] = task

    async def _shake_hands(self, connection: "Connection", accepted: socket.socket) -> None:
        """Complete the TLS handshake within its limit; aiohttp serves the connection from then on.

        It takes turns of its caller, with at most `callers.HANDSHAKES` of that caller at once.
        """
        peer, loop = connection.peer, asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.limits.handshake_seconds), peer.handshakes:
                await self.turns.wait(peer)
                taken = socket.socket(fileno=accepted.detach())
                if self.tls is None:
                    await loop.connect_accepted_socket(lambda: connection, taken)
                else:
                    await _encrypted(connection, self.tls, taken)
        except OSError:  # a timeout too, and `ssl.SSLError`: scanners send anything
            if connection in self.connections:
                self.lost(connection)
                self.count("handshake")

    def made(self, connection: "Connection") -> None:
        """Count a connection for the caller that its certificate names, now that it is verified."""
        certificate = connection.transport.get_extra_info("peercert") if connection.transport else None
        peer = self.callers.verified(connection.address, certificate)
        if peer is not connection.peer and self.shares.remove(connection):
            connection.peer = peer
            self.shares.add(peer, b"", connection)

    def cut(self, connection: "Connection", reason: Cut) -> None:
        """End a connection that has not ended, and count it with the reason."""
        if handshake := self.connections.get(connection):
            self.count(reason)
            self.lost(connection)
            _end(connection, handshake)

    def lost(self, connection: "Connection") -> None:
        """Forget a connection."""
        self.connections.pop(connection, None)
        self.shares.remove(connection)

    async def finish(self) -> None:
        """Wait for the requests that have begun: after `pre_shutdown` aiohttp reads no more of a body."""
        end = monotonic() + self.limits.finish_seconds
        is_busy = True
        while is_busy and monotonic() < end:
            await asyncio.sleep(0.02)
            is_busy = any(connection.is_busy for connection in self.connections)
        self.server.pre_shutdown()
        await self.server.shutdown(max(1.0, end - monotonic()))
        for connection, handshake in tuple(self.connections.items()):  # handshakes that never completed
            _end(connection, handshake)


@asynccontextmanager
async def listening(  # noqa: PLR0913 - what one socket has of its own
    handler: Handler,
    sock: socket.socket,
    limits: Limits,
    tls: ssl.SSLContext | None = None,
    count: Callable[[Cut], None] = lambda _reason: None,
    *,
    callers: Callers,
    turns: LoopTurns,
) -> AsyncIterator[Listener]:
    """Accept connections until the context ends; then finish the requests that have begun."""
    server = web.Server(cast("Any", handler), request_factory=Request)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD)
    sock.listen(1024)
    listener = Listener(server, sock, limits, tls, count, callers, turns)
    listener.accept_from_now()
    try:
        yield listener
    finally:
        asyncio.get_running_loop().remove_reader(sock)
        sock.close()
        await listener.finish()


def _end(connection: "Connection", handshake: asyncio.Task[None]) -> None:
    if connection.transport:
        connection.transport.abort()
    else:
        handshake.cancel()


async def _encrypted(connection: "Connection", tls: ssl.SSLContext, taken: socket.socket) -> None:
    """Serve a socket over TLS; return when the handshake is complete."""
    loop = asyncio.get_running_loop()
    shaken = loop.create_future()
    transport, _protocol = await loop.connect_accepted_socket(lambda: Tls(connection, tls, shaken), taken)
    try:
        await shaken
    except BaseException:
        transport.abort()
        raise


class Tls(sslproto.SSLProtocol):
    """The TLS of a connection, which is aborted before it decrypts more records than its data needs.

    A KeyUpdate or a renegotiation is a record without data: it costs as much as 20 KB of data, and
    `Connection.data_received`, which takes turns, never sees it. Until the handshake is complete, what was
    read takes a turn of its caller: a signature takes as long as a review, and many may arrive at once.
    """

    max_size = READ

    def __init__(self, connection: "Connection", tls: ssl.SSLContext, waiter: asyncio.Future[None]) -> None:
        """Begin the handshake when the transport is there; the waiter learns how it ended."""
        super().__init__(asyncio.get_running_loop(), connection, tls, waiter, server_side=True)
        self.connection, self.records, self.head, self.skipped = connection, 0, b"", 0
        self.shaken, self.turn = waiter, waiter

    def buffer_updated(self, nbytes: int) -> None:
        """Count the records that begin in what was read, by the lengths in their headers."""
        view: memoryview = self.get_buffer(0)  # into which it was read
        read, offset = self.head + view[:nbytes], self.skipped
        while offset + 5 <= len(read):
            offset += 5 + int.from_bytes(read[offset + 3 : offset + 5])
            self.records += 1
        self.head, self.skipped = read[offset:], max(0, offset - len(read))
        if self.records > RECORDS + self.connection.size // RECORD:
            self._fatal_error(ConnectionAbortedError())
        elif self.shaken.done():
            super().buffer_updated(nbytes)
        else:
            reading = cast("asyncio.ReadTransport", self._transport)
            reading.pause_reading()
            self.turn = asyncio.ensure_future(self._shake_on(reading, nbytes))

    async def _shake_on(self, reading: asyncio.ReadTransport, nbytes: int) -> None:
        await self.connection.turns.wait(self.connection.peer)
        if not self.shaken.done():  # the connection may be lost, or its time be over
            super().buffer_updated(nbytes)
        if not reading.is_closing():
            reading.resume_reading()


class Connection(web.RequestHandler):
    """A connection with a clock of its own.

    Headers that begin in the packet that ends the request before them are noticed only with their next byte;
    API servers do not pipeline.
    """

    def __init__(self, listener: Listener, address: str) -> None:
        """Begin without a transport, which is there when the handshake is complete."""
        limits = listener.limits
        super().__init__(
            listener.server,
            loop=asyncio.get_running_loop(),
            read_bufsize=PARSED,
            keepalive_timeout=limits.keepalive_seconds,
            lingering_time=limits.linger_seconds,
            auto_decompress=False,
            access_log=cast("Any", None),
        )
        self.listener, self.turns = listener, listener.turns
        self.address, self.peer = address, listener.callers.accepted(address)
        self.content = EMPTY_PAYLOAD
        self.since: float | None = None
        self.size = 0
        self.is_refused = False
        self.resuming: asyncio.Task[None] | None = None
        self.slow: asyncio.TimerHandle | None = None
        """Cuts the connection, unless its headers end before."""
        self.last = monotonic()
        age = limits.connection_seconds * random.uniform(1, 2)  # noqa: S311 - to spread, not to hide
        self.old_at = self.last + age

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Report that the handshake is complete, before any request is read."""
        super().connection_made(transport)
        if transport.get_extra_info("sslcontext"):
            cast("Any", transport).set_read_buffer_limits(READ)
        self.listener.made(self)

    def data_received(self, data: bytes) -> None:
        """Record when the first byte of a request arrives, and limit the time of its headers.

        What completes no request takes a turn of its caller before more is read: headers may have no end, nor
        chunks, of which no handler reads anything. The rest of a refused body is discarded.
        """
        self.size += len(data)
        if self.is_refused:
            self._read_on_in_turn()
            return
        if self.since is None and data and self.content.is_eof():
            self.since = monotonic()
        super().data_received(data)
        has_headers = self.since is None or bool(self._messages)
        if has_headers:
            self._in_time()
        elif self.slow is None:
            seconds = self.listener.limits.header_seconds
            self.slow = self._loop.call_later(seconds, self.listener.cut, self, "headers")
        body = self._messages[-1][1] if self._messages else self.content
        if data and not (has_headers and body.is_eof()):
            self._read_on_in_turn()

    def _in_time(self) -> None:
        if self.slow:
            self.slow.cancel()
            self.slow = None

    def _read_on_in_turn(self) -> None:
        if not (self._buffer_paused or self._reading_paused):
            self._pause_reading_for_buffer()
            self.resuming = asyncio.create_task(self._resume())

    async def _resume(self) -> None:
        await self.turns.wait(self.peer)
        self._resume_reading_for_buffer()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Remove this connection from the open ones."""
        self._in_time()
        self.listener.lost(self)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer invalid HTTP without a log line, since scanners send it all day; log bugs as usual."""
        response = web.Response(status=status, body=b"invalid HTTP request")
        if status >= 500:
            response = cast("web.Response", super().handle_error(request, status, exc, message))
        response.headers["Server"] = SERVER
        response.force_close()
        return response

    @property
    def is_busy(self) -> bool:
        """Whether a request is arriving or being answered."""
        return self.since is not None or not self.content.is_eof()


class Request(web.BaseRequest):
    """A request whose headers are complete, and what its connection knows of it."""

    def __init__(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> None:
        """Begin when a handler is about to take it, as aiohttp's factory of requests."""
        super().__init__(message, payload, protocol, writer, task, task.get_loop())
        self.connection: Connection = protocol
        self.peer = self.connection.peer
        self.since = self.connection.since or monotonic()
        """When its first byte arrived."""
        self.is_old = self.since > self.connection.old_at
        """Whether its connection has reached its maximum age."""
        self.connection.content, self.connection.since, self.connection.last = payload, None, self.since
