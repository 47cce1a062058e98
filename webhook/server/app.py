"""The webhook's door: aiohttp, and nothing else. What it serves comes in as plain callables.

Rules of this file:
- A review is microseconds of synchronous work, so nothing is ever half done: a request waits only for
  its own body. To refuse a whole one costs as much as to answer it; what is bounded is the waiting.
  One that is dear is answered by another process (`webhook.server.aside`), so that the others do not wait
  for it.
- An answer is one write. No middleware, no access log, no line for a request that was allowed.
- What a caller sent never gets into a log, nor a traceback into an answer. Only 429 carries Retry-After:
  client-go then asks again, perhaps another replica, and must not do so after a bug of ours.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, thread_time
from typing import Any, Final, cast

import orjson
import structlog
from aiohttp import web
from multidict import CIMultiDict

from webhook.request import Malformed
from webhook.review import AdmissionAnswer, Outcome
from webhook.server.aside import Aside, FullError, LostError
from webhook.server.connection import SERVER, begin
from webhook.server.listen import ConnectionTracker, Cut, Limits, listening
from webhook.server.places import origin

log: Final = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Hook:
    """One path: what answers a body, and what counts an outcome with its seconds."""

    review: Callable[[bytes], AdmissionAnswer]
    count: Callable[[str, float], None]


@dataclass(slots=True)
class ServerState:
    """What is served, within which limits, and what changes while it is."""

    hooks: Mapping[str, Hook]
    limits: Limits
    may_call: Callable[[Mapping[str, Any] | None], bool] = lambda _certificate: True
    """Whether the caller with this certificate, as `getpeercert()` gives it, is one to answer."""
    cut: Callable[[Cut], None] = lambda _why: None
    """Counts the connections that were cut."""
    waiting: dict[asyncio.Timeout, None] = field(default_factory=dict)
    """The bodies on their way, oldest first."""
    draining: bool = False
    aside: Aside | None = None
    """Answers what is dear; None: it is answered like the rest."""
    tracker: ConnectionTracker | None = None
    """Who is connected, while it is served."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An answer that is no review."""

    status: int
    body: bytes
    outcome: str
    headers: Mapping[str, str] = field(default_factory=dict)


_TIMEOUT: Final = re.compile(r"(?:^|&)timeout=(\d{1,4})s(?:&|$)")
_NOT_FOUND: Final = _Refusal(404, b"no such path", "")
_NOT_POST: Final = _Refusal(405, b"reviews are sent with POST", "", {"Allow": "POST"})
_UNKNOWN: Final = _Refusal(403, b"the client certificate is not of an API server", "forbidden")
_NOT_JSON: Final = _Refusal(415, b"Content-Type must be application/json", "malformed")
_ENCODED: Final = _Refusal(415, b"Content-Encoding is not accepted", "malformed")
_TOO_LARGE: Final = _Refusal(413, b"the body is larger than any review", "malformed")
_BAD_REVIEW: Final = _Refusal(400, b"", "malformed")
_TOO_SLOW: Final = _Refusal(408, b"the body did not come in time", "incomplete")
_GONE: Final = _Refusal(400, b"the body broke off, or is not framed as HTTP asks", "incomplete")
_LATE: Final = _Refusal(504, b"the caller's deadline is past", "late")
_OVERLOADED: Final = _Refusal(429, b"too many reviews at once", "overloaded", {"Retry-After": "1"})
_BUG: Final = _Refusal(500, b"a bug in the webhook; its log says more", "error")

_SERVER: Final = {"Server": SERVER}
_REVIEW_HEADERS: Final = CIMultiDict({"Content-Type": "application/json", **_SERVER})
_TEXT_HEADERS: Final = CIMultiDict({"Content-Type": "text/plain; charset=utf-8", **_SERVER})


async def serve(state: ServerState, tls: ssl.SSLContext, sock: socket.socket, stop: asyncio.Event) -> None:
    """Answer admission requests on a socket, over TLS, until `stop` is set; then drain.

    Draining: keep answering for `drain_seconds` and ask every caller to close its connection, then accept no
    more, and finish what has begun.
    """
    handler = partial(_answer, state)
    async with listening(handler, sock, state.limits, tls, state.cut) as state.tracker:
        await stop.wait()
        state.draining = True
        await asyncio.sleep(state.limits.drain_seconds)


async def _answer(state: ServerState, request: web.BaseRequest) -> web.Response:
    """Answer one request on the first port, and count it once if it is a review."""
    since, on_old = begin(request)
    hook = state.hooks.get(request.path)
    if hook is None:
        return _refused(_NOT_FOUND, request, close=on_old or state.draining)
    if request.method != "POST":
        return _refused(_NOT_POST, request, close=on_old or state.draining)
    answer = await _reviewed(state, hook, request, since)
    hook.count(answer.outcome, monotonic() - since)
    if isinstance(answer, _Refusal):
        return _refused(answer, request, close=on_old or state.draining)
    response = web.Response(body=answer.body, headers=_REVIEW_HEADERS)
    if on_old or state.draining:
        response.force_close()
    return response


def _refused(refusal: _Refusal, request: web.BaseRequest, *, close: bool = False) -> web.Response:
    """Say no; a connection whose body is still on its way, or broke, cannot be used again."""
    response = web.Response(status=refusal.status, body=refusal.body, headers=_TEXT_HEADERS)
    response.headers.update(refusal.headers)
    if close or not request.content.is_eof() or request.content.exception():
        response.force_close()
    return response


async def _reviewed(
    state: ServerState, hook: Hook, request: web.BaseRequest, since: float
) -> AdmissionAnswer | _Refusal:
    """Take the body if it may be taken, and have it reviewed if there is still somebody to answer."""
    body = _unacceptable(request, state) or await _body(state, request)
    if isinstance(body, _Refusal):
        return body
    until = since + _deadline(request.query_string)
    if monotonic() > until:
        return _LATE
    if state.aside is None:
        return _review(hook, request.path, body)
    if state.aside.takes(body):
        return await _aside(state.aside, request.path, body, until)
    begun = thread_time()
    answer = _review(hook, request.path, body)
    state.aside.note(body, thread_time() - begun)
    return answer


def _unacceptable(request: web.BaseRequest, state: ServerState) -> _Refusal | None:
    """Judge a request by its sender and its headers, before a byte of its body is taken."""
    if not state.may_call(request.get_extra_info("peercert")):
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
    """Read the seconds the caller waits; the API server appends `?timeout=5s` (at most 30)."""
    found = _TIMEOUT.search(query)
    return float(found[1]) if found else 30.0


async def _body(state: ServerState, request: web.BaseRequest) -> bytes | _Refusal:
    """Take the body: mostly it came with the headers, and there is nothing to wait for."""
    if request.content.is_eof():
        body = request.content.read_nowait()
        return body if len(body) <= state.limits.body_bytes else _TOO_LARGE
    if "Expect" in request.headers:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    return await _rest(state, request)


async def _rest(state: ServerState, request: web.BaseRequest) -> bytes | _Refusal:
    """Wait for a body, for a while, as one of so many; who has waited longest makes room for the next.

    So a crowd of slow senders crowds out itself, and never an API server.
    """
    _make_room(state)
    timer = asyncio.timeout(state.limits.body_seconds)
    state.waiting[timer] = None
    try:
        async with timer:
            return await _read(request, state.limits.body_bytes)
    except TimeoutError:
        return _TOO_SLOW if timer in state.waiting else _OVERLOADED
    except ConnectionError:
        return _GONE
    except web.RequestPayloadError:
        request.content.feed_eof()  # there is no rest to wait for
        return _GONE
    finally:
        state.waiting.pop(timer, None)


def _make_room(state: ServerState) -> None:
    """Send away the body that has been on its way for longest, if there are as many as may be."""
    if len(state.waiting) < state.limits.reviews:
        return
    oldest = next(iter(state.waiting))
    del state.waiting[oldest]
    if not oldest.expired():
        oldest.reschedule(0.0)


async def _read(request: web.BaseRequest, limit: int) -> bytes | _Refusal:
    body = bytearray()
    while not request.content.at_eof():
        body += await request.content.readany()
        if len(body) > limit:
            return _TOO_LARGE
    return bytes(body)


def _review(hook: Hook, path: str, body: bytes) -> AdmissionAnswer | _Refusal:
    """Have a body reviewed; a bug is an HTTP error, so that `failurePolicy` decides and not we."""
    try:
        answer = hook.review(body)
    except Malformed as error:
        return replace(_BAD_REVIEW, body=str(error)[:1024].encode(errors="replace"))
    except Exception as error:  # noqa: BLE001 - the process's door
        log.error("review failed", path=path, uid=_uid(body), **origin(error))  # noqa: TRY400 - no message: it may quote the object
        return _BUG
    if answer.outcome == "denied":
        log.info("denied", path=path, uid=_uid(body))
    return answer


async def _aside(aside: Aside, path: str, body: bytes, until: float) -> AdmissionAnswer | _Refusal:
    """Have a dear body reviewed in the process for those."""
    try:
        said = await aside.review(path, body, until)
    except FullError:
        return _OVERLOADED
    except LostError:
        log.error("the process for dear reviews ended", path=path, uid=_uid(body))  # noqa: TRY400 - expected, no bug
        return _BUG
    if said.word == "late":
        return _LATE
    if said.word == "malformed":
        return replace(_BAD_REVIEW, body=said.content[:1024])
    if said.word == "bug":
        log.error("review failed", path=path, uid=_uid(body), **orjson.loads(said.content))
        return _BUG
    if said.word == "denied":
        log.info("denied", path=path, uid=_uid(body))
    return AdmissionAnswer(said.content, cast("Outcome", said.word))


def _uid(body: bytes) -> str:
    """Find the review's uid; Go writes it first. A UUID or nothing, so it cannot break a log."""
    found = re.search(rb'"uid"\s*:\s*"([0-9A-Fa-f-]{36})"', body[:1024])
    return found[1].decode() if found else ""
