"""What varies between tries causes no hot loop: reconciles, writes and Events stay few."""

import asyncio
import copy
from collections.abc import Iterator
from itertools import count

import pytest
from aiohttp import web

from intent.service.member import ServiceKey
from sync import clock
from sync.controller import Controller
from sync.decide import REWORDING, REWORDINGS, ApplyHistory
from sync.kinds import POD_GROUP
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import inference_service, lws
from tests.sync.served import HOME, SERVICE, STATUS, condition

SECONDS = 4.0
"""Duration of the test in seconds; the second try comes after half a second, so there are few."""


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the retry delays of a real cluster."""
    monkeypatch.setattr(clock, "SHORTEST", 0.5)
    monkeypatch.setattr(clock, "LONGEST", 30.0)


@pytest.fixture(params=[(500, "InternalError"), (403, "Forbidden")], ids=["may pass", "refused"])
def varying(api: Api, request: pytest.FixtureRequest) -> Iterator[list[int]]:
    """Refuse PodGroups with a different message each time; return the number of tries."""
    numbers, tries = count(), [0]
    code, reason = request.param

    def refuse(asked: web.Request) -> web.StreamResponse | None:
        if asked.method == "GET" or "/podgroups" not in asked.path:
            return None
        tries[0] += 1
        return status(code, reason, f"connection from port {next(numbers) + 40000} was refused")

    api.fault = refuse
    yield tries
    api.fault = lambda _request: None


@pytest.mark.usefixtures("patient", "admission")
async def test_a_refusal_with_changing_messages_causes_few_tries_and_writes(
    api: Api, varying: list[int], start: Start
) -> None:
    api.put(SERVICE, inference_service())
    start()
    await eventually(lambda: varying[0] > 0)

    await asyncio.sleep(SECONDS)

    statuses = [path for _, path in api.writes].count(STATUS)
    assert (varying[0] <= 20, statuses <= 6) == (True, True), (varying[0], statuses)


def test_first_rewordings_are_written_at_once_and_further_ones_wait() -> None:
    history = ApplyHistory(desired=b"said 0", shape=b"NotScheduled")

    waits = [history.reword_in(f"said {number}".encode(), b"NotScheduled", 1.0) for number in range(1, 50)]

    assert waits[:REWORDINGS] == [0.0] * REWORDINGS
    assert all(0 < wait <= REWORDING for wait in waits[REWORDINGS:])
    assert history.reword_in(b"said 50", b"AllScheduled", 1.0) == 0.0


async def test_findings_that_no_longer_hold_are_forgotten_in_time(
    api: Api, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync.events.REPEAT", 0.1)
    api.put("/apis/leaderworkerset.x-k8s.io/v1/namespaces/team-a/leaderworkersets/p", lws("p"))
    controller = start()
    await eventually(lambda: bool(api.findings()))

    api.put("/apis/leaderworkerset.x-k8s.io/v1/namespaces/team-a/leaderworkersets/d", lws("d", "decoder"))
    await eventually(lambda: POD_GROUP.path(HOME, "r1") in api.objects)
    await quiet()
    api.edit(POD_GROUP.path(HOME, "r1"), minMember=1)
    await eventually(lambda: api.objects[POD_GROUP.path(HOME, "r1")]["spec"]["minMember"] == 4)

    (state,) = controller.states.values()
    await eventually(lambda: not any(one.latest.lasts for one in state.events.events.values()))


@pytest.mark.usefixtures("served")
async def test_our_own_status_causes_no_reconcile(
    api: Api, served: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots: list[object] = []
    reconcile = type(served).reconcile

    async def counted(controller: Controller, key: ServiceKey) -> object:
        snapshots.append(key)
        return await reconcile(controller, key)

    monkeypatch.setattr(type(served), "reconcile", counted)
    changed = copy.deepcopy(api.objects[SERVICE])
    changed["metadata"] |= {"generation": 2}

    api.put(SERVICE, changed)
    await eventually(lambda: condition(api, "Initialized")["observedGeneration"] == 2)
    await quiet(2)

    assert len(snapshots) == 1
