"""One HTTP connection: when its current request began, whether its headers are complete, and its age.

aiohttp has no limit on the time that headers take, other than that for idle connections, and does not report
broken chunks to a handler that waits for the body. This class adds both. The second needs `_messages`, the
parsed requests that no handler has taken yet: a parser error appears only there (aiohttp 3.14,
`web_protocol.py`, `data_received`), and neither aiohttp's runner nor `web.Application` offers more. The tests
of broken chunks and of slow headers fail if a later aiohttp changes it.
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, NamedTuple, cast

from aiohttp import EMPTY_PAYLOAD, web

from webhook.server.callers import Peer

SERVER: Final = "fusioninfer"
"""The `Server` header, without versions."""


class Begun(NamedTuple):
    """When the first byte of a request arrived, and whether its connection has reached its maximum age."""

    since: float
    is_old: bool


class Connection(web.RequestHandler):
    """A connection with a clock of its own.

    Headers that begin in the packet that ends the request before them are noticed only with their next byte;
    API servers do not pipeline.
    """

    __slots__ = ("address", "content", "is_complete", "last", "lost", "made", "old_at", "peer", "since")

    def __init__(  # noqa: PLR0913 - what the listener knows of a connection
        self,
        manager: web.Server,
        address: str,
        peer: Peer,
        *,
        old_at: float,
        made: Callable[["Connection"], None],
        lost: Callable[["Connection"], None],
        **settings: Any,
    ) -> None:
        """Call `made` when the handshake is complete, and `lost` at the end."""
        super().__init__(manager, **settings)
        self.address, self.peer, self.made, self.lost = address, peer, made, lost
        self.content = EMPTY_PAYLOAD
        self.since: float | None = None
        self.is_complete = False
        self.last = monotonic()
        self.old_at = old_at

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Report that the handshake is complete, before any request is read."""
        super().connection_made(transport)
        self.made(self)

    def data_received(self, data: bytes) -> None:
        """Record when the first byte of a request arrives, and pass parser errors to a waiting handler."""
        is_body = not self.content.is_eof()
        if self.since is None and data and not is_body:
            self.since = monotonic()
        super().data_received(data)
        self.is_complete = self.is_complete or (self.since is not None and bool(self._messages))
        # A message that follows an unfinished body is the parser's error, not a request.
        if is_body and self._messages and not self.content.is_eof():
            self.content.set_exception(web.RequestPayloadError("broken chunks"))

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
