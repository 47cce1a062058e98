"""The replicas of a role belong to its author or to an autoscaler."""

import copy
from typing import Any

import pytest
from aiohttp import web

from intent import Object
from sync import kinds
from sync.watch.cache import OWNERS
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api, status
from tests.sync.running.test_confirmed_owners import snapshot, successor
from tests.sync.samples import KEY, hold, role, routed
from tests.sync.served import DECODE, HOME, SERVICE, admit, condition, reasons

HPA = "kube-controller-manager"
KEDA = "keda"
AUTOSCALER = kinds.AUTOSCALER.path(HOME, "mine")


@pytest.fixture(autouse=True)
def _admission(api: Api) -> None:
    api.prune = admit


def asking(generation: int = 1, **fields: Any) -> Object:
    """Return a service whose decode role has these fields, and no replicas besides."""
    decode = role("decode", "decoder", **fields)
    if "replicas" not in fields:
        del decode["replicas"]
    return routed(role("prefill", "prefiller"), decode, generation=generation)


def replicas(api: Api) -> int:
    return int(api.objects[DECODE]["spec"]["replicas"])


def owners(api: Api) -> set[str]:
    """Return the field managers that own `spec.replicas`."""
    entries = api.objects[DECODE]["metadata"]["managedFields"]
    return {one["manager"] for one in entries if "f:replicas" in one["fieldsV1"].get("f:spec", {})}


def scale(api: Api, count: int, manager: str) -> None:
    """Scale through the subresource `scale`."""
    obj = copy.deepcopy(api.objects[DECODE])
    for entry in obj["metadata"]["managedFields"]:
        entry["fieldsV1"].get("f:spec", {}).pop("f:replicas", None)
    fields: Object = {"f:spec": {"f:replicas": {}}}
    entry = {"manager": manager, "operation": "Update", "subresource": "scale", "fieldsV1": fields}
    obj["metadata"]["managedFields"] = [
        one for one in obj["metadata"]["managedFields"] if one.get("subresource") != "scale"
    ] + [entry]
    obj["spec"]["replicas"] = count
    api.put(DECODE, obj)


def autoscaled(api: Api) -> None:
    """Add an autoscaler of the user's own."""
    reference = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "r1-decode"}
    spec = {"scaleTargetRef": reference, "maxReplicas": 9}
    metadata = {"namespace": HOME, "name": "mine"}
    api.put(AUTOSCALER, {"kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec})


@pytest.fixture
async def three(api: Api, start: Start) -> None:
    """Run a controller until the role has its three replicas."""
    api.put(SERVICE, asking(replicas=3))
    start()
    await eventually(lambda: DECODE in api.objects and replicas(api) == 3)
    await quiet()


@pytest.mark.usefixtures("three")
async def test_replicas_that_the_author_removes_keep_their_value(api: Api) -> None:
    api.put(SERVICE, asking(2))
    await quiet(2)

    assert (replicas(api), owners(api)) == (3, {"fusioninfer-let-go"})


@pytest.mark.usefixtures("three")
async def test_they_keep_their_value_if_the_controller_stops_in_between(api: Api, start: Start) -> None:
    kept: list[str] = []

    def stops(request: web.Request) -> web.Response | None:
        if request.path != DECODE or request.method != "PATCH" or "dryRun" in request.query:
            return None
        if request.query["fieldManager"] == "fusioninfer-let-go":
            kept.append(request.path)
            return None
        return status(503, "ServiceUnavailable", name="r1-decode")

    api.fault = stops
    api.put(SERVICE, asking(2))
    await quiet(2)
    half_way = replicas(api)
    api.fault = lambda _request: None
    start()
    await quiet(2)

    assert (bool(kept), half_way, replicas(api)) == (True, 3, 3)


@pytest.mark.usefixtures("three")
async def test_replicas_that_are_set_again_belong_to_the_author(api: Api) -> None:
    api.put(SERVICE, asking(2))
    await quiet(2)

    api.put(SERVICE, asking(3, replicas=5))

    await eventually(lambda: replicas(api) == 5)


@pytest.mark.usefixtures("three")
async def test_an_autoscaler_is_reported_before_it_scales(api: Api) -> None:
    before = len(api.writes)
    autoscaled(api)
    await eventually(lambda: ("InferenceService", "r1", "ScaledByAnother") in reasons(api))

    assert "HorizontalPodAutoscaler mine scales" in condition(api, "Failed")["message"]
    assert ("PATCH", DECODE) not in api.writes[before:]


@pytest.mark.usefixtures("three")
async def test_an_autoscaler_is_reported_and_not_reverted_until_it_is_deleted(api: Api) -> None:
    autoscaled(api)
    scale(api, 8, HPA)
    await eventually(lambda: ("InferenceService", "r1", "ScaledByAnother") in reasons(api))
    await eventually(lambda: "FI875" in str(condition(api, "Failed")))
    await quiet()
    assert replicas(api) == 8

    api.remove(AUTOSCALER)

    await eventually(lambda: replicas(api) == 3)
    await eventually(lambda: condition(api, "Failed")["reason"] == "NothingFailed")


@pytest.mark.usefixtures("three")
async def test_another_program_that_scales_is_not_reverted(api: Api) -> None:
    scale(api, 0, KEDA)
    await eventually(lambda: ("InferenceService", "r1", "ScaledByAnother") in reasons(api))
    await quiet()

    assert replicas(api) == 0


@pytest.mark.usefixtures("three")
async def test_kubectl_scale_is_reverted(api: Api) -> None:
    scale(api, 8, "kubectl")

    await eventually(lambda: replicas(api) == 3)


@pytest.mark.usefixtures("three")
async def test_an_author_who_changes_replicas_wins_once(api: Api) -> None:
    autoscaled(api)
    scale(api, 8, HPA)
    await eventually(lambda: ("InferenceService", "r1", "ScaledByAnother") in reasons(api))

    api.put(SERVICE, asking(2, replicas=5))
    await eventually(lambda: replicas(api) == 5)
    scale(api, 8, HPA)
    await quiet(2)

    assert replicas(api) == 8


@pytest.mark.usefixtures("three")
async def test_replicas_removed_after_a_scale_keep_their_value(api: Api) -> None:
    autoscaled(api)
    scale(api, 8, HPA)
    api.put(SERVICE, asking(2))
    await quiet(2)

    said: Any = condition(api, "Failed")
    assert (replicas(api), said["reason"]) == (8, "NothingFailed")


@pytest.mark.parametrize("owned", [0, OWNERS + 1], ids=["readable", "unreadable"])
@pytest.mark.usefixtures("three")
async def test_replicas_of_an_autoscaler_that_the_cache_lacks_stay(api: Api, make: Start, owned: int) -> None:
    autoscaled(api)
    await quiet()
    scale(api, 5, HPA)
    await quiet()
    behind = await successor(make)
    hold(behind.caches["HorizontalPodAutoscaler"])
    api.objects[AUTOSCALER]["metadata"]["ownerReferences"] = [{"uid": str(at)} for at in range(owned)]
    api.writes.clear()

    await snapshot(behind)
    errors = await behind.reconcile(KEY)

    assert (replicas(api), ("PATCH", DECODE) in api.writes) == (5, False)
    if owned:
        assert "mine may scale it and cannot be read" in str(errors)
    else:
        assert "FI875" in condition(api, "Failed")["message"]
