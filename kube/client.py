"""The client of the API server: sends requests, returns JSON.

`kubernetes.aio` finds the configuration. Objects stay JSON, because typed
models drop unknown fields.
"""

import asyncio
import contextlib
import math
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from os.path import exists, expanduser
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
import structlog
from kubernetes.aio import config as untyped_config
from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from yaml import YAMLError

from intent import Object
from intent.names import is_api_path, is_label
from intent.shapes import mapping
from kube.pool import NOBODY, BytePool
from kube.request import PAGE, Request, page, within
from kube.wire import Page, WatchEvent, read_at_any_depth, read_event, read_object, read_page

config: Final[Any] = untyped_config  # its functions have no types
log: Final = structlog.stdlib.get_logger(__name__)

ConfigError = untyped_config.ConfigException
"""Raised without a usable kubeconfig and outside a pod."""
SERVICE_HOST: Final = "KUBERNETES_SERVICE_HOST"
"""The environment variable that exists in every pod."""
TIMEOUT: Final = 30.0
"""Seconds for one request that is not a watch."""
SILENCE: Final = 150.0
"""Seconds after which a silent watch is dead. API servers send a bookmark about once a minute
(`defaultBookmarkFrequency` of `k8s.io/apiserver` `pkg/storage/cacher/cacher.go`) but sometimes skip one:
120 s between two have been observed. A dead connection is detected earlier, by `KEEPALIVE`."""
KEEPALIVE: Final = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 6))
"""When and how often TCP probes a connection on which nothing arrives, in seconds (tcp(7), Linux)."""
ACK_TIMEOUT: Final = 5.0
"""Seconds after which the kernel drops data that was sent and not acknowledged."""
LONGEST_LINE: Final = 2**24
"""The longest line of a watch, in bytes.

etcd stores at most 1.5 MiB of an object. Built-in kinds are stored as protobuf, in which a character takes
one byte; in JSON Go writes six for `<`, `>`, `&` and control characters.
"""
PAGE_BYTES: Final = 2**22
"""The longest page of a list, in bytes, unless it has one object only.

One tenant may store hundreds of objects of the size above; a page of a hundred would end the process.
"""
IN_TRANSIT: Final = 2**27
"""Bytes of pages, of lines of watches, and of objects that wait to be read, of all kinds together."""
UNDECLARED: Final = "field not declared in schema"
"""The message of server-side apply for a field that a kind lacks (`structured-merge-diff` `typed`)."""
DENIED: Final = "admission webhook "
"""How the message of a denial begins, whose code and reason are any (`k8s.io/apiserver`
`pkg/admission/plugin/webhook/errors/statuserror.go`)."""
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
NAMELESS: Final[Object] = {
    "reason": "NotFound",
    "message": "no object can have such a name, so nothing was asked",
    "details": {"name": "none"},
}
"""The status of a request that is not sent: its path has a segment that no API server accepts as a name."""
LONGEST: Final = 1024
"""Characters of an answer's message that an error keeps: the remedy of a denial stands at its end."""
DEFAULT_NAMESPACE: Final = "default"
"""The namespace of a context that names none."""
NONE: Final = "none"
"""In place of the status of an answer: there was no answer."""
POD_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""The file with the namespace of a pod, beside its token."""
NO_ANSWER: Final = (aiohttp.ClientError, TimeoutError, OSError)
"""The errors raised if the API server cannot be reached, or the connection breaks."""
INVALID: Final = (AttributeError, KeyError, TypeError, ValueError, RecursionError, YAMLError)
"""The errors raised for a file that is not a kubeconfig."""


class ApiError(Exception):
    """An answer of the API server other than 2xx: a `Status` of apimachinery `meta/v1`."""

    def __init__(self, code: int, status: Object, retry_after: float = 0.0) -> None:
        message = str(status.get("message", ""))[:LONGEST]
        super().__init__(f"{code} {status.get('reason', '')}: {message}")
        self.code = code
        self.reason = str(status.get("reason", ""))
        self.retry_after = retry_after
        self.denied = message.startswith(DENIED)
        """Whether a webhook denied the request: then the code tells nothing of the object."""
        self.exists = self.reason == "AlreadyExists" and not self.denied
        """Whether an object of this name exists already."""
        self.crossed = self.reason == "Conflict" and not self.denied
        """Whether another client changed the object since it was read."""
        self.named = self.denied or bool(mapping(status.get("details")).get("name"))
        """Whether the answer is about one object, and not about a missing kind."""
        self.undeclared = UNDECLARED in str(status.get("message", ""))
        """Whether the kind lacks a field that was applied; the code is then 500, but a retry cannot help."""


def logged(error: Exception) -> str:
    """Return what a log says of an error: its type, with the code and reason of an answer.

    Its message may quote an object, and logs are not for the author of the object.
    """
    name = type(error).__name__
    if not isinstance(error, ApiError):
        return name
    return f"{name}: {error.code} {error.reason if error.reason.isalpha() else ''}".rstrip()


class AnswerTooLargeError(Exception):
    """An answer is longer than its reader accepts; a page of fewer objects may not be."""


@dataclass(slots=True)
class Client:
    """One API server and the credentials for it."""

    session: aiohttp.ClientSession
    configuration: Any  # kubernetes.aio ships no types
    tls: ssl.SSLContext | bool
    """Which API servers are trusted; True for connections without TLS."""
    timed: Callable[[str, str, float], None] = lambda _verb, _code, _seconds: None
    """Called for each request: its verb, the status of the answer (`NONE` without one), and the seconds."""
    pool: BytePool = field(default_factory=lambda: BytePool(IN_TRANSIT))
    """The memory for what was received and is not yet read."""

    async def call(self, request: Request, seconds: float = TIMEOUT, at_most: float = math.inf) -> Object:
        """Send a request and return the answer's JSON, of at most so many bytes.

        Raises `AnswerTooLargeError`, `ApiError`, ValueError or one of `NO_ANSWER`.
        """
        limits = aiohttp.ClientTimeout(total=seconds, ceil_threshold=seconds)  # above it, aiohttp rounds up
        async with self._send(request, limits) as response:
            return _as_object(await read_at_any_depth(read_object, await _body(response, at_most)))

    async def text(self, request: Request, seconds: float = TIMEOUT) -> str:
        """Send a request and return the answer as text: a log is no JSON. Raises as `call` does."""
        async with self._send(request, aiohttp.ClientTimeout(total=seconds)) as response:
            return (await response.read()).decode(errors="replace")

    async def warnings(self, request: Request) -> tuple[str, ...]:
        """Send a request and return the warnings of the answer. Raises as `call` does."""
        async with self._send(request, aiohttp.ClientTimeout(total=TIMEOUT)) as response:
            return tuple(response.headers.getall("Warning", ()))

    async def pages(self, path: str, selector: str = "", fields: str = "") -> AsyncIterator[Page]:
        """Yield the pages of a list, by labels and fields; each is dropped before the next one is asked for.

        A page that is too large is asked for again with half as many objects; after a small one, twice as
        many. Raises as `call` does.
        """
        token, most = "", PAGE
        while True:
            await self.pool.room(NOBODY)
            self.pool.take(NOBODY, PAGE_BYTES)
            try:
                at_most = PAGE_BYTES if most > 1 else math.inf
                request = page(path, selector, fields, token, most)
                async with self._send(request, aiohttp.ClientTimeout(total=TIMEOUT)) as response:
                    body = await _body(response, at_most)
                answer = await read_at_any_depth(read_page, body)
                yield answer
            except AnswerTooLargeError:
                most //= 2
                continue
            finally:
                self.pool.take(NOBODY, -PAGE_BYTES)
            if sum(memoryview(item).nbytes for item in answer.items or ()) < PAGE_BYTES / 4:
                most = min(PAGE, 2 * most)
            token = answer.metadata.token
            if not token:
                return

    async def write(self, request: Request, seconds: float) -> Object:
        """Send a write with a deadline, which the API server enforces too. Raises as `call` does.

        If the caller is cancelled, wait for the answer first: the write may still take effect.
        """
        seconds = min(seconds, TIMEOUT)
        sent = asyncio.create_task(self.call(within(request, seconds), seconds))
        try:
            return await asyncio.shield(sent)
        except asyncio.CancelledError:
            await asyncio.gather(sent, return_exceptions=True)
            raise

    async def follow(self, request: Request) -> AsyncIterator[WatchEvent]:
        """Yield the events of a watch until its end.

        Raises `ApiError`, ValueError for an invalid line, or one of `NO_ANSWER`, also if nothing arrives for
        `SILENCE` seconds or the last line is incomplete.
        """
        limits = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT, sock_read=SILENCE)
        async with self._send(request, limits) as response:
            async for line in _lines(response, self.pool):
                yield await read_at_any_depth(read_event, line)

    @contextlib.asynccontextmanager
    async def _send(
        self, request: Request, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if not is_api_path(request.path):
            raise ApiError(NOT_FOUND, NAMELESS)
        since, code = time.monotonic(), NONE
        credentials = await self._credentials()
        sending = self.session.request(
            request.method,
            self.configuration.host + request.path,
            params=request.query,
            data=None if request.body is None else orjson.dumps(request.body),
            headers={"Content-Type": request.content_type} | credentials,
            timeout=limits,
            proxy=self.configuration.proxy,
            ssl=self.tls,
            server_hostname=self.configuration.tls_server_name,
        )
        try:
            answer = await sending
            code = str(answer.status)
        finally:
            self.timed(request.verb, code, time.monotonic() - since)
        async with answer as response:
            if not response.ok:
                raise await _error(response)
            yield response

    async def _credentials(self) -> dict[str, str]:
        settings = await self.configuration.auth_settings()
        return {auth["key"]: auth["value"] for auth in settings.values() if auth["in"] == "header"}

    async def close(self) -> None:
        """Close all connections."""
        await self.session.close()


async def connect(
    kubeconfig: str | None = None, context: str | None = None, ack_timeout: float = ACK_TIMEOUT
) -> Client:
    """Return a client for a kubeconfig file, or for the cluster of the pod that this process runs in.

    Outside a pod the default is $KUBECONFIG, then the file in the home directory. Data that was not
    acknowledged for `ack_timeout` seconds is never sent again. Raises `ConfigError` without credentials.
    """
    configuration, in_pod = Configuration(), SERVICE_HOST in os.environ
    if in_pod and not (kubeconfig or context):
        config.load_incluster_config(client_configuration=configuration)
    else:
        await _load(configuration, kubeconfig, context)
    configuration.proxy = configuration.proxy or _proxy(configuration.host)
    return Client(_session(ack_timeout), configuration, _tls(configuration))


async def _load(configuration: Any, kubeconfig: str | None, context: str | None) -> None:
    file = _file(kubeconfig)
    try:
        await config.load_kube_config(file, context, client_configuration=configuration, persist_config=False)
    except INVALID as error:
        raise ConfigError(f"{file}: not a valid kubeconfig") from error


def _file(kubeconfig: str | None) -> str:
    """Return the kubeconfig, which may be several files. Raises `ConfigError` if there is none of them."""
    named = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    if not any(map(exists, map(expanduser, named.split(os.pathsep)))):  # those of Path may raise
        raise ConfigError(f"{named} does not exist: name a kubeconfig with --kubeconfig or $KUBECONFIG")
    return named


def home_namespace(kubeconfig: str | None = None, context: str | None = None) -> str:
    """Return the namespace of a context, as kubectl does: `default` if it names none. In a pod, the pod's.

    Raises `ConfigError` without a kubeconfig, or if it names what is no namespace.
    """
    if SERVICE_HOST in os.environ and not (kubeconfig or context):
        return (
            POD_NAMESPACE.read_text(encoding="utf-8").strip() if POD_NAMESPACE.exists() else DEFAULT_NAMESPACE
        )
    file = _file(kubeconfig)
    try:
        known, current = config.list_kube_config_contexts(file)
        contexts = {one["name"]: one["context"] for one in known}
        if context and context not in contexts:
            raise ConfigError(f"{file} has no context {context}; it has {', '.join(contexts) or 'none'}")
        chosen = contexts[context] if context else current["context"]
        named = str(chosen.get("namespace") or DEFAULT_NAMESPACE)
    except INVALID as error:
        raise ConfigError(f"{file}: not a valid kubeconfig") from error
    if not is_label(named):
        raise ConfigError(f"{file}: {named!r} is no name of a namespace")
    return named


def _proxy(host: str) -> str | None:
    """Return the proxy for a URL that the environment names (`HTTPS_PROXY`, `NO_PROXY`); None: no proxy.

    With `trust_env` aiohttp asks for it at each request, and reads `~/.netrc`, in two other threads.
    """
    url = urlsplit(host)
    return None if proxy_bypass(url.hostname or "") else getproxies().get(url.scheme)


def _tls(configuration: Any) -> ssl.SSLContext | bool:
    # a context loads the authorities of the system, in 50 ms; `kubectl proxy` needs none
    if not configuration.host.startswith("https:"):
        return True
    context: ssl.SSLContext = RESTClientObject(configuration).ssl_context
    return context


def _session(ack_timeout: float) -> aiohttp.ClientSession:
    # no limit: a request that waited for the connection of one that hangs would hang too
    connector = aiohttp.TCPConnector(limit=0, socket_factory=sockets(ack_timeout))
    headers = {"User-Agent": "fusioninfer-sync", "Accept": "application/json"}
    return aiohttp.ClientSession(connector=connector, headers=headers)


def sockets(ack_timeout: float) -> Callable[[Any], socket.socket]:
    """Return a socket factory that limits retransmission, which the kernel otherwise continues for minutes.

    It continues even after the process has ended, so a late write could arrive (tcp(7) TCP_USER_TIMEOUT, RFC
    5482; Linux only). Keepalive probes detect that the other side is gone while nothing is sent.
    """

    def make(address: Any) -> socket.socket:
        made = socket.socket(*address[:3])
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, math.ceil(ack_timeout * 1000))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE:
            if hasattr(socket, option):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        return made

    return make


async def _lines(response: aiohttp.ClientResponse, pool: BytePool) -> AsyncIterator[bytes]:
    """Yield the lines of a body. Raises ValueError for one that is too long.

    Between two lines it waits for room; within one it does not, so that each line that began ends.
    """
    parts: list[bytes] = []
    held = 0
    try:
        async for chunk in response.content.iter_any():
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                line = b"".join((*parts, end))
                parts = []
                pool.take(NOBODY, -held)
                held = 0
                yield line
            parts += [rest] if rest else []
            pool.take(NOBODY, len(rest))
            held += len(rest)
            if held > LONGEST_LINE:
                raise ValueError(f"a line has more than {LONGEST_LINE} bytes")
            if not held:
                await pool.room(NOBODY)
        if held:
            raise ConnectionError("the watch ended within a line")
    finally:
        pool.take(NOBODY, -held)


async def _body(response: aiohttp.ClientResponse, at_most: float) -> bytes:
    """Read a body. Raises `AnswerTooLargeError` as soon as it has more bytes."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > at_most:
            raise AnswerTooLargeError
    return bytes(body)


async def _error(response: aiohttp.ClientResponse) -> ApiError:
    """Read a `Status`; the body of any other answer (of a proxy, a load balancer) is not quoted."""
    try:
        body = _as_object(read_object(await response.read()))
    except ValueError:
        body = {}
    after = response.headers.get("Retry-After", "")
    status = body if body.get("kind") == "Status" else {}
    return ApiError(response.status, status, float(after) if after.isdigit() else 0.0)


def _as_object(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
