"""Serve /healthz, /readyz and /metrics on a port of their own in plain HTTP, or /metrics on another with TLS.

They have a thread and an event loop of their own, so that they answer however long the work of the process
takes, and say if that stopped. Callers have the limits of `webhook.server.listen` and take turns as there,
with a pause after each, so that however many they are they leave the processor to that work. Pages of metrics
have turns of their own.
"""

import asyncio
import math
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from time import monotonic, thread_time
from typing import Final

from aiohttp import web
from multidict import CIMultiDict
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from webhook.server.callers import Callers
from webhook.server.listen import SERVER, Limits, Request, listening
from webhook.server.shares import LoopTurns

ANYWHERE: Final = "::" if socket.has_dualstack_ipv6() else "0.0.0.0"  # noqa: S104 - a server in a pod
TEXT: Final = "text/plain; charset=utf-8"
LIMITS: Final = Limits()
UNREADY_SECONDS: Final = 3.0
"""The time after which /readyz answers 503, if the event loop that does the work does not answer."""
DEAD_SECONDS: Final = 60.0
"""The same of /healthz."""
PAUSE: Final = 0.002
"""Seconds between two connections or requests."""
IDLE: Final = 9.0
"""After /metrics, the pause is this many times what the page took."""


@dataclass(frozen=True, slots=True)
class Scrapes:
    """Where /metrics is answered with TLS, and whom."""

    sock: socket.socket
    tls: ssl.SSLContext
    refusal: Callable[[web.BaseRequest], Awaitable[str]] | None = None
    """Returns why a caller gets no metrics; empty if it gets them. None: its certificate was enough."""


@asynccontextmanager
async def serving(
    sock: socket.socket,
    registry: CollectorRegistry,
    unready: Callable[[], str],
    limits: Limits = LIMITS,
    *,
    scrapes: Scrapes | None = None,
) -> AsyncIterator[None]:
    """Answer on a socket until the context ends; with `scrapes`, /metrics on its socket alone.

    `unready` returns why /readyz answers 503, or nothing; the thread calls it. Each probe asks the event loop
    of the caller for an answer, unless it still owes one: an idle process has no timer for probes.
    """
    loop, asked = asyncio.get_running_loop(), math.inf

    def answered() -> None:
        nonlocal asked
        asked = math.inf

    def stopped(seconds: float) -> str:
        nonlocal asked
        if asked == math.inf:
            asked = monotonic()
            loop.call_soon_threadsafe(answered)
        silent = monotonic() - asked
        return f"the event loop has not run for {silent:.0f} s" if silent > seconds else ""

    reasons = {
        "/readyz": lambda: stopped(UNREADY_SECONDS) or unready(),
        "/healthz": lambda: stopped(DEAD_SECONDS),
    }
    ended = Future[None]()
    answers = _answers(sock, limits, Page(registry, scrapes), reasons, ended)
    thread = Thread(target=asyncio.run, args=(answers,), name="probes", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set_result(None)
        await asyncio.to_thread(thread.join)


def bind(port: int, host: str = ANYWHERE) -> socket.socket:
    """Listen on an address; `::` includes every IPv4 address where the system can. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=family, dualstack_ipv6=both)


@dataclass(slots=True)
class Page:
    """The page of metrics: its turns, apart from those of probes, and where it is served with TLS."""

    registry: CollectorRegistry
    scrapes: Scrapes | None
    turns: LoopTurns = field(default_factory=partial(LoopTurns, PAUSE))

    def response(self) -> web.Response:
        """Make the page; the next caller waits in proportion to what that took."""
        begun = thread_time()
        response = _response(200, generate_latest(self.registry), CONTENT_TYPE_PLAIN_0_0_4)
        self.turns.owed += IDLE * (thread_time() - begun)
        return response


Reasons = Mapping[str, Callable[[], str]]
"""By path of a probe, what returns why it answers 503; empty if it answers 200."""


async def _answers(
    sock: socket.socket, limits: Limits, page: Page, reasons: Reasons, ended: Future[None]
) -> None:
    """Answer until `ended` is done; no probe waits for pages of metrics."""
    turns, scrapes = LoopTurns(PAUSE), page.scrapes
    async with AsyncExitStack() as stack:
        answer = partial(_answer, page, reasons, turns)
        await stack.enter_async_context(listening(answer, sock, limits, callers=Callers(), turns=turns))
        if scrapes:
            answer, turns = partial(_answer, page, {}, page.turns), page.turns
            scraped = listening(answer, scrapes.sock, limits, scrapes.tls, callers=Callers(), turns=turns)
            await stack.enter_async_context(scraped)
        await asyncio.wrap_future(ended)


async def _answer(page: Page, reasons: Reasons, turns: LoopTurns, request: Request) -> web.Response:
    """Answer a request: of a probe, if its path has reasons, or of the page where it is served.

    The response ends the connection if the request has a body that was not read.
    """
    is_page = request.path == "/metrics" and (page.scrapes is None or not reasons)
    await (page.turns if is_page else turns).wait(request.peer)
    if not (is_page or request.path in reasons):
        response = _response(404, "no such path here; if metrics have a port with TLS, they are there alone")
    elif request.method not in {"GET", "HEAD"}:
        response = _response(405, "use GET")
        response.headers["Allow"] = "GET, HEAD"
    elif is_page:
        asked = page.scrapes.refusal if page.scrapes else None
        refusal = await asked(request) if asked else ""
        response = _response(403, refusal) if refusal else page.response()
    else:
        reason = reasons[request.path]()
        response = _response(503 if reason else 200, reason or "ok")
    if not request.content.is_eof():
        response.force_close()
    return response


def _response(status: int, body: str | bytes, content_type: str = TEXT) -> web.Response:
    headers = CIMultiDict({"Content-Type": content_type, "Server": SERVER})
    return web.Response(status=status, body=body.encode() if isinstance(body, str) else body, headers=headers)
