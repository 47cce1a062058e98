"""A paused service is reconciled without writes; a resumed one is served at once."""

import logging
from functools import partial

import pytest

from sync.controller import Controller
from sync.kinds import INFERENCE_SERVICE, POD_GROUP
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.running.test_controller import DECODE, PREFILL
from tests.sync.samples import KEY, inference_service, lws, routed
from tests.sync.served import HOME, PG, SERVICE, change

PAUSED = "fusioninfer.io/paused"


def would(controller: Controller, **labels: str) -> float:
    """Return the number of paused writes."""
    families = controller.metrics.registry.collect()
    samples = [one for family in families for one in family.samples]
    found = [one for one in samples if one.name == "fusioninfer_sync_paused_writes_total"]
    return sum(one.value for one in found if labels.items() <= one.labels.items())


def annotate(api: Api, path: str, value: str | None) -> None:
    """Set or remove the annotation."""
    metadata = api.objects[path]["metadata"]
    others = {key: one for key, one in metadata.get("annotations", {}).items() if key != PAUSED}
    change(api, path, metadata=metadata | {"annotations": others | ({PAUSED: value} if value else {})})


@pytest.mark.usefixtures("admission")
async def test_a_process_that_only_observes_writes_nothing_and_logs_each_write(
    api: Api, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    api.put(SERVICE, routed())

    controller = start(observe_only=True)
    await quiet(4)

    assert api.writes == []
    assert would(controller, kind="LeaderWorkerSet") >= 2
    assert would(controller, kind="InferenceService") >= 1
    assert sum(record.message == "would write" for record in caplog.records) == would(controller)


@pytest.mark.parametrize("member", [PREFILL, DECODE])
async def test_any_paused_member_pauses_its_service(api: Api, start: Start, member: str) -> None:
    api.put(PREFILL, lws("p"))
    api.put(DECODE, lws("d", "decoder"))
    annotate(api, member, "true")
    controller = start()
    await eventually(lambda: would(controller, kind="PodGroup") >= 1)
    sample = partial(controller.metrics.registry.get_sample_value, "fusioninfer_sync_paused")
    paused = sample()

    written = list(api.writes)
    annotate(api, member, None)
    await eventually(lambda: PG in api.objects and sample() == 0)

    assert (written, paused) == ([], 1)


async def test_a_paused_service_gets_no_events_until_it_is_resumed(api: Api, start: Start) -> None:
    api.put(PREFILL, lws("p"))
    annotate(api, PREFILL, "true")
    controller = start()
    await eventually(lambda: would(controller, kind="Event") >= 1)
    await quiet()

    written = list(api.writes)
    annotate(api, PREFILL, None)
    await eventually(lambda: bool(api.findings()))

    assert written == []


async def test_a_paused_service_is_not_repaired_pruned_or_reported(api: Api, served: Controller) -> None:
    annotate(api, SERVICE, "true")
    await eventually(lambda: served.states[KEY].is_paused)
    await quiet()
    api.writes.clear()

    api.remove(PG)
    change(api, SERVICE, spec={"roles": inference_service()["spec"]["roles"]}, status={})
    await quiet(3)
    written, pruned = list(api.writes), would(served, verb="delete")
    annotate(api, SERVICE, "false")

    await eventually(lambda: PG in api.objects)
    await eventually(lambda: not api.kept("httproutes"))
    await eventually(lambda: bool(api.objects[SERVICE]["status"]))
    assert (written, pruned > 0) == ([], True)


@pytest.mark.usefixtures("admission")
async def test_other_services_are_not_paused(api: Api, start: Start) -> None:
    api.put(SERVICE, inference_service())
    other = inference_service(name="r2", uid="uid-r2")
    api.put(INFERENCE_SERVICE.path(HOME, "r2"), other)
    annotate(api, SERVICE, "true")

    start()
    await eventually(lambda: POD_GROUP.path(HOME, "r2") in api.objects)

    assert [path for _, path in api.writes if "/r1" in path] == []
