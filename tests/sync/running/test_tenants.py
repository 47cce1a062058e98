"""One tenant's objects, however many, and however often they change, hardly delay another's (P3)."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import orjson
import pytest
from msgspec import Raw

from intent import Object
from intent.service.member import ServiceKey
from intent.settings import Settings
from kube.client import Client
from kube.pool import BytePool
from kube.request import Request
from kube.wire import WatchEvent, read_object
from sync import WORKERS
from sync.controller import Controller
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS, Kind, templates
from sync.watch import reflector
from sync.watch.cache import Cache
from sync.watch.intake import Intake
from tests.sync.conftest import Background, Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import alone, hold, inference_service, lws
from tests.sync.served import DECODE, PG, PREFILL

MANY: Final = 400
HOSTILE: Final = "hostile"
OTHER: Final = ("team-a", "r1")
Reads = list[ServiceKey]


def service(namespace: str, name: str, version: int) -> Object:
    """Return an InferenceService in one version."""
    return inference_service(namespace=namespace, name=name, uid=f"uid-{name}", resourceVersion=str(version))


def event(obj: Object, kind: str = "MODIFIED") -> WatchEvent:
    """Return an event of a watch."""
    return WatchEvent(kind, Raw(orjson.dumps(obj)))


@pytest.fixture
def reads() -> Reads:
    """Return the objects that were read, in this order."""
    return []


@pytest.fixture
def cache(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> Cache[Any]:
    """Return a cache of InferenceServices that notes which objects are read."""

    def read(body: bytes) -> Any:
        obj = read_object(body)
        reads.append((obj["metadata"]["namespace"], obj["metadata"]["name"]))
        return obj

    monkeypatch.setattr("sync.watch.cache.read_object", read)
    return Cache(INFERENCE_SERVICE)


@pytest.fixture
def arrived(
    client: Client, cache: Cache[Any], background: Background, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Return a function that has the cache follow a watch on which events have arrived at once."""

    def follow(*events: WatchEvent) -> None:
        async def received(_client: Client, _request: Request) -> AsyncIterator[WatchEvent]:
            for one in events:
                yield one
            await asyncio.Event().wait()

        monkeypatch.setattr(Client, "follow", received)
        background(reflector.reflect(client, cache))

    return follow


async def test_an_object_that_is_read_while_a_list_comes_is_not_stored_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The list has no such object any more, and no event will say so again."""
    listed = asyncio.Event()

    def read(body: bytes) -> Any:
        if not listed.is_set():
            raise ValueError(
                "nested too deeply"
            )  # so a thread makes it shallow, and other tasks run meanwhile
        return read_object(body)

    monkeypatch.setattr("sync.watch.cache.read_object", read)
    cache: Cache[Any] = Cache(INFERENCE_SERVICE)
    intake = Intake(cache, BytePool(2**20))
    await intake.receive(event(service("team-a", "deleted", 1)))
    reading = asyncio.create_task(intake.run())
    await eventually(lambda: not intake.waiting.waiting)

    intake.clear()
    hold(cache)
    listed.set()
    await intake.receive(event(service("team-a", "kept", 2)))
    await eventually(lambda: bool(cache.rows))

    reading.cancel()
    assert set(cache.rows) == {("team-a", "kept")}


async def test_news_of_one_tenant_are_read_before_thousands_of_another(
    cache: Cache[Any], reads: Reads, arrived: Callable[..., None]
) -> None:
    theirs = [event(service(HOSTILE, f"s{number}", number)) for number in range(1, MANY)]

    arrived(*theirs, event(service(*OTHER, MANY)))
    await eventually(lambda: OTHER in cache.rows)

    assert reads.index(OTHER) < MANY / 4
    await eventually(lambda: len(cache.rows) == MANY)


async def test_an_object_that_changes_faster_than_it_can_be_read_is_read_in_its_last_version(
    cache: Cache[Any], reads: Reads, arrived: Callable[..., None]
) -> None:
    theirs = [event(service(HOSTILE, "s", number)) for number in range(1, MANY)]

    arrived(*theirs, event(service(*OTHER, MANY)))
    await eventually(lambda: len(cache.rows) == 2)

    assert len(reads) < MANY / 4
    await eventually(lambda: cache.rows[HOSTILE, "s"].resource_version == MANY - 1)


async def test_what_was_deleted_before_it_was_read_is_gone(cache: Cache[Any], background: Background) -> None:
    intake = Intake(cache, BytePool(2**20))
    await intake.receive(event(service(*OTHER, 1), "ADDED"))
    await intake.receive(event(service(*OTHER, 2), "DELETED"))
    await intake.receive(event(service(HOSTILE, "s", 3)))

    background(intake.run())
    await eventually(lambda: [*cache.rows] == [(HOSTILE, "s")])


async def test_an_intake_holds_a_limited_number_of_bytes(cache: Cache[Any], background: Background) -> None:
    intake, held = Intake(cache, BytePool(2_000)), []

    async def receive() -> None:
        for number in range(1, 50):
            await intake.receive(event(service(HOSTILE, f"s{number}", number)))
            held.append(intake.pool.total)

    receiving = background(receive())
    await asyncio.sleep(0)
    assert not receiving.done()
    background(intake.run())
    await receiving

    assert max(held) < 1_000 + len(orjson.dumps(service(HOSTILE, "s50", 50)))


async def test_a_list_replaces_what_waits(cache: Cache[Any], background: Background) -> None:
    intake = Intake(cache, BytePool(2**20))
    await intake.receive(event(service(*OTHER, 1), "DELETED"))

    intake.clear()
    hold(cache, INFERENCE_SERVICE.projected(service(*OTHER, 2)))
    background(intake.run())
    await intake.receive(event(service(HOSTILE, "s", 3)))

    await eventually(lambda: {*cache.rows} == {OTHER, (HOSTILE, "s")})


async def test_an_object_that_cannot_be_parsed_affects_itself_only_and_is_gone_when_deleted(
    background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(body: bytes) -> Any:
        if b'"uid-s"' in body:
            raise ValueError("no JSON")
        return read_object(body)

    monkeypatch.setattr("sync.watch.cache.read_object", read)
    intake = Intake(Cache(INFERENCE_SERVICE), BytePool(2**20))
    await intake.receive(event(service(HOSTILE, "s", 1)))
    await intake.receive(event(service(*OTHER, 2)))

    background(intake.run())
    await eventually(lambda: [*intake.cache.rows] == [OTHER])
    assert [*intake.cache.unreadable] == [(HOSTILE, "s")]
    await intake.receive(event(service(HOSTILE, "s", 3), "DELETED"))

    await eventually(lambda: not intake.cache.unreadable)
    assert [*intake.cache.rows] == [OTHER]


async def test_an_event_without_a_name_causes_a_list_and_ends_nothing(
    api: Api, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No API server sends one; what stands before it may."""
    follow = Client.follow
    sent: list[str] = []

    async def without_name(client: Client, request: Request) -> AsyncIterator[WatchEvent]:
        if LWS.resource.collection in request.path and not sent:
            sent.append(request.path)
            yield WatchEvent("MODIFIED", Raw(b'{"metadata": {"resourceVersion": "7"}}'))
        async for one in follow(client, request):
            yield one

    monkeypatch.setattr(Client, "follow", without_name)
    start()
    await eventually(lambda: bool(sent))
    api.put(PREFILL, lws("r1-prefill"))
    api.put(DECODE, lws("r1-decode", "decoder"))

    await eventually(lambda: PG in api.objects)


SHARED: Final = "fusioninfer-system"
MANY_SERVICES: Final = 20


@pytest.fixture
def reconciled(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Return the services whose reconcile began, in this order; those of the hung never end."""
    reconcile = Controller.reconcile
    begun: Reads = []

    async def noted(controller: Controller, key: ServiceKey) -> object:
        begun.append(key)
        if key[0] == "hung":
            await asyncio.Event().wait()
        return await reconcile(controller, key)

    monkeypatch.setattr(Controller, "reconcile", noted)
    return begun


def route(name: str, **labels: str) -> Object:
    """Return an HTTPRoute of a service, at the Gateway of all tenants and to the InferencePool of one."""
    rules = [{"backendRefs": [{"kind": "InferencePool", "namespace": "team-1", "name": "pool"}]}]
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {
            "namespace": name,
            "name": "route",
            "uid": f"route-{name}",
            "labels": {"fusioninfer.io/service": "s", **labels},
        },
        "spec": {"parentRefs": [{"name": "shared", "namespace": "infra"}], "rules": rules},
    }


def of_template(namespace: str, **metadata: Any) -> Object:
    """Return an InferenceService with the template of all tenants."""
    made = inference_service(namespace=namespace, name="s", uid=f"uid-{namespace}", **metadata)
    made["spec"] |= {"baseRefs": ["base"]}
    return made


@pytest.mark.parametrize(
    ("kind", "shared", "where", "build"),
    [
        (INFERENCE_SERVICE, templates(SHARED), (SHARED, "base"), of_template),
        (OUTPUTS["HTTPRoute"], OUTPUTS["Gateway"], ("infra", "shared"), route),
    ],
    ids=["template", "Gateway"],
)
async def test_a_service_that_names_what_all_share_concerns_no_other(  # noqa: PLR0917 - fixtures
    api: Api,
    start: Start,
    reconciled: Reads,
    kind: Kind[Any],
    shared: Kind[Any],
    where: tuple[str, str],
    build: Callable[..., Object],
) -> None:
    """A change of what they share concerns them all."""
    metadata = {"namespace": where[0], "name": where[1], "uid": "uid-shared", "generation": 1}
    common: Object = {"apiVersion": shared.resource.api_version, "kind": shared.kind, "metadata": metadata}
    api.put(shared.path(*where), copy.deepcopy(common))
    tenants = [f"team-{number}" for number in range(MANY_SERVICES)]
    for tenant in tenants:
        made = build(tenant)
        api.put(kind.path_of(made), made)
    start(settings=Settings(api_services=False, templates_namespace=SHARED))
    await eventually(lambda: len({*reconciled}) == MANY_SERVICES)
    await quiet(2)

    reconciled.clear()
    changed = build(HOSTILE)
    api.put(kind.path_of(changed), changed)
    await eventually(lambda: (HOSTILE, "s") in reconciled)
    await quiet(2)
    assert {*reconciled} == {(HOSTILE, "s")}

    metadata["generation"] = 2
    api.put(shared.path(*where), common | {"spec": {"gatewayClassName": "other"}})
    await eventually(lambda: {*reconciled} == {(tenant, "s") for tenant in (*tenants, HOSTILE)})


@pytest.mark.parametrize("share", [1, WORKERS])
async def test_reconciles_that_never_end_leave_a_slot_to_another_tenant(
    api: Api, make: Start, background: Background, reconciled: Reads, share: int
) -> None:
    for at in range(50):
        api.put(LWS.path("hung", f"s{at}"), alone(f"s{at}", "hung"))
    controller = make()
    controller.queue.share = share
    background(controller.run())
    await eventually(lambda: len(reconciled) == share)

    api.put(PREFILL, lws("r1-prefill"))
    api.put(DECODE, lws("r1-decode", "decoder"))

    await eventually(lambda: PG in api.objects)
    assert sum(key[0] == "hung" for key in reconciled) == share
