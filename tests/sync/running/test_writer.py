"""What is written where server-side apply alone is not enough; a late write changes nothing."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

import pytest
from aiohttp import web

from intent import Object
from kube.client import ApiError, Client
from kube.request import apply
from sync.decide import ApplyHistory
from sync.kinds import OUTPUTS, POD_GROUP, WATCHED, Kind
from sync.live import BehindError, OwnerCheck
from sync.metrics import ControllerMetrics
from sync.observed.pod_group import API_VERSION as VOLCANO
from sync.parts.desired import Refusal
from sync.state import ServiceState
from sync.watch.cache import Cache
from sync.write import Writer
from tests.sync.conftest import FOR_EVER, Background, eventually
from tests.sync.fake_api import Api, Fault, status
from tests.sync.samples import seen

STATE = ServiceState(("team-a", "r1"))
SERVICE = OUTPUTS["Service"]
PATH = SERVICE.path("team-a", "r1-epp")
OURS = {"name": "grpc", "port": 9002}
OTHER = {"name": "grpc", "port": 9003}
THEIRS = {"name": "grpc", "port": 1}
Permit = Callable[[], float]
New = Callable[..., Writer]


def wanted(port: Object) -> Object:
    """Return the Service with one port."""
    metadata = {"namespace": "team-a", "name": "r1-epp", "labels": {"fusioninfer.io/service": "r1"}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [port]}}


WANTED: Final = wanted(OURS)


async def applied(writer: Writer, kind: Kind[Any], desired: Object) -> Refusal | None:
    """Apply an object for a service without members."""
    return await writer.apply(STATE, kind, desired, OwnerCheck(writer.client, writer.caches, seen()))


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    """Begin each test without a history."""
    STATE.histories.clear()


@pytest.fixture
def new(client: Client) -> New:
    """Return a function that makes a writer with empty caches."""

    def writer(permit: Permit = lambda: FOR_EVER) -> Writer:
        return Writer(client, ControllerMetrics(), permit, {kind.kind: Cache(kind) for kind in WATCHED})

    return writer


@pytest.fixture
async def writer(api: Api, new: New) -> Writer:
    """Return a writer that wrote a Service, to which another client adds a port that makes ours invalid."""
    made = new()
    await applied(made, SERVICE, WANTED)
    api.edit(PATH, ports=[THEIRS])
    made.caches["Service"].put(SERVICE.project(api.objects[PATH]))

    def refuse(request: web.Request) -> web.Response | None:
        applied = "apply" in request.content_type and THEIRS in api.objects[PATH]["spec"]["ports"]
        return status(422, "Invalid", "ports[1].name: Duplicate value", "r1-epp") if applied else None

    api.fault = refuse
    return made


async def test_a_write_sends_what_it_needs_and_no_more(api: Api, new: New) -> None:
    """A dry run tells whether an object exists that the cache lacks."""
    writer = new()
    create, apply = ("POST", SERVICE.path("team-a")), ("PATCH", PATH)

    async def sent(port: Object) -> list[tuple[str, str]]:
        api.requests.clear()
        await applied(writer, SERVICE, wanted(port))
        return list(api.requests)

    assert await sent(OURS) == [create, apply]
    assert await sent(OURS) == []
    assert await sent(OTHER) == [apply, apply]
    api.edit(PATH, ports=[THEIRS])
    writer.caches["Service"].put(SERVICE.project(api.objects[PATH]))
    assert await sent(OTHER) == [apply, apply]


def refused_create(request: web.Request) -> web.Response | None:
    """Refuse a create, as a quota and a webhook do: they are asked before the storage."""
    return status(403, "Forbidden", "exceeded quota", "r1") if request.method == "POST" else None


async def test_an_object_that_exists_is_changed_though_its_create_is_refused(api: Api, new: New) -> None:
    writer = new()
    await applied(writer, SERVICE, WANTED)
    writer.caches["Service"].drop(("team-a", "r1-epp"))  # its label was removed
    api.fault = refused_create

    assert await applied(writer, SERVICE, wanted(OTHER)) is None
    assert api.objects[PATH]["spec"]["ports"] == [OTHER]


async def test_an_object_of_another_that_the_cache_lacks_is_not_called_refused(api: Api, new: New) -> None:
    api.put(PATH, wanted(THEIRS))
    api.fault = refused_create

    refusal = await applied(new(), SERVICE, WANTED)

    assert (refusal and refusal.code, api.objects[PATH]["spec"]["ports"]) == ("FI871", [THEIRS])


async def test_an_object_that_is_deleted_between_dry_run_and_read_is_no_finding(api: Api, new: New) -> None:
    exists = status(409, "AlreadyExists", "", "r1-epp")
    api.fault = lambda request: exists if request.method == "POST" else None

    with pytest.raises(BehindError):
        await applied(new(), SERVICE, WANTED)


@pytest.mark.parametrize("fault", [lambda _request: None, refused_create])
async def test_an_object_that_only_the_cache_lacks_is_not_written_by_an_old_plan(
    api: Api, new: New, fault: Fault
) -> None:
    writer = new()
    path, group = POD_GROUP.path("team-a", "r1"), {**WANTED, "apiVersion": VOLCANO, "kind": POD_GROUP.kind}
    group["metadata"] = {"namespace": "team-a", "name": "r1"}
    api.put(path, {**group, "spec": {"minMember": 2}})
    api.fault = fault

    with pytest.raises(BehindError):
        await applied(writer, POD_GROUP, {**group, "spec": {"minMember": 3}})

    assert api.objects[path]["spec"] == {"minMember": 2}
    assert ("team-a", "r1") in writer.caches[POD_GROUP.kind].rows


async def test_an_item_that_makes_ours_invalid_is_removed(api: Api, writer: Writer) -> None:
    refusal = await applied(writer, SERVICE, WANTED)

    assert (refusal, api.objects[PATH]["spec"]["ports"]) == (None, [OURS])


async def fight(api: Api, writer: Writer) -> None:
    for _ in range(6):
        api.edit(PATH, ports=[THEIRS])
        writer.caches["Service"].put(SERVICE.project(api.objects[PATH]))
        await applied(writer, SERVICE, WANTED)


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

    await applied(writer, SERVICE, wanted(OTHER))

    assert (STATE.contested, api.objects[PATH]["spec"]["ports"]) == ({}, [OTHER])


async def test_an_object_that_is_refused_anyway_is_reported(api: Api, writer: Writer) -> None:
    api.fault = lambda _request: status(422, "Invalid", "no", "r1-epp")

    refusal = await applied(writer, SERVICE, WANTED)

    assert refusal is not None
    assert refusal.code == "FI872"


# --- late writes ------------------------------------------------------------------------------------


def with_port(number: int) -> Object:
    return {"name": "grpc", "port": number}


def port(api: Api) -> int:
    number: int = api.objects[PATH]["spec"]["ports"][0]["port"]
    return number


async def written(new: New, permit: Permit = lambda: FOR_EVER) -> Writer:
    """Return a writer that wrote port 1."""
    made = new()
    await applied(made, SERVICE, wanted(with_port(1)))
    made.permit = permit
    return made


async def test_a_write_that_crosses_another_one_changes_nothing_until_it_is_decided_again(
    api: Api, new: New
) -> None:
    writer, left = await written(new), [1]

    def overtake(request: web.Request) -> None:
        """Let another client write port 7 just before our next write arrives."""
        if left and request.method == "PATCH" and "dryRun" not in request.query:
            left.pop()
            api.edit(PATH, ports=[with_port(7)])

    api.fault = overtake

    with pytest.raises(ApiError) as error:
        await applied(writer, SERVICE, wanted(with_port(2)))
    kept = port(api)
    await applied(writer, SERVICE, wanted(with_port(2)))

    assert (error.value.crossed, kept, port(api)) == (True, 7, 2)


async def test_the_api_server_receives_our_deadline(api: Api, new: New) -> None:
    writer = await written(new, lambda: 2.5)
    told: list[str] = []
    api.fault = lambda request: told.append(request.query.get("timeout", ""))

    await applied(writer, SERVICE, wanted(with_port(2)))

    assert told == ["", "2500ms"]


async def test_a_write_ends_when_the_process_may_no_longer_write(api: Api, new: New) -> None:
    writer = await written(new, lambda: 0.3)
    api.latency = 5.0
    began = time.monotonic()

    with pytest.raises(TimeoutError):
        await writer.send(STATE, "Service", apply(PATH, wanted(with_port(2))))

    assert 0.3 <= time.monotonic() - began < 5.0


async def test_a_cancelled_write_waits_for_what_was_sent(api: Api, new: New, background: Background) -> None:
    writer = await written(new)
    api.latency, before = 0.3, len(api.requests)
    writing = background(writer.send(STATE, "Service", apply(PATH, wanted(with_port(2)))))
    await eventually(lambda: len(api.requests) > before)

    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing

    assert port(api) == 2
