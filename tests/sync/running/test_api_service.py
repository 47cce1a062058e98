"""The Service `<service>-api` against a fake API server: made, kept, given up."""

import copy
from typing import Final

import pytest

from intent import Object
from intent.settings import Settings
from sync.kinds import LWS, OUTPUTS
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import inference_service, lws, role, routed
from tests.sync.served import HOME, SERVICE, accepted, admit, change, condition, reasons, reported

API: Final = OUTPUTS["Service"].path(HOME, "r1-api")
WORKER: Final = LWS.path(HOME, "w")
NAMESAKE: Final = LWS.path(HOME, "r1-api")
ON: Final = Settings()


@pytest.fixture
async def made(api: Api, start: Start) -> None:
    """Have the controller make the Service of one annotated LeaderWorkerSet."""
    api.put(WORKER, lws("w", "worker"))
    start(settings=ON)
    await eventually(lambda: API in api.objects)


def foreign() -> Object:
    """Return a Service of that name that a user made."""
    metadata = {"namespace": HOME, "name": "r1-api", "labels": {"app": "mine"}}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"selector": {"app": "mine"}},
    }


@pytest.mark.usefixtures("made")
async def test_it_stays_with_an_ejected_leaderworkerset(api: Api) -> None:
    """Annotations and record are removed together: clients of the Service notice nothing."""
    kept = copy.deepcopy(api.objects[WORKER])
    kept["metadata"]["annotations"] = {}
    before = copy.deepcopy(api.objects[API])

    api.put(WORKER, kept)
    await quiet(2)

    assert api.objects[API] == before


@pytest.mark.usefixtures("made")
async def test_a_leaderworkerset_of_its_name_gets_the_name(api: Api) -> None:
    """LWS would use our Service as the headless one of its pods, and no pod would find its leader."""
    strange = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "spec": {}}

    api.put(NAMESAKE, strange | {"metadata": {"namespace": HOME, "name": "r1-api", "uid": "strange"}})
    await eventually(lambda: API not in api.objects)
    await eventually(lambda: ("LeaderWorkerSet", "w", "ServiceNameTaken") in reasons(api))
    api.remove(NAMESAKE)

    await eventually(lambda: API in api.objects)


@pytest.mark.parametrize("routes", [False, True])
async def test_a_service_that_cannot_have_it_works_as_before(api: Api, start: Start, *, routes: bool) -> None:
    """It may exist since before the release that made these Services."""
    api.prune = admit
    api.put(API, foreign())
    api.put(SERVICE, routed() if routes else inference_service(role("worker")))
    start(settings=ON)
    await eventually(lambda: ("InferenceService", "r1", "ObjectNotOurs") in reasons(api))

    if routes:
        route = OUTPUTS["HTTPRoute"].path(HOME, "r1-httproute")
        await eventually(lambda: route in api.objects)
        change(api, route, status=accepted())
    await quiet(2)

    assert condition(api, "Failed")["status"] == "False"
    assert "r1-api" not in str(condition(api, "RoutesReady"))
    assert reported(api, "Active") != "NotObserved"


async def test_a_refused_service_stops_nothing_else(api: Api, start: Start) -> None:
    """A quota may forbid Services, and the range of their addresses may be used up."""
    api.put(WORKER, lws("w", "worker"))
    api.fault = lambda request: (
        status(403, "Forbidden", "exceeded quota", "r1-api")
        if request.method != "GET" and "/services" in request.path
        else None
    )

    start(settings=ON)

    await eventually(lambda: ("LeaderWorkerSet", "w", "ObjectRefused") in reasons(api))
    assert OUTPUTS["PodGroup"].path(HOME, "r1") in api.objects
