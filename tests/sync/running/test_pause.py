"""A paused service is reconciled without writes; a resumed one is served at once."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from sync.kinds import INFERENCE_SERVICE, POD_GROUP
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.running.test_controller import DECODE, PREFILL
from tests.sync.samples import inference_service, lws, routed
from tests.sync.served import HOME, PG, SERVICE, annotate, change

Lines = list[MutableMapping[str, Any]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """The lines of the log."""
    with capture_logs() as written:
        yield written


def would(lines: Lines, **fields: str) -> int:
    """Return the number of writes that were withheld."""
    return sum(one["event"] == "would write" and fields.items() <= one.items() for one in lines)


@pytest.mark.usefixtures("admission")
async def test_a_process_that_only_observes_writes_nothing_and_logs_each_write(
    api: Api, start: Start, lines: Lines
) -> None:
    api.put(SERVICE, routed())

    start(observe_only=True)
    await quiet(4)

    assert api.writes == []
    assert would(lines, kind="LeaderWorkerSet") >= 2
    assert would(lines, kind="InferenceService") >= 1


@pytest.mark.parametrize("member", [PREFILL, DECODE])
async def test_any_paused_member_pauses_its_service(
    api: Api, start: Start, member: str, lines: Lines
) -> None:
    api.put(PREFILL, lws("p"))
    api.put(DECODE, lws("d", "decoder"))
    annotate(api, member, "paused", "true")
    start()
    await eventually(lambda: would(lines, kind="PodGroup") > 0)

    written = list(api.writes)
    annotate(api, member, "paused", None)
    await eventually(lambda: PG in api.objects)

    assert written == []


async def test_a_paused_service_gets_no_events_until_it_is_resumed(
    api: Api, start: Start, lines: Lines
) -> None:
    api.put(PREFILL, lws("p"))
    annotate(api, PREFILL, "paused", "true")
    start()
    await eventually(lambda: would(lines, kind="Event") > 0)
    await quiet()

    written = list(api.writes)
    annotate(api, PREFILL, "paused", None)
    await eventually(lambda: bool(api.findings()))

    assert written == []


@pytest.mark.usefixtures("served")
async def test_a_paused_service_is_not_repaired_pruned_or_reported(api: Api, lines: Lines) -> None:
    annotate(api, SERVICE, "paused", "true")
    api.remove(PG)
    await eventually(lambda: would(lines, kind="PodGroup") > 0)
    api.writes.clear()

    change(api, SERVICE, spec={"roles": inference_service()["spec"]["roles"]}, status={})
    await eventually(lambda: would(lines, verb="delete") > 0)
    await quiet()
    written = list(api.writes)
    annotate(api, SERVICE, "paused", "false")

    await eventually(lambda: PG in api.objects)
    await eventually(lambda: not api.kept("httproutes"))
    await eventually(lambda: bool(api.objects[SERVICE]["status"]))
    assert written == []


@pytest.mark.usefixtures("admission")
async def test_other_services_are_not_paused(api: Api, start: Start) -> None:
    api.put(SERVICE, inference_service())
    other = inference_service(name="r2", uid="uid-r2")
    api.put(INFERENCE_SERVICE.path(HOME, "r2"), other)
    annotate(api, SERVICE, "paused", "true")

    start()
    await eventually(lambda: POD_GROUP.path(HOME, "r2") in api.objects)

    assert [path for _, path in api.writes if "/r1" in path] == []
