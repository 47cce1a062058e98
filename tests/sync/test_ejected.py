"""The steps of `fusioninfer eject`: the controller deletes nothing while they are taken, nor afterwards.

The steps are taken as they are printed, by a small kubectl.
"""

import shlex
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from fusioninfer.eject import eject
from fusioninfer.eject_steps import Instruction
from fusioninfer.live_service import LiveService
from intent import Object
from intent.annotations import EXPANSION, PREFIX
from sync.controller import Controller
from sync.kinds import LWS, OUTPUTS, WATCHED
from tests.sync.conftest import Eventually, Start, quiet
from tests.sync.fake_api import Api, merge
from tests.sync.samples import KEY, lws
from tests.sync.served import DECODE, PG, PREFILL, ROUTES, SERVICE, SETTINGS
from webhook.expand import expanded

P, D = (LWS.path(KEY[0], name) for name in ("p", "d"))
PLURALS = {kind.resource.plural: kind for kind in WATCHED}
pytestmark = pytest.mark.slow


def live(api: Api, name: str = KEY[1]) -> LiveService:
    """Return the service as the cluster holds it."""
    found = [obj for obj in api.objects.values() if obj["kind"] in OUTPUTS]
    return LiveService(
        KEY[0],
        name,
        api.objects.get(SERVICE),
        tuple(obj for obj in found if obj["kind"] == "LeaderWorkerSet"),
        tuple(obj for obj in found if obj["kind"] != "LeaderWorkerSet"),
    )


def kubectl(api: Api, step: Instruction) -> None:
    """Take one step."""
    words = shlex.split(step.command)
    if words[:2] != ["kubectl", "--namespace"]:
        return
    named = [word for word in words[4:] if word.partition("/")[0].partition(".")[0] in PLURALS]
    values = [word for word in words[4:] if word not in named and not word.startswith("--")]
    for word in named:
        path = _path(words[2], word)
        match words[3]:
            case "annotate":
                api.put(
                    path, merge(api.objects[path], {"metadata": {"annotations": dict(map(_pair, values))}})
                )
            case "patch":
                assert "--type=merge" in words
                api.put(path, merge(api.objects[path], orjson.loads(words[-1].removeprefix("--patch="))))
            case "get":
                assert not api.objects[path]["metadata"].get("ownerReferences")
            case verb:
                assert (verb, words[-1]) == ("delete", "--cascade=orphan")
                api.collects = False
                api.remove(path)


def _path(namespace: str, word: str) -> str:
    resource, _, name = word.partition("/")
    return PLURALS[resource.partition(".")[0]].path(namespace, name)


def _pair(word: str) -> tuple[str, str | None]:
    key, equals, value = word.partition("=")
    return (key, value) if equals else (word.removesuffix("-"), None)


async def taken(api: Api, steps: Iterable[Instruction]) -> None:
    """Take the steps, with time for the controller after each."""
    for step in steps:
        kubectl(api, step)
        await quiet()


@pytest.fixture
async def routed_sets(api: Api, start: Start, eventually: Eventually) -> Controller:
    """Run a controller until two annotated LeaderWorkerSets have PodGroup and routes."""
    for path, obj in ((P, lws("p")), (D, lws("d", "decoder"))):
        obj["metadata"]["annotations"][PREFIX + "strategy"] = "pd-disaggregation"
        obj["metadata"]["annotations"][PREFIX + "gateway"] = "shared"
        api.put(path, obj)
    controller = start()
    await eventually(lambda: {PG, *ROUTES.values()} <= api.objects.keys())
    return controller


@pytest.mark.usefixtures("routed_sets")
async def test_the_steps_keep_the_pod_group_and_the_routes_of_annotated_sets(api: Api) -> None:
    before, made = dict(api.objects), eject([live(api)])

    await taken(api, made.steps)
    await quiet(3)

    assert ours(api.objects[P]) == ours(api.objects[D]) == []
    assert contents(api, PG, *ROUTES.values()) == {
        path: before[path].get("spec") for path in (PG, *ROUTES.values())
    }


@pytest.mark.usefixtures("routed_sets")
@pytest.mark.parametrize("left_out", [1, 2])
async def test_no_step_can_be_left_out(api: Api, left_out: int, eventually: Eventually) -> None:
    steps = [step for step in eject([live(api)]).steps if " get " not in step.command]

    await taken(api, (*steps[:left_out], *steps[left_out + 1 :]))

    await eventually(lambda: PG not in api.objects)


@pytest.mark.usefixtures("served")
async def test_the_steps_keep_everything_that_an_inferenceservice_made(api: Api) -> None:
    before, made = dict(api.objects), eject([live(api)])

    await taken(api, made.steps)
    await quiet(3)

    kept = (PREFILL, DECODE, PG, *ROUTES.values())
    assert SERVICE not in api.objects
    assert contents(api, *kept) == {path: before[path].get("spec") for path in kept}
    assert not any("ownerReferences" in api.objects[path]["metadata"] for path in kept)


@pytest.mark.usefixtures("served")
async def test_the_service_can_come_back(api: Api, eventually: Eventually) -> None:
    service, made = api.objects[SERVICE], eject([live(api)])
    await taken(api, made.steps)
    await quiet()

    again: dict[str, Any] = {key: value for key, value in service.items() if key != "status"}
    again["metadata"] = {**service["metadata"], "uid": "uid-again"}
    api.put(SERVICE, again)

    await eventually(lambda: EXPANSION in api.objects[PREFILL]["metadata"]["annotations"])
    await eventually(lambda: "ownerReferences" in api.objects[ROUTES["Deployment"]]["metadata"])
    assert expanded(api.objects[PREFILL], SETTINGS)["spec"] == api.objects[PREFILL]["spec"]


def ours(obj: Object) -> list[str]:
    """Return the annotations of ours."""
    return [key for key in obj["metadata"]["annotations"] if key.startswith(PREFIX)]


def contents(api: Api, *paths: str) -> dict[str, Any]:
    """Return the specs of stored objects."""
    return {path: api.objects[path].get("spec") for path in paths}
