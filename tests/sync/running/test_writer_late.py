"""A late write changes nothing, and a write lasts no longer than the process may write."""

import asyncio
import time
from collections.abc import Callable

import pytest
from aiohttp import web

from intent import Object
from kube.client import Client
from kube.request import apply
from sync.kinds import OUTPUTS, WATCHED
from sync.lease import LeadershipLostError
from sync.metrics import metrics
from sync.state import ServiceState
from sync.watch.cache import Cache
from sync.write import Writer
from tests.sync.conftest import FOR_EVER, Background, eventually
from tests.sync.fake_api import Api

STATE = ServiceState(("team-a", "r1"))
SERVICE = OUTPUTS["Service"]
PATH = SERVICE.path("team-a", "r1-epp")
Permit = Callable[[], float]


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    """Begin each test without a history."""
    STATE.histories.clear()


def service(port: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": "team-a", "name": "r1-epp", "labels": {"fusioninfer.io/service": "r1"}},
        "spec": {"ports": [{"name": "grpc", "port": port}]},
    }


def port(api: Api) -> int:
    number: int = api.objects[PATH]["spec"]["ports"][0]["port"]
    return number


async def written(client: Client, permit: Permit) -> Writer:
    """Return a writer that wrote port 1."""
    made = Writer(client, metrics(), lambda: FOR_EVER, {kind.kind: Cache(kind) for kind in WATCHED})
    await made.apply(STATE, SERVICE, service(1))
    made.permit = permit
    return made


def overtaken(api: Api, times: int) -> None:
    """Let another client write port 7 just before each of our next writes arrives."""
    left = list(range(times))

    def overtake(request: web.Request) -> None:
        if left and request.method == "PATCH" and "dryRun" not in request.query:
            left.pop()
            api.edit(PATH, ports=[{"name": "grpc", "port": 7}])

    api.fault = overtake


async def test_a_change_in_between_is_not_overwritten(api: Api, client: Client) -> None:
    seconds = iter((FOR_EVER,))

    def once() -> float:
        for left in seconds:
            return left
        raise LeadershipLostError("over")

    writer = await written(client, once)
    overtaken(api, 1)

    with pytest.raises(LeadershipLostError):
        await writer.apply(STATE, SERVICE, service(2))

    assert port(api) == 7


async def test_a_leader_tries_again_at_once(api: Api, client: Client) -> None:
    writer = await written(client, lambda: FOR_EVER)
    overtaken(api, 2)

    refusal = await writer.apply(STATE, SERVICE, service(2))

    assert (refusal, port(api)) == (None, 2)


async def test_a_change_in_between_is_no_conflict(api: Api, client: Client) -> None:
    writer = await written(client, lambda: FOR_EVER)
    for _ in range(2):
        api.edit(PATH, ports=[{"name": "grpc", "port": 5}])
        writer.caches["Service"].put(SERVICE.project(api.objects[PATH]))
        overtaken(api, 3)
        await writer.apply(STATE, SERVICE, service(1))

    assert (STATE.contested, port(api)) == ({}, 1)


async def test_the_api_server_receives_our_deadline(api: Api, client: Client) -> None:
    writer = await written(client, lambda: 2.5)
    told: list[str] = []
    api.fault = lambda request: told.append(request.query.get("timeout", ""))

    await writer.apply(STATE, SERVICE, service(2))

    assert told == ["", "2500ms"]


async def test_a_write_ends_when_the_process_may_no_longer_write(api: Api, client: Client) -> None:
    writer = await written(client, lambda: 0.3)
    api.latency = 5.0
    began = time.monotonic()

    with pytest.raises(TimeoutError):
        await writer.send(STATE, "Service", apply(PATH, service(2)))

    assert 0.3 <= time.monotonic() - began < 5.0


async def test_a_cancelled_write_waits_for_what_was_sent(
    api: Api, client: Client, background: Background
) -> None:
    writer = await written(client, lambda: FOR_EVER)
    api.latency, before = 0.3, len(api.requests)
    writing = background(writer.send(STATE, "Service", apply(PATH, service(2))))
    await eventually(lambda: len(api.requests) > before)

    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing

    assert port(api) == 2
