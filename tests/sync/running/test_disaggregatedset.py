"""LeaderWorkerSets of a DisaggregatedSet: one gang per slice and revision, and routes that span them."""

import copy

import pytest

from intent import Object
from intent.annotations import LWS_NAME, PREFIX, REVISION, SERVICE, SLICE, ComponentType
from intent.gang import pod_group_name
from intent.lws import read_revision
from intent.service.member import member
from sync.controller import Controller
from sync.kinds import LWS, POD, POD_GROUP
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import KEY, lws
from tests.sync.served import PG, ROUTES, reasons

OLD, NEW = "0a1b2c3d", "4e5f6a7b"


def of_revision(
    revision: str, component_type: ComponentType, replicas: int = 1, part: str = "", **annotations: str
) -> Object:
    """Return a LeaderWorkerSet of a slice and revision as it is stored after its expansion."""
    role = {"prefiller": "prefill", "decoder": "decode"}[component_type]
    first = f"ds-{part}" if part else "ds"
    obj = copy.deepcopy(lws(f"{first}-{revision}-{role}", component_type, replicas=replicas))
    marks = {REVISION: revision} | ({SLICE: part} if part else {})
    name = pod_group_name(KEY[1], read_revision(marks))
    group = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": name}}}
    template = obj["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    template["metadata"] |= group["metadata"]
    for metadata in (obj["metadata"], template["metadata"]):
        metadata["labels"] = metadata["labels"] | marks
    obj["metadata"]["annotations"] |= {PREFIX + key: value for key, value in annotations.items()}
    return obj


def put(api: Api, *sets: Object) -> None:
    for obj in sets:
        api.put(LWS.path(KEY[0], obj["metadata"]["name"]), obj)


def pod_group(revision: str) -> str:
    return POD_GROUP.path(KEY[0], f"{KEY[1]}-{revision}")


def both(revision: str, replicas: int = 1, part: str = "") -> tuple[Object, Object]:
    routes = {"strategy": "pd-disaggregation", "gateway": "shared"}
    return (
        of_revision(revision, "prefiller", replicas, part, **routes),
        of_revision(revision, "decoder", replicas, part, **routes),
    )


@pytest.fixture
async def rolling(api: Api, start: Start) -> Controller:
    """Run a controller while two revisions exist."""
    put(api, *both(OLD))
    controller = start()
    await eventually(lambda: {pod_group(OLD), *ROUTES.values()} <= api.objects.keys())
    put(api, *both(NEW, replicas=0))
    await eventually(lambda: pod_group(NEW) in api.objects)
    await quiet(2)
    return controller


def required(api: Api, revision: str) -> dict[str, int]:
    policies = api.objects[pod_group(revision)]["spec"]["subGroupPolicy"]
    return {policy["name"]: policy["minSubGroups"] for policy in policies[:-1]}


async def test_a_rollout_that_stops_midway_starts_and_loses_nothing(api: Api, start: Start) -> None:
    """Its controller ends after each step in turn; another one continues later."""
    put(api, *both(OLD))
    start()
    await eventually(lambda: {pod_group(OLD), *ROUTES.values()} <= api.objects.keys())
    before = copy.deepcopy(api.objects[pod_group(OLD)])
    prefill, decode = both(NEW)

    put(api, prefill)
    await quiet(2)
    assert pod_group(NEW) not in api.objects
    assert api.objects[pod_group(OLD)] == before

    put(api, decode)
    await eventually(lambda: pod_group(NEW) in api.objects)
    new = copy.deepcopy(api.objects[pod_group(NEW)])
    api.remove(LWS.path(KEY[0], f"ds-{OLD}-decode"))
    await eventually(lambda: required(api, OLD) == {f"ds-{OLD}-prefill": 1})
    await quiet()
    assert api.objects[pod_group(OLD)]["metadata"]["uid"] == before["metadata"]["uid"]
    assert api.objects[pod_group(NEW)] == new

    api.remove(LWS.path(KEY[0], f"ds-{OLD}-prefill"))
    await eventually(lambda: pod_group(OLD) not in api.objects)
    assert [path for method, path in api.writes if method == "DELETE"] == []


@pytest.mark.usefixtures("rolling")
async def test_the_routes_span_the_revisions(api: Api) -> None:
    names = {f"ds-{revision}-{role}" for revision in (OLD, NEW) for role in ("prefill", "decode")}

    def owners() -> set[str]:
        return {one["name"] for one in api.objects[ROUTES["InferencePool"]]["metadata"]["ownerReferences"]}

    await eventually(lambda: owners() == names)
    for role in ("prefill", "decode"):
        api.remove(LWS.path(KEY[0], f"ds-{OLD}-{role}"))
    await eventually(lambda: owners() == {name for name in names if NEW in name})
    assert pod_group(OLD) not in api.objects
    assert pod_group(NEW) in api.objects


@pytest.mark.usefixtures("rolling")
async def test_a_pod_group_of_a_revision_is_repaired_and_made_again(api: Api) -> None:
    before = api.objects[pod_group(NEW)]["spec"]

    changed = copy.deepcopy(api.objects[pod_group(NEW)])
    changed["metadata"]["labels"] = {}
    changed["spec"]["minMember"] = 1
    api.put(pod_group(NEW), changed)
    await eventually(lambda: api.objects[pod_group(NEW)]["spec"] == before)
    assert api.objects[pod_group(NEW)]["metadata"]["labels"] == {PREFIX + "service": KEY[1]}

    api.remove(pod_group(NEW))
    await eventually(lambda: api.objects.get(pod_group(NEW), {}).get("spec") == before)


@pytest.mark.parametrize(("deleting", "decoders"), [(False, 0), (True, 1)])
async def test_a_pod_that_cannot_end_starts_no_role_alone(
    api: Api, rolling: Controller, monkeypatch: pytest.MonkeyPatch, *, deleting: bool, decoders: int
) -> None:
    """It remains on a lost node of the groups before the set was scaled to zero."""
    monkeypatch.setattr("sync.parts.gang.REST_AFTER", 0.0)
    api.put(POD.path(KEY[0], "old"), bound_pod(f"ds-{NEW}-prefill", deleting=deleting))
    await eventually(lambda: bool(rolling.caches[POD.kind].rows))

    put(api, of_revision(NEW, "prefiller", 1, strategy="pd-disaggregation", gateway="shared"))
    await quiet(2)

    await eventually(lambda: required(api, NEW) == {f"ds-{NEW}-prefill": 1, f"ds-{NEW}-decode": decoders})


def bound_pod(lws: str, *, deleting: bool) -> Object:
    """Return a pod of a LeaderWorkerSet, which has a node."""
    labels = {SERVICE: KEY[1], LWS_NAME: lws}
    metadata = {"namespace": KEY[0], "name": "old", "uid": "uid-old", "labels": labels}
    ending = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata | ending,
        "spec": {"nodeName": "lost", "containers": []},
    }


@pytest.mark.usefixtures("rolling")
async def test_what_was_expanded_without_a_revision_keeps_its_pod_group(api: Api) -> None:
    earlier = both(OLD)
    for obj in earlier:
        template = obj["spec"]["leaderWorkerTemplate"]["workerTemplate"]
        template["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = KEY[1]

    put(api, *earlier)

    await eventually(lambda: PG in api.objects)
    assert {one["name"] for one in api.objects[PG]["metadata"]["ownerReferences"]} == {
        f"ds-{OLD}-{role}" for role in ("prefill", "decode")
    }
    assert pod_group(NEW) in api.objects


def test_a_group_of_another_service_makes_no_member_of_its_gang() -> None:
    obj = of_revision(OLD, "decoder")
    template = obj["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    template["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = "victim"

    found = member(obj)

    assert found is not None
    assert (found.scheduler, found.gang) == ("", f"{KEY[1]}-{OLD}")


@pytest.mark.parametrize("labels", [{}, {REVISION: NEW, SLICE: "2"}])
def test_a_label_that_changes_leaves_a_member_in_its_revision(labels: dict[str, str]) -> None:
    """While no pod of it is bound, none of its roles rests."""
    obj = of_revision(OLD, "decoder", part="1")
    obj["metadata"]["labels"] = {SERVICE: KEY[1]} | labels

    found = member(obj)

    assert found is not None
    assert (found.revision, found.gang) == (f"1.{OLD}", f"{KEY[1]}.1.{OLD}")


# --- slices -----------------------------------------------------------------------------------------

SLICE_1 = POD_GROUP.path(KEY[0], f"{KEY[1]}.1.{OLD}")


async def test_each_slice_has_a_gang_and_one_that_goes_takes_its_pod_group(api: Api, start: Start) -> None:
    """The first slice is of LWS 0.9: its objects have no label of a slice, and keep their PodGroup."""
    put(api, *both(OLD))
    start()
    await eventually(lambda: {pod_group(OLD), *ROUTES.values()} <= api.objects.keys())
    first = copy.deepcopy(api.objects[pod_group(OLD)])

    put(api, *both(OLD, part="1"))
    names = {f"ds-{first}{OLD}-{role}" for first in ("", "1-") for role in ("prefill", "decode")}
    await eventually(lambda: SLICE_1 in api.objects)
    await eventually(lambda: owners(api, ROUTES["InferencePool"]) == names)
    policies = api.objects[SLICE_1]["spec"]["subGroupPolicy"][:-1]
    assert {one["name"]: one["minSubGroups"] for one in policies} == {
        f"ds-1-{OLD}-{role}": 1 for role in ("prefill", "decode")
    }
    assert (api.objects[pod_group(OLD)], reasons(api)) == (first, [])

    for role in ("prefill", "decode"):
        api.remove(LWS.path(KEY[0], f"ds-1-{OLD}-{role}"))
    await eventually(lambda: SLICE_1 not in api.objects)
    assert api.objects[pod_group(OLD)] == first


async def test_a_slice_with_one_role_waits_whatever_the_others_have(api: Api, start: Start) -> None:
    put(api, *both(OLD, part="0"), both(OLD, part="1")[1])
    start()

    await eventually(lambda: reasons(api) != [])
    assert (pod_group(OLD) in api.objects, SLICE_1 in api.objects) == (True, False)
    (event,) = api.findings()
    assert "this slice of service r1 waits for a prefiller" in event["message"]


@pytest.mark.parametrize("part", ["", "1"])
async def test_an_ejected_one_leaves_the_pod_group_to_the_others(api: Api, start: Start, part: str) -> None:
    """Its PodGroup has the name of a service that nobody has."""
    path = SLICE_1 if part else pod_group(OLD)
    put(api, *both(OLD, part=part))
    start()
    await eventually(lambda: path in api.objects)
    await quiet(2)
    before, gone = copy.deepcopy(api.objects[path]), both(OLD, part=part)[1]
    gone["metadata"] |= {"annotations": {}, "labels": {}}

    put(api, gone)
    await eventually(lambda: any(one[2] == "PodGroupOfEjected" for one in reasons(api)))
    assert api.objects[path] == before

    name = gone["metadata"]["name"]
    api.remove(LWS.path(KEY[0], name))
    await eventually(lambda: owners(api, path) == {name.replace("decode", "prefill")})
    assert api.objects[path]["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.parametrize(
    "name", [f"{KEY[1]}.0.{OLD}", f"{KEY[1]}.01.{OLD}", f"{KEY[1]}.1", f"{KEY[1]}.1-{OLD}", f"x.1.{OLD}"]
)
def test_the_rules_make_no_other_name_with_dots(name: str) -> None:
    assert not POD_GROUP.names(KEY[1], name)
    assert POD_GROUP.names(KEY[1], f"{KEY[1]}.1.{OLD}")


def owners(api: Api, at: str) -> set[str]:
    return {one["name"] for one in api.objects[at]["metadata"]["ownerReferences"]}
