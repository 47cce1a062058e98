"""The steps of `fusioninfer eject`: the controller deletes nothing while they are taken, nor afterwards.

The steps are taken as they are printed, by a small kubectl.
"""

import copy
import shlex
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from fusioninfer.cluster.eject import Instruction, LiveService, steps
from intent import Object
from intent.annotations import EXPANSION, PREFIX
from sync.controller import Controller
from sync.kinds import LWS, OUTPUTS, WATCHED
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api, merge
from tests.sync.samples import KEY, lws
from tests.sync.served import DECODE, PG, PREFILL, ROUTES, SERVICE, SETTINGS, reasons
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
        api.objects.get(SERVICE, {}),
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
            case verb:
                assert (verb, words[-1]) == ("delete", "--cascade=orphan")
                orphan(api, api.objects[path]["metadata"]["uid"])
                api.remove(path)


def orphan(api: Api, uid: str) -> None:
    """Remove an owner from all objects, as the garbage collector does before the owner is deleted."""
    for path, obj in list(api.objects.items()):
        references = obj["metadata"].get("ownerReferences", [])
        left = [one for one in references if one["uid"] != uid]
        if left != references:
            api.put(path, merge(obj, {"metadata": {"ownerReferences": left or None}}))


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
async def routed_sets(api: Api, start: Start) -> Controller:
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
    before, made = dict(api.objects), list(steps(live(api)))

    await taken(api, made)
    await quiet(3)

    assert ours(api.objects[P]) == ours(api.objects[D]) == []
    assert contents(api, PG, *ROUTES.values()) == {
        path: before[path].get("spec") for path in (PG, *ROUTES.values())
    }


def ejected(api: Api, *paths: str, labels: bool = True) -> None:
    """Remove annotations and record together; without `labels` the labels of the object itself, too."""
    for path in paths:
        kept = api.objects[path]["metadata"]["labels"] if labels else {}
        obj = copy.deepcopy(api.objects[path])
        obj["metadata"] |= {"annotations": {}, "labels": kept}
        api.put(path, obj)


@pytest.mark.usefixtures("routed_sets")
@pytest.mark.parametrize("labels", [True, False], ids=["labels stay", "labels go"])
async def test_removed_annotations_alone_keep_the_pod_group_and_the_routes(
    api: Api, start: Start, *, labels: bool
) -> None:
    """Their authors are told how to own the PodGroup, and another leader keeps them too."""
    before = {path: api.objects[path] for path in (PG, *ROUTES.values())}

    ejected(api, P, labels=labels)
    await quiet(2)
    ejected(api, D, labels=labels)
    told = [("LeaderWorkerSet", name, "PodGroupOfEjected") for name in ("d", "p")]
    await eventually(lambda: [one for one in reasons(api) if one in told] == told)
    start()
    await quiet(3)

    assert {path: api.objects.get(path) for path in before} == before


@pytest.mark.parametrize("first", [P, D], ids=["first the one without", "first the one with"])
async def test_routes_that_one_member_wants_stay_while_the_members_are_ejected_in_turn(
    api: Api, start: Start, first: str
) -> None:
    """`kubectl annotate` of two objects is two requests."""
    decode = lws("d", "decoder")
    decode["metadata"]["annotations"] |= {
        PREFIX + "strategy": "pd-disaggregation",
        PREFIX + "gateway": "shared",
    }
    api.put(P, lws("p"))
    api.put(D, decode)
    start()
    await eventually(lambda: {PG, *ROUTES.values()} <= api.objects.keys())
    before = {path: api.objects[path] for path in (PG, *ROUTES.values())}

    ejected(api, first)
    await quiet(3)
    ejected(api, P, D)
    await quiet(3)

    assert {path: api.objects.get(path) for path in before} == before


def edited_policies(api: Api, *policies: Object) -> None:
    """Write the policies of the PodGroup as another client does, which owns them from then on."""
    obj = copy.deepcopy(api.objects[PG])
    obj["spec"]["subGroupPolicy"] = list(policies)
    for entry in obj["metadata"]["managedFields"]:
        entry["fieldsV1"]["f:spec"].pop("f:subGroupPolicy", None)
    api.put(PG, obj)


@pytest.mark.usefixtures("routed_sets")
@pytest.mark.parametrize("selected", ["p", "p-to-come"])
async def test_policies_that_their_author_edits_stay_while_all_members_are_ejected(
    api: Api, start: Start, selected: str
) -> None:
    """The author renames one, or adds one for a LeaderWorkerSet to come, before the owners are removed."""
    ejected(api, P, D)
    await quiet()
    first, *rest = api.objects[PG]["spec"]["subGroupPolicy"]
    selector = {"matchLabels": {"leaderworkerset.sigs.k8s.io/name": selected}}
    other = first | {"name": "mine", "labelSelector": selector}

    edited_policies(api, *([other] if selected == "p" else [first, other]), *rest)
    before = api.objects[PG]
    await quiet(2)
    start()
    await quiet(2)

    assert api.objects[PG] == before


@pytest.mark.usefixtures("routed_sets")
async def test_a_renamed_policy_of_an_ejected_one_stays_its_policy_when_a_member_joins(api: Api) -> None:
    ejected(api, P, D)
    await quiet()
    first, *rest = api.objects[PG]["spec"]["subGroupPolicy"]
    edited_policies(api, first | {"name": "mine"}, *rest)
    await quiet()

    api.put(LWS.path(KEY[0], "p2"), lws("p2"))

    await eventually(lambda: "p2" in required(api))
    assert required(api) == {"p": 1, "p2": 1, "d": 1, "unassigned": 0}


@pytest.mark.usefixtures("routed_sets")
async def test_they_go_with_the_last_ejected_one(api: Api) -> None:
    ejected(api, P, D)
    await quiet()

    api.remove(P)
    await quiet(2)
    assert {PG, *ROUTES.values()} <= api.objects.keys()
    api.remove(D)

    await eventually(lambda: not {PG, *ROUTES.values()} & api.objects.keys())


@pytest.mark.usefixtures("routed_sets")
async def test_a_member_that_is_deleted_no_longer_keeps_an_ejected_one_from_starting(api: Api) -> None:
    ejected(api, D)
    await quiet()

    api.remove(P)

    await eventually(lambda: required(api) == {"d": 1, "unassigned": 0})


@pytest.mark.usefixtures("routed_sets")
async def test_a_set_that_opts_out_while_another_is_ejected_loses_its_policy_alone(api: Api) -> None:
    ejected(api, D)
    plain = copy.deepcopy(api.objects[P])
    plain["metadata"] |= {"annotations": {}, "labels": {}}
    plain["spec"]["leaderWorkerTemplate"]["workerTemplate"] = {"spec": {}}
    api.put(P, plain)

    await eventually(lambda: "p" not in required(api))
    assert required(api)["d"] == 1


@pytest.mark.usefixtures("routed_sets")
async def test_a_stranger_that_names_the_pod_group_changes_nothing_in_it(api: Api) -> None:
    before = api.objects[PG]
    stranger = lws("x", size=9, replicas=0)
    stranger["metadata"] |= {"labels": {}, "annotations": {}}

    api.put(LWS.path(KEY[0], "x"), stranger)
    api.edit(P, replicas=2)
    await quiet(3)

    assert api.objects[PG] == before
    assert not [one for one in reasons(api) if one[1] == "x"]


async def test_a_deaf_watch_deletes_no_pod_group_of_an_ejected_set(api: Api, start: Start) -> None:
    api.put(P, lws("p"))
    api.put(D, lws("d", "decoder"))
    controller = start()
    await eventually(lambda: PG in api.objects)
    await quiet()
    gone = copy.deepcopy(api.objects[P])
    gone["metadata"] |= {"annotations": {}, "labels": {}}
    api.objects[P] = gone  # no event

    cache = controller.caches[LWS.kind]
    for name in ("p", "d"):
        cache.drop((KEY[0], name))
    await quiet(3)

    assert PG in api.objects


def required(api: Api) -> dict[str, int]:
    """Return how many groups each policy of the PodGroup requires."""
    policies = api.objects[PG]["spec"]["subGroupPolicy"]
    return {policy["name"]: policy["minSubGroups"] for policy in policies}


@pytest.mark.usefixtures("served")
async def test_the_steps_keep_everything_that_an_inferenceservice_made(api: Api) -> None:
    before, made = dict(api.objects), list(steps(live(api)))

    await taken(api, made)
    await quiet(3)

    kept = (PREFILL, DECODE, PG, *ROUTES.values())
    assert SERVICE not in api.objects
    assert contents(api, *kept) == {path: before[path].get("spec") for path in kept}
    assert not any("ownerReferences" in api.objects[path]["metadata"] for path in kept)


@pytest.mark.usefixtures("served")
async def test_the_service_can_come_back(api: Api) -> None:
    service, made = api.objects[SERVICE], list(steps(live(api)))
    await taken(api, made)
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
