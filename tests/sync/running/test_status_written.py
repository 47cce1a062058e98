"""When the controller writes the status of an InferenceService, and when it does not."""

import asyncio
import copy
from collections.abc import Iterator
from itertools import count

import pytest

from intent import Object
from sync.decide import FIGHT
from sync.kinds import GATEWAYS, POD
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import inference_service
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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give every reconcile a time of its own."""
    seconds = count()
    monkeypatch.setattr("sync.controller.now", lambda: f"2026-01-01T12:00:{next(seconds) % 60:02}Z")
    yield
    assert next(seconds) > 0


def status_writes(api: Api) -> int:
    """Return the number of status writes."""
    return [path for _, path in api.writes].count(STATUS)


@pytest.mark.usefixtures("clock", "served")
async def test_a_settled_status_keeps_its_times(api: Api) -> None:
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
async def test_an_edit_or_another_controller_changes_no_equal_status(api: Api, start: Start) -> None:
    api.writes.clear()

    change(api, SERVICE, metadata=api.objects[SERVICE]["metadata"] | {"annotations": {"a": "b"}})
    await quiet()
    start()
    await quiet(2)

    assert api.writes == []


@pytest.mark.usefixtures("clock", "served")
async def test_each_pod_that_becomes_ready_causes_one_write_and_other_changes_none(api: Api) -> None:
    api.writes.clear()

    for at, name in enumerate(("r1-prefill", "r1-decode")):
        api.put(POD.path(HOME, f"{name}-0"), ready_pod(name))
        await eventually(lambda at=at: status_writes(api) == at + 1)  # type: ignore[misc] # mypy cannot infer a lambda with a default
        await quiet()
    api.put(POD.path(HOME, "r1-prefill-0"), ready_pod("r1-prefill", podIP="10.0.0.7"))
    await quiet()

    assert api.writes == [("PATCH", STATUS)] * 2


@pytest.mark.usefixtures("clock")
async def test_a_status_of_which_an_older_crd_prunes_a_field_is_written_once(api: Api, start: Start) -> None:
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


async def test_the_status_and_the_events_agree(api: Api, start: Start) -> None:
    api.put(SERVICE, inference_service(annotations={"fusioninfer.io/strategy": "queue-size"}))

    start()
    await eventually(lambda: bool(api.findings()))

    code = api.findings()[0]["message"].rpartition("(")[2][:5]
    await eventually(lambda: f"({code})" in condition(api, "Failed").get("message", ""))


@pytest.mark.usefixtures("served")
async def test_a_changed_gateway_reconciles_the_services_with_routes_on_it(api: Api) -> None:
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
