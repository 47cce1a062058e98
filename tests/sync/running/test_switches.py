"""The operator's switches: routes off, Gateways restricted. What is there stays as it is."""

import copy
from typing import Final

import pytest
from aiohttp import web

from intent import Object
from intent.settings import Settings
from sync.controller import Controller
from sync.kinds import OUTPUTS, POD, ROUTES, SERVICE_KIND, watched
from tests.sync.conftest import Eventually, Start, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import inference_service, lws, role, routed
from tests.sync.served import HOME, NAMES, OWN_GATEWAY, PG, SERVICE, change, condition, reported, with_gateway
from tests.sync.served import ROUTES as PATHS

API: Final = OUTPUTS["Service"].path(HOME, "r1-api")
RULE: Final = OUTPUTS["DestinationRule"].path(HOME, "r1-epp")
GANGS_ALONE: Final = Settings(routes=False, api_services=False)
OFF: Final = Settings(routes=False)


def events(api: Api) -> set[tuple[str, str]]:
    """Return name and reason of the Events about findings."""
    return {(one["involvedObject"]["name"], one["reason"]) for one in api.findings()}


def test_without_routes_their_kinds_are_not_watched() -> None:
    assert {kind.kind for kind in watched(OFF)} & ROUTES == {SERVICE_KIND}
    assert not {kind.kind for kind in watched(GANGS_ALONE)} & ROUTES
    assert {kind.kind for kind in watched(Settings())} >= ROUTES


@pytest.mark.usefixtures("admission")
async def test_gangs_alone_need_no_rights_on_routes(api: Api, start: Start, eventually: Eventually) -> None:
    forbidden: list[str] = []

    def only_gangs(request: web.Request) -> web.Response | None:
        allowed = (
            "horizontalpodautoscalers",
            "inferenceservices",
            "leaderworkersets",
            "podgroups",
            "pods",
            "events",
            "deployments/volcano",
        )
        if any(one in request.path for one in allowed):
            return None
        forbidden.append(request.path)
        return status(403, "Forbidden", "no", "x")

    api.fault = only_gangs
    api.put(SERVICE, inference_service())
    start(settings=GANGS_ALONE)

    await eventually(lambda: PG in api.objects)
    await eventually(lambda: reported(api, "RoutesReady") == "NoRoutesWanted")
    assert forbidden == []
    assert events(api) == set()


async def test_existing_routes_stay_when_routes_are_switched_off(
    api: Api, served: Controller, eventually: Eventually
) -> None:
    before = {path: copy.deepcopy(api.objects[path]) for path in PATHS.values()}

    served.settings = GANGS_ALONE
    served.queue.add((HOME, "r1"))
    await eventually(lambda: ("r1", "RoutesSwitchedOff") in events(api))
    change(api, SERVICE, spec=inference_service()["spec"])  # its author removes the router
    await quiet(2)

    assert {path: api.objects[path] for path in PATHS.values()} == before


@pytest.mark.parametrize("tls", [True, False], ids=["TLS", "plain text"])
@pytest.mark.usefixtures("admission")
async def test_a_destination_rule_stays_while_the_endpoint_picker_serves_tls(
    api: Api, start: Start, eventually: Eventually, *, tls: bool
) -> None:
    """Without it every request of an Istio gateway would fail; with it every one to a picker without TLS."""
    api.put(SERVICE, routed())
    first = start(settings=Settings(destination_rules=True, api_services=False))
    await eventually(lambda: RULE in api.objects)
    before = copy.deepcopy(api.objects[RULE])

    first.settings = Settings(secure_serving=tls, api_services=False, picker_replicas=2)
    first.queue.add((HOME, "r1"))
    await eventually(lambda: api.objects[PATHS["Deployment"]]["spec"]["replicas"] == 2)
    await quiet(2)

    assert api.objects.get(RULE) == (before if tls else None)


def proxied(release: str) -> Object:
    """Return fields of a pod with a routing sidecar of a mirror."""
    return {"initContainers": [{"name": "routing-proxy", "image": f"m/llm-d-routing-sidecar:v{release}"}]}


async def test_an_endpoint_picker_changes_after_the_last_pod_with_the_old_sidecar(
    api: Api, start: Start, eventually: Eventually
) -> None:
    """Whatever the operator's default is now: the sidecar in the template decides."""
    prefiller, decoder = lws("p", "prefiller"), lws("d", "decoder")
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "spec": proxied("0.4.0"), "metadata": {"name": "d-0"}}
    labels = decoder["metadata"]["labels"] | {"leaderworkerset.sigs.k8s.io/name": "d"}
    pod["metadata"] |= {"namespace": HOME, "labels": labels}
    for one in (prefiller, decoder):
        one["metadata"]["annotations"]["fusioninfer.io/strategy"] = "pd-disaggregation"
        api.put(OUTPUTS["LeaderWorkerSet"].path(HOME, one["metadata"]["name"]), one)
    api.put(POD.path(HOME, "d-0"), pod)

    def picks(name: str) -> bool:
        found = api.objects.get(PATHS["Deployment"], {}).get("metadata", {})
        return bool(found.get("labels", {}).get("fusioninfer.io/picker") == name)

    def follow(release: str) -> None:
        decoder["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"] |= proxied(release)
        change(api, OUTPUTS["LeaderWorkerSet"].path(HOME, "d"), spec=decoder["spec"])

    follow("0.4.1")
    start(settings=Settings(disaggregated_picker="llm-d-0.7"))
    await eventually(lambda: picks("llm-d-0.4"))
    follow("0.7.1")
    await eventually(lambda: ("d", "SidecarOfAnotherPicker") in events(api))
    await quiet(2)
    assert picks("llm-d-0.4")

    api.remove(POD.path(HOME, "d-0"))
    await eventually(lambda: picks("llm-d-0.7"))


@pytest.mark.usefixtures("admission")
async def test_an_inference_service_with_a_router_is_told(
    api: Api, start: Start, eventually: Eventually
) -> None:
    api.put(SERVICE, routed())

    start(settings=OFF)

    await eventually(lambda: "FI834" in condition(api, "Failed").get("message", ""))
    await eventually(lambda: API in api.objects)
    assert reported(api, "RoutesReady") == "RoutesRefused"
    assert not [path for kind, path in PATHS.items() if kind in NAMES and path in api.objects]


async def test_a_member_that_asks_for_routes_is_warned(
    api: Api, start: Start, eventually: Eventually
) -> None:
    asking = lws("w", "worker")
    asking["metadata"]["annotations"]["fusioninfer.io/strategy"] = "queue-size"
    api.put(OUTPUTS["LeaderWorkerSet"].path(HOME, "w"), asking)

    start(settings=OFF)

    await eventually(lambda: ("w", "RoutesSwitchedOff") in events(api))


@pytest.mark.usefixtures("admission")
async def test_a_gateway_that_the_operator_does_not_allow_is_not_created(
    api: Api, start: Start, eventually: Eventually
) -> None:
    api.put(SERVICE, with_gateway())

    start(settings=Settings(gateways=("other",)))

    await eventually(lambda: "FI833" in condition(api, "Failed").get("message", ""))
    assert OWN_GATEWAY not in api.objects


@pytest.mark.usefixtures("admission")
async def test_a_gateway_of_an_allowed_class_is_created_and_stays_when_it_is_no_longer_allowed(
    api: Api, start: Start, eventually: Eventually
) -> None:
    api.put(SERVICE, with_gateway())
    first = start(settings=Settings(gateways=("istio",), api_services=False))
    await eventually(lambda: PATHS["HTTPRoute"] in api.objects)
    before = copy.deepcopy(api.objects[OWN_GATEWAY])

    first.settings = Settings(gateways=False, api_services=False)
    first.queue.add((HOME, "r1"))
    await eventually(lambda: "FI833" in condition(api, "Failed").get("message", ""))

    assert api.objects[OWN_GATEWAY] == before


@pytest.mark.usefixtures("admission")
async def test_a_service_without_a_router_does_not_notice(
    api: Api, start: Start, eventually: Eventually
) -> None:
    api.put(SERVICE, inference_service(role("worker")))

    start(settings=OFF)

    await eventually(lambda: API in api.objects)
    assert events(api) == set()
