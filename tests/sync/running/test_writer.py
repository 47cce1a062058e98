"""What is written where server-side apply alone is not enough."""

import pytest
from aiohttp import web

from intent import Object
from kube.client import Client
from kube.limit import RateLimit
from sync.decide import ApplyHistory
from sync.kinds import OUTPUTS, POD_GROUP, WATCHED
from sync.live import BehindError
from sync.metrics import metrics
from sync.observed.pod_group import API_VERSION as VOLCANO
from sync.state import ServiceState
from sync.watch.cache import Cache
from sync.write import Writer
from tests.sync.conftest import FOR_EVER
from tests.sync.fake_api import Api, Fault, status

STATE = ServiceState(("team-a", "r1"))
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


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    """Begin each test without a history."""
    STATE.histories.clear()


@pytest.fixture
async def writer(api: Api, client: Client) -> Writer:
    """Return a writer that wrote a Service, to which another client adds a port that makes ours invalid."""
    made = Writer(client, metrics(), lambda: FOR_EVER, {kind.kind: Cache(kind) for kind in WATCHED})
    await made.apply(STATE, SERVICE, WANTED)
    api.edit(PATH, ports=[THEIRS])
    made.caches["Service"].put(SERVICE.project(api.objects[PATH]))

    def refuse(request: web.Request) -> web.Response | None:
        applied = "apply" in request.content_type and THEIRS in api.objects[PATH]["spec"]["ports"]
        return status(422, "Invalid", "ports[1].name: Duplicate value", "r1-epp") if applied else None

    api.fault = refuse
    return made


async def test_a_write_sends_what_it_needs_and_no_more(api: Api, client: Client) -> None:
    """A dry run tells whether an object exists that the cache lacks; a repair reads whose change it was."""
    writer = Writer(client, metrics(), lambda: FOR_EVER, {kind.kind: Cache(kind) for kind in WATCHED})
    create, apply, read = ("POST", SERVICE.path("team-a")), ("PATCH", PATH), ("GET", PATH)

    async def sent(port: Object) -> list[tuple[str, str]]:
        api.requests.clear()
        await writer.apply(STATE, SERVICE, {**WANTED, "spec": {"ports": [port]}})
        return list(api.requests)

    assert await sent(OURS) == [create, apply]
    assert await sent(OURS) == []
    assert await sent(OTHER) == [apply, apply]
    api.edit(PATH, ports=[THEIRS])
    writer.caches["Service"].put(SERVICE.project(api.objects[PATH]))
    assert await sent(OTHER) == [apply, read, apply]


def refused_create(request: web.Request) -> web.Response | None:
    """Refuse a create, as a quota and a webhook do: they are asked before the storage."""
    return status(403, "Forbidden", "exceeded quota", "r1") if request.method == "POST" else None


async def test_an_object_that_exists_is_changed_though_its_create_is_refused(
    api: Api, client: Client
) -> None:
    writer = Writer(client, metrics(), lambda: FOR_EVER, {kind.kind: Cache(kind) for kind in WATCHED})
    await writer.apply(STATE, SERVICE, WANTED)
    writer.caches["Service"].drop(("team-a", "r1-epp"))  # its label was removed
    api.fault = refused_create

    assert await writer.apply(STATE, SERVICE, {**WANTED, "spec": {"ports": [OTHER]}}) is None
    assert api.objects[PATH]["spec"]["ports"] == [OTHER]


async def test_an_object_of_another_that_the_cache_lacks_is_not_said_to_be_refused(
    api: Api, client: Client
) -> None:
    writer = Writer(client, metrics(), lambda: FOR_EVER, {kind.kind: Cache(kind) for kind in WATCHED})
    api.put(PATH, {**WANTED, "spec": {"ports": [THEIRS]}})
    api.fault = refused_create

    refusal = await writer.apply(STATE, SERVICE, WANTED)

    assert (refusal and refusal.code, api.objects[PATH]["spec"]["ports"]) == ("FI871", [THEIRS])


async def test_an_object_that_is_deleted_between_dry_run_and_read_is_no_finding(
    api: Api, client: Client
) -> None:
    writer = Writer(client, metrics(), lambda: FOR_EVER, {kind.kind: Cache(kind) for kind in WATCHED})
    exists = status(409, "AlreadyExists", "", "r1-epp")
    api.fault = lambda request: exists if request.method == "POST" else None

    with pytest.raises(BehindError):
        await writer.apply(STATE, SERVICE, WANTED)


@pytest.mark.parametrize("fault", [lambda _request: None, refused_create])
async def test_an_object_that_only_the_cache_lacks_is_not_written_by_an_old_plan(
    api: Api, client: Client, fault: Fault
) -> None:
    writer = Writer(client, metrics(), lambda: FOR_EVER, {kind.kind: Cache(kind) for kind in WATCHED})
    path, group = POD_GROUP.path("team-a", "r1"), {**WANTED, "apiVersion": VOLCANO, "kind": POD_GROUP.kind}
    group["metadata"] = {"namespace": "team-a", "name": "r1"}
    api.put(path, {**group, "spec": {"minMember": 2}})
    api.fault = fault

    with pytest.raises(BehindError):
        await writer.apply(STATE, POD_GROUP, {**group, "spec": {"minMember": 3}})

    assert api.objects[path]["spec"] == {"minMember": 2}
    assert ("team-a", "r1") in writer.caches[POD_GROUP.kind].rows


async def test_an_item_that_makes_ours_invalid_is_removed(api: Api, writer: Writer) -> None:
    refusal = await writer.apply(STATE, SERVICE, WANTED)

    assert (refusal, api.objects[PATH]["spec"]["ports"]) == (None, [OURS])


async def fight(api: Api, writer: Writer) -> None:
    for _ in range(6):
        api.edit(PATH, ports=[THEIRS])
        writer.caches["Service"].put(SERVICE.project(api.objects[PATH]))
        await writer.apply(STATE, SERVICE, WANTED)


async def test_that_removal_counts_as_a_repair_and_ends_if_it_is_reverted(api: Api, writer: Writer) -> None:
    await fight(api, writer)

    assert STATE.contested.keys() == {"Service"}
    assert api.objects[PATH]["spec"]["ports"] == [THEIRS]


@pytest.mark.parametrize(("now", "seconds"), [(50, 10), (59, 1), (60, 0)])
def test_it_is_tried_again_once_the_first_repair_is_a_minute_old(now: float, seconds: float) -> None:
    history = ApplyHistory(desired=b"ours", repairs=[0, 10, 20, 30, 40])

    assert history.contested_for(b"ours", now) == seconds


async def test_a_new_desired_state_ends_a_conflict(api: Api, writer: Writer) -> None:
    """A controller with an old cache may conflict with the garbage collector until its cache is current."""
    await fight(api, writer)

    await writer.apply(STATE, SERVICE, {**WANTED, "spec": {"ports": [OTHER]}})

    assert (STATE.contested, api.objects[PATH]["spec"]["ports"]) == ({}, [OTHER])


async def test_an_object_that_is_refused_anyway_is_reported(api: Api, writer: Writer) -> None:
    api.fault = lambda _request: status(422, "Invalid", "no", "r1-epp")

    refusal = await writer.apply(STATE, SERVICE, WANTED)

    assert refusal is not None
    assert refusal.code == "FI872"


async def test_a_write_waits_for_its_turn_before_it_asks_whether_it_may_be_sent(client: Client) -> None:
    order = []

    class Turn(RateLimit):
        async def wait(self) -> None:
            order.append("turn")

    def permit() -> float:
        order.append("permit")
        return FOR_EVER

    client.limit = Turn()
    writer = Writer(client, metrics(), permit, {kind.kind: Cache(kind) for kind in WATCHED})
    await writer.apply(STATE, SERVICE, WANTED)

    dry_run, write = ["turn"], ["turn", "permit"]
    assert order == [*dry_run, *write]
