"""The operator's switches: routes off, Gateways restricted. What is there stays as it is."""

import copy
from typing import Final

import pytest
from aiohttp import web

from intent import Object
from intent.settings import Settings
from sync.controller import Controller
from sync.kinds import OUTPUTS, POD, ROUTES, SERVICE_KIND, watched
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import inference_service, lws
from tests.sync.served import HOME, PG, SERVICE, change, reported
from tests.sync.served import ROUTES as PATHS

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
async def test_gangs_alone_need_no_rights_on_routes(api: Api, start: Start) -> None:
    forbidden: list[str] = []

    def only_gangs(request: web.Request) -> web.Response | None:
        allowed = (
            *("horizontalpodautoscalers", "inferenceservices", "leaderworkersets", "podgroups", "pods"),
            "events",
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


async def test_existing_routes_stay_when_routes_are_switched_off(api: Api, served: Controller) -> None:
    before = {path: copy.deepcopy(api.objects[path]) for path in PATHS.values()}

    served.settings = GANGS_ALONE
    served.queue.add((HOME, "r1"))
    await eventually(lambda: ("r1", "RoutesSwitchedOff") in events(api))
    change(api, SERVICE, spec=inference_service()["spec"])  # its author removes the router
    await quiet(2)

    assert {path: api.objects[path] for path in PATHS.values()} == before


def proxied(release: str) -> Object:
    """Return fields of a pod with a routing sidecar of a mirror."""
    return {"initContainers": [{"name": "routing-proxy", "image": f"m/llm-d-routing-sidecar:v{release}"}]}


async def test_a_picker_changes_after_the_last_pod_with_the_old_sidecar(api: Api, start: Start) -> None:
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
