"""The replicas of a role belong to its author or to an autoscaler."""

import copy
from typing import Any

import pytest
from aiohttp import web

from intent import Object
from tests.sync.conftest import Eventually, Start, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import role, routed
from tests.sync.served import DECODE, SERVICE, admit, condition, reasons

HPA = "kube-controller-manager"


@pytest.fixture(autouse=True)
def _defaults(api: Api) -> None:
    """Admit, and default `replicas` as the CRD of LeaderWorkerSet does."""

    def defaulted(obj: Object) -> None:
        admit(obj)
        if obj["kind"] == "LeaderWorkerSet":
            obj["spec"].setdefault("replicas", 1)

    api.prune = defaulted


def asking(replicas: int | None, generation: int = 1) -> Object:
    """Return a service whose decode role sets replicas, or omits them."""
    decode = role("decode", "decoder", replicas=replicas)
    if replicas is None:
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


@pytest.fixture
async def three(api: Api, start: Start, eventually: Eventually) -> None:
    """Run a controller until the role has its three replicas."""
    api.put(SERVICE, asking(3))
    start()
    await eventually(lambda: DECODE in api.objects and replicas(api) == 3)
    await quiet()


@pytest.mark.usefixtures("three")
async def test_replicas_that_the_author_removes_keep_their_value(api: Api) -> None:
    api.put(SERVICE, asking(None, 2))
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
    api.put(SERVICE, asking(None, 2))
    await quiet(2)
    half_way = replicas(api)
    api.fault = lambda _request: None
    start()
    await quiet(2)

    assert (bool(kept), half_way, replicas(api)) == (True, 3, 3)


@pytest.mark.usefixtures("three")
async def test_replicas_that_are_set_again_belong_to_the_author(api: Api, eventually: Eventually) -> None:
    api.put(SERVICE, asking(None, 2))
    await quiet(2)

    api.put(SERVICE, asking(5, 3))

    await eventually(lambda: replicas(api) == 5)


@pytest.mark.usefixtures("three")
async def test_an_autoscaler_is_reported_and_not_reverted(api: Api, eventually: Eventually) -> None:
    scale(api, 8, HPA)
    await eventually(lambda: ("InferenceService", "r1", "ScaledByAnother") in reasons(api))
    await quiet()

    assert replicas(api) == 8
    assert "FI875" in condition(api, "Failed")["message"]


@pytest.mark.usefixtures("three")
async def test_kubectl_scale_is_reverted(api: Api, eventually: Eventually) -> None:
    scale(api, 8, "kubectl")

    await eventually(lambda: replicas(api) == 3)


@pytest.mark.usefixtures("three")
async def test_an_author_who_changes_replicas_wins_once(api: Api, eventually: Eventually) -> None:
    scale(api, 8, HPA)
    await eventually(lambda: ("InferenceService", "r1", "ScaledByAnother") in reasons(api))

    api.put(SERVICE, asking(5, 2))
    await eventually(lambda: replicas(api) == 5)
    scale(api, 8, HPA)
    await quiet(2)

    assert replicas(api) == 8


@pytest.mark.usefixtures("three")
async def test_replicas_removed_after_a_scale_keep_their_value(api: Api) -> None:
    scale(api, 8, HPA)
    api.put(SERVICE, asking(None, 2))
    await quiet(2)

    said: Any = condition(api, "Failed")
    assert (replicas(api), said["reason"]) == (8, "NothingFailed")
