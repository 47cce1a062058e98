"""/healthz, /readyz and /metrics, as the webhook and the controller serve them."""

import asyncio
import socket
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from prometheus_client import CollectorRegistry, Gauge

from server import probes
from tests.builders.patience import PATIENCE
from tests.builders.wire import connected, ended, exchange, get, post, request
from webhook.server.listen import Limits

LIMITS = Limits(header_seconds=0.2, finish_seconds=1.0)


def ready() -> str:
    return ""


def broken() -> str:
    raise KeyError


@asynccontextmanager
async def serving(unready: Callable[[], str] = ready) -> AsyncIterator[int]:
    """Serve the three paths and return the port."""
    registry = CollectorRegistry()
    Gauge("answer", "The answer.", registry=registry).set(42)
    sock = socket.create_server(("127.0.0.1", 0))
    async with probes.serving(sock, registry, unready, LIMITS):
        yield sock.getsockname()[1]


async def test_healthz_is_ok_though_the_process_is_not_ready() -> None:
    async with serving(lambda: "draining") as port:
        reply = await get(port, "/healthz")

        assert (reply.status, reply.body, reply.headers["server"]) == (200, b"ok", "fusioninfer")


@pytest.mark.parametrize(("reason", "status", "body"), [("", 200, b"ok"), ("draining", 503, b"draining")])
async def test_readyz_returns_the_reason(reason: str, status: int, body: bytes) -> None:
    async with serving(lambda: reason) as port:
        reply = await get(port, "/readyz")

        assert (reply.status, reply.body) == (status, body)


async def test_metrics_are_in_the_text_format() -> None:
    async with serving() as port:
        reply = await get(port, "/metrics")

        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert b"\nanswer 42.0\n" in reply.body


@pytest.mark.parametrize(("path", "status"), [("/mutate", 404), ("/healthz", 405)])
async def test_a_post_is_refused(path: str, status: int) -> None:
    async with serving() as port:
        reply = await exchange(port, post(path))

        assert reply.status == status


async def test_an_error_is_logged_and_answered(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(broken) as port:
        reply = await get(port, "/readyz")

        assert (reply.status, reply.headers["server"], len(caplog.records)) == (500, "fusioninfer", 1)


async def test_headers_that_do_not_end_are_cut() -> None:
    async with serving() as port, connected(port) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\n")

        assert await ended(reader)


@pytest.mark.parametrize(
    ("name", "path"), [("UNREADY_SECONDS", "/readyz"), ("DEAD_SECONDS", "/healthz")], ids=["ready", "alive"]
)
async def test_a_loop_that_stopped_is_reported_by_the_thread(
    monkeypatch: pytest.MonkeyPatch, name: str, path: str
) -> None:
    monkeypatch.setattr(probes, name, 1.0)
    async with serving() as port:
        assert (await get(port, path)).status == 200
        with ThreadPoolExecutor() as pool:  # the event loop stands still meanwhile
            first = pool.submit(asked, port, path).result()
            time.sleep(1.5)  # noqa: ASYNC251 - the same
            reply = pool.submit(asked, port, path).result()
        async with asyncio.timeout(PATIENCE):
            while (await get(port, path)).status != 200:  # noqa: ASYNC110 - it is asked over HTTP
                await asyncio.sleep(0.01)

    assert (first, reply.startswith("503 the event loop has not run for ")) == ("200", True)


def asked(port: int, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as page:
            return str(page.status)
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"


def test_the_times_after_which_a_silent_loop_is_unready_and_dead() -> None:
    assert (probes.UNREADY_SECONDS, probes.DEAD_SECONDS) == (3.0, 60.0)


async def test_many_requests_of_one_address_do_not_delay_a_probe() -> None:
    async with serving() as port, AsyncExitStack() as stack:
        for _ in range(50):
            _reader, writer = await stack.enter_async_context(connected(port, source="127.0.0.2"))
            stack.callback(writer.transport.abort)
            writer.write(request("GET", "/metrics", Content_Type="", Content_Length="") * 40)
        since = time.monotonic()
        reply = await get(port, "/readyz")

        assert (reply.status, time.monotonic() - since < 50 * 40 * probes.PAUSE / 2) == (200, True)
