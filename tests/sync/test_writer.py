"""What is written where server-side apply alone does not do."""

import pytest
from aiohttp import web

from intent import Object
from kube.client import Client
from sync.kinds import OUTPUTS
from sync.runtime.cache import Cache
from sync.runtime.metrics import metrics
from sync.writer import Writer
from tests.sync.conftest import FOR_EVER
from tests.sync.fake_api import Api, status

KEY = ("team-a", "r1")
SERVICE = OUTPUTS["Service"]
PATH = SERVICE.path("team-a", "r1-epp")
OURS = {"name": "grpc", "port": 9002}
OTHER = {"name": "grpc", "port": 9003}
THEIRS = {"name": "grpc", "port": 1}
WANTED: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"namespace": "team-a", "name": "r1-epp", "labels": {"fusioninfer.io/service": "r1"}},
    "spec": {"ports": [OURS]},
}


@pytest.fixture
async def writer(api: Api, client: Client) -> Writer:
    """Make a writer that wrote a Service, to which somebody adds a port that makes ours invalid."""
    made = Writer(client, metrics(), lambda: FOR_EVER, {"Service": Cache(SERVICE)})
    await made.apply(KEY, SERVICE, WANTED)
    api.edit(PATH, ports=[THEIRS])
    made.caches["Service"].put(SERVICE.project(api.objects[PATH]))

    def refuse(request: web.Request) -> web.Response | None:
        applied = "apply" in request.content_type and THEIRS in api.objects[PATH]["spec"]["ports"]
        return status(422, "Invalid", "ports[1].name: Duplicate value", "r1-epp") if applied else None

    api.fault = refuse
    return made


async def test_an_item_that_makes_ours_invalid_is_taken_out(api: Api, writer: Writer) -> None:
    refusal = await writer.apply(KEY, SERVICE, WANTED)

    assert (refusal, api.objects[PATH]["spec"]["ports"]) == (None, [OURS])


async def fight(api: Api, writer: Writer) -> None:
    for _ in range(6):
        api.edit(PATH, ports=[THEIRS])
        writer.caches["Service"].put(SERVICE.project(api.objects[PATH]))
        await writer.apply(KEY, SERVICE, WANTED)


async def test_that_is_a_repair_and_ends_if_it_does_not_hold(api: Api, writer: Writer) -> None:
    await fight(api, writer)

    assert writer.contested(KEY) == {"Service"}
    assert api.objects[PATH]["spec"]["ports"] == [THEIRS]


async def test_who_asks_for_something_else_ends_a_fight(api: Api, writer: Writer) -> None:
    """A loop whose news of one kind are old may fight with the garbage collector; then the news come."""
    await fight(api, writer)

    await writer.apply(KEY, SERVICE, {**WANTED, "spec": {"ports": [OTHER]}})

    assert (writer.contested(KEY), api.objects[PATH]["spec"]["ports"]) == (frozenset(), [OTHER])


async def test_what_is_refused_without_it_too_is_said(api: Api, writer: Writer) -> None:
    api.fault = lambda _request: status(422, "Invalid", "no", "r1-epp")

    refusal = await writer.apply(KEY, SERVICE, WANTED)

    assert refusal is not None
    assert refusal.code == "FI872"
