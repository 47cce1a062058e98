"""One HTTP connection: when its current request began, whether its headers are complete, and its age.

aiohttp has no limit on the time that headers take, other than that for idle connections, and does not report
broken chunks to a handler that waits for the body. This class adds both. The second needs `_messages`, the
parsed requests that no handler has taken yet: a parser error appears only there (aiohttp 3.14,
`web_protocol.py`, `data_received`), and neither aiohttp's runner nor `web.Application` offers more. The tests
of broken chunks and of slow headers fail if a later aiohttp changes it.
"""

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, NamedTuple, cast

from aiohttp import EMPTY_PAYLOAD, web

from webhook.server.callers import Peer
from webhook.server.shares import LoopTurns

SERVER: Final = "fusioninfer"
"""The `Server` header, without versions."""
READ: Final = 16 * 1024
"""Bytes that are decrypted at once, outside of any turn: a TLS record may hold one of them."""
PARSED: Final = 4 * 1024
"""aiohttp parses twice this of a body, or a sixteenth as many chunks, before its handler reads on."""

RECORDS: Final = 32
"""TLS records that a connection may send, and one more for each `RECORD` bytes of data before them.

An API server needs five for its handshake, and 13 for as much as is read at once.
"""
RECORD: Final = 64


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
        read, at = self.head + view[:nbytes], self.skipped
        while at + 5 <= len(read):
            at += 5 + int.from_bytes(read[at + 3 : at + 5])
            self.records += 1
        self.head, self.skipped = read[at:], max(0, at - len(read))
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


class Begun(NamedTuple):
    """When the first byte of a request arrived, and whether its connection has reached its maximum age."""

    since: float
    is_old: bool


class Connection(web.RequestHandler):
    """A connection with a clock of its own.

    Headers that begin in the packet that ends the request before them are noticed only with their next byte;
    API servers do not pipeline.
    """

    __slots__ = (
        *("address", "content", "is_complete", "is_refused", "last", "lost", "made", "old_at", "peer"),
        *("resuming", "since", "size", "turns"),
    )

    def __init__(  # noqa: PLR0913 - what the listener knows of a connection
        self,
        manager: web.Server,
        address: str,
        peer: Peer,
        turns: LoopTurns,
        *,
        old_at: float,
        made: Callable[["Connection"], None],
        lost: Callable[["Connection"], None],
        **settings: Any,
    ) -> None:
        """Call `made` when the handshake is complete, and `lost` at the end."""
        super().__init__(manager, read_bufsize=PARSED, **settings)
        self.address, self.peer, self.turns, self.made, self.lost = address, peer, turns, made, lost
        self.content = EMPTY_PAYLOAD
        self.since: float | None = None
        self.size = 0
        self.is_complete = self.is_refused = False
        self.resuming: asyncio.Task[None] | None = None
        self.last = monotonic()
        self.old_at = old_at

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Report that the handshake is complete, before any request is read."""
        super().connection_made(transport)
        if transport.get_extra_info("sslcontext"):
            cast("Any", transport).set_read_buffer_limits(READ)
        self.made(self)

    def data_received(self, data: bytes) -> None:
        """Record when the first byte of a request arrives, and pass parser errors to a waiting handler.

        What completes no request takes a turn of its caller before more is read: chunks may have no end of
        extensions and trailers, of which no handler reads anything. The rest of a refused body is discarded.
        """
        self.size += len(data)
        if self.is_refused:
            self._read_on_in_turn()
            return
        is_body = not self.content.is_eof()
        if self.since is None and data and not is_body:
            self.since = monotonic()
        super().data_received(data)
        self.is_complete = self.is_complete or (self.since is not None and bool(self._messages))
        # A message that follows an unfinished body is the parser's error, not a request.
        if is_body and self._messages and not self.content.is_eof():
            self.content.set_exception(web.RequestPayloadError("broken chunks"))
        body = self._messages[-1][1] if self._messages else self.content
        if data and not (body.is_eof() and (self.since is None or self.is_complete)):
            self._read_on_in_turn()

    def _read_on_in_turn(self) -> None:
        if not (self._buffer_paused or self._reading_paused):
            self._pause_reading_for_buffer()
            self.resuming = asyncio.create_task(self._resume())

    async def _resume(self) -> None:
        await self.turns.wait(self.peer)
        self._resume_reading_for_buffer()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Remove this connection from the open ones."""
        self.lost(self)
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

    def is_slower_than(self, begun: float) -> bool:
        """Return whether headers that began before a moment are still incomplete.

        Complete ones wait for this process, not for the caller.
        """
        return self.since is not None and self.since < begun and not self.is_complete

    @property
    def is_busy(self) -> bool:
        """Whether a request is arriving or being answered."""
        return self.since is not None or not self.content.is_eof()


def begin(request: web.BaseRequest) -> Begun:
    """Record that the headers of a request are complete, and that a handler has taken it."""
    connection = cast("Connection", request.protocol)
    since = connection.since or monotonic()
    connection.content, connection.since, connection.is_complete = request.content, None, False
    connection.last = since
    return Begun(since, since > connection.old_at)
