"""What blocks one object of an InferenceService blocks nothing else."""

from collections.abc import Callable

import pytest
from aiohttp import web

from catalog.pickers.generations import ROUTER_OBJECTIVES_API
from intent import Object
from sync.kinds import LWS, OUTPUTS
from tests.sync.conftest import Start, eventually
from tests.sync.fake_api import Api, status
from tests.sync.samples import inference_service, lws, role, routed
from tests.sync.served import (
    DECODE,
    HOME,
    PG,
    PREFILL,
    ROUTES,
    SERVICE,
    STATUS,
    change,
    condition,
    reasons,
    reported,
)

pytestmark = pytest.mark.usefixtures("admission")


async def test_missing_crds_block_the_routes_that_require_them_until_they_are_installed(
    api: Api, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync.state.RETRY_REFUSED", 0.1)
    api.absent = {"inferencepools", "httproutes", "gateways"}
    api.put(SERVICE, routed())

    start()
    await eventually(lambda: bool(api.findings()))
    await eventually(lambda: reported(api, "RoutesReady") == "RoutesRefused")

    assert {PREFILL, DECODE, PG, ROUTES["ConfigMap"]} <= api.objects.keys()
    assert not {ROUTES["Deployment"], ROUTES["HTTPRoute"]} & api.objects.keys()
    assert reported(api, "Initialized") == "InferenceServiceCreating"
    assert api.findings()[0]["message"].startswith(
        "this cluster has no InferencePool of inference.networking.k8s.io/v1; "
        "install the CRDs of the Gateway API Inference Extension; tried again within a minute (FI870: "
    )

    api.absent = set()

    await eventually(lambda: set(ROUTES.values()) <= api.objects.keys())


async def test_without_the_kind_of_objectives_requests_are_served_and_a_warning_says_so(
    api: Api, start: Start
) -> None:
    api.absent = {"inferenceobjectives"}
    api.put(SERVICE, routed() | {"spec": routed()["spec"] | {"priority": "Critical"}})

    start()
    await eventually(lambda: bool(api.findings()))

    assert set(ROUTES.values()) <= api.objects.keys()
    assert api.findings()[0]["message"].startswith(
        "this cluster has no InferenceObjective of inference.networking.x-k8s.io/v1alpha2; "
    )
    assert condition(api, "Failed")["status"] == "False"


async def test_objectives_that_the_endpoint_picker_comes_to_ignore_are_reported(
    api: Api, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync.controller.OBJECTIVES_INTERVAL", 0.05)
    there: list[Object] = []
    resources = {"kind": "APIResourceList", "resources": there}
    discovery = f"/apis/{ROUTER_OBJECTIVES_API}"
    api.fault = lambda request: web.json_response(resources) if request.path == discovery else None
    annotations = {"fusioninfer.io/picker": "llm-d-0.10"}
    service = routed(annotations=annotations)
    api.put(SERVICE, service | {"spec": service["spec"] | {"priority": "Critical"}})

    start()
    await eventually(lambda: ROUTES["HTTPRoute"] in api.objects)
    assert reasons(api) == []
    there.append({"name": "inferenceobjectives"})

    await eventually(lambda: ("InferenceService", "r1", "PriorityIgnored") in reasons(api))


async def test_an_objective_follows_the_priority_of_its_service(api: Api, start: Start) -> None:
    objective = OUTPUTS["InferenceObjective"].path("team-a", "r1")
    api.put(SERVICE, routed() | {"spec": routed()["spec"] | {"priority": "Critical"}})
    start()
    await eventually(lambda: objective in api.objects)

    change(api, SERVICE, spec=routed()["spec"] | {"priority": -1})
    await eventually(lambda: bool(api.objects[objective]["spec"]["priority"] == -1))
    change(api, SERVICE, spec=routed()["spec"])

    await eventually(lambda: objective not in api.objects)


async def test_a_missing_kind_is_logged_once(
    api: Api, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    api.absent = {"httproutes"}

    start()
    lists = ("GET", OUTPUTS["HTTPRoute"].resource.collection)
    await eventually(lambda: api.requests.count(lists) > 3)

    assert [record.message for record in caplog.records if record.name == "sync.watch.cache"] == [
        "kind not served"
    ]


@pytest.mark.parametrize(
    "answer",
    [
        lambda: status(403, "Forbidden", "queue gpu is not open", "r1"),
        lambda: status(500, "InternalError", "failed calling webhook"),
    ],
    ids=["refused", "failed"],
)
async def test_a_refused_pod_group_does_not_block_the_routes(
    api: Api, start: Start, answer: Callable[[], web.Response]
) -> None:
    api.fault = lambda r: answer() if r.method != "GET" and "podgroups" in r.path else None
    api.put(SERVICE, routed())

    start()

    await eventually(lambda: set(ROUTES.values()) <= api.objects.keys())


async def test_an_lws_that_admission_does_not_expand_is_not_created(api: Api, start: Start) -> None:
    api.prune = lambda _obj: None
    api.put(SERVICE, inference_service())

    start()
    await eventually(lambda: len(api.findings()) == 2)

    assert (api.kept("leaderworkersets"), set(reasons(api))) == (
        [],
        {("InferenceService", "r1", "NotExpanded")},
    )


@pytest.mark.usefixtures("served")
async def test_an_inference_service_that_breaks_a_rule_can_be_scaled_and_is_reported(api: Api) -> None:
    """Such a service was admitted by an earlier release."""
    broken = routed(
        role("prefill", "prefiller"),
        role("decode", "decoder", replicas=3),
        generation=2,
        annotations={"fusioninfer.io/strategy": "queue-size"},
    )

    change(api, SERVICE, metadata=broken["metadata"], spec=broken["spec"])

    await eventually(lambda: api.objects[DECODE]["spec"]["replicas"] == 3)
    await eventually(lambda: "FI709" in condition(api, "Failed").get("message", ""))
    assert reported(api, "Initialized") == "InferenceServiceCreating"


NAMESAKE = LWS.path(HOME, "r1-epp")


def namesake() -> Object:
    """Return a LeaderWorkerSet of another service that has the name of the endpoint picker."""
    found = lws("r1-epp", "worker")
    for words in (found["metadata"]["labels"], found["metadata"]["annotations"]):
        words["fusioninfer.io/service"] = "other"
    return found


async def test_the_routes_are_created_once_that_lws_is_gone(api: Api, start: Start) -> None:
    api.put(NAMESAKE, namesake())
    api.put(SERVICE, routed())
    start()
    await eventually(lambda: ("LeaderWorkerSet", "r1-epp", "EndpointPickerNameTaken") in reasons(api))
    before = ROUTES["Service"] in api.objects

    api.remove(NAMESAKE)
    await eventually(lambda: ROUTES["Service"] in api.objects)

    assert not before


PICKER = ROUTES["Deployment"]
FORBIDDEN = (403, "Forbidden", "a policy")
DENIED = 'admission webhook "w" denied the request: not now'
CROSSED = (409, "Conflict", DENIED)
GONE = (404, "NotFound", DENIED)
EXISTS = (409, "AlreadyExists", DENIED)
CREATE = ("POST", LWS.path(HOME))


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("method", "path", "answer", "said"),
    [
        ("DELETE", PICKER, FORBIDDEN, "Deployment r1-epp is not deleted: 403 Forbidden: a policy"),
        ("DELETE", PICKER, CROSSED, "Deployment r1-epp is not deleted: 409 Conflict: admission webhook"),
        ("DELETE", PICKER, GONE, "Deployment r1-epp is not deleted: 404 NotFound: admission webhook"),
        ("PATCH", STATUS, FORBIDDEN, "InferenceService r1 keeps its old status: 403 Forbidden: a policy"),
    ],
)
async def test_what_fails_besides_an_apply_is_an_event_that_says_when_it_is_tried_again(
    api: Api, method: str, path: str, answer: tuple[int, str, str], said: str
) -> None:
    def refuse(request: web.Request) -> web.Response | None:
        is_it = (request.method, request.path) == (method, path)
        return status(*answer, "r1") if is_it else None

    api.fault = refuse
    api.put(SERVICE, inference_service(role("prefill", "prefiller"), role("decode", "decoder"), generation=2))

    await eventually(lambda: reasons(api) == [("InferenceService", "r1", "ObjectRefused")])
    message = api.findings()[0]["message"]
    assert (message.startswith(said), "; tried again within a minute (FI872: " in message) == (True, True)


@pytest.mark.usefixtures("admission")
@pytest.mark.parametrize("answer", [EXISTS, GONE])
async def test_a_denied_create_is_reported_whatever_the_code_of_the_denial_says(
    api: Api, start: Start, answer: tuple[int, str, str]
) -> None:
    api.fault = lambda request: status(*answer) if (request.method, request.path) == CREATE else None
    api.put(SERVICE, inference_service(role("worker", "worker")))

    start()
    await eventually(lambda: bool(api.findings()))

    said = f"LeaderWorkerSet r1-worker is not written: {answer[0]} {answer[1]}: admission webhook"
    assert [each["message"].startswith(said) for each in api.findings()] == [True]
