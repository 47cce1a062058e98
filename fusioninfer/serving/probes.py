"""Serve /healthz, /readyz and /metrics in plain HTTP, on a port of their own, for both servers.

Both have the limits of `webhook.server.listen`: many or slow callers here cannot take the file descriptors of
the process.
"""

import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from aiohttp import web
from multidict import CIMultiDict
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from webhook.server.connection import SERVER, begin
from webhook.server.listen import Limits, listening

TEXT: Final = "text/plain; charset=utf-8"
LIMITS: Final = Limits()


@asynccontextmanager
async def serving(
    sock: socket.socket,
    registry: CollectorRegistry,
    unready: Callable[[], str],
    limits: Limits = LIMITS,
    unhealthy: Callable[[], str] = lambda: "",
) -> AsyncIterator[None]:
    """Answer on a socket until the context ends.

    `unready` and `unhealthy` return why /readyz and /healthz answer 503, or nothing.
    """
    reasons = {"/readyz": unready, "/healthz": unhealthy}
    async with listening(partial(_answer, registry, reasons), sock, limits):
        yield


def bind(host: str, port: int) -> socket.socket:
    """Listen on an address; `::` includes every IPv4 address where the system can. Raises OSError."""
    if ":" not in host:
        return socket.create_server((host, port))
    both = host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=socket.AF_INET6, dualstack_ipv6=both)


async def _answer(
    registry: CollectorRegistry, reasons: Mapping[str, Callable[[], str]], request: web.BaseRequest
) -> web.Response:
    begin(request)
    match request.path:
        case "/healthz" | "/readyz" | "/metrics" if request.method not in {"GET", "HEAD"}:
            response = _response(405, "use GET")
            response.headers["Allow"] = "GET, HEAD"
        case "/healthz" | "/readyz":
            reason = reasons[request.path]()
            response = _response(503 if reason else 200, reason or "ok")
        case "/metrics":
            response = _response(200, generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4)
        case _:
            response = _response(404, "no such path")
    if not request.content.is_eof():
        response.force_close()
    return response


def _response(status: int, body: str | bytes, content_type: str = TEXT) -> web.Response:
    headers = CIMultiDict({"Content-Type": content_type, "Server": SERVER})
    return web.Response(status=status, body=body.encode() if isinstance(body, str) else body, headers=headers)
