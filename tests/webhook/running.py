"""The webhook's HTTPS server on real TLS sockets of this machine, for its tests."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import trustme

from tests.builders.patience import PATIENCE
from tests.builders.wire import Reply, connected, exchange, post, read
from webhook.review import AdmissionAnswer
from webhook.server import app
from webhook.server.callers import Callers
from webhook.server.listen import Limits

USUAL = Limits(body_bytes=70_000, reviews=2, linger_seconds=0.1, drain_seconds=0.0)
"""The times of production for what a caller does: a busy machine keeps within them."""
QUICK = replace(USUAL, handshake_seconds=0.3, header_seconds=0.2, body_seconds=0.2, finish_seconds=3.0)
"""Short times, for tests of what happens after them."""
UID = "0df28fbd-5f5f-11e8-bc74-36e6bb280816"
REVIEW = b'{"request":{"uid":"' + UID.encode() + b'","object":{"canary":"s3cr3t"}}}'
AUTHORITY = trustme.CA()
SERVER_TLS = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
SERVER_TLS.num_tickets = 0  # as in production
AUTHORITY.issue_cert("localhost").configure_cert(SERVER_TLS)
CLIENT_TLS = ssl.create_default_context()
AUTHORITY.configure_trust(CLIENT_TLS)

Review = Callable[[bytes], AdmissionAnswer]


@dataclass(frozen=True, slots=True)
class Served:
    """A running server, and what a test observes of it."""

    port: int
    tls: ssl.SSLContext
    state: app.ServerState
    counted: list[str]
    stop: asyncio.Event
    cut: list[str]

    async def post(
        self, body: bytes = REVIEW, path: str = "/mutate", source: str = "127.0.0.1", **headers: str
    ) -> Reply:
        async with connected(self.port, self.tls, source) as (reader, writer):
            writer.write(post(path, body, **headers))
            return await read(reader)

    async def send(self, sent: bytes) -> Reply:
        return await exchange(self.port, sent, self.tls)


def echo(body: bytes) -> AdmissionAnswer:
    return AdmissionAnswer(body, "unchanged")


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


@asynccontextmanager
async def serving(
    review: Review = echo, limits: Limits = USUAL, callers: Callers | None = None
) -> AsyncIterator[Served]:
    counted: list[str] = []
    counts = {"/mutate": lambda outcome, _seconds: counted.append(outcome)}
    cut: list[str] = []
    state = app.ServerState({"/mutate": review}, counts, limits, callers or Callers(), cut=cut.append)
    sock = listening()
    port = sock.getsockname()[1]
    stop = asyncio.Event()
    task = asyncio.create_task(app.serve(state, SERVER_TLS, sock, stop))
    try:
        yield Served(port, CLIENT_TLS, state, counted, stop, cut)
    finally:
        stop.set()
        await asyncio.wait_for(task, PATIENCE)


async def half_then_whole(served: Served) -> Reply:
    async with connected(served.port, served.tls) as (reader, writer):
        writer.write(post("/mutate", b"{", Content_Length="2"))
        await asyncio.sleep(0.1)
        writer.write(b"}")
        return await read(reader)


async def until(true: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - the state of the server has no event to wait for
            await asyncio.sleep(0.01)


async def cancelled(tasks: list[asyncio.Task[Reply]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
