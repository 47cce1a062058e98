"""A stored object is changed or deleted only after its owners were read: a cache may be old or incomplete."""

import contextlib
import copy

import pytest
from aiohttp import web

from intent import Object
from kube.client import ApiError
from sync.controller import Controller
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS
from sync.watch.cache import OWNERS
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.running.test_controller import DECODE as D
from tests.sync.running.test_controller import PREFILL as P
from tests.sync.samples import KEY, hold, lws, role, routed
from tests.sync.served import DECODE, PG, PREFILL, SERVICE, change

PAUSED = "fusioninfer.io/paused"
CONFIG_MAP = OUTPUTS["ConfigMap"].path(KEY[0], "c")


async def successor(make: Start) -> Controller:
    """Return a controller with full caches that is not running yet."""
    controller = make()
    await eventually(lambda: all(not cache.availability.trouble for cache in controller.caches.values()))
    return controller


async def snapshot(controller: Controller) -> None:
    """Reconcile the service once."""
    await controller.reconcile(KEY)


def paths(api: Api) -> set[str]:
    """Return the writes."""
    return {path for _, path in api.writes}


@pytest.mark.usefixtures("served")
async def test_an_older_inference_service_restarts_no_pods(api: Api, make: Start) -> None:
    before = copy.deepcopy(api.objects[SERVICE])
    later = routed(role("prefill", "prefiller", replicas=2), role("decode", "decoder"), generation=2)
    change(api, SERVICE, metadata=later["metadata"], spec=later["spec"])
    await eventually(lambda: api.objects[PREFILL]["spec"]["replicas"] == 2)
    await quiet(2)
    behind = await successor(make)
    hold(behind.caches["InferenceService"], INFERENCE_SERVICE.project(before))
    api.writes.clear()

    await snapshot(behind)
    await snapshot(behind)

    assert (PREFILL in paths(api), api.objects[PREFILL]["spec"]["replicas"]) == (False, 2)


@pytest.fixture
async def gang(api: Api, start: Start) -> Object:
    """Run a controller until a prefiller and a decoder have their PodGroup; return the PodGroup."""
    api.put(P, lws("p"))
    api.put(D, lws("d", "decoder"))
    start()
    await eventually(lambda: PG in api.objects)
    await quiet()
    return copy.deepcopy(api.objects[PG])


@pytest.mark.parametrize("left", [P, D])
async def test_a_member_that_is_not_cached_stays_in_gang(
    api: Api, gang: Object, make: Start, left: str
) -> None:
    behind = await successor(make)
    hold(behind.caches["LeaderWorkerSet"], LWS.project(api.objects[left]))
    versions = len(api.history)

    await snapshot(behind)
    await snapshot(behind)

    stored = [obj for _, obj in api.history[versions:] if obj["kind"] == "PodGroup"]
    assert (stored, api.objects[PG]["spec"]) == ([], gang["spec"])


@pytest.mark.parametrize("deleted", [False, True])
async def test_a_member_that_a_cache_lacks_and_that_cannot_be_read_stays_in_the_gang(
    api: Api, gang: Object, make: Start, *, deleted: bool
) -> None:
    """It exists, whatever it is: nothing that names it is changed, or deleted with the last other member."""
    behind = await successor(make)
    hold(behind.caches["LeaderWorkerSet"], *([] if deleted else [LWS.project(api.objects[P])]))
    if deleted:
        del api.objects[P]
    api.objects[D]["metadata"]["ownerReferences"] = [{"uid": str(at)} for at in range(OWNERS + 1)]
    versions = len(api.history)

    await behind.reconcile(KEY)

    stored = [obj for _, obj in api.history[versions:] if obj["kind"] == "PodGroup"]
    assert (stored, api.objects[PG]["spec"]) == ([], gang["spec"])


@pytest.mark.usefixtures("gang")
async def test_an_older_size_of_a_member_splits_no_group_and_is_no_finding(api: Api, make: Start) -> None:
    """Rollouts change LeaderWorkerSets all the time, and nothing is wrong."""
    before = LWS.project(api.objects[P])
    template = api.objects[P]["spec"]["leaderWorkerTemplate"] | {"size": 4}
    api.edit(P, leaderWorkerTemplate=template)
    await eventually(lambda: api.objects[PG]["spec"]["minMember"] == 6)
    behind = await successor(make)
    versions = len(api.history)

    for _ in range(3):
        hold(behind.caches["LeaderWorkerSet"], before, LWS.project(api.objects[D]))
        assert await behind.reconcile(KEY)
        await quiet()

    assert [obj for _, obj in api.history[versions:] if obj["kind"] == "PodGroup"] == []
    assert api.findings() == []


@pytest.mark.usefixtures("gang")
async def test_a_deleted_member_leaves_the_gang(api: Api) -> None:
    api.collects = False
    api.remove(D)

    await eventually(lambda: [one["name"] for one in api.objects[PG]["spec"]["subGroupPolicy"]][:1] == ["p"])
    await eventually(lambda: len(api.objects[PG]["metadata"]["ownerReferences"]) == 1)


@pytest.mark.usefixtures("served")
async def test_an_object_that_changed_since_it_was_seen_is_not_deleted(api: Api, make: Start) -> None:
    """The author takes over a LeaderWorkerSet, and then removes its role."""
    behind = await successor(make)
    before = behind.caches["LeaderWorkerSet"].rows[KEY[0], "r1-decode"]
    api.fault = lambda r: web.Response(status=503) if "fieldManager" in r.query else None
    taken = copy.deepcopy(api.objects[DECODE]["metadata"])
    del taken["ownerReferences"]
    change(api, DECODE, metadata=taken)
    later = routed(role("prefill"), generation=2)
    change(api, SERVICE, metadata=later["metadata"], spec=later["spec"])
    await quiet()
    api.fault = lambda _request: None
    await eventually(lambda: behind.caches["LeaderWorkerSet"].rows[KEY[0], "r1-decode"] != before)
    behind.caches["LeaderWorkerSet"].insert(before)

    await snapshot(behind)

    assert DECODE in api.objects


@pytest.mark.usefixtures("served")
async def test_a_reconcile_with_a_paused_write_deletes_nothing(api: Api, make: Start) -> None:
    """A role is renamed while its service is paused, and the pause ends in the middle of a reconcile."""
    behind = await successor(make)
    renamed = routed(role("prefill", "prefiller"), role("second", "decoder"), generation=2)
    api.fault = lambda r: web.Response(status=503) if "fieldManager" in r.query else None
    metadata = renamed["metadata"] | {"annotations": {PAUSED: "true"}}
    change(api, SERVICE, metadata=metadata, spec=renamed["spec"])
    await eventually(lambda: behind.caches["InferenceService"].rows[KEY].generation == 2)
    api.fault = lambda _request: None
    await quiet(2)  # the other controller has reconciled, and is paused

    tried: list[str] = []

    def resume(request: web.Request) -> None:
        """End the pause at the first request after the dry run of the new role."""
        if tried:
            row = behind.caches["InferenceService"].rows[KEY]
            object.__setattr__(row, "paused", False)
        if request.method == "POST" and "leaderworkersets" in request.path:
            tried.append(request.path)

    api.fault = resume
    await snapshot(behind)

    assert (bool(tried), DECODE in api.objects) == (True, True)


@pytest.fixture
async def joined(api: Api, gang: Object) -> Object:  # noqa: ARG001 - first
    """Add a role after the gate has opened, so that it is not required; return the PodGroup."""
    late = lws("late", "decoder")
    for words in ("annotations", "labels"):
        late["metadata"][words]["fusioninfer.io/role-name"] = "late"
    api.put(LWS.path(KEY[0], "late"), late)
    await eventually(lambda: "late" in named(api))
    return copy.deepcopy(api.objects[PG])


def named(api: Api) -> dict[str, int]:
    """Return the policies of the PodGroup, and how many groups each requires."""
    return {one["name"]: one["minSubGroups"] for one in api.objects[PG]["spec"]["subGroupPolicy"]}


async def test_a_pod_group_that_a_cache_lacks_keeps_the_roles_of_its_open_gate(
    api: Api, joined: Object, make: Start
) -> None:
    """Otherwise a role that was added later, and cannot be placed, would keep the others from recovering."""
    behind = await successor(make)
    hold(behind.caches["PodGroup"])
    versions = len(api.history)

    with contextlib.suppress(ApiError):
        await snapshot(behind)
    await snapshot(behind)

    stored = [obj for _, obj in api.history[versions:] if obj["kind"] == "PodGroup"]
    assert (stored, api.objects[PG]["spec"]) == ([], joined["spec"])


async def test_roles_removed_from_a_pod_group_come_back_as_the_gate_opened(api: Api, joined: Object) -> None:
    metadata = {key: one for key, one in api.objects[PG]["metadata"].items() if key != "annotations"}

    change(api, PG, metadata=metadata)

    await eventually(lambda: "annotations" in api.objects[PG]["metadata"])
    assert api.objects[PG]["metadata"]["annotations"] == joined["metadata"]["annotations"]
    assert named(api) == {"p": 1, "d": 1, "late": 0, "unassigned": 0}


@pytest.mark.usefixtures("gang")
async def test_a_reference_to_an_owner_with_a_path_for_a_name_reads_nothing_elsewhere(api: Api) -> None:
    name = "../../../../../../api/v1/namespaces/kube-system/secrets/s"
    owner = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": name, "uid": "u"}
    fields = {"manager": "fusioninfer", "operation": "Apply", "fieldsV1": {"f:data": {}}}
    metadata = {
        "namespace": KEY[0],
        "name": "c",
        "labels": {"fusioninfer.io/service": KEY[1]},
        "ownerReferences": [owner],
        "managedFields": [fields],
    }
    api.requests.clear()

    api.put(CONFIG_MAP, {"kind": "ConfigMap", "metadata": metadata, "data": {}})
    await quiet(2)

    assert not [path for _, path in api.requests if "secrets" in path]
    assert CONFIG_MAP in api.objects
