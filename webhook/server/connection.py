"""One connection: since when its headers have been on their way, when it last asked, when it is old.

aiohttp waits for headers as long as it keeps an idle connection, and tells a handler that waits for a body
nothing of broken chunks. This adds both.
"""

from time import monotonic
from typing import Any, Final, NamedTuple, cast

from aiohttp import EMPTY_PAYLOAD, web

SERVER: Final = "fusioninfer"
"""The `Server` header: no versions."""


class Begun(NamedTuple):
    """When the first byte of a request came, and whether its connection has served for long enough."""

    since: float
    on_old: bool


class Connection(web.RequestHandler):
    """A connection with its own clock.

    Headers that begin in the packet that ends the request before them are only noticed with their next
    byte; API servers do not pipeline.
    """

    __slots__ = ("among", "content", "has_asked", "is_whole", "last", "old_at", "since")

    def __init__(
        self, manager: web.Server, among: dict["Connection", Any], *, old_at: float, **settings: Any
    ) -> None:
        super().__init__(manager, **settings)
        self.among = among
        self.content = EMPTY_PAYLOAD
        self.since: float | None = None
        self.is_whole = False
        self.last = monotonic()
        self.has_asked = False
        self.old_at = old_at

    def data_received(self, data: bytes) -> None:
        """Note when the first byte of a request came; bytes of a body are no beginning."""
        is_body = not self.content.is_eof()
        if self.since is None and data and not is_body:
            self.since = monotonic()
        super().data_received(data)
        self.is_whole = self.is_whole or (self.since is not None and bool(self._messages))
        # What follows a body that has not ended is no request: it is the parser's error, which aiohttp 3.14
        # puts behind the request it belongs to (`web_protocol.py`, `data_received`).
        if is_body and self._messages and not self.content.is_eof():
            self.content.set_exception(web.RequestPayloadError("broken chunks"))

    def connection_lost(self, exc: BaseException | None) -> None:
        """Leave the crowd."""
        self.among.pop(self, None)
        super().connection_lost(exc)

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

    def is_slower_than(self, begun: float) -> bool:
        """Whether headers that began before a moment are still on their way. Whole ones wait for us."""
        return self.since is not None and self.since < begun and not self.is_whole

    @property
    def is_busy(self) -> bool:
        """Whether a request is on its way."""
        return self.since is not None or not self.content.is_eof()


def begin(request: web.BaseRequest) -> Begun:
    """Note that the headers are whole."""
    connection = cast("Connection", request.protocol)
    since = connection.since or monotonic()
    connection.content, connection.since, connection.is_whole = request.content, None, False
    connection.last, connection.has_asked = since, True
    return Begun(since, since > connection.old_at)
