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
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, thread_time
from typing import Final, cast

import orjson
import structlog
from aiohttp import web
from multidict import CIMultiDict

from webhook import templated
from webhook.review import PEER, AdmissionAnswer, ReviewOutcome
from webhook.server.callers import Callers, Peer
from webhook.server.connection import SERVER, Connection, begin
from webhook.server.listen import ConnectionTracker, Cut, Limits, listening
from webhook.server.metrics import Count
from webhook.server.offload import LostError, Offload, namespace
from webhook.server.reading import TemplateLoader
from webhook.server.shares import FullError, LoopTurns, Shares, expire
from webhook.server.worker import Answered, answered

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
    tracker: ConnectionTracker | None = None
    """The open connections, while the server runs."""

    def __post_init__(self) -> None:
        """Divide the limit."""
        self.waiting = Shares(self.limits.reviews, self.callers.reserved, expire, _ends)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An HTTP answer that is not an AdmissionReview."""

    status: int
    body: bytes
    outcome: str
    headers: Mapping[str, str] = field(default_factory=dict)


_TIMEOUT: Final = re.compile(r"(?:^|&)timeout=(\d{1,4})s(?:&|$)")
_NOT_FOUND: Final = _Refusal(404, b"no such path", "")
_NOT_POST: Final = _Refusal(405, b"use POST", "", {"Allow": "POST"})
_UNKNOWN: Final = _Refusal(403, b"the client certificate is not an API server's", "forbidden")
_NOT_JSON: Final = _Refusal(415, b"Content-Type must be application/json", "malformed")
_ENCODED: Final = _Refusal(415, b"Content-Encoding is not supported", "malformed")
_TOO_LARGE: Final = _Refusal(413, b"the body is too large", "malformed")
_BAD_REVIEW: Final = _Refusal(400, b"", "malformed")
_TOO_SLOW: Final = _Refusal(408, b"the body took too long to arrive", "incomplete")
_GONE: Final = _Refusal(400, b"the body ended early, or its framing is invalid", "incomplete")
_LATE: Final = _Refusal(504, b"the caller's deadline has passed", "late")
_SLOW: Final = _Refusal(504, b"the review took longer than 1 s", "late")
_ENDED: Final = {"late": _LATE, "slow": _SLOW}
_OVERLOADED: Final = _Refusal(429, b"too many admission requests at once", "overloaded", {"Retry-After": "1"})
_BUG: Final = _Refusal(500, b"internal error; see the webhook's log", "error")

_SERVER: Final = {"Server": SERVER}
_REVIEW_HEADERS: Final = CIMultiDict({"Content-Type": "application/json", **_SERVER})
_TEXT_HEADERS: Final = CIMultiDict({"Content-Type": "text/plain; charset=utf-8", **_SERVER})


async def serve(state: ServerState, tls: ssl.SSLContext, sock: socket.socket, stop: asyncio.Event) -> None:
    """Answer admission requests on a socket, over TLS, until `stop` is set; then drain.

    Draining: keep answering for `drain_seconds` and ask every caller to close its connection, then accept no
    more, and finish the requests that have begun.
    """
    handler = partial(_answer, state)
    shared = partial(listening, callers=state.callers, turns=state.turns)
    async with shared(handler, sock, state.limits, tls, state.cut) as state.tracker:
        await stop.wait()
        state.draining = True
        await asyncio.sleep(state.limits.drain_seconds)


async def _answer(state: ServerState, request: web.BaseRequest) -> web.Response:
    """Answer one HTTP request, and count it once if it is for a hook."""
    since, is_old = begin(request)
    peer = cast("Connection", request.protocol).peer
    count = state.counts.get(request.path)
    if count is None or request.method != "POST":
        await state.turns.wait(peer)
        refusal = _NOT_POST if count else _NOT_FOUND
        return _refused(refusal, request, close=is_old or state.draining)
    answer = await _reviewed(state, request, peer, since)
    count(answer.outcome, monotonic() - since)
    if isinstance(answer, _Refusal):
        return _refused(answer, request, close=is_old or state.draining)
    body = answer.body.replace(f'"{PEER}"'.encode(), f'"called from {request.remote}"'.encode())
    response = web.Response(body=body, headers=_REVIEW_HEADERS)
    if is_old or state.draining:
        response.force_close()
    return response


def _refused(refusal: _Refusal, request: web.BaseRequest, *, close: bool = False) -> web.Response:
    """Render a refusal; close the connection too if the body is still arriving, or is broken."""
    response = web.Response(status=refusal.status, body=refusal.body, headers=_TEXT_HEADERS)
    response.headers.update(refusal.headers)
    unread = not request.content.is_eof() or request.content.exception() is not None
    cast("Connection", request.protocol).is_refused = unread
    if close or unread:
        response.force_close()
    return response


async def _reviewed(
    state: ServerState, request: web.BaseRequest, peer: Peer, since: float
) -> AdmissionAnswer | _Refusal:
    """Read the body if the request is acceptable, and review it unless the caller's deadline has passed."""
    body = _unacceptable(request, peer, state) or await _body(state, request, peer)
    if isinstance(body, _Refusal):
        await state.turns.wait(peer)
        return body
    await state.turns.wait(peer, namespace(body))
    until = since + _deadline(request.query_string)
    if state.reading is not None and request.path == "/mutate" and templated.may_ask(body):
        return await _with_templates(state, state.reading, peer, body, until)
    return await _by_either(state, request.path, peer, body, until)


async def _with_templates(
    state: ServerState, reading: TemplateLoader, peer: Peer, body: bytes, until: float
) -> AdmissionAnswer | _Refusal:
    """Review a body that may name templates, and read those that it needs."""
    asked = await _by_either(state, templated.ASKED, peer, body, until)
    if isinstance(asked, _Refusal):
        return asked
    wanted = templated.read_asked(asked)
    if not wanted.names:
        return await _by_either(state, "/mutate", peer, body, until)
    try:
        templates = await reading.templates(wanted, len(body), until, peer)
    except FullError:
        return _OVERLOADED
    return await _by_either(state, templated.ANSWERED, peer, templated.packed(body, templates), until)


async def _by_either(
    state: ServerState, path: str, peer: Peer, body: bytes, until: float
) -> AdmissionAnswer | _Refusal:
    """Review a body in this process, or in the second one if that is expensive, or may be."""
    if monotonic() > until:
        return _LATE
    offload = state.offload
    if offload is not None and offload.takes(peer, body):
        found = await _offloaded(offload, path, peer, body, until)
        return _rendered(path, body, found) if isinstance(found, Answered) else found
    begun = thread_time()
    answer = answered(state.answers[path], body)
    if offload is not None:
        offload.note(peer, body, thread_time() - begun)
    return _rendered(path, body, answer)


def _unacceptable(request: web.BaseRequest, peer: Peer, state: ServerState) -> _Refusal | None:
    """Return why a request is refused by its client certificate or headers, before its body is read."""
    if state.callers.names and not peer.is_known:
        return _UNKNOWN
    headers = request.headers
    if headers.get("Content-Type") != "application/json" and request.content_type != "application/json":
        return _NOT_JSON
    if "Content-Encoding" in headers:
        return _ENCODED
    if (request.content_length or 0) > state.limits.body_bytes:
        return _TOO_LARGE
    return None


def _deadline(query: str) -> float:
    """Return the seconds that the caller waits; the API server appends `?timeout=5s` (at most 30)."""
    found = _TIMEOUT.search(query)
    return float(found[1]) if found else 30.0


async def _body(state: ServerState, request: web.BaseRequest, peer: Peer) -> bytes | _Refusal:
    """Read the body: usually it arrived with the headers, and there is nothing to wait for."""
    if request.content.is_eof():
        body = request.content.read_nowait()
        return body if len(body) <= state.limits.body_bytes else _TOO_LARGE
    if "Expect" in request.headers:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    return await _rest(state, request, peer)


async def _rest(state: ServerState, request: web.BaseRequest, peer: Peer) -> bytes | _Refusal:
    """Wait for the rest of a body, up to `body_seconds`; of what has arrived, each part takes a turn.

    At most `reviews` bodies wait. Another one evicts, of the caller that has most, the one that has waited
    longest: slow senders displace each other, and never an API server, whose bodies arrive at once.
    """
    timer = asyncio.timeout(state.limits.body_seconds)
    parts, size = [], 0
    try:
        async with timer:
            state.waiting.add(peer, b"", timer)
            while not request.content.at_eof():
                parts.append(await request.content.readany())
                size += len(parts[-1])
                if size > state.limits.body_bytes:
                    return _TOO_LARGE
                if size < request.content.total_bytes:  # else the connection took a turn for what follows
                    await state.turns.wait(peer)
    except FullError:
        return _OVERLOADED
    except TimeoutError:
        return _TOO_SLOW if state.waiting.remove(peer, b"", timer) else _OVERLOADED
    except ConnectionError:
        return _GONE
    except web.RequestPayloadError:
        request.content.feed_eof()  # nothing more can be read
        return _GONE
    finally:
        state.waiting.remove(peer, b"", timer)
    return b"".join(parts)


def _ends(body: asyncio.Timeout) -> float:
    return body.when() or 0.0


async def _offloaded(
    offload: Offload, path: str, peer: Peer, body: bytes, until: float
) -> Answered | _Refusal:
    """Review a body in the second process."""
    try:
        return await offload.review(path, peer, body, until)
    except FullError:
        return _OVERLOADED
    except LostError:
        log.error("the process for expensive reviews ended", path=path, uid=_uid(body))  # noqa: TRY400 - its type says all
        return _BUG


def _rendered(path: str, body: bytes, answer: Answered) -> AdmissionAnswer | _Refusal:
    """Return the answer to a review. A bug becomes an HTTP error, so `failurePolicy` decides."""
    match answer.outcome:
        case "late" | "slow":
            return _ENDED[answer.outcome]
        case "malformed":
            return replace(_BAD_REVIEW, body=answer.content[:1024])
        case "bug":
            log.error("review failed", path=path, uid=_uid(body), **orjson.loads(answer.content))
            return _BUG
        case "denied":
            log.info("denied", path=path, uid=_uid(body))
    return AdmissionAnswer(answer.content, cast("ReviewOutcome", answer.outcome))


def _uid(body: bytes) -> str:
    """Return the uid of an admission request, which Go writes first; empty if it is not a UUID."""
    found = re.search(rb'"uid"\s*:\s*"([0-9A-Fa-f-]{36})"', body[:1024])
    return found[1].decode() if found else ""
