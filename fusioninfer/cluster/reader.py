"""Requests to a cluster, and the answers as values: unknown is not absent. Only `refresh` writes."""

import asyncio
import os
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Final

import orjson
from aiohttp import ClientConnectorError

from fusioninfer.cluster.text import name_of
from intent import Object
from intent.shapes import mapping
from kube.client import NO_ANSWER, NOT_FOUND, ApiError, Client
from kube.request import Request, get
from kube.wire import read_at_any_depth, read_object

TOGETHER: Final = 8
"""The number of requests that are sent at once."""
LOG_LINES: Final = 40
LOG_BYTES: Final = 16 * 1024
FAILED: Final = (ApiError, *NO_ANSWER, ValueError)
"""The errors of a request. A ValueError: the answer is not JSON, such as the page of a proxy."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The objects that a request returned, or why they are not known."""

    objects: tuple[Object, ...] = ()
    """Empty if there are none, or if they are not known."""
    unknown: str = ""
    """Why the objects are not known: a missing right, or no answer. Empty if they are known."""
    served: bool = True
    """Whether the API server serves the kind."""

    def known(self, what: str) -> tuple[Object, ...]:
        """Return the objects; `what` they are. Raises `UnreachableError` if they are not known."""
        if self.unknown:
            raise UnreachableError(f"cannot list {what}: {self.unknown}")
        return self.objects

    def named(self, name: str) -> Object:
        """Return the object of a name; empty if there is none."""
        return next((obj for obj in self.objects if name_of(obj) == name), {})

    @property
    def first(self) -> Object:
        """The first object; empty if there is none."""
        return self.objects[0] if self.objects else {}


ABSENT: Final = Answer()


class UnreachableError(Exception):
    """Raised if the API server does not answer at all, or does not accept the credentials."""


class NotFoundError(Exception):
    """Raised if there is no object of a name that a user gave."""


@dataclass(slots=True)
class Reader:
    """Reads one cluster."""

    client: Client
    limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(TOGETHER))

    async def reach(self) -> Object:
        """Return the version of the API server. Raises `UnreachableError`."""
        try:
            return await self.client.call(get("/version"))
        except FAILED as error:
            raise UnreachableError(f"cannot read the cluster: {why(error)}") from error

    async def one(self, path: str) -> Answer:
        """Read one object."""
        return await self._answer(self._one(path), path)

    async def every(self, path: str, label: str = "", fields: str = "") -> Answer:
        """List objects, by label selector and field selector."""
        return await self._answer(self._every(path, label, fields), path)

    async def send(self, request: Request) -> Object:
        """Send a dry run, or the write of `refresh`. Raises one of `FAILED`."""
        async with self.limit:
            return await self.client.call(request)

    async def warnings(self, request: Request) -> tuple[str, ...]:
        """Send a dry run and return the warnings. Raises as `send` does."""
        async with self.limit:
            return await self.client.warnings(request)

    async def log(self, path: str, container: str, *, previous: bool) -> str:
        """Return the end of a container's log; empty if it cannot be read."""
        query = {"container": container, "tailLines": str(LOG_LINES), "limitBytes": str(LOG_BYTES)}
        query |= {"previous": "true"} if previous else {}
        try:
            async with self.limit:
                return await self.client.text(Request("get", f"{path}/log", query))
        except FAILED:
            return ""

    async def _answer(self, reading: Awaitable[Answer], path: str) -> Answer:
        try:
            async with self.limit:
                return await reading
        except ApiError as error:
            if error.code == NOT_FOUND:
                return Answer(served=error.named)
            return Answer(unknown=why(error))
        except FAILED as error:
            return Answer(unknown=f"no answer for {path}: {why(error)}")

    async def _one(self, path: str) -> Answer:
        return Answer((await self.client.call(get(path)),))

    async def _every(self, path: str, label: str, fields: str) -> Answer:
        found: list[Object] = []
        async for page in self.client.pages(path, label, fields):
            found += [mapping(await read_at_any_depth(read_object, bytes(item))) for item in page.items or ()]
        return Answer(tuple(found))


def why(error: BaseException) -> str:
    """Return the message of an error; its class if it has none."""
    if isinstance(error, ClientConnectorError):
        cause = error.os_error
        said = os.strerror(cause.errno) if isinstance(cause, ConnectionError) and cause.errno else str(cause)
        return f"cannot connect to {error.host}:{error.port}: {said}"
    if isinstance(error, orjson.JSONDecodeError):
        return "the answer is not JSON; check the server of the context in the kubeconfig"
    return str(error) or type(error).__name__
