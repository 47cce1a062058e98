"""The loop and InferenceServices, against a fake API server with our own admission in it."""

import asyncio
import copy
from typing import Any

import pytest
from aiohttp import web

from intent import Object
from intent.service import Finding
from intent.settings import Settings
from sync.kinds import GATEWAYS, INFERENCE_SERVICE, LWS, OUTPUTS, POD_GROUP
from sync.look import Look, Wanted
from sync.loop import Loop
from sync.seams import Seams
from sync.writer import FIGHT
from tests.sync.conftest import QUIET, Background, Eventually, Start
from tests.sync.fake_api import Api, status
from tests.sync.samples import inference_service, lws, role
from webhook.expand import expanded

HOME = "team-a"
SERVICE = INFERENCE_SERVICE.path(HOME, "r1")
PREFILL = LWS.path(HOME, "r1-prefill")
DECODE = LWS.path(HOME, "r1-decode")
PG = POD_GROUP.path(HOME, "r1")
ROUTES = {
    kind: OUTPUTS[kind].path(HOME, f"r1-{kind.lower()}")
    for kind in ("ServiceAccount", "ConfigMap", "InferencePool", "Deployment", "HTTPRoute")
}
SETTINGS = Settings()


def admit(obj: Object) -> None:
    """Expand LeaderWorkerSets as admission does, and default as the API server does."""
    if obj["kind"] == "LeaderWorkerSet":
        obj.update(expanded(obj, SETTINGS))
        obj["spec"].setdefault("startupPolicy", "LeaderCreated")
    if obj["kind"] == "Deployment":
        obj["spec"].setdefault("progressDeadlineSeconds", 600)


def routes(look: Look, _settings: Settings) -> Wanted:
    """Want one object of some kinds, if there is a router."""
    if look.value is None or look.value.router is None:
        return Wanted()
    return Wanted(tuple(route(kind) for kind in ROUTES))


def route(kind: str) -> Object:
    metadata = {"namespace": HOME, "name": f"r1-{kind.lower()}", "labels": {"fusioninfer.io/service": "r1"}}
    parents = {"parentRefs": [{"namespace": "infra", "name": "shared"}]} if kind == "HTTPRoute" else {}
    spec = {"replicas": 1, **parents}
    return {"apiVersion": OUTPUTS[kind].api_version, "kind": kind, "metadata": metadata, "spec": spec}


def counted(look: Look, findings: tuple[Finding, ...], _now: str) -> Object:
    """Give a status that says how much there is."""
    there, gateways = len(look.rows[LWS.kind]), [row.name for row in look.rows[GATEWAYS.kind]]
    said = {"said": sorted({finding.error.code for finding in findings})}
    seen = {"gateways": gateways} if gateways else {}
    return {"sets": there, **said, **seen, **({} if look.settled else {"settled": False})}


SEAMS = Seams(routes, counted)
ROUTER = {"name": "router", "componentType": "router"}
ROUTED = inference_service(role("prefill", "prefiller"), role("decode", "decoder"), ROUTER)


@pytest.fixture(autouse=True)
def _admission(api: Api) -> None:
    api.prune = admit


@pytest.fixture
async def running(api: Api, start: Start, eventually: Eventually) -> Loop:
    """Run a loop until an InferenceService has all that it should have."""
    api.put(SERVICE, ROUTED)
    loop = start(seams=SEAMS)
    await eventually(lambda: {PREFILL, DECODE, PG, *ROUTES.values()} <= api.objects.keys())
    await eventually(lambda: api.objects[SERVICE].get("status") == {"sets": 2, "said": []})
    await asyncio.sleep(QUIET)
    return loop


def reasons(api: Api) -> list[tuple[str, str, str]]:
    """Say which Events there are on which objects."""
    about = [(event["involvedObject"], event["reason"]) for event in api.kept("events")]
    return sorted((subject["kind"], subject["name"], reason) for subject, reason in about)


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

    assert written == [PREFILL, DECODE, *ROUTES.values(), PG]


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

    api.put(SERVICE, inference_service(role("prefill", "prefiller"), changed, ROUTER))

    await eventually(lambda: api.objects[DECODE]["spec"]["replicas"] == 3)


@pytest.mark.usefixtures("running")
async def test_replicas_that_nobody_asks_for_are_an_autoscalers(api: Api, eventually: Eventually) -> None:
    free = role("decode", "decoder")
    del free["replicas"]
    api.put(SERVICE, inference_service(role("prefill", "prefiller"), free, ROUTER))
    await eventually(lambda: "replicas" not in api.objects[DECODE]["spec"])

    api.edit(DECODE, replicas=7)
    await asyncio.sleep(QUIET)

    assert api.objects[DECODE]["spec"]["replicas"] == 7


# --- what it leaves alone ---------------------------------------------------------------------------


@pytest.mark.usefixtures("running")
async def test_a_restarted_loop_writes_nothing(api: Api, start: Start) -> None:
    api.writes.clear()

    start(seams=SEAMS)
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
    metadata = {"namespace": HOME, "name": "r1-configmap", "labels": labels}
    api.put(ROUTES["ConfigMap"], {"kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}})
    api.put(SERVICE, ROUTED)

    start(seams=SEAMS)
    await eventually(lambda: bool(api.kept("events")))

    assert ("spec" in api.objects[ROUTES["ConfigMap"]], reasons(api)) == (
        False,
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
@pytest.mark.parametrize("kind", ROUTES)
async def test_a_hand_edit_of_a_route_is_repaired(api: Api, eventually: Eventually, kind: str) -> None:
    api.edit(ROUTES[kind], replicas=0)

    await eventually(lambda: api.objects[ROUTES[kind]]["spec"]["replicas"] == 1)


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
    api.put(SERVICE, inference_service(role("prefill", "prefiller"), role("decode-a", "decoder"), ROUTER))

    renamed = LWS.path(HOME, "r1-decode-a")
    await eventually(lambda: renamed in api.objects and DECODE not in api.objects)

    assert ("PATCH", PREFILL) not in api.writes[api.writes.index(("DELETE", DECODE)) :]


@pytest.mark.usefixtures("running")
async def test_while_the_new_name_is_refused_the_old_lws_stays(api: Api, eventually: Eventually) -> None:
    def refuse(request: web.Request) -> web.Response | None:
        creates = request.method == "POST" and request.path == LWS.path(HOME)
        return status(403, "Forbidden", "exceeded quota", "r1-decode-a") if creates else None

    api.fault = refuse
    api.put(SERVICE, inference_service(role("prefill", "prefiller"), role("decode-a", "decoder"), ROUTER))
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
    api.put(SERVICE, ROUTED)

    start(seams=SEAMS)
    await eventually(lambda: bool(api.kept("events")))

    assert {PREFILL, DECODE, PG, ROUTES["ConfigMap"]} <= api.objects.keys()


async def test_it_names_the_crds_that_are_missing(api: Api, start: Start, eventually: Eventually) -> None:
    api.absent = {"inferencepools", "httproutes", "gateways"}
    api.put(SERVICE, ROUTED)

    start(seams=SEAMS)
    await eventually(lambda: bool(api.kept("events")))

    message = api.kept("events")[0]["message"]
    assert message.startswith(
        "this cluster has no InferencePool of inference.networking.k8s.io/v1; "
        "install the CRDs of the Gateway API Inference Extension (FI870: "
    )


async def test_what_needs_a_missing_kind_is_not_tried(api: Api, start: Start, eventually: Eventually) -> None:
    api.absent = {"inferencepools"}
    api.put(SERVICE, ROUTED)

    start(seams=SEAMS)
    await eventually(lambda: bool(api.kept("events")))

    assert not {ROUTES["Deployment"], ROUTES["HTTPRoute"]} & api.objects.keys()


async def test_crds_that_come_later_need_no_restart(
    api: Api, start: Start, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync.loop.ASK_AGAIN", 0.1)
    api.absent = {"inferencepools", "httproutes", "gateways"}
    api.put(SERVICE, ROUTED)
    start(seams=SEAMS)
    await eventually(lambda: bool(api.kept("events")))

    api.absent = set()

    await eventually(lambda: set(ROUTES.values()) <= api.objects.keys())


async def test_missing_kinds_do_not_concern_who_has_no_routes(
    api: Api, start: Start, eventually: Eventually
) -> None:
    api.absent = {"inferencepools", "httproutes", "gateways"}
    api.put(SERVICE, inference_service())

    start(seams=SEAMS)
    await eventually(lambda: PG in api.objects)
    await asyncio.sleep(QUIET)

    assert api.kept("events") == []


async def test_a_missing_kind_is_logged_once(
    api: Api, start: Start, caplog: pytest.LogCaptureFixture, eventually: Eventually
) -> None:
    caplog.set_level("INFO")
    api.absent = {"httproutes"}

    start(seams=SEAMS)
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
    api.put(SERVICE, ROUTED)

    start(seams=SEAMS)

    await eventually(lambda: set(ROUTES.values()) <= api.objects.keys())


async def test_one_write_that_fails_does_not_stop_the_others(
    api: Api, start: Start, eventually: Eventually
) -> None:
    def fail(request: web.Request) -> web.Response | None:
        writes = request.method != "GET" and request.path.startswith(LWS.path(HOME))
        return status(500, "InternalError", "failed calling webhook") if writes else None

    api.fault = fail
    api.put(SERVICE, ROUTED)

    start(seams=SEAMS)

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


# --- its status -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("running")
async def test_an_equal_status_is_not_written(api: Api) -> None:
    api.writes.clear()

    change(api, SERVICE, metadata=api.objects[SERVICE]["metadata"] | {"annotations": {"a": "b"}})
    await asyncio.sleep(QUIET)

    assert api.writes == []


@pytest.mark.usefixtures("running")
async def test_a_status_that_somebody_changed_is_written_again(api: Api, eventually: Eventually) -> None:
    change(api, SERVICE, status={"sets": 9})

    await eventually(lambda: api.objects[SERVICE]["status"] == {"sets": 2, "said": []})


async def test_the_status_says_what_the_events_say(api: Api, start: Start, eventually: Eventually) -> None:
    api.put(SERVICE, inference_service(role("a"), role("b")))

    start(seams=SEAMS)

    await eventually(lambda: bool(api.kept("events")))
    code = api.kept("events")[0]["message"].rpartition("(")[2][:5]
    await eventually(lambda: api.objects[SERVICE].get("status") == {"sets": 0, "said": [code]})


async def test_the_status_knows_whether_all_is_stored(api: Api, start: Start, eventually: Eventually) -> None:
    api.absent = {"inferencepools"}
    api.put(SERVICE, ROUTED)

    start(seams=SEAMS)

    missing = {"sets": 2, "said": ["FI870"], "settled": False}
    await eventually(lambda: api.objects[SERVICE].get("status") == missing)


@pytest.mark.usefixtures("running")
async def test_a_gateway_that_changes_is_seen_by_the_service_whose_route_hangs_on_it(
    api: Api, eventually: Eventually
) -> None:
    metadata = {"namespace": "infra", "name": "shared"}

    api.put(GATEWAYS.path("infra", "shared"), {"kind": "Gateway", "metadata": metadata})

    await eventually(lambda: api.objects[SERVICE]["status"].get("gateways") == ["shared"])


async def test_a_service_that_is_gone_is_forgotten(api: Api, running: Loop, eventually: Eventually) -> None:
    for path in (SERVICE, PREFILL, DECODE, PG, *ROUTES.values()):
        api.remove(path)

    await eventually(lambda: not (running.memories or running.voice.said or running.writer.trails))
