"""The controller and the configuration that a router refers to: read live, followed, and isolated."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from aiohttp import web

from catalog.pickers.generations import PICKERS
from intent import Object, yaml
from intent.settings import Settings
from sync.controller import Controller
from sync.kinds import OUTPUTS, POOL
from sync.parts import routes as desired
from sync.parts.strategies import presets
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import inference_service, role, router
from tests.sync.served import HOME, ROUTES, SERVICE, change, condition, reported

pytestmark = pytest.mark.usefixtures("admission")

THEIRS: Final = OUTPUTS["ConfigMap"].path(HOME, "routing")
OURS: Final = ROUTES["ConfigMap"]
KEY: Final = "epp.yaml"
ENGINE: Final = role("inference")
REFERRING: Final = inference_service(ENGINE, router(configRef={"name": "routing", "key": KEY}))
TEXTS: Final = {name: yaml.dump(one) for name, one in presets(PICKERS["gie-1.5"]).items()}


def config_map(text: str, **labels: str) -> Object:
    """Return a ConfigMap of the user."""
    metadata = {"namespace": HOME, "name": "routing", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {KEY: text}}


def written(api: Api) -> str:
    """Return the configuration that the endpoint picker gets; empty if there is none."""
    found: str = api.objects.get(OURS, {}).get("data", {}).get("config.yaml", "")
    return found


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read a ConfigMap again after a fraction of a second."""
    monkeypatch.setattr(desired, "FOLLOWED_WITHIN", 0.1)


@pytest.fixture
async def served(api: Api, admission: None, start: Start) -> Controller:  # noqa: ARG001 - first
    """Run a controller until a service with the configuration of a ConfigMap has its endpoint picker."""
    api.put(THEIRS, config_map(TEXTS["queue-size"]))
    api.put(SERVICE, REFERRING)
    controller = start()
    await eventually(lambda: {OURS, ROUTES["Deployment"]} <= api.objects.keys())
    return controller


@pytest.mark.usefixtures("served")
async def test_a_change_of_the_config_map_replaces_the_endpoint_picker(api: Api) -> None:
    def digest() -> Any:
        return api.objects[ROUTES["Deployment"]]["spec"]["template"]["metadata"]["annotations"]

    before = digest()
    assert written(api) == TEXTS["queue-size"]

    api.put(THEIRS, config_map(TEXTS["kv-cache-utilization"]))

    await eventually(lambda: written(api) == TEXTS["kv-cache-utilization"])
    await eventually(lambda: digest() != before)


async def test_a_change_of_a_labelled_config_map_is_followed_at_once(
    api: Api, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    monkeypatch.setattr(desired, "FOLLOWED_WITHIN", 3600.0)
    label = {"fusioninfer.io/service": "r1"}
    api.put(THEIRS, config_map(TEXTS["queue-size"], **label))
    api.put(SERVICE, REFERRING)
    start()
    await eventually(lambda: ROUTES["Deployment"] in api.objects)

    api.put(THEIRS, config_map(TEXTS["prefix-cache"], **label))

    await eventually(lambda: written(api) == TEXTS["prefix-cache"])
    assert THEIRS in api.objects


async def test_a_missing_config_map_is_reported_and_followed_when_it_comes(api: Api, start: Start) -> None:
    api.put(SERVICE, REFERRING)
    start()
    await eventually(lambda: reported(api, "RoutesReady") == "RoutesRefused")

    assert "there is no ConfigMap routing" in condition(api, "RoutesReady")["message"]
    assert written(api) == ""

    api.put(THEIRS, config_map(TEXTS["queue-size"]))

    await eventually(lambda: written(api) == TEXTS["queue-size"])
    await eventually(lambda: reported(api, "RoutesReady") == "PickerNotAvailable")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda api: api.remove(THEIRS), "there is no ConfigMap routing"),
        (lambda api: change(api, THEIRS, data={KEY: "x" * 500_000}), "the limit is 8192"),
    ],
)
@pytest.mark.usefixtures("served")
async def test_routes_outlast_a_wrong_configuration(
    api: Api, spoil: Callable[[Api], None], words: str
) -> None:
    spoil(api)

    await eventually(lambda: reported(api, "RoutesReady") == "RoutesRefused")
    assert words in condition(api, "RoutesReady")["message"]
    assert written(api) == TEXTS["queue-size"]
    assert ROUTES["HTTPRoute"] in api.objects


@pytest.mark.parametrize(
    "answer",
    [
        lambda: status(403, "Forbidden", "no right"),
        lambda: web.Response(status=404, text="404 page not found"),
    ],
)
@pytest.mark.usefixtures("served")
async def test_a_config_map_that_cannot_be_read_for_now_changes_nothing(
    api: Api, answer: Callable[[], web.Response]
) -> None:
    reads = ("GET", THEIRS)
    before = api.requests.count(reads)
    api.fault = lambda request: answer() if request.path == THEIRS else None

    await eventually(lambda: api.requests.count(reads) > before + 2)

    assert written(api) == TEXTS["queue-size"]
    assert reported(api, "RoutesReady") == "PickerNotAvailable"
    api.fault = lambda _request: None
    api.put(THEIRS, config_map(TEXTS["prefix-cache"]))
    await eventually(lambda: written(api) == TEXTS["prefix-cache"])


@pytest.mark.parametrize("name", ["../../team-b/configmaps/routing", "%2e%2e/routing", "..", ""])
@pytest.mark.usefixtures("served")
async def test_a_reference_that_is_no_name_is_not_read_and_is_reported(api: Api, name: str) -> None:
    theirs = THEIRS.replace(HOME, "team-b")
    api.put(theirs, config_map(f"{TEXTS['prefix-cache']}# private"))
    bypassed = {"annotations": {"fusioninfer.io/inject": "disabled"}, "generation": 2}
    api.requests.clear()

    api.put(SERVICE, inference_service(ENGINE, router(configRef={"name": name, "key": KEY}), **bypassed))

    code = "FI734" if name else "FI701"
    await eventually(lambda: any(f"({code}" in one["message"] for one in api.findings()))
    await eventually(lambda: api.objects[SERVICE]["status"]["observedGeneration"] == 2)
    read = {path for method, path in api.requests if method == "GET" and "/configmaps" in path}
    assert read <= {THEIRS}  # a read for the object before may be on its way
    assert written(api) == TEXTS["queue-size"]
    assert ROUTES["HTTPRoute"] in api.objects


async def test_a_config_map_that_is_never_answered_stops_no_other_service(api: Api, start: Start) -> None:
    api.hanging.add(THEIRS)
    api.put(SERVICE, REFERRING)
    other = inference_service(ENGINE, router(), name="r2", uid="uid-r2")
    api.put(SERVICE.replace("r1", "r2"), other)

    start()

    await eventually(lambda: OUTPUTS["Deployment"].path(HOME, "r2-epp") in api.objects)


@pytest.mark.parametrize(
    ("service", "routes"),
    [(inference_service(ENGINE, router()), True), (REFERRING, False)],
    ids=["no reference", "no routes"],
)
async def test_without_a_reference_or_without_routes_no_config_map_is_read(
    api: Api, start: Start, service: Object, *, routes: bool
) -> None:
    api.put(SERVICE, service)
    start(settings=Settings(routes=routes, api_services=False))
    await quiet(3)

    assert ("GET", THEIRS) not in api.requests


# --- a pool of the author -----------------------------------------------------------------------------

OWN_POOL: Final = POOL.path(HOME, "theirs")
ROUTED: Final = inference_service(ENGINE, router(pool={"ref": {"name": "theirs"}}))
POOL_OF_ANOTHER: Final[Object] = {
    "apiVersion": POOL.resource.api_version,
    "kind": POOL.kind,
    "metadata": {"namespace": HOME, "name": "theirs", "generation": 1},
    "spec": {},
}


async def test_routes_lead_to_a_pool_of_the_author_and_nothing_else_is_made(api: Api, start: Start) -> None:
    api.put(SERVICE, ROUTED)
    start()

    await eventually(lambda: ROUTES["HTTPRoute"] in api.objects)
    await eventually(lambda: reported(api, "RoutesReady") == "RouteMissing")

    assert [path for kind, path in ROUTES.items() if path in api.objects] == [ROUTES["HTTPRoute"]]

    api.put(OWN_POOL, POOL_OF_ANOTHER)

    await eventually(lambda: reported(api, "RoutesReady") == "WaitingForGateway")
    assert ("PATCH", OWN_POOL) not in api.writes


async def test_a_service_that_turns_to_a_pool_of_its_author_loses_its_own(api: Api, start: Start) -> None:
    api.put(OWN_POOL, POOL_OF_ANOTHER)
    api.put(SERVICE, inference_service(ENGINE, router()))
    start()
    await eventually(lambda: set(ROUTES.values()) <= api.objects.keys())

    api.put(SERVICE, inference_service(ENGINE, router(pool={"ref": {"name": "theirs"}}), generation=2))

    await eventually(lambda: ROUTES["InferencePool"] not in api.objects)
    await eventually(lambda: ROUTES["Deployment"] not in api.objects)
    rule = api.objects[ROUTES["HTTPRoute"]]["spec"]["rules"][0]
    assert rule["backendRefs"][0]["name"] == "theirs"
    assert OWN_POOL in api.objects


async def test_a_pool_of_the_author_is_no_object_of_the_service_whatever_its_label(
    api: Api, start: Start
) -> None:
    labelled = POOL_OF_ANOTHER["metadata"] | {"labels": {"fusioninfer.io/service": "r1"}}
    api.put(OWN_POOL, POOL_OF_ANOTHER | {"metadata": labelled})
    api.put(SERVICE, ROUTED)
    start()
    await eventually(lambda: ROUTES["HTTPRoute"] in api.objects)

    api.put(SERVICE, inference_service(ENGINE, generation=2))

    await eventually(lambda: ROUTES["HTTPRoute"] not in api.objects)
    assert OWN_POOL in api.objects
