"""The controller and InferenceTemplates: status, Events, services that follow them, and routers."""

import copy
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from intent import Object
from intent.settings import Settings
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS, templates
from tests.builders.templates import template
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import KEY, inference_service, role, router
from tests.sync.served import admit, told
from webhook.expand import expanded

SHARED = "fusioninfer-system"
SETTINGS = Settings(api_services=False, templates_namespace=SHARED)
TEMPLATE = templates(SHARED).path("team-a", "base")
SERVICE = INFERENCE_SERVICE.path(*KEY)
SET = LWS.path("team-a", "r1-inference")
ROUTE = OUTPUTS["HTTPRoute"].path("team-a", "r1-httproute")
VERSION = "fusioninfer.io/templates-version"
Serve = Callable[[Object], Awaitable[None]]
GATEWAY = {"parentRefs": [{"name": "shared", "namespace": "infra"}], "hostnames": ["a.example"]}


def written(**spec: Any) -> Object:
    found = template({"template": {"spec": {"priorityClassName": "models"}}}, namespace="team-a", **spec)
    found["metadata"] |= {"uid": "uid-base", "generation": 1}
    return found


def service(*more: Object, **spec: Any) -> Object:
    found = inference_service(role("inference", "worker"), *more)
    found["spec"] |= {"baseRefs": ["base"], **spec}
    return found


def admitted(api: Api) -> None:
    """Expand LeaderWorkerSets as admission does, with the template as it is."""

    def prune(obj: Object) -> None:
        if obj["kind"] == "LeaderWorkerSet":
            there = {"base": api.objects[TEMPLATE]} if TEMPLATE in api.objects else {}
            obj.update(expanded(obj, Settings(), there))
        admit(obj)

    api.prune = prune


def change(api: Api, **spec: Any) -> None:
    """Change the template, as the API server does: its generation grows."""
    found = copy.deepcopy(api.objects[TEMPLATE])
    found["metadata"]["generation"] += 1
    found["spec"] |= spec
    api.put(TEMPLATE, found)


def condition(api: Api) -> tuple[str, str]:
    status = api.objects[SERVICE].get("status", {})
    found = {one["type"]: one for one in status.get("conditions", ())}.get("TemplatesApplied", {})
    return found.get("status", ""), found.get("reason", "")


def applied(api: Api) -> list[Object]:
    return list(api.objects[SERVICE].get("status", {}).get("appliedTemplates", ()))


@pytest.fixture(autouse=True)
def _admission(api: Api) -> None:
    admitted(api)


@pytest.fixture
def serve(api: Api, start: Start) -> Serve:
    """Return a function that stores the template and a service, and waits until the service has it."""

    async def stored(service: Object) -> None:
        api.put(TEMPLATE, written())
        api.put(SERVICE, service)
        start(settings=SETTINGS)
        await eventually(lambda: condition(api) == ("True", "TemplatesCurrent"))

    return stored


async def test_a_changed_template_is_said_once_by_all_controllers_and_changes_no_pods(
    api: Api, serve: Serve, start: Start
) -> None:
    await serve(service())
    assert applied(api) == [{"name": "base", "namespace": "team-a", "generation": 1, "current": True}]
    assert VERSION not in api.objects[SET]["metadata"]["annotations"]
    writes = api.writes.count(("PATCH", SET))

    change(api)

    await eventually(lambda: condition(api) == ("False", "TemplateChanged"))
    await eventually(lambda: bool(told(api, "TemplateChanged")))
    second = start(settings=SETTINGS)
    await eventually(lambda: KEY in second.states and second.states[KEY].memory.status is not None)
    await quiet()

    assert [one["current"] for one in applied(api)] == [False]
    assert len(told(api, "TemplateChanged")) == 1
    assert api.writes.count(("PATCH", SET)) == writes


async def test_a_service_that_follows_takes_the_changed_template(api: Api, serve: Serve) -> None:
    await serve(service(followTemplates=True))
    before = api.objects[SET]["metadata"]["annotations"][VERSION]

    change(api)

    await eventually(lambda: [one["generation"] for one in applied(api)] == [2])
    await eventually(lambda: condition(api) == ("True", "TemplatesCurrent"))
    assert api.objects[SET]["metadata"]["annotations"][VERSION] != before


async def test_a_deleted_template_leaves_a_service_that_follows_as_it_is(api: Api, serve: Serve) -> None:
    await serve(service(followTemplates=True))
    before = api.objects[SET]["metadata"]["annotations"][VERSION]

    api.remove(TEMPLATE)

    await eventually(lambda: condition(api) == ("False", "TemplateChanged"))
    await quiet()
    assert api.objects[SET]["metadata"]["annotations"][VERSION] == before


async def test_routes_follow_the_template(api: Api, start: Start) -> None:
    plain = router()
    del plain["httproute"]
    api.put(TEMPLATE, written(router={"httproute": GATEWAY}))
    api.put(SERVICE, service(plain))
    start(settings=SETTINGS)
    await eventually(lambda: ROUTE in api.objects)
    assert api.objects[ROUTE]["spec"]["hostnames"] == ["a.example"]

    change(api, router={"httproute": {**GATEWAY, "hostnames": ["b.example"]}})
    await eventually(lambda: api.objects[ROUTE]["spec"]["hostnames"] == ["b.example"])
    written_before = api.objects[ROUTE]["metadata"]["resourceVersion"]
    api.remove(TEMPLATE)
    await eventually(lambda: condition(api)[0] == "False")
    await quiet()

    assert api.objects[ROUTE]["metadata"]["resourceVersion"] == written_before


async def test_without_the_switch_templates_are_not_known(api: Api, start: Start) -> None:
    api.put(TEMPLATE, written())
    api.put(SERVICE, service())

    start(settings=Settings(api_services=False))

    await eventually(lambda: condition(api) == ("Unknown", "TemplatesUnknown"))
    assert not [path for _, path in api.requests if "inferencetemplates" in path]
