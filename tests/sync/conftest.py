"""A fake API server on a real socket, its clients, and a controller that uses it."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from intent.settings import Settings
from kube.client import Client, connect
from sync import clock, events
from sync.controller import Controller
from sync.kinds import watched
from sync.metrics import ControllerMetrics
from sync.watch import reflector
from sync.watch.cache import Cache
from sync.watch.reflector import reflect
from sync.write import Writer
from tests.builders.patience import PATIENCE
from tests.sync.fake_api import Api
from tests.sync.samples import routed
from tests.sync.served import DECODE, PG, PREFILL, ROUTES, SERVICE, admit, reported

Background = Callable[[Any], asyncio.Task[Any]]
Start = Callable[..., Controller]
FOR_EVER = 3600.0
WITHOUT_API = Settings(api_services=False)
"""The default here: a test of PodGroups or routes has only these. `test_api_service.py` has the Services."""


async def quiet(times: int = 1) -> None:
    """Wait long enough for an idle controller to write something: 0.3 s, or longer on a busy machine.

    The controller and its API server run in this process: while it has no processor, no iteration passes.
    """
    for _ in range(30 * times):
        await asyncio.sleep(0.01)


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "the condition did not hold in time"
        await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten retry delays to hundredths of a second."""
    monkeypatch.setattr(clock, "SHORTEST", 0.02)
    monkeypatch.setattr(clock, "LONGEST", 0.1)
    monkeypatch.setattr(reflector, "MINUTE", 0.1)
    monkeypatch.setattr(events, "PATIENCE", 0.05)


@asynccontextmanager
async def serving() -> AsyncIterator[Api]:
    """Serve an empty cluster on a free port."""
    fake = Api()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", fake.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield fake
    fake.drop()
    await runner.cleanup()


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """Serve an empty cluster."""
    async with serving() as fake:
        yield fake


@pytest.fixture
def kubeconfig(api: Api, tmp_path: Path) -> Path:
    """Write a kubeconfig for the fake API server."""
    return kubeconfig_of(api, tmp_path)


def kubeconfig_of(api: Api, tmp_path: Path) -> Path:
    """Write a kubeconfig with a token for a fake API server."""
    content = {
        "current-context": "fake",
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "me"}}],
        "clusters": [{"name": "fake", "cluster": {"server": api.url}}],
        "users": [{"name": "me", "user": {"token": "secret-token"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
async def clients(kubeconfig: Path) -> AsyncIterator[Callable[[], Awaitable[Client]]]:
    """Return a factory of clients, which are closed in the end."""
    async with AsyncExitStack() as stack:

        async def make() -> Client:
            client = await connect(str(kubeconfig))
            stack.push_async_callback(client.close)
            return client

        yield make


@pytest.fixture
async def client(clients: Callable[[], Awaitable[Client]]) -> Client:
    """Return a client."""
    return await clients()


@pytest.fixture
async def background() -> AsyncIterator[Callable[[Any], asyncio.Task[Any]]]:
    """Run coroutines beside the test, and cancel them in the end."""
    tasks: list[asyncio.Task[Any]] = []

    def start(work: Any) -> asyncio.Task[Any]:
        tasks.append(asyncio.create_task(work))
        return tasks[-1]

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def make(client: Client, background: Background) -> Start:
    """Return a factory of controllers whose reflectors run."""

    def begin(
        settings: Settings | None = None,
        permit: Callable[[], float] = lambda: FOR_EVER,
        *,
        observe_only: bool = False,
    ) -> Controller:
        settings = settings or WITHOUT_API
        caches = {kind.kind: Cache(kind) for kind in watched(settings)}
        measured = ControllerMetrics()
        for cache in caches.values():
            background(reflect(client, cache, settings.namespaces))
        writer = Writer(client, measured, permit, caches, observe_only=observe_only)
        return Controller(settings, measured, caches, writer)

    return begin


@pytest.fixture
async def start(make: Start, background: Background) -> Start:
    """Return a factory of running controllers."""

    def begin(**known: Any) -> Controller:
        controller = make(**known)
        background(controller.run())
        return controller

    return begin


@pytest.fixture
def admission(api: Api) -> None:
    """Expand LeaderWorkerSets at their admission."""
    api.prune = admit


@pytest.fixture
async def served(api: Api, admission: None, start: Start) -> Controller:  # noqa: ARG001 - first
    """Run a controller until an InferenceService with routes has all its objects."""
    api.put(SERVICE, routed())
    controller = start()
    await eventually(lambda: {PREFILL, DECODE, PG, *ROUTES.values()} <= api.objects.keys())
    await eventually(lambda: reported(api, "RoutesReady") == "PickerNotAvailable")
    await quiet()
    return controller
