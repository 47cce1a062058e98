"""One process works at a time, and it stops before another one may start."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from intent import Object
from kube.client import Client, connect
from kube.pool import NOBODY
from kube.wire import LONG, read_at_any_depth
from sync.clock import steady
from sync.lease import Elector, Leadership, LeadershipLostError, Timing, holder
from tests.builders.virtual_time import VirtualTimeLoop, virtual_time
from tests.sync.conftest import Background, eventually, kubeconfig_of, serving
from tests.sync.fake_api import Api, status

Clients = Callable[[], Awaitable[Client]]
TIMING = Timing(lease_duration=60.0, renew_deadline=40.0, retry_period=0.2)
"""Tries in quick succession, and a Lease that is not lost on a busy machine."""
UNHURRIED = Timing(lease_duration=60.0, renew_deadline=40.0, retry_period=1.0)
"""Calls with enough time on a busy machine, where there is only one try."""
SHORT = Timing(lease_duration=6.0, renew_deadline=3.0, retry_period=1.0)
"""A Lease that is lost in two seconds, with one more to stop the work."""
SLOW = Timing(lease_duration=9.0, renew_deadline=6.0, retry_period=1.0)
"""The proportions of the defaults: a call that takes longer than the retry period is no failure."""
PATH = "/apis/coordination.k8s.io/v1/namespaces/system/leases/sync"


class Clock:
    """A clock that stands still until it is set forward."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Worker:
    """Work that never ends, and records when it began and when it was over."""

    def __init__(
        self, client: Client, name: str, timing: Timing = TIMING, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.leadership = Leadership(timing, clock=clock)
        self.elector = Elector(client, "system", "sync", name, self.leadership)
        self.leading: list[bool] = []
        self.began = self.ended = 0.0

    async def work(self) -> None:
        self.began = time.monotonic()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            self.ended = time.monotonic()

    async def lead(self) -> None:
        await self.elector.lead(self.work, self.leading.append)


Lead = Callable[..., Awaitable[tuple[Worker, asyncio.Task[None]]]]


@pytest.fixture
def lead(client: Client, background: Background) -> Lead:
    """Return a function that has a worker lead, and returns both once the work began."""

    async def begin(*settings: Any) -> tuple[Worker, asyncio.Task[None]]:
        worker = Worker(client, "a", *settings)
        leading = background(worker.lead())
        await eventually(lambda: worker.began > 0)
        return worker, leading

    return begin


def snapshots(api: Api) -> int:
    """Count the reads of the Lease; the holder writes without reading."""
    return api.requests.count(("GET", PATH))


def spec(api: Api) -> Object:
    value: Object = api.objects[PATH]["spec"]
    return value


async def test_a_second_process_waits_while_the_lease_is_renewed(
    api: Api, clients: Clients, background: Background
) -> None:
    clock = Clock()
    first, second = Worker(await clients(), "a"), Worker(await clients(), "b", clock=clock)
    background(first.lead())
    await eventually(lambda: first.began > 0)

    background(second.lead())
    await eventually(lambda: snapshots(api) > 1)
    for _ in range(3):
        clock.now += TIMING.lease_duration * 0.9
        renewed = spec(api)["renewTime"]
        await eventually(lambda: spec(api)["renewTime"] > renewed)  # noqa: B023 - awaited at once
        seen = snapshots(api)
        await eventually(lambda: snapshots(api) > seen + 1)  # noqa: B023 - awaited at once

    assert second.began == 0


async def test_a_released_lease_is_taken_at_once(api: Api, clients: Clients, background: Background) -> None:
    first, second = Worker(await clients(), "a", UNHURRIED), Worker(await clients(), "b", UNHURRIED)
    leading = background(first.lead())
    await eventually(lambda: first.began > 0)
    background(second.lead())

    leading.cancel()
    await eventually(lambda: second.began > 0)

    assert 0 < second.began - first.ended < UNHURRIED.renew_deadline
    assert spec(api)["leaseTransitions"] == 1


async def test_a_lease_that_is_not_renewed_expires(api: Api, client: Client, background: Background) -> None:
    held = {"holderIdentity": "gone", "leaseDurationSeconds": 90, "renewTime": "2099-01-01T00:00:00.000000Z"}
    api.put(PATH, {"kind": "Lease", "metadata": {"name": "sync"}, "spec": held})
    clock = Clock()
    worker = Worker(client, "b", clock=clock)

    background(worker.lead())
    await eventually(lambda: snapshots(api) > 2)
    clock.now += 89.9
    await eventually(lambda: snapshots(api) > 4)
    before = worker.began
    clock.now += 0.2
    await eventually(lambda: worker.began > 0)

    assert before == 0


def refuse(request: web.Request) -> web.StreamResponse | None:
    """End a connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@pytest.mark.parametrize("trouble", [{"fault": refuse}, {"latency": 5.0}], ids=["no answer", "a late one"])
async def test_work_ends_before_the_deadline_without_an_answer_in_time(
    api: Api, lead: Lead, trouble: dict[str, Any]
) -> None:
    worker, leading = await lead(SHORT)

    for name, value in trouble.items():
        setattr(api, name, value)
    with pytest.raises(LeadershipLostError):
        await leading

    assert 0 < worker.ended < worker.leadership.until


async def test_a_few_failures_do_not_lose_the_lease(api: Api, lead: Lead) -> None:
    worker, _ = await lead()
    answers = [status(500, "InternalError"), web.Response(text="<html>"), status(409, "Conflict")]
    api.fault = lambda _request: answers.pop() if answers else None

    await eventually(lambda: not answers)
    until = worker.leadership.until
    await eventually(lambda: worker.leadership.until > until)

    assert worker.leading == [True]


@pytest.mark.parametrize("timing", [Timing(), Timing(8.0, 5.0, 2.0), Timing(4.0, 3.0, 2.9)])
def test_between_two_renewals_there_is_time_to_stop_the_work(timing: Timing) -> None:
    assert 0 < timing.renewal < timing.renew_deadline - timing.retry_period


def test_a_renewal_that_failed_is_tried_again_sooner(tmp_path: Path) -> None:
    async def intervals() -> list[float]:
        loop, times = virtual_time(), list[float]()

        def fail_once(request: web.Request) -> web.StreamResponse | None:
            if request.method != "PUT":
                return None
            times.append(loop.time())
            return status(500, "InternalError") if len(times) == 3 else None

        async with serving() as api:
            api.fault = fail_once
            client = await connect(str(kubeconfig_of(api, tmp_path)))
            leading = asyncio.create_task(Worker(client, "a", Timing(), loop.time).lead())
            while len(times) < 5 and not leading.done():  # noqa: ASYNC110 - the fault has no event
                await asyncio.sleep(0.1)
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)
            await client.close()
        return [after - before for before, after in pairwise(times[:5])]

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(intervals()) == pytest.approx([3.0, 3.0, 2.0, 3.0], abs=0.5)


async def test_the_lease_of_another_holder_is_not_released(api: Api, lead: Lead) -> None:
    _, leading = await lead(UNHURRIED)

    api.edit(PATH, holderIdentity="b")
    leading.cancel()
    await asyncio.gather(leading, return_exceptions=True)

    assert spec(api)["holderIdentity"] == "b"


async def test_a_lease_lasts_from_when_its_write_was_sent(api: Api, client: Client) -> None:
    """The answer may take long: another process counts from when the API server stored the Lease."""
    clock = Clock()
    worker = Worker(client, "a", SHORT, clock)
    api.fault = lambda request: setattr(clock, "now", clock.now + (request.method != "GET"))

    assert await tries(worker)
    assert (worker.leadership.until, clock.now) == (1000 + SHORT.renew_deadline, 1001)


async def test_a_holder_learns_at_its_next_renewal_that_another_one_took_the_lease(
    api: Api, client: Client
) -> None:
    worker = Worker(client, "a")
    taken = await tries(worker)
    api.edit(PATH, holderIdentity="b")

    assert (taken, await tries(worker), holder(worker.elector.lease)) == (True, False, "b")


async def test_nothing_may_be_written_once_another_holder_is_seen(
    api: Api, client: Client, background: Background
) -> None:
    """Not even by a task that goes on before the work is cancelled."""
    worker, allowed = Worker(client, "a"), list[str]()

    async def write() -> None:
        while True:
            await asyncio.sleep(0)
            with contextlib.suppress(LeadershipLostError):
                worker.leadership.check()
                allowed.append(holder(worker.elector.lease))

    leading = background(worker.elector.lead(write, worker.leading.append))
    await eventually(lambda: "a" in allowed)
    api.edit(PATH, holderIdentity="b")
    with pytest.raises(LeadershipLostError):
        await leading

    assert (set(allowed), spec(api)["holderIdentity"]) == ({"a"}, "b")


async def test_a_process_that_finds_no_lease_works_after_the_holder_has_stopped(
    api: Api, clients: Clients, background: Background
) -> None:
    """It never saw the Lease that was deleted; the holder finds that out when it renews it."""
    first, second = Worker(await clients(), "a", UNHURRIED), Worker(await clients(), "b", UNHURRIED)
    leading = background(first.lead())
    await eventually(lambda: first.began > 0)
    renewed = spec(api)["renewTime"]
    await eventually(lambda: spec(api)["renewTime"] > renewed)
    api.remove(PATH)
    background(second.lead())

    with pytest.raises(LeadershipLostError):
        await leading
    await eventually(lambda: second.began > 0)

    assert first.ended < second.began


async def test_a_lease_whose_duration_was_edited_expires_no_earlier(api: Api, client: Client) -> None:
    clock = Clock()
    holding, waiting = (Worker(client, name, SHORT, clock) for name in "ab")
    taken = await tries(holding)
    api.edit(PATH, leaseDurationSeconds=1)

    tried = [await tries(waiting)]
    for seconds in (SHORT.lease_duration - 0.1, 0.2):
        clock.now += seconds
        tried.append(await tries(waiting))

    assert (taken, tried) == (True, [False, False, True])


async def test_a_deleted_lease_is_created_again(api: Api, lead: Lead) -> None:
    worker, _ = await lead()

    api.remove(PATH)

    await eventually(lambda: PATH in api.objects)
    assert worker.leading == [True]


async def test_one_of_many_candidates_works(api: Api, clients: Clients, background: Background) -> None:
    workers = [Worker(await clients(), name) for name in "abcde"]

    for worker in workers:
        background(worker.lead())
    await eventually(lambda: snapshots(api) > 3 * len(workers))

    assert sum(worker.began > 0 for worker in workers) == 1


def test_the_time_left_for_a_write_ends_at_the_deadline() -> None:
    clock = Clock()
    leadership = Leadership(TIMING, clock=clock)

    leadership.until = clock.now + 0.5

    assert leadership.check() == pytest.approx(0.5)
    clock.now += 0.5
    with pytest.raises(LeadershipLostError):
        leadership.check()


async def test_after_the_deadline_the_lease_is_not_released(api: Api, lead: Lead) -> None:
    clock = Clock()
    worker, leading = await lead(UNHURRIED, clock)

    clock.now = worker.leadership.until
    leading.cancel()
    await asyncio.gather(leading, return_exceptions=True)

    assert spec(api)["holderIdentity"] == "a"


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="no clock counts a machine's sleep")
def test_a_suspended_machine_does_not_stop_the_clock() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)

    now = steady()

    assert before <= now <= time.clock_gettime(time.CLOCK_BOOTTIME)


async def test_an_api_server_that_takes_most_of_a_second_a_call_has_a_leader(api: Api, lead: Lead) -> None:
    api.latency = 0.8 * SLOW.retry_period

    worker, _ = await lead(SLOW)
    until = worker.leadership.until
    await eventually(lambda: worker.leadership.until > until)

    assert worker.leading == [True]


async def test_the_process_parses_one_large_object_in_turn_while_a_lease_is_renewed_without_memory(
    api: Api, client: Client, background: Background
) -> None:
    kinds, read, turns, worker = 50, [0], [0], Worker(client, "a")
    client.pool.take(NOBODY, client.pool.size)

    def count(_text: bytes) -> None:
        read[0] += 1

    async def receive() -> None:
        while True:
            await read_at_any_depth(count, bytes(LONG + 1))
            await asyncio.sleep(0)

    async def turn() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    background(turn())
    for _ in range(kinds):
        background(receive())
    assert await tries(worker)
    before, since = read[0], turns[0]

    assert await tries(worker)
    assert 0 < read[0] - before <= turns[0] - since + 1
    assert spec(api)["holderIdentity"] == "a"


async def test_one_slow_renewal_does_not_lose_the_lease(api: Api, lead: Lead) -> None:
    worker, _ = await lead(SLOW)

    api.latency = 1.5 * SLOW.retry_period
    renewals = api.requests.count(("PUT", PATH))
    await eventually(lambda: api.requests.count(("PUT", PATH)) > renewals)
    api.latency = 0.4 * SLOW.retry_period
    until = worker.leadership.until
    for _ in range(3):
        await eventually(lambda: worker.leadership.until > until)  # noqa: B023 - awaited at once
        until = worker.leadership.until

    assert worker.leading == [True]
    assert snapshots(api) == 1, "no renewal failed, so the Lease was not read again"


async def test_a_lease_without_a_spec_is_acquired_and_led(api: Api, lead: Lead) -> None:
    api.put(PATH, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "sync"}})

    await lead()

    assert spec(api)["holderIdentity"] == "a"


def test_a_call_gets_half_of_the_renew_deadline_or_what_is_left() -> None:
    assert (TIMING.call, Timing().call) == (20.0, 5.0)


async def tries(worker: Worker) -> bool:
    """Try once to acquire or renew the Lease."""
    return await worker.elector._try(3.0)  # noqa: SLF001 - `lead` would try again and again


async def test_a_deleted_lease_of_another_holder_still_expires(api: Api, client: Client) -> None:
    """Its holder works until it notices: deleting the Lease does not stop the process."""
    clock = Clock()
    holding, waiting = (Worker(client, name, SHORT, clock) for name in "ab")
    taken = [await tries(worker) for worker in (holding, waiting)]
    api.remove(PATH)

    early = await tries(waiting)
    leads = holding.leadership.check() > 0
    clock.now += SHORT.lease_duration
    late = await tries(waiting)

    assert (taken, leads, early, late) == ([True, False], True, False, True)
