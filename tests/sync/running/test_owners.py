"""Nothing is deleted, or taken for a foreign object, because of a cache alone."""

import copy
import json
import time
from typing import Any

import pytest
from aiohttp import web

from intent import Object
from kube.client import Client
from kube.request import Request
from sync import observe
from sync.controller import Controller
from sync.kinds import LWS, OUTPUTS, POD, POD_GROUP
from sync.watch.availability import ENOUGH, EVERYWHERE
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import KEY, alone, hold, inference_service, lws
from tests.sync.served import DECODE, HOME, PREFILL, ROUTES, SERVICE, change, deleted, ready_pod, reasons

ROUTED = {"fusioninfer.io/strategy": "queue-size"}
PG = POD_GROUP.path(*KEY)
MEMBER = LWS.path(HOME, "w")
EPP = OUTPUTS["Deployment"].path(HOME, "r1-epp")


@pytest.fixture
async def annotated(api: Api, start: Start) -> Controller:
    """Run a controller until an annotated worker of two pods has its PodGroup and its routes."""
    worker = lws("w", "worker")
    worker["metadata"]["annotations"] |= ROUTED
    api.put(MEMBER, worker)
    controller = start()
    await eventually(lambda: {PG, EPP} <= api.objects.keys())
    await quiet()
    api.writes.clear()
    return controller


def as_of_now(api: Api, plural: str) -> Any:
    """Answer lists and watches of a kind with no objects, and everything else correctly."""

    def empty(request: web.Request) -> web.StreamResponse | None:
        if request.method != "GET" or not request.path.endswith(f"/{plural}"):
            return None
        if "watch" in request.query:
            return status(410, "Expired")
        return web.json_response({"metadata": {"resourceVersion": str(len(api.history))}, "items": []})

    return empty


@pytest.mark.usefixtures("annotated")
async def test_members_missing_from_a_list_lose_nothing(api: Api) -> None:
    """An API server that starts may answer a list with 404, or with no items."""
    api.fault = as_of_now(api, "leaderworkersets")
    api.drop()
    await quiet(3)

    assert deleted(api) == set()


@pytest.mark.usefixtures("served")
async def test_an_inference_service_whose_lws_are_missing_from_a_list_loses_nothing(api: Api) -> None:
    api.writes.clear()
    api.fault = as_of_now(api, "leaderworkersets")
    api.drop()
    await quiet(3)

    assert (deleted(api), [reason for _, _, reason in reasons(api) if reason == "ObjectNotOurs"]) == (
        set(),
        [],
    )


async def test_a_controller_whose_watch_stalled_deletes_nothing_when_it_becomes_leader(
    api: Api, start: Start
) -> None:
    worker = lws("w", "worker")
    plain = copy.deepcopy(worker)  # its state before the author asked for routes
    worker["metadata"]["annotations"] |= ROUTED
    api.put(MEMBER, worker)
    start()
    await eventually(lambda: {PG, EPP} <= api.objects.keys())
    api.writes.clear()

    deaf = start()
    await eventually(lambda: all(not cache.availability.trouble for cache in deaf.caches.values()))
    hold(deaf.caches["LeaderWorkerSet"], LWS.project(plain))
    deaf.changed(KEY)
    await quiet(3)

    assert deleted(api) == set()


@pytest.mark.usefixtures("annotated")
async def test_a_member_that_opts_out_loses_what_was_made_for_it(api: Api) -> None:
    opt_out(api)

    await eventually(lambda: not {PG, EPP} & api.objects.keys())
    assert {PG, EPP} <= deleted(api)


def opt_out(api: Api) -> None:
    """Remove our annotations from the member, as admission does then, its templates too."""
    metadata = copy.deepcopy(api.objects[MEMBER]["metadata"]) | {"annotations": {}, "labels": {}}
    change(api, MEMBER, metadata=metadata, spec={"leaderWorkerTemplate": {"workerTemplate": {"spec": {}}}})


@pytest.mark.usefixtures("annotated")
@pytest.mark.parametrize("moves", [False, True], ids=["opts out", "moves to another service"])
async def test_a_pod_group_stays_until_some_time_after_the_end_of_the_last_pod_that_names_it(
    api: Api, monkeypatch: pytest.MonkeyPatch, *, moves: bool
) -> None:
    """With a partition LeaderWorkerSet keeps groups of the old template, and creates failed ones again."""
    pod = ready_pod("w")
    pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": KEY[1]}
    path = POD.path(HOME, "w-0")
    api.put(path, pod)
    moved(api, MEMBER, "r2") if moves else opt_out(api)
    await eventually(lambda: EPP not in api.objects)

    api.remove(path)
    await quiet(2)
    api.put(path, pod)
    monkeypatch.setattr(observe, "RECREATED_WITHIN", 0.5)
    await quiet(3)
    assert PG in api.objects

    ended = time.monotonic()
    api.remove(path)
    await eventually(lambda: PG not in api.objects)
    assert (PG in deleted(api), time.monotonic() - ended >= observe.RECREATED_WITHIN) == (True, True)


async def test_a_pod_group_stays_while_pods_are_not_known(api: Api, annotated: Controller) -> None:
    for _ in range(ENOUGH):
        annotated.caches[POD.kind].availability.fail(EVERYWHERE, "not allowed", denied=False)
    opt_out(api)
    await eventually(lambda: EPP not in api.objects)
    await quiet()

    assert PG in api.objects


def moved(api: Api, path: str, service: str) -> None:
    """Make a LeaderWorkerSet a member of another service, as admission does."""
    obj = json.loads(json.dumps(api.objects[path]).replace('"r1"', f'"{service}"'))
    obj["metadata"]["ownerReferences"] = api.objects[path]["metadata"].get("ownerReferences", [])
    api.put(path, obj)


@pytest.mark.usefixtures("annotated")
async def test_the_last_member_that_moves_to_another_service_leaves_nothing_behind(api: Api) -> None:
    moved(api, MEMBER, "r2")

    await eventually(lambda: not {PG, EPP} & api.objects.keys())
    await eventually(lambda: OUTPUTS["Deployment"].path(HOME, "r2-epp") in api.objects)
    await quiet()
    left = [path for path, obj in api.objects.items() if label(obj) == "r1" and obj["kind"] in OUTPUTS]
    assert ({PG, EPP} <= deleted(api), left) == (True, [])


def label(obj: Object) -> str:
    """Return the service of an object, by its label."""
    return str(obj["metadata"].get("labels", {}).get("fusioninfer.io/service", ""))


@pytest.mark.usefixtures("annotated")
@pytest.mark.parametrize("stalled", [False, True], ids=["seen", "not seen"])
async def test_a_member_that_moves_takes_nothing_from_the_others(api: Api, *, stalled: bool) -> None:
    """The other one may have come while the watch was stalled: then the cache has no member left."""
    other = lws("v", "worker")
    other["metadata"]["annotations"] |= ROUTED
    api.put(LWS.path(HOME, "v"), other)
    await eventually(lambda: len(api.objects[PG]["metadata"]["ownerReferences"]) == 2)
    if stalled:
        api.fault = as_of_now(api, "leaderworkersets")
        api.drop()
    moved(api, MEMBER, "r2")
    await quiet(3)

    assert not {PG, EPP} & deleted(api)


@pytest.mark.usefixtures("served")
async def test_a_set_of_an_inference_service_that_is_annotated_by_hand_moves_nowhere(api: Api) -> None:
    """The controller moves it back, as soon as it can."""
    api.fault = lambda r: web.Response(status=503) if r.path in {DECODE, PREFILL} and r.query else None
    moved(api, DECODE, "r2")
    moved(api, PREFILL, "r2")
    await quiet(3)

    assert not deleted(api)


@pytest.mark.usefixtures("annotated")
async def test_objects_without_members_are_left_to_the_garbage_collector(api: Api) -> None:
    api.remove(MEMBER)
    await eventually(lambda: not {PG, EPP} & api.objects.keys())
    await quiet()

    assert deleted(api) == set()


@pytest.mark.usefixtures("served")
async def test_routes_stay_while_the_inference_service_differs_from_the_cache(api: Api) -> None:
    before = copy.deepcopy(api.objects[SERVICE])
    later = before | {"metadata": before["metadata"] | {"generation": 9}}
    fresh = lambda r: web.json_response(later) if (r.method, r.path) == ("GET", SERVICE) else None  # noqa: E731 - a fault of one line, as elsewhere
    api.fault = fresh

    api.put(SERVICE, inference_service(generation=2))
    await quiet(2)
    kept = set(ROUTES.values()) <= api.objects.keys()
    api.fault = lambda _request: None

    await eventually(lambda: not set(ROUTES.values()) & api.objects.keys())
    assert kept


# --- a lost label -----------------------------------------------------------------------------------


async def test_an_object_that_is_deleted_before_the_answer_to_its_create_is_created_again(
    api: Api, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The garbage collector does that to the objects of an owner that is gone."""
    write, deleted = Client.write, list[str]()

    async def write_late(self: Client, request: Request, seconds: float) -> Object:
        answer = await write(self, request, seconds)
        if request.path == PG and not deleted:
            deleted.append(PG)
            api.remove(PG)
            await eventually(lambda: bool(controller.caches[POD_GROUP.kind].deleted))
        return answer

    monkeypatch.setattr(Client, "write", write_late)
    api.put(MEMBER, lws("w", "worker"))
    controller = start()

    await eventually(lambda: bool(deleted) and PG in api.objects)


@pytest.mark.usefixtures("served")
async def test_an_object_that_lost_its_label_gets_it_back(api: Api) -> None:
    metadata = copy.deepcopy(api.objects[ROUTES["Deployment"]]["metadata"])
    del metadata["labels"]["fusioninfer.io/service"]

    change(api, ROUTES["Deployment"], metadata=metadata)

    def labelled() -> bool:
        return "fusioninfer.io/service" in api.objects[ROUTES["Deployment"]]["metadata"]["labels"]

    await eventually(labelled)
    assert "ObjectNotOurs" not in [reason for _, _, reason in reasons(api)]


@pytest.mark.usefixtures("annotated")
async def test_a_pod_group_that_lost_its_label_gets_it_back(api: Api) -> None:
    metadata = copy.deepcopy(api.objects[PG]["metadata"]) | {"labels": {}}

    change(api, PG, metadata=metadata)

    await eventually(lambda: api.objects[PG]["metadata"]["labels"] == {"fusioninfer.io/service": "r1"})
    assert api.findings() == []


async def test_a_pod_group_with_the_label_of_another_service_stays_while_a_member_is_of_its_gang(
    api: Api, start: Start
) -> None:
    """Its name may be that of a revision of the other service, which has no members."""
    service = f"{KEY[1]}-0123abcd"
    api.put(LWS.path(HOME, service), alone(service))
    start()
    path = POD_GROUP.path(HOME, service)
    await eventually(lambda: path in api.objects)
    await quiet()

    change(api, path, metadata=api.objects[path]["metadata"] | {"labels": {"fusioninfer.io/service": KEY[1]}})

    await eventually(lambda: label(api.objects.get(path, {"metadata": {}})) == service)
    assert path not in deleted(api)
