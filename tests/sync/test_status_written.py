"""When the loop writes the status of an InferenceService, and when it does not."""

import asyncio
import copy
from collections.abc import Iterator
from itertools import count

import pytest

from intent import Object
from sync.kinds import GATEWAYS, POD
from sync.runtime.apply_history import FIGHT
from tests.sync.conftest import Background, Eventually, Start, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import inference_service, routed
from tests.sync.served import (
    HOME,
    LISTENER,
    PG,
    PREFILL,
    ROUTES,
    SERVICE,
    STATUS,
    accepted,
    admit,
    change,
    condition,
    ready_pod,
    reported,
)

pytestmark = pytest.mark.usefixtures("admission")


@pytest.mark.usefixtures("served")
async def test_an_equal_status_is_not_written(api: Api) -> None:
    api.writes.clear()

    change(api, SERVICE, metadata=api.objects[SERVICE]["metadata"] | {"annotations": {"a": "b"}})
    await quiet()

    assert api.writes == []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every look at a service have a time of its own."""
    seconds = count()
    monkeypatch.setattr("sync.controller.now", lambda: f"2026-01-01T12:00:{next(seconds) % 60:02}Z")
    yield
    assert next(seconds) > 0


def status_writes(api: Api) -> int:
    """Count the writes of the status."""
    return [path for _, path in api.writes].count(STATUS)


@pytest.mark.usefixtures("clock", "served")
async def test_a_settled_status_keeps_its_times_look_after_look(api: Api, eventually: Eventually) -> None:
    before = copy.deepcopy(api.objects[SERVICE]["status"])
    api.writes.clear()

    for at in range(5):
        change(api, SERVICE, metadata=api.objects[SERVICE]["metadata"] | {"annotations": {"at": str(at)}})
        change(api, PREFILL, status={"readyReplicas": at})
        api.remove(PG)
        await eventually(lambda: PG in api.objects)
        await asyncio.sleep(0.1)
        await eventually(lambda: PG in api.objects)

    assert (status_writes(api), api.objects[SERVICE]["status"]) == (0, before)


@pytest.mark.usefixtures("clock", "served")
async def test_a_restarted_loop_finds_its_status_and_leaves_it(api: Api, start: Start) -> None:
    api.writes.clear()

    start()
    await quiet(2)

    assert api.writes == []


@pytest.mark.usefixtures("clock", "served")
async def test_each_pod_that_becomes_ready_is_one_write(api: Api, eventually: Eventually) -> None:
    api.writes.clear()

    for at, name in enumerate(("r1-prefill", "r1-decode")):
        api.put(POD.path(HOME, f"{name}-0"), ready_pod(name))
        await eventually(lambda at=at: status_writes(api) == at + 1)  # type: ignore[misc]
        await quiet()

    assert api.writes == [("PATCH", STATUS)] * 2


@pytest.mark.usefixtures("clock", "served")
async def test_what_a_pod_says_beside_is_no_write(api: Api, eventually: Eventually) -> None:
    api.put(POD.path(HOME, "r1-prefill-0"), ready_pod("r1-prefill"))
    await eventually(lambda: api.objects[SERVICE]["status"]["components"]["prefill"]["readyPods"] == 1)
    await quiet()
    api.writes.clear()

    api.put(POD.path(HOME, "r1-prefill-0"), ready_pod("r1-prefill", podIP="10.0.0.7"))
    await quiet()

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
    await quiet()
    written = status_writes(api)

    change(api, SERVICE, metadata=api.objects[SERVICE]["metadata"] | {"annotations": {"a": "b"}})
    await quiet(2)

    assert (status_writes(api), written < FIGHT) == (written, True)


@pytest.mark.usefixtures("served")
async def test_a_status_that_somebody_changed_is_written_again(api: Api, eventually: Eventually) -> None:
    change(api, SERVICE, status={"url": "http://elsewhere"})

    await eventually(lambda: reported(api, "RoutesReady") == "PickerNotAvailable")


@pytest.mark.usefixtures("clock", "served")
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
    await quiet(3)

    assert status_writes(api) == FIGHT


async def test_the_status_says_what_the_events_say(api: Api, start: Start, eventually: Eventually) -> None:
    api.put(SERVICE, inference_service(annotations={"fusioninfer.io/strategy": "queue-size"}))

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


@pytest.mark.usefixtures("served")
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
