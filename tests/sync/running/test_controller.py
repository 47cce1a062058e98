"""The controller against a fake API server: what it writes, reports, repairs, and leaves alone."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from catalog.codes import CODES
from sync import WORKERS
from sync.controller import Controller
from sync.decide import FIGHT
from sync.kinds import LWS, POD_GROUP
from sync.lease import LeadershipLostError
from sync.state import ServiceState
from tests.builders.patience import PATIENCE
from tests.sync.conftest import WITHOUT_API, Background, Start, eventually, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import KEY, lws

PG = POD_GROUP.path("team-a", "r1")
PREFILL = LWS.path("team-a", "p")
DECODE = LWS.path("team-a", "d")
REPAIRS = "fusioninfer_sync_repairs_total"


@pytest.fixture
def service(api: Api) -> None:
    """Store a complete service."""
    api.put(PREFILL, lws("p"))
    api.put(DECODE, lws("d", "decoder"))


@pytest.fixture
async def running(api: Api, service: None, start: Start) -> Controller:  # noqa: ARG001 - stored first
    """Run a controller until a complete service has its PodGroup."""
    controller = start()
    await eventually(lambda: PG in api.objects)
    return controller


def reasons(api: Api) -> list[tuple[str, str]]:
    """Return names and reasons of the Events."""
    return sorted((event["involvedObject"]["name"], event["reason"]) for event in api.findings())


def pod_group_writes(api: Api) -> list[str]:
    """Return the methods of all writes of PodGroups."""
    return [method for method, path in api.writes if path == PG]


# --- objects it creates -----------------------------------------------------------------------------


@pytest.mark.usefixtures("running")
def test_a_complete_service_gets_its_pod_group_in_one_write(api: Api) -> None:
    assert api.objects[PG]["spec"]["minMember"] == 4
    assert api.writes == [("PATCH", PG)]


@pytest.mark.usefixtures("service")
async def test_a_dry_run_precedes_the_write(api: Api, start: Start) -> None:
    tried: list[tuple[str, dict[str, str]]] = []
    api.fault = lambda r: None if r.method == "GET" else tried.append((r.method, dict(r.query)))

    start()
    await eventually(lambda: len(tried) >= 2)

    manager = {"fieldManager": "fusioninfer"}
    write = {"force": "true", "timeout": "30000ms"}
    assert tried[:2] == [("POST", manager | {"dryRun": "All"}), ("PATCH", manager | write)]


async def test_an_incomplete_service_is_told_what_it_lacks_which_opens_the_gate(
    api: Api, start: Start
) -> None:
    api.put(PREFILL, lws("p"))
    controller = start()
    await eventually(lambda: bool(api.findings()))

    assert (PG in api.objects, reasons(api)) == (False, [("p", "WaitingForRole")])
    row = CODES["FI410"]
    waits = (
        "service r1 waits for a decoder: apply a LeaderWorkerSet with fusioninfer.io/component-type: decoder"
    )
    assert api.findings()[0]["message"] == f"{waits} (FI410: {row.remedy}. Cause: {row.cause})"
    assert controller.metrics.registry.get_sample_value("fusioninfer_sync_findings", {"code": "FI410"}) == 1

    api.put(DECODE, lws("d", "decoder"))

    await eventually(lambda: PG in api.objects)


@pytest.mark.usefixtures("running")
async def test_a_member_without_replicas_is_no_longer_required_after_a_while(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync.parts.gang.REST_AFTER", 0.2)

    api.edit(DECODE, replicas=0)

    await eventually(lambda: api.objects[PG]["spec"]["minMember"] == 2)


async def test_a_deleted_service_is_forgotten(api: Api, running: Controller) -> None:
    api.remove(DECODE)
    api.remove(PREFILL)

    await eventually(lambda: PG not in api.objects)

    await eventually(lambda: not running.states)


# --- objects it leaves alone ------------------------------------------------------------------------


@pytest.mark.usefixtures("running")
async def test_an_idle_controller_writes_nothing(api: Api) -> None:
    api.writes.clear()

    api.put(PREFILL, lws("p") | {"status": {"readyReplicas": 1}})
    api.put(PG, api.objects[PG] | {"status": {"phase": "Running"}})
    await quiet()

    assert api.writes == []


# --- repairs ----------------------------------------------------------------------------------------


async def test_what_others_add_or_change_is_undone_and_counted_as_a_repair(
    api: Api, running: Controller
) -> None:
    def counted() -> float:
        return running.metrics.registry.get_sample_value(REPAIRS, {"kind": "PodGroup"}) or 0.0

    added: dict[str, Any] = {"minResources": {"nvidia.com/gpu": 32}, "minTaskMember": {"prefill": 1}}
    added |= {"priorityClassName": "high"}
    assert counted() == 0

    api.edit(PG, **added)
    await eventually(lambda: not added.keys() & api.objects[PG]["spec"].keys())
    await eventually(lambda: counted() == 1)
    api.edit(PG, minMember=1)

    await eventually(lambda: api.objects[PG]["spec"]["minMember"] == 4)
    await eventually(lambda: counted() == 2)


@pytest.mark.usefixtures("running")
async def test_an_open_gate_outlasts_its_pod_group(api: Api) -> None:
    api.remove(DECODE)
    await eventually(lambda: api.objects[PG]["spec"]["minMember"] == 2)

    api.remove(PG)

    await eventually(lambda: PG in api.objects)


@pytest.mark.usefixtures("running")
async def test_a_write_that_is_always_reverted_is_given_up(api: Api, background: Background) -> None:
    async def undo() -> None:
        while True:
            await asyncio.sleep(0.02)
            if api.objects[PG]["spec"]["minMember"] != 1:
                api.edit(PG, minMember=1)

    background(undo())
    await eventually(lambda: len(pod_group_writes(api)) > FIGHT)
    await quiet()

    assert len(pod_group_writes(api)) == 1 + FIGHT
    assert reasons(api) == [("d", "ChangedByAnother"), ("p", "ChangedByAnother")]


@pytest.mark.usefixtures("service")
async def test_a_field_that_admission_changes_on_every_write_is_accepted(api: Api, start: Start) -> None:
    api.prune = lambda obj: obj["spec"].update(queue="team")

    start()
    await eventually(lambda: PG in api.objects)
    await quiet()
    api.writes.clear()
    api.edit(PREFILL, replicas=2)
    await quiet()

    assert api.writes == []


# --- Events -----------------------------------------------------------------------------------------


async def test_members_that_disagree_change_nothing_and_are_told_again_when_they_do_so_again(
    api: Api, running: Controller
) -> None:
    other = lws("d", "decoder")
    other["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] = "gpu"
    before = api.objects[PG]
    api.put(DECODE, other)
    await eventually(lambda: len(api.findings()) == 2)
    assert (api.objects[PG], reasons(api)) == (before, [("d", "MembersDisagree"), ("p", "MembersDisagree")])
    api.put(DECODE, lws("d", "decoder"))
    await eventually(lambda: not running.states[KEY].events.codes)

    api.put(DECODE, other)

    await eventually(lambda: [event["count"] for event in api.findings()] == [2, 2])


async def test_a_new_leader_goes_on_with_the_events_of_the_old_one(api: Api, start: Start) -> None:
    api.put(PREFILL, lws("p"))
    start()
    await eventually(lambda: bool(api.findings()))

    start()
    await quiet()

    written = {path for _, path in api.writes if "/events/" in path}
    assert (len(written), len(api.findings())) == (1, 1)


@pytest.mark.usefixtures("running")
async def test_lws_own_gang_scheduling_is_reported(api: Api) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "d-0", "uid": "pod"}
    labels = {"leaderworkerset.sigs.k8s.io/name": "d"}
    metadata = {"namespace": "team-a", "name": "d-0-5c9", "labels": labels, "ownerReferences": [owner]}

    api.put(POD_GROUP.path("team-a", "d-0-5c9"), {"kind": "PodGroup", "metadata": metadata, "spec": {}})

    await eventually(lambda: reasons(api) == [("d", "LeaderWorkerSetGangScheduling")])


# --- an old definition of PodGroups -----------------------------------------------------------------


def is_applied(request: web.Request) -> bool:
    """Return whether a request changes a PodGroup."""
    return request.method == "PATCH" and "/podgroups" in request.path


def prunes(api: Api) -> None:
    api.prune = lambda obj: obj["spec"].pop("subGroupPolicy", None)


def knows_no_subgroups(api: Api) -> None:
    message = "failed to create typed patch object: .spec.subGroupPolicy: field not declared in schema"
    api.fault = lambda request: status(500, "", message) if is_applied(request) else None


def is_missing(api: Api) -> None:
    api.absent = {"podgroups"}


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    "cause", [prunes, knows_no_subgroups, is_missing], ids=["pruned", "not in the schema", "no definition"]
)
async def test_a_definition_without_subgroups_gets_no_pod_group(
    api: Api, start: Start, cause: Callable[[Api], None]
) -> None:
    cause(api)

    start(settings=WITHOUT_API)
    await eventually(lambda: reasons(api) == [("d", "KindNotInstalled"), ("p", "KindNotInstalled")])

    assert api.kept("podgroups") == []


# --- errors -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("service")
async def test_a_refused_pod_group_is_reported_and_tried_again(
    api: Api, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync.state.RETRY_REFUSED", 0.1)
    message = "queue gpu is not open"
    api.fault = lambda request: status(403, "Forbidden", message, "r1") if is_applied(request) else None
    start()
    await eventually(lambda: len(api.findings()) == 2)
    assert f"{message}; tried again within a minute (FI872: " in api.findings()[0]["message"]

    api.fault = lambda _request: None

    await eventually(lambda: PG in api.objects)


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("code", [409, 429, 500, 503])
async def test_a_failed_write_is_tried_again(api: Api, start: Start, code: int) -> None:
    answers = [status(code, "Trouble") for _ in range(3)]
    api.fault = lambda request: answers.pop() if answers and request.method == "PATCH" else None

    controller = start()

    await eventually(lambda: PG in api.objects)
    await eventually(lambda: not controller.queue.failures)  # the next failure is tried again at once


@pytest.mark.usefixtures("service")
async def test_a_bug_in_one_service_does_not_stop_the_others(
    api: Api, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, situations = Controller.observe, dict[str, Any]()

    def wrong(self: Controller, state: ServiceState) -> Any:
        return right(self, state) if state.key == KEY else situations["bug"]

    monkeypatch.setattr(Controller, "observe", wrong)
    other = lws("other", "worker")
    for part in ("labels", "annotations"):
        other["metadata"][part]["fusioninfer.io/service"] = "a"
    api.put(LWS.path("team-a", "other"), other)

    start()

    await eventually(lambda: PG in api.objects)


def refuse() -> float:
    raise LeadershipLostError("over")


@pytest.mark.usefixtures("service")
async def test_after_the_deadline_nothing_is_written_and_the_controller_ends(api: Api, make: Start) -> None:
    controller = make(permit=refuse)

    with pytest.raises(ExceptionGroup) as ended:
        await asyncio.wait_for(controller.run(), PATIENCE)

    assert (ended.group_contains(LeadershipLostError), api.writes) == (True, [])


# --- many of them -----------------------------------------------------------------------------------


async def test_reconciles_that_write_nothing_do_not_delay_the_lease(running: Controller) -> None:
    for at in range(400):
        running.queue.add(("team-a", f"gone-{at}"))

    turns = 0
    while running.queue.ready.waiting or running.queue.begun:
        await asyncio.sleep(0)
        turns += 1

    assert turns >= 400 / WORKERS
