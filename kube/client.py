"""The only door to the API server: requests out, JSON in.

`kubernetes.aio` finds the configuration and keeps the credentials fresh. Objects stay JSON: typed models
drop fields that they do not know.
"""

import asyncio
import contextlib
import math
import os
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import aiohttp
import orjson
import structlog
from kubernetes.aio import config as untyped_config
from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from yaml import YAMLError

from intent import Object
from intent.shapes import mapping
from kube.request import Request, within
from kube.wire import Page, read_object, read_page, shallow

config: Final[Any] = untyped_config  # its functions have no types
log: Final = structlog.stdlib.get_logger(__name__)
T = TypeVar("T")

ConfigError = untyped_config.ConfigException
"""No usable kubeconfig, and no pod to run in."""
SERVICE_HOST: Final = "KUBERNETES_SERVICE_HOST"
"""The variable that every pod has."""
TIMEOUT: Final = 30.0
"""Seconds for one call that is not a watch."""
SILENCE: Final = 150.0
"""Seconds that a watch may be silent. API servers send a bookmark about once a minute, whatever happens
(`defaultBookmarkFrequency` of `k8s.io/apiserver` `pkg/storage/cacher/cacher.go`), but now and then leave one
out: 120 s between two were seen. A dead connection is noticed earlier, by `KEEPALIVE`."""
KEEPALIVE: Final = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 6))
"""When a connection on which nothing arrives is probed, in seconds, and how often (tcp(7), Linux)."""
ACK_TIMEOUT: Final = 5.0
"""Seconds after which the kernel gives up what it sent and nobody acknowledged."""
BUFFER: Final = 2**21
"""Bytes of one line of a watch that may be read at once; an object has at most 1.5 MiB."""
UNDECLARED: Final = "field not declared in schema"
"""What server-side apply says of a field that the kind does not have (`structured-merge-diff` `typed`)."""
NOT_FOUND: Final = 404
NO_ANSWER: Final = (aiohttp.ClientError, TimeoutError, OSError)
"""What is raised if the API server cannot be reached, or breaks off."""


class ApiError(Exception):
    """The API server's answer was not 2xx. Shapes: `Status` of apimachinery `meta/v1`."""

    def __init__(self, code: int, status: Object, retry_after: float = 0.0) -> None:
        message = str(status.get("message", ""))[:256]
        super().__init__(f"{code} {status.get('reason', '')}: {message}")
        self.code = code
        self.retry_after = retry_after
        self.exists = status.get("reason") == "AlreadyExists"
        """Whether somebody has an object of the name that was to be created."""
        self.crossed = status.get("reason") == "Conflict"
        """Whether somebody wrote the object in between."""
        self.named = bool(mapping(status.get("details")).get("name"))
        """Whether the answer is about an object; a kind that does not exist has no names."""
        self.undeclared = UNDECLARED in str(status.get("message", ""))
        """Whether the kind lacks a field that was applied; the code is 500 then, though it stays so."""


@dataclass(slots=True)
class Client:
    """One API server and the credentials for it."""

    session: aiohttp.ClientSession
    configuration: Any  # kubernetes.aio ships no types
    refreshing: asyncio.Task[None] | None = None

    async def call(self, request: Request, seconds: float = TIMEOUT) -> Object:
        """Send a request and give the answer's JSON; raises `ApiError` or one of `NO_ANSWER`."""
        limits = aiohttp.ClientTimeout(total=seconds, ceil_threshold=seconds)  # above it, aiohttp rounds up
        async with self._send(request, limits) as response:
            return _as_object(await patiently(read_object, await response.read()))

    async def page(self, request: Request) -> Page:
        """Read one page of a list; raises `ApiError`, ValueError or one of `NO_ANSWER`."""
        limits = aiohttp.ClientTimeout(total=TIMEOUT)
        async with self._send(request, limits) as response:
            body = await response.read()
        return await patiently(read_page, body)

    async def write(self, request: Request, seconds: float) -> Object:
        """Call; after so many seconds neither we nor the API server go on with it.

        Who is cancelled meanwhile waits for the end: what was sent may yet be done.
        """
        seconds = min(seconds, TIMEOUT)
        sent = asyncio.create_task(self.call(within(request, seconds), seconds))
        try:
            return await asyncio.shield(sent)
        except asyncio.CancelledError:
            await asyncio.gather(sent, return_exceptions=True)
            raise

    async def follow(self, request: Request) -> AsyncIterator[Object]:
        """Give the events of a watch until its end.

        Raises `ApiError`, ValueError for a line that cannot be read, or one of `NO_ANSWER`, also if nothing
        arrives for `SILENCE` seconds or the last line is incomplete.
        """
        limits = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT, sock_read=SILENCE)
        async with self._send(request, limits) as response:
            async for line in response.content:
                if not line.endswith(b"\n"):
                    raise ConnectionError("the watch broke off within a line")
                yield _as_object(await patiently(read_object, line))

    @contextlib.asynccontextmanager
    async def _send(
        self, request: Request, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self.session.request(
            request.method,
            self.configuration.host.rstrip("/") + request.path,
            params=request.query,
            data=None if request.body is None else orjson.dumps(request.body),
            headers={"Content-Type": request.content_type} | await self._credentials(),
            timeout=limits,
            proxy=self.configuration.proxy,
            server_hostname=self.configuration.tls_server_name,
        ) as response:
            if not response.ok:
                raise await _error(response)
            yield response

    async def _credentials(self) -> dict[str, str]:
        settings = await self.configuration.auth_settings()
        return {auth["key"]: auth["value"] for auth in settings.values() if auth["in"] == "header"}

    async def close(self) -> None:
        """Give back connections, and stop refreshing credentials."""
        if self.refreshing:
            self.refreshing.cancel()
        await self.session.close()


async def connect(
    kubeconfig: str | None = None, context: str | None = None, ack_timeout: float = ACK_TIMEOUT
) -> Client:
    """Make a client from a kubeconfig file; without one for the cluster of the pod that this runs in.

    Outside of a pod: $KUBECONFIG, or the file in the home directory. Raises `ConfigError` if all fail.
    What was sent and not acknowledged for `ack_timeout` seconds never arrives.
    """
    configuration, in_pod = Configuration(), SERVICE_HOST in os.environ
    if in_pod and not (kubeconfig or context):
        config.load_incluster_config(client_configuration=configuration)
        return Client(_session(configuration, ack_timeout), configuration)
    loader = await _load(configuration, kubeconfig, context)
    refreshing = asyncio.create_task(_keep_fresh(loader, configuration))
    return Client(_session(configuration, ack_timeout), configuration, refreshing)


async def _load(configuration: Any, kubeconfig: str | None, context: str | None) -> Any:
    try:
        return await config.load_kube_config(
            kubeconfig, context, client_configuration=configuration, persist_config=False
        )
    except (AttributeError, KeyError, TypeError, YAMLError) as error:  # the library's words for a broken file
        raise ConfigError(f"{kubeconfig or 'the kubeconfig'}: is not a kubeconfig") from error


async def _keep_fresh(loader: Any, configuration: Any) -> None:
    """Renew tokens of exec plugins and clouds; returns at once where nothing has to be renewed."""
    while True:
        try:
            await config.refresh_token(loader, configuration)
        except (ConfigError, OSError, ValueError) as error:
            log.warning("credentials not renewed", error=type(error).__name__)
        else:
            return


def _session(configuration: Any, ack_timeout: float) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        ssl=RESTClientObject(configuration).ssl_context, socket_factory=sockets(ack_timeout)
    )
    headers = {"User-Agent": "fusioninfer-sync", "Accept": "application/json"}
    return aiohttp.ClientSession(connector=connector, headers=headers, trust_env=True, read_bufsize=BUFFER)


def sockets(ack_timeout: float) -> Callable[[Any], socket.socket]:
    """Make sockets whose data is dropped if nobody acknowledges it: the kernel would try on for minutes.

    It does so also for a process that has ended (tcp(7) TCP_USER_TIMEOUT, RFC 5482; Linux only). A connection
    that is only listened to is probed, so that the end of the other side is noticed too.
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


async def _error(response: aiohttp.ClientResponse) -> ApiError:
    """Read a `Status`; whatever else answers (a proxy, a load balancer) is not quoted."""
    try:
        body = _as_object(read_object(await response.read()))
    except ValueError:
        body = {}
    after = response.headers.get("Retry-After", "")
    status = body if body.get("kind") == "Status" else {}
    return ApiError(response.status, status, float(after) if after.isdigit() else 0.0)


async def patiently(read: Callable[[bytes], T], text: bytes) -> T:
    """Read a text. One that is nested too deep is made shallow first, in a thread, since that takes long."""
    try:
        return read(text)
    except (ValueError, RecursionError):
        return read(await asyncio.to_thread(shallow, text))


def _as_object(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
