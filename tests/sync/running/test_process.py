"""The controller as a process: probes, metrics, leadership and how it ends."""

import asyncio
import os
import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from catalog.release import VERSION
from intent.settings import Settings
from kube.client import NONE, Client, ConfigError
from kube.request import get
from server.controller import sync
from sync.kinds import LWS, POD_GROUP, WATCHED
from sync.lease import Timing
from tests.builders.patience import PATIENCE
from tests.sync.conftest import Background, eventually
from tests.sync.fake_api import Api, status
from tests.sync.samples import lws

LEASE = "/apis/coordination.k8s.io/v1/namespaces/system/leases/fusioninfer-sync"
TIMING = Timing(lease_duration=60.0, renew_deadline=40.0, retry_period=1.0)
"""A Lease that is not lost on a busy machine."""
SHORT = Timing(lease_duration=5.0, renew_deadline=3.0, retry_period=0.2)
"""A Lease that is lost soon after its renewals fail, and not before."""


@pytest.fixture
def port() -> int:
    """Return a free port below those that the kernel gives to connections: none takes it meanwhile."""
    while True:
        number = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", number))
            return number


Begin = Callable[..., asyncio.Task[int]]


@pytest.fixture
def begin(kubeconfig: Path, port: int, background: Background) -> Begin:
    """Return a function that starts the whole process."""

    def run(settings: Settings | None = None, **more: Any) -> asyncio.Task[int]:
        known: dict[str, Any] = {
            "kubeconfig": str(kubeconfig),
            "namespace": "system",
            "metrics_port": port,
            "timing": TIMING,
        }
        return background(sync(settings or Settings(), **known | more))

    return run


@pytest.fixture
async def process(begin: Begin) -> asyncio.Task[int]:
    """Start it with the defaults."""
    return begin()


async def answer(port: int, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as got:
        return got.status, await got.text()


async def answered(port: int, path: str, holds: Callable[[int, str], bool]) -> str:
    """Ask for a path of the metrics port until its status and text are as awaited; return the text."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(aiohttp.ClientConnectorError):  # it does not listen yet
                code, text = await answer(port, path)
                if holds(code, text):
                    return text
            await asyncio.sleep(0.01)


async def until_it_leads(port: int) -> None:
    """Wait until the process knows that it holds the Lease, which is later than the API server knows."""
    await answered(port, "/metrics", lambda _, text: "fusioninfer_sync_is_leader 1.0" in text)


async def test_a_standby_is_ready_too(api: Api, begin: Begin, port: int) -> None:
    held = {"holderIdentity": "other", "leaseDurationSeconds": 60}
    api.put(LEASE, {"kind": "Lease", "metadata": {"name": "fusioninfer-sync"}, "spec": held})
    begin()
    await eventually(lambda: len(api.watches) == len(WATCHED))

    assert await answered(port, "/readyz", lambda code, _: code == 200)


@pytest.mark.usefixtures("process")
async def test_without_lists_it_is_not_ready(api: Api, port: int) -> None:
    api.fault = lambda _request: status(503, "ServiceUnavailable")
    await eventually(lambda: len(api.requests) > 3)

    answers = [(await answer(port, path))[0] for path in ("/readyz", "/healthz")]

    assert answers == [503, 200]


async def test_a_signal_ends_it_and_frees_the_lease(api: Api, process: asyncio.Task[int], port: int) -> None:
    await eventually(lambda: LEASE in api.objects)
    await until_it_leads(port)

    os.kill(os.getpid(), signal.SIGTERM)

    assert (await process, api.objects[LEASE]["spec"].get("holderIdentity")) == (0, None)


async def test_a_second_signal_leaves_no_connection_open(
    begin: Begin, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, close = asyncio.Event(), Client.close

    async def interrupted(client: Client) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(3):
            await asyncio.sleep(0)  # asyncio calls the handler in its next turn
        await close(client)
        closed.set()

    monkeypatch.setattr(Client, "close", interrupted)
    process = begin()
    await until_it_leads(port)

    os.kill(os.getpid(), signal.SIGTERM)

    assert (await process, closed.is_set()) == (0, True)


async def test_lost_leadership_ends_it_with_a_failure(api: Api, begin: Begin, port: int) -> None:
    process = begin(timing=SHORT)
    await eventually(lambda: LEASE in api.objects)
    await until_it_leads(port)

    api.fault = lambda request: status(500, "InternalError") if "/leases" in request.path else None

    assert await asyncio.wait_for(process, PATIENCE) == 1


async def test_a_process_that_only_observes_takes_no_lease(api: Api, begin: Begin, port: int) -> None:
    api.put(LWS.path("team-a", "w"), lws("w", "worker"))
    process = begin(Settings(observe_only=True), secret="fusioninfer-webhook-tls")
    await eventually(lambda: ("POST", POD_GROUP.path("team-a")) in api.requests)

    _, measured = await answer(port, "/metrics")
    os.kill(os.getpid(), signal.SIGTERM)

    assert (await process, api.writes, LEASE in api.objects) == (0, [], False)
    assert "fusioninfer_sync_is_leader 0.0" in measured


async def test_without_credentials_it_does_not_start(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(ConfigError, match="config does not exist: name a kubeconfig"):
        await sync(Settings(), metrics_port=port)


@pytest.mark.usefixtures("process")
async def test_an_api_server_that_does_not_answer_is_no_reason_to_restart(api: Api, port: int) -> None:
    await until_it_leads(port)

    api.latency = 60.0
    await asyncio.sleep(0.5)

    assert (await answer(port, "/healthz"))[0] == 200
    api.latency = 0.0  # else the process waits for answers before it ends


@pytest.mark.usefixtures("process")
async def test_requests_the_lease_and_the_version_are_measured(api: Api, port: int) -> None:
    await until_it_leads(port)
    api.fault = lambda request: status(500, "InternalError") if "/leases" in request.path else None
    failures = "fusioninfer_sync_lease_failures_total"

    measured = await answered(port, "/metrics", lambda _, text: f"{failures} 0.0" not in text)

    assert failures in measured
    assert 'fusioninfer_sync_api_request_seconds_count{code="200",verb="list"}' in measured
    assert 'fusioninfer_sync_api_request_seconds_count{code="500",verb="update"}' in measured
    assert 'fusioninfer_sync_watch_age_seconds{kind="LeaderWorkerSet"}' in measured
    assert f'version="{VERSION}"' in measured


async def test_a_request_without_an_answer_is_measured(client: Client) -> None:
    seen: list[tuple[str, str]] = []
    client.timed = lambda verb, code, _seconds: seen.append((verb, code))
    client.configuration.host = "http://127.0.0.1:9"  # discard: nothing listens

    with pytest.raises(OSError, match="Connect"):
        await client.call(get("/api"))

    assert seen == [("get", NONE)]
