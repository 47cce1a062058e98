"""A proxy between a controller and the API server: it passes every call on, but for its faults.

A real API server cannot be made to answer 404 for a kind that it has, or to keep a watch open in silence.
All else is the real one's answer. The proxy counts the controller's writes.
"""

import asyncio
import secrets
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import aiohttp
import orjson
from aiohttp import web
from yarl import URL

Verb = Literal["get", "list", "watch", "write"]
How = Literal["refuse", "refuse-variously", "empty", "stale", "deaf", "cut", "delay"]
READS: Final = frozenset({"list", "watch"})
LINE: Final = 2**24
"""Bytes of one line of a watch."""
ENDING: Final = 0.25
"""Seconds for connections on TLS to end, after they were closed (aiohttp: "Graceful Shutdown")."""
PASSED: Final = ("Authorization", "Content-Type", "User-Agent", "Accept")
RETURNED: Final = ("Content-Type", "Retry-After", "Warning")
REASONS: Final[Mapping[int, str]] = {403: "Forbidden", 429: "TooManyRequests", 500: "InternalError"}
LIES: Final = frozenset({"empty", "stale"})
"""Faults after which a cache stays wrong until it lists again: a watch gets 410 before and after."""
SILENT: Final = frozenset({"deaf", "cut"})
"""Faults that strike a watch that goes on: a silent one does not say that it ended."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the controller: what it does, to which kind, where. `name` is empty for a collection."""

    verb: Verb
    resource: str
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of some calls: those with one of the verbs, of one of the resources (none: of all).

    `code` is of a refusal, `seconds` of a delay. `times`: how often it strikes for each resource; 0: always.
    """

    how: How
    verbs: frozenset[str]
    resources: frozenset[str] = frozenset()
    namespace: str = ""
    code: int = 0
    seconds: float = 0.0
    times: int = 0

    def meets(self, call: Call) -> bool:
        """Return whether it concerns a call."""
        of_kind = not self.resources or call.resource in self.resources
        return call.verb in self.verbs and of_kind and self.namespace in ("", call.namespace)


def call_of(method: str, path: str, query: Mapping[str, str]) -> Call:
    """Read a call from its request (API conventions: `/api/v1/...` and `/apis/GROUP/VERSION/...`)."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = rest[1] if len(rest) > 2 and rest[0] == "namespaces" else ""
    resource, name = (*(rest[2:] if namespace else rest), "", "")[:2]
    if method != "GET":
        return Call("write", resource, namespace, name)
    verb: Verb = "get" if name else "watch" if query.get("watch") else "list"
    return Call(verb, resource, namespace, name)


@dataclass(slots=True)
class Proxy:
    """A proxy that runs; `begin` and `end` are called from the thread of a test."""

    target: str
    authority: Path
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    port: int = 0
    faults: tuple[Fault, ...] = ()
    writes: list[tuple[float, Call]] = field(default_factory=list)
    """When (monotonic) which write came, dry runs too; those of Leases are left out."""
    renewed: float = 0.0
    """When (monotonic) a Lease was written last: only its holder writes it, and the next holder."""
    struck: dict[tuple[Fault, str], int] = field(default_factory=dict)
    """How often a fault struck, by resource."""
    expired: set[str] = field(default_factory=set)
    """Resources of which the next watch is answered with 410."""
    streams: dict["asyncio.Task[None]", Call] = field(default_factory=dict)
    first: dict[str, bytes] = field(default_factory=dict)
    """The first answer to each list, by its path and selector: an older copy."""

    def begin(self, *faults: Fault) -> None:
        """Have faults from now on. Watches that they concern break; lists that lie are asked for anew."""
        asyncio.run_coroutine_threadsafe(self._set((*self.faults, *faults), faults), self.loop).result(10)

    def end(self, *faults: Fault) -> None:
        """Have these faults no longer. Silent watches break, and lists that lied are asked for anew."""
        left = tuple(each for each in self.faults if each not in faults)
        asyncio.run_coroutine_threadsafe(self._set(left, faults), self.loop).result(10)

    async def _set(self, faults: tuple[Fault, ...], changed: tuple[Fault, ...]) -> None:
        begins, self.faults = faults[-len(changed) :] == changed, faults
        for fault in changed:
            concerned = {name for name in self._known() if not fault.resources or name in fault.resources}
            self.expired |= concerned if fault.how in LIES else set()
            if "watch" in fault.verbs and not (begins and fault.how in SILENT):
                self._cut(concerned)
            for name in concerned:
                self.struck.pop((fault, name), None)

    def _known(self) -> set[str]:
        """Name the resources that were listed."""
        return {call_of("GET", key.partition("?")[0], {}).resource for key in self.first}

    def _cut(self, resources: set[str]) -> None:
        for task, call in self.streams.items():
            if call.resource in resources:
                task.cancel()

    # --- calls ----------------------------------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one call."""
        call = call_of(request.method, request.path, request.query)
        if call.verb == "write" and call.resource == "leases":
            self.renewed = time.monotonic()
        elif call.verb == "write":
            self.writes.append((time.monotonic(), call))
        for fault in self._striking(call, "delay"):
            await asyncio.sleep(fault.seconds)
        if call.verb == "watch" and call.resource in self.expired:
            self.expired.discard(call.resource)
            return _status(410, "Expired", "too old resource version")
        for fault in self._striking(call, "refuse", "refuse-variously"):
            return _refusal(fault)
        try:
            return await (self._watch if call.verb == "watch" else self._answer)(request, call)
        except aiohttp.ClientError:  # what the API server breaks off is broken off
            _break(request)
            return web.Response(status=502)

    def _striking(self, call: Call, *hows: str) -> Iterator[Fault]:
        """Return the faults of these sorts that a call meets, and count them."""
        for fault in self.faults:
            key = (fault, call.resource)
            if fault.how in hows and fault.meets(call):
                if fault.times and self.struck.get(key, 0) >= fault.times:
                    continue
                self.struck[key] = self.struck.get(key, 0) + 1
                yield fault

    async def _answer(self, request: web.Request, call: Call) -> web.StreamResponse:
        async with self._asked(request) as answer:
            body = await answer.read()
            headers = {key: answer.headers[key] for key in RETURNED if key in answer.headers}
            status = answer.status
        key = f"{request.path}?{request.query.get('labelSelector', '')}"
        if call.verb == "list" and status == 200:
            for _ in self._striking(call, "stale"):
                body = self.first.get(key, body)
            for _ in self._striking(call, "empty"):
                body = orjson.dumps(_listed(body) | {"items": []})
            self.first.setdefault(key, body)
        if next(self._striking(call, "cut"), None):
            return await _broken_off(request, body)
        return web.Response(body=body, status=status, headers=headers)

    async def _watch(self, request: web.Request, call: Call) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        task = asyncio.create_task(self._copy(request, response, call))
        self.streams[task] = call
        try:
            await task
        except asyncio.CancelledError:
            _break(request)
        except (aiohttp.ClientError, OSError):
            _break(request)
        finally:
            task.cancel()
            del self.streams[task]
        return response

    async def _copy(self, request: web.Request, response: web.StreamResponse, call: Call) -> None:
        async with self._asked(request) as answer:
            response.set_status(answer.status)
            await response.prepare(request)
            while line := await answer.content.readline():
                if next(self._striking(call, "deaf"), None):
                    continue
                if next(self._striking(call, "cut"), None):
                    await response.write(line[: len(line) // 2])
                    _break(request)
                    return
                await response.write(line)

    def _asked(self, request: web.Request) -> "_Asked":
        return _Asked(self.target, self.session, request)

    # --- running --------------------------------------------------------------------------------------

    session: aiohttp.ClientSession = field(init=False)

    async def serve(self, folder: Path) -> web.AppRunner:
        """Listen on loopback with the certificate of a folder."""
        trusted = ssl.create_default_context(cafile=str(self.authority))
        connector = aiohttp.TCPConnector(ssl=trusted, limit=0)
        limits = aiohttp.ClientTimeout(total=None, sock_connect=10)
        self.session = aiohttp.ClientSession(connector=connector, timeout=limits, read_bufsize=LINE)
        app = web.Application(client_max_size=LINE)
        app.router.add_route("*", "/{path:.*}", self.handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        own.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=own)
        await site.start()
        self.port = runner.addresses[0][1]
        return runner


class _Asked:
    """The real answer to a request, as a context."""

    def __init__(self, target: str, session: aiohttp.ClientSession, request: web.Request) -> None:
        self.target, self.session, self.request = target, session, request

    async def __aenter__(self) -> aiohttp.ClientResponse:
        request = self.request
        headers = {key: request.headers[key] for key in PASSED if key in request.headers}
        url = URL(self.target + request.raw_path, encoded=True)
        body = await request.read()
        self.answer = await self.session.request(
            request.method, url, data=body or None, headers=headers | {"Accept-Encoding": "identity"}
        )
        return self.answer

    async def __aexit__(self, *_exc: object) -> None:
        self.answer.close()


@contextmanager
def proxy(target: str, authority: Path, folder: Path) -> Iterator[Proxy]:
    """Run a proxy to an API server, checked against an authority; `folder` holds the proxy's certificate."""
    there = Proxy(target, authority)
    thread = threading.Thread(target=there.loop.run_forever, daemon=True, name="proxy")
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(there.serve(folder), there.loop).result(30)
    try:
        yield there
    finally:
        asyncio.run_coroutine_threadsafe(_stop(there, runner), there.loop).result(30)
        there.loop.call_soon_threadsafe(there.loop.stop)
        thread.join()
        there.loop.close()


async def _stop(there: Proxy, runner: web.AppRunner) -> None:
    for task in tuple(there.streams):
        task.cancel()
    await runner.cleanup()
    await there.session.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(ENDING)


def _refusal(fault: Fault) -> web.Response:
    """Refuse as the API server does; one without the kind answers 404 in plain text, and names no object."""
    if fault.code == 404:
        return web.Response(status=404, text="404 page not found\n")
    text = f"refused at attempt {secrets.token_hex(4)}" if fault.how == "refuse-variously" else "refused"
    return _status(fault.code, REASONS[fault.code], text, {"Retry-After": "1"} if fault.code == 429 else {})


def _status(code: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    return web.json_response({**body, "message": message}, status=code, headers=headers)


def _listed(body: bytes) -> dict[str, object]:
    found: dict[str, object] = orjson.loads(body)
    return found


async def _broken_off(request: web.Request, body: bytes) -> web.StreamResponse:
    """Send half of a body, then break the connection."""
    response = web.StreamResponse(
        headers={"Content-Type": "application/json", "Content-Length": str(len(body))}
    )
    await response.prepare(request)
    with suppress(ConnectionError):
        await response.write(body[: len(body) // 2])
    _break(request)
    return response


def _break(request: web.Request) -> None:
    if request.transport:
        request.transport.abort()
