"""Unknown objects do not count as absent: a failed list deletes nothing, and blocks nothing else."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from intent import Object
from kube import client as client_module
from kube.client import Client
from sync.controller import Controller
from sync.kinds import GATEWAYS, HTTP_ROUTE, INFERENCE_SERVICE, LWS, OUTPUTS, POD_GROUP, POOL, WATCHED
from sync.watch.availability import ENOUGH
from sync.watch.cache import Cache
from sync.watch.reflector import reflect
from tests.sync.conftest import Background, Start, eventually, quiet
from tests.sync.fake_api import Api, Fault, status
from tests.sync.samples import lws, routed
from tests.sync.served import DECODE, HOME, PG, PREFILL, ROUTES, SERVICE, change, reasons
from tests.tiers import WHOLE

ANSWERS: dict[str, Callable[[], web.Response]] = {
    "403": lambda: status(403, "Forbidden", "no right"),
    "404": lambda: web.Response(status=404, text="404 page not found"),
    "500": lambda: status(500, "InternalError"),
    "no list": lambda: web.json_response({"kind": "Status"}),
}
BUGS = "fusioninfer_sync_reconciles_total"
ROUTE_KINDS = tuple(kind for kind in WATCHED if kind.kind in ROUTES)


def lists_of(*kinds: Any, answer: Callable[[], web.Response]) -> Fault:
    """Answer lists and watches of these kinds like this."""
    paths = {kind.resource.collection for kind in kinds}
    return lambda request: answer() if request.path in paths else None


async def listed_again(api: Api, kind: Any, times: int) -> None:
    """End the watches, and wait until a kind was requested this often."""
    asked = ("GET", kind.resource.collection)
    before = api.requests.count(asked)
    api.forget()
    await eventually(lambda: api.requests.count(asked) >= before + times)


KINDS = (LWS, INFERENCE_SERVICE, POD_GROUP)
PAIRS = [
    (kind, answer)
    for at, kind in enumerate(KINDS)
    for number, answer in enumerate(ANSWERS)
    if WHOLE or (at + number) % len(KINDS) == 0
]


@pytest.mark.parametrize(("kind", "answer"), PAIRS, ids=lambda one: getattr(one, "kind", one))
async def test_a_failed_list_deletes_nothing_of_a_live_service(
    api: Api, served: Controller, kind: Any, answer: str
) -> None:
    before = {path: obj["metadata"]["uid"] for path, obj in api.objects.items() if "/events/" not in path}

    api.fault = lists_of(kind, answer=ANSWERS[answer])
    await listed_again(api, kind, ENOUGH + 2)
    change(api, SERVICE, metadata=api.objects[SERVICE]["metadata"] | {"labels": {"a": "b"}})
    served.changed((HOME, "r1"))
    await quiet()

    assert {path: obj["metadata"]["uid"] for path, obj in api.objects.items() if path in before} == before
    assert [path for method, path in api.writes if method == "DELETE"] == []


@pytest.mark.usefixtures("served")
async def test_a_kind_whose_crd_is_deleted_is_absent(api: Api, served: Controller) -> None:
    api.absent = {HTTP_ROUTE.resource.plural}
    api.forget()

    await eventually(lambda: served.caches[HTTP_ROUTE.kind].availability.scopes[""].absent)

    assert served.caches[HTTP_ROUTE.kind].rows == {}


async def test_gangs_are_made_without_rights_on_routes(api: Api, start: Start) -> None:
    for one in (lws("p"), lws("d", "decoder")):
        api.put(LWS.path(HOME, one["metadata"]["name"]), one)
    api.fault = lists_of(*ROUTE_KINDS, GATEWAYS, OUTPUTS["DestinationRule"], answer=ANSWERS["403"])

    controller = start()

    await eventually(lambda: PG in api.objects)
    await eventually(lambda: all(controller.caches[kind].availability.trouble for kind in ROUTES))


@pytest.mark.usefixtures("admission")
async def test_objects_that_require_an_unavailable_kind_wait_and_are_reported(api: Api, start: Start) -> None:
    api.fault = lists_of(POOL, answer=ANSWERS["403"])
    api.put(SERVICE, routed())
    start()
    await eventually(lambda: {PREFILL, DECODE, PG, ROUTES["ConfigMap"]} <= api.objects.keys())
    await eventually(lambda: ("InferenceService", "r1", "KindUnavailable") in reasons(api))
    meanwhile = {kind for kind, path in ROUTES.items() if path in api.objects}

    api.fault = lambda _request: None

    await eventually(lambda: set(ROUTES.values()) <= api.objects.keys())
    assert meanwhile == ROUTES.keys() - {"InferencePool", "Deployment", "HTTPRoute"}


async def test_a_kind_without_an_answer_does_not_keep_the_controller_from_starting(
    api: Api, make: Start, background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync.controller.LISTED_WITHIN", 0.3)
    monkeypatch.setattr(client_module, "TIMEOUT", 60.0)
    api.put(LWS.path(HOME, "p"), lws("p", "worker"))
    api.hanging = {GATEWAYS.resource.collection}
    background(make().run())

    await eventually(lambda: PG in api.objects)


@pytest.mark.usefixtures("admission")
async def test_a_kind_that_stays_unavailable_causes_no_reconciles(
    api: Api, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand services would be reconciled forever; they are reconciled when the kind is back."""
    monkeypatch.setattr("sync.state.RETRY_REFUSED", 0.02)
    api.fault = lists_of(POOL, answer=ANSWERS["403"])
    api.put(SERVICE, routed())
    controller = start()
    await eventually(lambda: ("InferenceService", "r1", "KindUnavailable") in reasons(api))
    await quiet(2)
    snapshots = controller.metrics.registry.get_sample_value(BUGS, {"outcome": "done"})

    await quiet(2)

    assert controller.metrics.registry.get_sample_value(BUGS, {"outcome": "done"}) == snapshots


# --- unreadable objects -----------------------------------------------------------------------------


def deep(obj: Object, levels: int) -> Object:
    """Nest the template of an InferenceService to this depth."""
    made = copy.deepcopy(obj)
    made["spec"]["roles"][0]["template"]["deep"] = f"@{levels}@"
    return made


@pytest.mark.parametrize("levels", [300, 1005, 3000])
async def test_a_deep_object_does_not_block_the_watch(
    api: Api, client: Client, background: Background, levels: int
) -> None:
    """It is sent as it is: in a list, and twice on a watch."""
    hostile, other = INFERENCE_SERVICE.path(HOME, "r1"), INFERENCE_SERVICE.path("team-b", "r2")
    api.spelled = {f'"@{levels}@"': "[" * levels + "]" * levels}
    api.put(hostile, deep(routed(), levels))
    cache = Cache(INFERENCE_SERVICE)
    background(reflect(client, cache))
    await eventually(lambda: bool(api.watches and cache.rows))

    for label in "xy":
        change(api, hostile, metadata=api.objects[hostile]["metadata"] | {"labels": {"l": label}})
    api.put(other, routed(namespace="team-b", name="r2"))

    await eventually(lambda: ("team-b", "r2") in cache.rows)
    assert cache.rows["team-b", "r2"].value
    assert [error.code for error in cache.rows[HOME, "r1"].errors] == ["FI881"]


@pytest.mark.usefixtures("served")
async def test_a_service_that_becomes_too_deep_keeps_its_objects(api: Api, served: Controller) -> None:
    before = {path: obj["metadata"]["uid"] for path, obj in api.objects.items() if "/events/" not in path}
    api.spelled = {'"@1005@"': "[" * 1005 + "]" * 1005}

    change(api, SERVICE, spec=deep(api.objects[SERVICE], 1005)["spec"])

    await eventually(lambda: ("InferenceService", "r1", "ObjectUnreadable") in reasons(api))
    assert before.items() <= {path: obj["metadata"]["uid"] for path, obj in api.objects.items()}.items()
    assert served.metrics.registry.get_sample_value(BUGS, {"outcome": "bug"}) == 0


async def test_an_unreadable_watch_line_causes_a_list(
    api: Api, client: Client, background: Background
) -> None:
    """Another watch from the same version would receive the same line, forever."""
    lists: list[str] = []
    api.fault = lambda request: None if "watch" in request.query else lists.append(request.path)
    api.spelled = {'"@bad@"': "nonsense"}
    cache = Cache(LWS)
    background(reflect(client, cache))
    await eventually(lambda: bool(api.watches))
    bad = lws("bad")
    bad["metadata"]["annotations"]["x"] = "@bad@"

    api.history.append(("ADDED", bad | {"metadata": bad["metadata"] | {"resourceVersion": "1"}}))
    api.changed.set()
    await eventually(lambda: len(lists) > 1)
    api.put(LWS.path(HOME, "p"), lws("p"))

    await eventually(lambda: (HOME, "p") in cache.rows)
