"""The webhook's HTTPS server: aiohttp in front of plain callables that answer admission requests.

Rules of this file:
- An admission request takes microseconds of synchronous code, so none is ever half done: a request waits only
  for its own body and its turn (`webhook.server.shares`). Refusing a complete request costs as much as
  answering it, so the limit is on requests whose body is still arriving. Expensive ones are answered by
  another process (`webhook.server.offload`), so that the others do not wait for them.
- An answer is one write. No middleware, no access log, no log line for a request that was allowed.
- No part of a request reaches the log, and no traceback reaches an answer. Only 429 carries Retry-After:
  client-go then tries again, perhaps another replica, and must not do so after a bug.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, thread_time
from typing import Final

import orjson
import structlog
from aiohttp import web
from multidict import CIMultiDict

from webhook import templated
from webhook.review import PEER, AdmissionAnswer
from webhook.server.callers import Callers, Peer
from webhook.server.listen import SERVER, Cut, Limits, Listener, Request, listening
from webhook.server.metrics import Count
from webhook.server.offload import Offload, namespace
from webhook.server.reading import TemplateLoader
from webhook.server.shares import FullError, LoopTurns, Shares, expire, held
from webhook.server.worker import answered

log: Final = structlog.stdlib.get_logger(__name__)


@dataclass(slots=True)
class ServerState:
    """The paths that are served, the limits, and what changes while the server runs."""

    answers: Mapping[str, Callable[[bytes], AdmissionAnswer]]
    """The functions that answer a body: by path, and by step of a request that names templates."""
    counts: Mapping[str, Count]
    """By path, what counts its requests."""
    limits: Limits
    callers: Callers = field(default_factory=Callers)
    """Which callers are known. If certificates make them known, others are refused."""
    cut: Callable[[Cut], None] = lambda _reason: None
    """Counts the connections that the server cut."""
    waiting: Shares[asyncio.Timeout] = field(init=False)
    """The bodies that are still arriving."""
    turns: LoopTurns = field(default_factory=LoopTurns)
    """The time of the event loop."""
    draining: bool = False
    offload: Offload | None = None
    """Answers expensive requests; None: they are answered like the rest."""
    reading: TemplateLoader | None = None
    """Reads the templates that objects name; None: none are read."""
    listener: Listener | None = None
    """The open connections, while the server runs."""

    def __post_init__(self) -> None:
        """Divide the limit. Of a caller's bodies, the one that has waited longest leaves for another."""
        most, reserved = self.limits.reviews, self.callers.reserved
        self.waiting = Shares(most, reserved, expire, lambda timer: timer.when() or 0.0)


_REFUSALS: Final = {
    "path": (404, b"no such path", ""),
    "method": (405, b"use POST", ""),
    "caller": (403, b"the client certificate is not an API server's", "forbidden"),
    "type": (415, b"Content-Type must be application/json", "malformed"),
    "encoding": (415, b"Content-Encoding is not supported", "malformed"),
    "chunks": (411, b"send a Content-Length, and no chunks", "malformed"),
    "size": (413, b"the body is too large", "malformed"),
    "review": (400, b"", "malformed"),
    "slow body": (408, b"the body took too long to arrive", "incomplete"),
    "gone": (400, b"the body ended early", "incomplete"),
    "late": (504, b"the caller's deadline has passed", "late"),
    "slow": (504, b"the review took longer than 1 s", "late"),
    "full": (429, b"too many admission requests at once", "overloaded"),
    "bug": (500, b"internal error; see the webhook's log", "error"),
}
"""By reason: status and text of an answer that is no AdmissionReview, and the outcome for the metrics."""
_HEADERS: Final = {405: {"Allow": "POST"}, 429: {"Retry-After": "1"}}
"""What such an answer has besides, by its status."""
_TIMEOUT: Final = re.compile(r"(?:^|&)timeout=(\d{1,4})s(?:&|$)")
_REVIEW_HEADERS: Final = CIMultiDict({"Content-Type": "application/json", "Server": SERVER})
_TEXT_HEADERS: Final = CIMultiDict({"Content-Type": "text/plain; charset=utf-8", "Server": SERVER})


class _RefusedError(Exception):
    """A request is refused for one of `_REFUSALS`, perhaps with a text of its own."""

    def __init__(self, reason: str, text: bytes = b"") -> None:
        super().__init__(reason)
        self.status, usual, self.outcome = _REFUSALS[reason]
        self.text = text or usual


async def serve(state: ServerState, tls: ssl.SSLContext, sock: socket.socket, stop: asyncio.Event) -> None:
    """Answer admission requests on a socket, over TLS, until `stop` is set; then drain.

    Draining: keep answering for `drain_seconds` and ask every caller to close its connection, then accept no
    more, and finish the requests that have begun.
    """
    handler = partial(_answer, state)
    shared = partial(listening, callers=state.callers, turns=state.turns)
    async with shared(handler, sock, state.limits, tls, state.cut) as state.listener:
        await stop.wait()
        state.draining = True
        await asyncio.sleep(state.limits.drain_seconds)


async def _answer(state: ServerState, request: Request) -> web.Response:
    """Answer one HTTP request, and count it once if it is for a hook."""
    count = state.counts.get(request.path)
    if count and request.method == "POST":
        outcome, response = await _counted(state, request)
        count(outcome, monotonic() - request.since)
    else:
        await state.turns.wait(request.peer)
        response = _refused(_RefusedError("method" if count else "path"), request)
    if request.is_old or state.draining:
        response.force_close()
    return response


async def _counted(state: ServerState, request: Request) -> tuple[str, web.Response]:
    """Answer a request for a hook within its caller's deadline; return the outcome too."""
    until = request.since + _deadline(request.query_string)
    try:
        answer = await _reviewed(state, request, until)
    except TimeoutError:
        refusal = _RefusedError("late")
    except FullError:
        refusal = _RefusedError("full")
    except _RefusedError as error:
        refusal = error.with_traceback(None)  # which refers to the body
    else:
        body = answer.body.replace(f'"{PEER}"'.encode(), f'"called from {request.remote}"'.encode())
        return answer.outcome, web.Response(body=body, headers=_REVIEW_HEADERS)
    return refusal.outcome, _refused(refusal, request)


def _refused(refusal: _RefusedError, request: Request) -> web.Response:
    """Render a refusal; close the connection too if the body is still arriving, or has chunks."""
    response = web.Response(status=refusal.status, body=refusal.text, headers=_TEXT_HEADERS)
    response.headers.update(_HEADERS.get(refusal.status, {}))
    if not request.content.is_eof() or "Transfer-Encoding" in request.headers:
        request.connection.is_refused = True
        response.force_close()
    return response


async def _reviewed(state: ServerState, request: Request, until: float) -> AdmissionAnswer:
    """Review the body, with the templates that it names. Raises what `_by_either` does."""
    peer = request.peer
    try:
        body = await _body(state, request)
    except (_RefusedError, FullError):
        await state.turns.wait(peer)
        raise
    await state.turns.wait(peer, namespace(body))
    if state.reading is None or request.path != "/mutate" or not templated.may_ask(body):
        return await _by_either(state, request.path, peer, body, until)
    asked = await _by_either(state, templated.ASKED, peer, body, until)
    wanted = templated.read_asked(asked.body)
    if not wanted.names:
        return await _by_either(state, request.path, peer, body, until)
    templates = await state.reading.templates(wanted, len(body), until, peer)
    packed = templated.packed(body, templates)
    return await _by_either(state, templated.ANSWERED, peer, packed, until)


def _deadline(query: str) -> float:
    """Return the seconds that the caller waits; the API server appends `?timeout=5s` (at most 30)."""
    match = _TIMEOUT.search(query)
    return float(match[1]) if match else 30.0


async def _body(state: ServerState, request: Request) -> bytes:
    """Read the body, unless the certificate or the headers are refused: usually it arrived with these.

    Else wait for the rest, up to `body_seconds`. At most `reviews` bodies wait. Another one evicts, of the
    caller that has most, the one that has waited longest: slow senders displace each other, and never an API
    server, whose bodies arrive at once.
    """
    headers = request.headers
    if state.callers.names and not request.peer.is_known:
        raise _RefusedError("caller")
    if headers.get("Content-Type") != "application/json" and request.content_type != "application/json":
        raise _RefusedError("type")
    if "Content-Encoding" in headers:
        raise _RefusedError("encoding")
    if "Transfer-Encoding" in headers:
        raise _RefusedError("chunks")
    if (request.content_length or 0) > state.limits.body_bytes:
        raise _RefusedError("size")
    if request.content.is_eof():
        return request.content.read_nowait()
    try:
        async with held(state.waiting, request.peer, b"", state.limits.body_seconds):
            return await request.content.read()
    except TimeoutError:
        raise _RefusedError("slow body") from None
    except ConnectionError:
        raise _RefusedError("gone") from None


async def _by_either(state: ServerState, path: str, peer: Peer, body: bytes, until: float) -> AdmissionAnswer:
    """Review a body in this process, or in the second one if that is expensive, or may be.

    A bug becomes an HTTP error, so `failurePolicy` decides. Raises `_RefusedError`, `FullError`, or
    TimeoutError once the caller's deadline has passed.
    """
    offload, seconds = state.offload, until - monotonic()
    if seconds < 0:
        raise TimeoutError
    if offload is not None and offload.takes(peer, body):
        async with asyncio.timeout(seconds):
            answer = await offload.review(path, peer, body)
    else:
        begun = thread_time()
        answer = answered(state.answers[path], body)
        if offload is not None:
            offload.note(peer, body, thread_time() - begun)
    match answer.outcome:
        case "malformed":
            raise _RefusedError("review", answer.body[:1024])
        case "slow":
            raise _RefusedError("slow")
        case "lost":
            log.error("the process for expensive reviews ended", path=path, uid=_uid(body))
            raise _RefusedError("bug")
        case "bug":
            log.error("review failed", path=path, uid=_uid(body), **orjson.loads(answer.body))
            raise _RefusedError("bug")
        case "denied":
            log.info("denied", path=path, uid=_uid(body))
    return answer


def _uid(body: bytes) -> str:
    """Return the uid of an admission request, which Go writes first; empty if it is not a UUID."""
    match = re.search(rb'"uid"\s*:\s*"([0-9A-Fa-f-]{36})"', body[:1024])
    return match[1].decode() if match else ""
