"""The loop and InferenceServices, against a fake API server with our own admission in it."""

import asyncio
import copy
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from aiohttp import web

from intent import Object
from intent.settings import Settings
from sync.kinds import GATEWAYS, INFERENCE_SERVICE, LWS, OUTPUTS, POD, POD_GROUP
from sync.loop import Loop
from sync.writer import FIGHT
from tests.sync.conftest import QUIET, Background, Eventually, Start
from tests.sync.fake_api import Api, status
from tests.sync.samples import inference_service, lws, role, routed, router
from webhook.expand import expanded

HOME = "team-a"
SERVICE = INFERENCE_SERVICE.path(HOME, "r1")
STATUS = f"{SERVICE}/status"
PREFILL = LWS.path(HOME, "r1-prefill")
DECODE = LWS.path(HOME, "r1-decode")
PG = POD_GROUP.path(HOME, "r1")
NAMES = {
    "ServiceAccount": "r1-epp",
    "Role": "r1-epp",
    "RoleBinding": "r1-epp",
    "ConfigMap": "r1-epp-config",
    "InferencePool": "r1-pool",
    "Deployment": "r1-epp",
    "Service": "r1-epp",
    "HTTPRoute": "r1-httproute",
}
ROUTES = {kind: OUTPUTS[kind].path(HOME, name) for kind, name in NAMES.items()}
OWN_GATEWAY = GATEWAYS.path(HOME, "r1-gateway")
LISTENER = {"name": "web", "port": 80, "protocol": "HTTP"}
SETTINGS = Settings()


def admit(obj: Object) -> None:
    """Expand LeaderWorkerSets as admission does, and default as the API server does."""
    if obj["kind"] == "LeaderWorkerSet":
        obj.update(expanded(obj, SETTINGS))
        obj["spec"].setdefault("startupPolicy", "LeaderCreated")
    if obj["kind"] == "Deployment":
        obj["spec"].setdefault("progressDeadlineSeconds", 600)


def ready_pod(name: str, **status: Any) -> Object:
    """Make a pod of a LeaderWorkerSet of one pod a group, that runs."""
    labels = {
        "fusioninfer.io/service": "r1",
        "leaderworkerset.sigs.k8s.io/name": name,
        "leaderworkerset.sigs.k8s.io/group-index": "0",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": HOME, "name": f"{name}-0", "labels": labels},
        "spec": {"nodeName": "node-1"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], **status},
    }


def accepted() -> Object:
    """Make what the shared Gateway answers to the HTTPRoute that it takes."""
    said = [
        {"type": kind, "status": "True", "observedGeneration": 1} for kind in ("Accepted", "ResolvedRefs")
    ]
    return {"parents": [{"parentRef": {"namespace": "infra", "name": "shared"}, "conditions": said}]}


def condition(api: Api, kind: str) -> Object:
    """Give one condition of the stored status; empty if there is none."""
    conditions = api.objects[SERVICE].get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def reported(api: Api, kind: str) -> str:
    """Give the reason of one condition of the stored status."""
    return str(condition(api, kind).get("reason", ""))


@pytest.fixture(autouse=True)
def _admission(api: Api) -> None:
    api.prune = admit


@pytest.fixture
async def running(api: Api, start: Start, eventually: Eventually) -> Loop:
    """Run a loop until an InferenceService has all that it should have."""
    api.put(SERVICE, routed())
    loop = start()
    await eventually(lambda: {PREFILL, DECODE, PG, *ROUTES.values()} <= api.objects.keys())
    await eventually(lambda: reported(api, "RoutesReady") == "PickerNotAvailable")
    await asyncio.sleep(QUIET)
    return loop


def reasons(api: Api) -> list[tuple[str, str, str]]:
    """Say which Events there are on which objects."""
    about = [(event["involvedObject"], event["reason"]) for event in api.kept("events")]
    return sorted((subject["kind"], subject["name"], reason) for subject, reason in about)


def without_version(section: Any) -> Any:
    """Leave out what every write changes."""
    if not isinstance(section, dict):
        return section
    return {key: value for key, value in section.items() if key != "resourceVersion"}


def change(api: Api, path: str, **fields: Any) -> None:
    """Change fields of an object by hand."""
    api.put(path, copy.deepcopy(api.objects[path]) | fields)


# --- what it makes ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("running")
def test_each_role_gets_its_lws_through_admission(api: Api) -> None:
    annotations = api.objects[PREFILL]["metadata"]["annotations"]

    assert "fusioninfer.io/expansion" in annotations


@pytest.mark.usefixtures("running")
def test_everything_is_written_once(api: Api) -> None:
    written = [path for method, path in api.writes if not path.endswith("/status")]

    assert written == [PREFILL, DECODE, PG, *ROUTES.values()]


@pytest.mark.usefixtures("running")
def test_the_members_of_an_inference_service_are_a_gang(api: Api) -> None:
    assert api.objects[PG]["spec"]["minMember"] == 2


async def test_a_lone_worker_of_one_pod_has_no_pod_group(
    api: Api, start: Start, eventually: Eventually
) -> None:
    api.put(SERVICE, inference_service(role("inference")))

    start()
    await eventually(lambda: LWS.path(HOME, "r1-inference") in api.objects)
    await asyncio.sleep(QUIET)

    assert (api.kept("podgroups"), api.kept("events")) == ([], [])


@pytest.mark.usefixtures("running")
async def test_a_changed_role_is_written(api: Api, eventually: Eventually) -> None:
    changed = role("decode", "decoder", replicas=3)

    api.put(SERVICE, routed(role("prefill", "prefiller"), changed))

    await eventually(lambda: api.objects[DECODE]["spec"]["replicas"] == 3)


@pytest.mark.usefixtures("running")
async def test_replicas_that_nobody_asks_for_are_an_autoscalers(api: Api, eventually: Eventually) -> None:
    free = role("decode", "decoder")
    del free["replicas"]
    api.put(SERVICE, routed(role("prefill", "prefiller"), free))
    await eventually(lambda: "replicas" not in api.objects[DECODE]["spec"])

    api.edit(DECODE, replicas=7)
    await asyncio.sleep(QUIET)

    assert api.objects[DECODE]["spec"]["replicas"] == 7


# --- what it leaves alone ---------------------------------------------------------------------------


@pytest.mark.usefixtures("running")
async def test_a_restarted_loop_writes_nothing(api: Api, start: Start) -> None:
    api.writes.clear()

    start()
    await asyncio.sleep(2 * QUIET)

    assert api.writes == []


@pytest.mark.usefixtures("running")
async def test_idle_it_asks_nothing_either(api: Api) -> None:
    api.requests.clear()

    await asyncio.sleep(QUIET)

    assert [method for method, _ in api.requests if method != "GET"] == []


@pytest.mark.usefixtures("running")
async def test_the_annotation_of_a_controller_is_no_drift(api: Api) -> None:
    api.writes.clear()
    metadata = copy.deepcopy(api.objects[ROUTES["Deployment"]]["metadata"])
    metadata["annotations"] = {"deployment.kubernetes.io/revision": "1"}

    change(api, ROUTES["Deployment"], metadata=metadata)
    await asyncio.sleep(QUIET)

    assert api.writes == []


async def test_an_lws_that_somebody_wrote_is_not_touched(
    api: Api, start: Start, eventually: Eventually
) -> None:
    theirs = lws("r1-decode", "decoder")
    api.put(DECODE, theirs)
    api.put(SERVICE, inference_service())

    start()
    await eventually(lambda: bool(api.kept("events")))

    assert (api.objects[DECODE]["spec"], reasons(api)) == (
        theirs["spec"],
        [("InferenceService", "r1", "ObjectNotOurs")],
    )


@pytest.mark.parametrize("labels", [{}, {"fusioninfer.io/service": "r1"}], ids=["unlabelled", "labelled"])
async def test_an_object_of_somebody_else_is_not_touched(
    api: Api, start: Start, eventually: Eventually, labels: dict[str, str]
) -> None:
    metadata = {"namespace": HOME, "name": "r1-epp-config", "labels": labels}
    api.put(ROUTES["ConfigMap"], {"kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}})
    api.put(SERVICE, routed())

    start()
    await eventually(lambda: bool(api.kept("events")))

    assert (api.objects[ROUTES["ConfigMap"]]["data"], reasons(api)) == (
        {"a": "b"},
        [("InferenceService", "r1", "ObjectNotOurs")],
    )


@pytest.mark.usefixtures("running")
async def test_somebodys_own_object_with_our_label_is_not_pruned(api: Api) -> None:
    own = OUTPUTS["Service"].path(HOME, "mine")
    metadata = {"namespace": HOME, "name": "mine", "labels": {"fusioninfer.io/service": "r1"}}

    api.put(own, {"kind": "Service", "metadata": metadata})
    await asyncio.sleep(QUIET)

    assert own in api.objects


@pytest.mark.usefixtures("running")
async def test_an_unreadable_one_changes_nothing(api: Api, eventually: Eventually) -> None:
    api.writes.clear()

    api.put(SERVICE, inference_service(role("a"), role("b"), generation=2))
    await eventually(lambda: bool(api.kept("events")))

    assert {path for _, path in api.writes if "/events" not in path} <= {f"{SERVICE}/status"}


@pytest.mark.usefixtures("running")
async def test_one_that_goes_is_left_to_the_garbage_collector(api: Api) -> None:
    api.writes.clear()
    metadata = api.objects[SERVICE]["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}

    change(api, SERVICE, metadata=metadata)
    api.remove(DECODE)
    await asyncio.sleep(QUIET)

    assert api.writes == []


@pytest.mark.usefixtures("running")
async def test_one_that_is_gone_is_left_to_the_garbage_collector(api: Api) -> None:
    api.writes.clear()

    api.remove(SERVICE)
    api.remove(DECODE)
    await asyncio.sleep(QUIET)

    assert api.writes == []


@pytest.mark.usefixtures("running")
async def test_what_is_on_its_way_out_is_waited_for(api: Api) -> None:
    metadata = api.objects[DECODE]["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    change(api, DECODE, metadata=metadata)
    await asyncio.sleep(QUIET)
    api.writes.clear()

    api.edit(DECODE, replicas=0)
    await asyncio.sleep(QUIET)

    assert [path for _, path in api.writes if path == DECODE] == []


# --- what it repairs and prunes ---------------------------------------------------------------------


@pytest.mark.usefixtures("running")
async def test_a_hand_edit_of_an_lws_is_repaired(api: Api, eventually: Eventually) -> None:
    api.edit(DECODE, replicas=0)

    await eventually(lambda: api.objects[DECODE]["spec"]["replicas"] == 1)


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("kind", "section", "edit"),
    [
        ("ServiceAccount", "metadata", {"ownerReferences": []}),
        ("Role", "rules", []),
        ("RoleBinding", "subjects", []),
        ("ConfigMap", "data", {"config.yaml": ""}),
        ("InferencePool", "spec", {"targetPorts": [{"number": 81}]}),
        ("Deployment", "spec", {"replicas": 0}),
        ("Service", "spec", {"ports": []}),
        ("HTTPRoute", "spec", {"rules": []}),
    ],
)
async def test_a_hand_edit_of_a_route_is_repaired(
    api: Api, eventually: Eventually, kind: str, section: str, edit: Any
) -> None:
    before = copy.deepcopy(api.objects[ROUTES[kind]][section])

    change(api, ROUTES[kind], **{section: before | edit if isinstance(edit, dict) else edit})

    await eventually(lambda: without_version(api.objects[ROUTES[kind]][section]) == without_version(before))


@pytest.mark.usefixtures("running")
async def test_a_deleted_part_is_made_again(api: Api, eventually: Eventually) -> None:
    api.remove(ROUTES["ConfigMap"])

    await eventually(lambda: ROUTES["ConfigMap"] in api.objects)


@pytest.mark.usefixtures("running")
async def test_nothing_is_written_again_and_again(api: Api, background: Background) -> None:
    api.writes.clear()

    async def undo() -> None:
        while True:
            await asyncio.sleep(0.02)
            if api.objects[ROUTES["Deployment"]]["spec"]["replicas"] != 5:
                api.edit(ROUTES["Deployment"], replicas=5)

    background(undo())
    await asyncio.sleep(1)

    assert api.writes.count(("PATCH", ROUTES["Deployment"])) == FIGHT


@pytest.mark.usefixtures("running")
async def test_a_renamed_role_gets_a_new_lws_and_loses_the_old_one(api: Api, eventually: Eventually) -> None:
    api.put(SERVICE, routed(role("prefill", "prefiller"), role("decode-a", "decoder")))

    renamed = LWS.path(HOME, "r1-decode-a")
    await eventually(lambda: renamed in api.objects and DECODE not in api.objects)

    assert ("PATCH", PREFILL) not in api.writes[api.writes.index(("DELETE", DECODE)) :]


@pytest.mark.usefixtures("running")
async def test_while_the_new_name_is_refused_the_old_lws_stays(api: Api, eventually: Eventually) -> None:
    def refuse(request: web.Request) -> web.Response | None:
        creates = request.method == "POST" and request.path == LWS.path(HOME)
        return status(403, "Forbidden", "exceeded quota", "r1-decode-a") if creates else None

    api.fault = refuse
    api.put(SERVICE, routed(role("prefill", "prefiller"), role("decode-a", "decoder")))
    await eventually(lambda: bool(api.kept("events")))

    assert DECODE in api.objects


@pytest.mark.usefixtures("running")
async def test_without_its_router_the_routes_go_and_the_rest_stays(api: Api, eventually: Eventually) -> None:
    api.writes.clear()

    api.put(SERVICE, inference_service())
    await eventually(lambda: not set(ROUTES.values()) & api.objects.keys())
    await asyncio.sleep(QUIET)

    deleted = [path for method, path in api.writes if method == "DELETE"]
    assert deleted == list(reversed(ROUTES.values()))


# --- what stands in the way -------------------------------------------------------------------------


async def test_without_their_crds_the_routes_are_missing_and_nothing_else(
    api: Api, start: Start, eventually: Eventually
) -> None:
    api.absent = {"inferencepools", "httproutes", "gateways"}
    api.put(SERVICE, routed())

    start()
    await eventually(lambda: bool(api.kept("events")))

    assert {PREFILL, DECODE, PG, ROUTES["ConfigMap"]} <= api.objects.keys()


async def test_it_names_the_crds_that_are_missing(api: Api, start: Start, eventually: Eventually) -> None:
    api.absent = {"inferencepools", "httproutes", "gateways"}
    api.put(SERVICE, routed())

    start()
    await eventually(lambda: bool(api.kept("events")))

    message = api.kept("events")[0]["message"]
    assert message.startswith(
        "this cluster has no InferencePool of inference.networking.k8s.io/v1; "
        "install the CRDs of the Gateway API Inference Extension (FI870: "
    )


async def test_what_needs_a_missing_kind_is_not_tried(api: Api, start: Start, eventually: Eventually) -> None:
    api.absent = {"inferencepools"}
    api.put(SERVICE, routed())

    start()
    await eventually(lambda: bool(api.kept("events")))

    assert not {ROUTES["Deployment"], ROUTES["HTTPRoute"]} & api.objects.keys()


async def test_crds_that_come_later_need_no_restart(
    api: Api, start: Start, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync.loop.ASK_AGAIN", 0.1)
    api.absent = {"inferencepools", "httproutes", "gateways"}
    api.put(SERVICE, routed())
    start()
    await eventually(lambda: bool(api.kept("events")))

    api.absent = set()

    await eventually(lambda: set(ROUTES.values()) <= api.objects.keys())


async def test_missing_kinds_do_not_concern_who_has_no_routes(
    api: Api, start: Start, eventually: Eventually
) -> None:
    api.absent = {"inferencepools", "httproutes", "gateways"}
    api.put(SERVICE, inference_service())

    start()
    await eventually(lambda: PG in api.objects)
    await asyncio.sleep(QUIET)

    assert api.kept("events") == []


async def test_a_missing_kind_is_logged_once(
    api: Api, start: Start, caplog: pytest.LogCaptureFixture, eventually: Eventually
) -> None:
    caplog.set_level("INFO")
    api.absent = {"httproutes"}

    start()
    lists = ("GET", OUTPUTS["HTTPRoute"].collection)
    await eventually(lambda: api.requests.count(lists) > 3)

    assert [record.message for record in caplog.records if record.name == "sync.reflector"] == [
        "no such kind"
    ]


async def test_a_refused_pod_group_does_not_stop_the_routes(
    api: Api, start: Start, eventually: Eventually
) -> None:
    def refuse(request: web.Request) -> web.Response | None:
        writes = request.method != "GET" and "podgroups" in request.path
        return status(403, "Forbidden", "queue gpu is not open", "r1") if writes else None

    api.fault = refuse
    api.put(SERVICE, routed())

    start()

    await eventually(lambda: set(ROUTES.values()) <= api.objects.keys())


async def test_one_write_that_fails_does_not_stop_the_others(
    api: Api, start: Start, eventually: Eventually
) -> None:
    def fail(request: web.Request) -> web.Response | None:
        writes = request.method != "GET" and request.path.startswith(POD_GROUP.path(HOME))
        return status(500, "InternalError", "failed calling webhook") if writes else None

    api.fault = fail
    api.put(SERVICE, routed())

    start()

    await eventually(lambda: set(ROUTES.values()) <= api.objects.keys())


async def test_an_lws_that_admission_does_not_expand_is_not_made(
    api: Api, start: Start, eventually: Eventually
) -> None:
    api.prune = lambda _obj: None
    api.put(SERVICE, inference_service())

    start()
    await eventually(lambda: len(api.kept("events")) == 2)

    assert (api.kept("leaderworkersets"), set(reasons(api))) == (
        [],
        {("InferenceService", "r1", "NotExpanded")},
    )


async def test_one_that_breaks_a_rule_is_told(api: Api, start: Start, eventually: Eventually) -> None:
    api.put(SERVICE, inference_service(role("a"), role("b")))

    start()

    await eventually(lambda: [(kind, name) for kind, name, _ in reasons(api)] == [("InferenceService", "r1")])


# --- a Gateway of its own ---------------------------------------------------------------------------


def with_gateway() -> Object:
    """Make an InferenceService that brings its Gateway."""
    own = router(gateway={"gatewayClassName": "istio", "listeners": [LISTENER]})
    del own["httproute"]
    return inference_service(role("prefill", "prefiller"), role("decode", "decoder"), own)


async def test_a_router_with_a_gateway_gets_it_and_a_route_on_it(
    api: Api, start: Start, eventually: Eventually
) -> None:
    api.put(SERVICE, with_gateway())

    start()
    await eventually(lambda: {OWN_GATEWAY, ROUTES["HTTPRoute"]} <= api.objects.keys())

    parents = api.objects[ROUTES["HTTPRoute"]]["spec"]["parentRefs"]
    assert (api.objects[OWN_GATEWAY]["spec"]["gatewayClassName"], parents) == (
        "istio",
        [{"name": "r1-gateway"}],
    )


@pytest.mark.usefixtures("running")
async def test_a_gateway_that_is_not_asked_for_any_more_goes(api: Api, eventually: Eventually) -> None:
    api.put(SERVICE, with_gateway())
    await eventually(lambda: OWN_GATEWAY in api.objects)

    api.put(SERVICE, routed())

    await eventually(lambda: OWN_GATEWAY not in api.objects)


async def test_a_gateway_of_somebody_else_is_not_touched(
    api: Api, start: Start, eventually: Eventually
) -> None:
    metadata = {"namespace": HOME, "name": "r1-gateway"}
    api.put(OWN_GATEWAY, {"kind": "Gateway", "metadata": metadata, "spec": {"gatewayClassName": "mine"}})
    api.put(SERVICE, with_gateway())

    start()
    await eventually(lambda: bool(api.kept("events")))

    assert (api.objects[OWN_GATEWAY]["spec"], reasons(api)) == (
        {"gatewayClassName": "mine"},
        [("InferenceService", "r1", "ObjectNotOurs")],
    )


# --- its status -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("running")
async def test_an_equal_status_is_not_written(api: Api) -> None:
    api.writes.clear()

    change(api, SERVICE, metadata=api.objects[SERVICE]["metadata"] | {"annotations": {"a": "b"}})
    await asyncio.sleep(QUIET)

    assert api.writes == []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every look at a service have a time of its own."""
    seconds = count()
    monkeypatch.setattr("sync.loop.now", lambda: f"2026-01-01T12:{next(seconds) // 60 % 60:02}:00Z")
    yield
    assert next(seconds) > 0


def status_writes(api: Api) -> int:
    """Count the writes of the status."""
    return [path for _, path in api.writes].count(STATUS)


@pytest.mark.usefixtures("clock", "running")
async def test_a_settled_status_keeps_its_times_look_after_look(api: Api) -> None:
    before = copy.deepcopy(api.objects[SERVICE]["status"])
    api.writes.clear()

    for at in range(5):
        change(api, SERVICE, metadata=api.objects[SERVICE]["metadata"] | {"annotations": {"at": str(at)}})
        change(api, PREFILL, status={"readyReplicas": at})
        api.remove(PG)
        await asyncio.sleep(0.1)

    assert (status_writes(api), api.objects[SERVICE]["status"]) == (0, before)


@pytest.mark.usefixtures("clock", "running")
async def test_each_pod_that_becomes_ready_is_one_write(api: Api, eventually: Eventually) -> None:
    api.writes.clear()

    for at, name in enumerate(("r1-prefill", "r1-decode")):
        api.put(POD.path(HOME, f"{name}-0"), ready_pod(name))
        await eventually(lambda at=at: status_writes(api) == at + 1)  # type: ignore[misc]
        await asyncio.sleep(QUIET)

    assert api.writes == [("PATCH", STATUS)] * 2


@pytest.mark.usefixtures("clock", "running")
async def test_what_a_pod_says_beside_is_no_write(api: Api, eventually: Eventually) -> None:
    api.put(POD.path(HOME, "r1-prefill-0"), ready_pod("r1-prefill"))
    await eventually(lambda: api.objects[SERVICE]["status"]["components"]["prefill"]["readyPods"] == 1)
    await asyncio.sleep(QUIET)
    api.writes.clear()

    api.put(POD.path(HOME, "r1-prefill-0"), ready_pod("r1-prefill", podIP="10.0.0.7"))
    await asyncio.sleep(QUIET)

    assert api.writes == []


@pytest.mark.usefixtures("clock")
async def test_a_status_of_which_an_older_crd_drops_a_field_is_written_once(
    api: Api, start: Start, eventually: Eventually
) -> None:
    def drop(obj: Object) -> None:
        admit(obj)
        for component in obj.get("status", {}).get("components", {}).values():
            component.pop("readyPods", None)

    api.prune = drop
    api.put(SERVICE, inference_service())
    start()
    await eventually(lambda: reported(api, "Initialized") == "InferenceServiceCreating")
    await asyncio.sleep(QUIET)
    written = status_writes(api)

    change(api, SERVICE, metadata=api.objects[SERVICE]["metadata"] | {"annotations": {"a": "b"}})
    await asyncio.sleep(2 * QUIET)

    assert (status_writes(api), written < FIGHT) == (written, True)


@pytest.mark.usefixtures("running")
async def test_a_status_that_somebody_changed_is_written_again(api: Api, eventually: Eventually) -> None:
    change(api, SERVICE, status={"url": "http://elsewhere"})

    await eventually(lambda: reported(api, "RoutesReady") == "PickerNotAvailable")


@pytest.mark.usefixtures("clock", "running")
async def test_a_status_that_somebody_keeps_changing_is_not_fought_for(
    api: Api, background: Background
) -> None:
    api.writes.clear()

    async def undo() -> None:
        while True:
            await asyncio.sleep(0.02)
            if api.objects[SERVICE]["status"]["conditions"]:
                change(api, SERVICE, status={"conditions": []})

    background(undo())
    await asyncio.sleep(1)

    assert status_writes(api) == FIGHT


async def test_the_status_says_what_the_events_say(api: Api, start: Start, eventually: Eventually) -> None:
    api.put(SERVICE, inference_service(role("a"), role("b")))

    start()
    await eventually(lambda: bool(api.kept("events")))

    code = api.kept("events")[0]["message"].rpartition("(")[2][:5]
    await eventually(lambda: f"({code})" in condition(api, "Failed").get("message", ""))


async def test_the_status_knows_whether_all_is_stored(api: Api, start: Start, eventually: Eventually) -> None:
    api.absent = {"inferencepools"}
    api.put(SERVICE, routed())

    start()

    await eventually(lambda: reported(api, "RoutesReady") == "RoutesRefused")
    assert (reported(api, "Progressing"), reported(api, "Initialized")) == (
        "Held",
        "InferenceServiceCreating",
    )


@pytest.mark.usefixtures("running")
async def test_a_gateway_that_changes_is_seen_by_the_service_whose_route_hangs_on_it(
    api: Api, eventually: Eventually
) -> None:
    change(api, ROUTES["HTTPRoute"], status=accepted())
    metadata = {"namespace": "infra", "name": "shared"}
    addresses = [{"value": "10.0.0.1"}]

    api.put(
        GATEWAYS.path("infra", "shared"),
        {
            "kind": "Gateway",
            "metadata": metadata,
            "spec": {"listeners": [LISTENER]},
            "status": {"addresses": addresses},
        },
    )

    await eventually(lambda: api.objects[SERVICE]["status"].get("url") == "http://10.0.0.1")


async def test_a_service_that_is_gone_is_forgotten(api: Api, running: Loop, eventually: Eventually) -> None:
    for path in (SERVICE, PREFILL, DECODE, PG, *ROUTES.values()):
        api.remove(path)

    await eventually(lambda: not (running.memories or running.voice.said or running.writer.trails))
