"""Services that live on while their CRD, their namespace or the operator's switches come and go."""

import copy
from dataclasses import replace
from typing import Any, Final

import pytest
from aiohttp import web

from sync.controller import Controller
from sync.kinds import INFERENCE_SERVICE, LWS, POD_GROUP, POOL, Kind
from tests.sync.conftest import WITHOUT_API, Background, Start, eventually, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import routed
from tests.sync.served import DECODE, HOME, OWN_GATEWAY, PG, PREFILL, ROUTES, SERVICE, deleted, with_gateway

pytestmark = pytest.mark.slow

OBJECTS: Final = frozenset({PREFILL, DECODE, PG, *ROUTES.values()})
AGAIN: Final = "uid-again"
"""The uid of the InferenceService that is created again."""


def uids(api: Api) -> dict[str, str]:
    """Return the uids of all stored objects but Events and InferenceServices, by path."""
    kept = [path for path in api.objects if "/events/" not in path and path != SERVICE]
    return {path: api.objects[path]["metadata"]["uid"] for path in kept}


def is_owned_again(api: Api) -> bool:
    """Return whether all objects exist, and the new InferenceService controls both LeaderWorkerSets."""
    if not api.objects.keys() >= OBJECTS:
        return False
    owned = [api.objects[path]["metadata"].get("ownerReferences", [{}]) for path in (PREFILL, DECODE)]
    return all([one.get("uid") for one in owners] == [AGAIN] for owners in owned)


def collected(api: Api) -> bool:
    """Delete the objects of the InferenceService that is gone, as the garbage collector does.

    A controller that has not seen the deletion yet may write some once more.
    """
    for path, obj in [*api.objects.items()]:
        owners = obj["metadata"].get("ownerReferences", []) if path in api.objects else []
        if owners and all(one["kind"] == INFERENCE_SERVICE.kind and one["uid"] != AGAIN for one in owners):
            api.remove(path)
    return True


@pytest.mark.parametrize("seen", [True, False], ids=["deletions are seen", "only the list fails"])
async def test_without_its_crd_the_objects_of_a_service_stay_until_the_garbage_collector_deletes_them(
    api: Api, served: Controller, *, seen: bool
) -> None:
    """The collector resolves no owner of a kind that is gone. It deletes them when the kind is back."""
    before, api.collects = uids(api), False
    stored = copy.deepcopy(api.objects[SERVICE])
    if seen:
        api.remove(SERVICE)
    else:
        del api.objects[SERVICE]
    api.absent = {INFERENCE_SERVICE.resource.plural}
    api.forget()
    await eventually(lambda: served.caches[INFERENCE_SERVICE.kind].availability.scopes[""].absent)
    served.changed((HOME, "r1"))
    await quiet(2)
    without = uids(api)

    api.absent = set()
    api.put(SERVICE, stored | {"metadata": stored["metadata"] | {"uid": AGAIN}, "status": {}})
    api.forget()
    await eventually(lambda: bool(api.objects[SERVICE].get("status")))
    await quiet(2)
    again = uids(api)

    api.collects = True
    for path in before:
        if path in api.objects and "ownerReferences" in api.objects[path]["metadata"]:
            api.remove(path)
    await eventually(lambda: is_owned_again(api))

    assert (without, again, deleted(api)) == (before, before, set())


@pytest.mark.parametrize("watched", [True, False], ids=["watched", "listed afterwards"])
async def test_a_namespace_that_is_made_again_has_its_services_again(
    api: Api, served: Controller, *, watched: bool
) -> None:
    assert served
    before = uids(api)
    terminating = {path for path in api.objects if path.startswith(f"/apis/events.k8s.io/{HOME}")}
    api.fault = _terminating
    if not watched:
        api.drop()
    for path in [path for path in api.objects if path not in terminating]:
        if path in api.objects:
            api.remove(path)
    if watched:
        await quiet(2)
    assert not uids(api)

    api.fault = lambda _request: None
    again = routed()
    api.put(SERVICE, again | {"metadata": again["metadata"] | {"uid": AGAIN}})
    if not watched:
        api.forget()
    await eventually(lambda: collected(api) and is_owned_again(api))
    await quiet()

    now = uids(api)
    assert (now.keys() >= OBJECTS, deleted(api)) == (True, set())
    assert all(now[path] != before[path] for path in OBJECTS)


def _terminating(request: web.Request) -> web.Response | None:
    """Answer as an API server does while a namespace is being deleted."""
    is_creation = request.method in {"POST", "PATCH"} and f"/namespaces/{HOME}/" in request.path
    return status(403, "Forbidden", "namespace is being terminated", "x") if is_creation else None


SWITCHES: Final = {
    "routes": replace(WITHOUT_API, routes=False),
    "gateways": replace(WITHOUT_API, gateways=False),
    "other gateways": replace(WITHOUT_API, gateways=("cilium",)),
    "other namespaces": replace(WITHOUT_API, namespaces=("team-b",)),
}


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.usefixtures("admission")
async def test_switches_that_are_set_and_unset_leave_a_live_service_as_it_is(
    api: Api, make: Start, background: Background, switch: str
) -> None:
    api.put(SERVICE, with_gateway())
    expected = (OBJECTS | {OWN_GATEWAY}) - {ROUTES["HTTPRoute"]}

    first = background(make().run())
    await eventually(lambda: api.objects.keys() >= expected)
    await quiet(2)
    first.cancel()
    before = uids(api)

    for settings in (SWITCHES[switch], None):
        running = background(make(settings).run())
        await quiet(3)
        running.cancel()
        assert (uids(api), deleted(api)) == (before, set())


@pytest.mark.parametrize("kind", [POD_GROUP, LWS, POOL], ids=lambda kind: kind.kind)
async def test_objects_whose_crd_is_deleted_and_made_again_are_as_before(
    api: Api, served: Controller, kind: Kind[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync.state.RETRY_REFUSED", 0.2)
    lost = {path for path in OBJECTS if f"/{kind.resource.plural}/" in path}
    before = {path: copy.deepcopy(api.objects[path]["spec"]) for path in lost}
    others = {path: uid for path, uid in uids(api).items() if path not in lost}
    api.collects = False  # the new owners are there before a collector has looked
    for path in lost:
        api.remove(path)
    api.absent = {kind.resource.plural}
    api.forget()
    await eventually(lambda: served.caches[kind.kind].availability.scopes[""].absent)
    await quiet(2)

    api.absent = set()
    api.forget()
    await eventually(lambda: lost <= api.objects.keys())
    await quiet()

    assert {path: api.objects[path]["spec"] for path in lost} == before
    assert {path: uid for path, uid in uids(api).items() if path not in lost} == others
    assert deleted(api) == set()
