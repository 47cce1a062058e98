"""No service is lost, and none is reconciled by two workers, in any order of events."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync import WORKERS as WORKERS_OF_CONTROLLER
from sync.controller import SPARE
from sync.runtime import costs, queue
from sync.runtime.costs import NOTHING, Costs
from sync.runtime.queue import SHARE, Queue
from tests.builders.patience import PATIENCE

WORKERS: Final = 6
KEYS: Final = [(space, name) for space in ("one", "two") for name in "abc"]
KEY = st.sampled_from(KEYS)
STEP = st.one_of(
    st.tuples(st.sampled_from(["add", "later", "retry", "never", "soon", "in vain"]), KEY),
    st.tuples(st.just("resync"), st.lists(KEY, max_size=4)),
    st.tuples(st.sampled_from(["get", "done", "wait"]), st.none()),
)


class Model:
    """A model of the queue."""

    def __init__(self) -> None:
        self.queue = Queue(workers=WORKERS)
        self.owed: set[tuple[str, str]] = set()
        """Keys whose reconcile is due and has not begun since."""
        self.busy: list[tuple[str, str]] = []

    async def play(self, step: str, what: Any) -> None:
        """Do one step in both, and compare."""
        queue, key = self.queue, what
        if step == "add":
            queue.add(key)
            self.owed.add(key)
        elif step == "resync":
            queue.resync(what)
            self.owed |= set(what)
        elif step in ("later", "retry"):
            queue.add_later(key, 0.0) if step == "later" else queue.retry(key, 0.0)
            if step == "later":
                await asyncio.sleep(0.001)
                self.owed.add(key)
        elif step == "never":
            queue.add_later(key, None)
        elif step in ("soon", "in vain"):
            if key not in queue.soon:
                queue.add_within(key, 0.0, lambda: step == "soon")
                await asyncio.sleep(0.001)
                self.owed |= {key} if step == "soon" else set()
        elif step == "get" and any(map(self.may_begin, self.owed - set(self.busy))):
            got = await asyncio.wait_for(queue.get(), PATIENCE)
            assert got in self.owed
            assert got not in self.busy
            assert self.may_begin(got)
            self.owed.discard(got)
            self.busy.append(got)
        elif step == "done" and self.busy:
            queue.done(self.busy.pop(0))
        self.compare()

    def may_begin(self, key: tuple[str, str]) -> bool:
        """A namespace has at most as many reconciles as workers are free."""
        own = sum(one[0] == key[0] for one in self.busy)
        return own < WORKERS - len(self.busy)

    def compare(self) -> None:
        """Each due key is in one lane, or waits for the end of its reconcile; no other key is anywhere."""
        queue, ready = self.queue, {*self.queue.ready, *self.queue.unchanged}
        assert not set(queue.ready) & set(queue.unchanged)
        assert queue.busy == set(self.busy)
        assert not ready & queue.busy
        assert queue.again <= queue.busy
        assert ready | queue.again == self.owed
        assert all((*queue.ready.waiting.values(), *queue.unchanged.waiting.values()))
        assert queue.shares == Counter(key[0] for key in self.busy)


@given(st.lists(STEP, max_size=30))
def test_no_service_is_lost(steps: list[tuple[str, Any]]) -> None:
    async def run() -> None:
        model = Model()
        for step, what in steps:
            await model.play(step, what)
        for handle in (*model.queue.later.values(), *model.queue.soon.values()):
            handle.cancel()

    asyncio.run(run())


@given(st.lists(st.booleans(), min_size=SHARE * 8, max_size=SHARE * 8))
def test_neither_lane_starves(news: list[bool]) -> None:
    """The resync continues despite constant changes; changes go first however long the resync is."""

    async def run() -> None:
        queue, resynced = Queue(), 0
        queue.resync([("resync", str(number)) for number in range(100)])
        queue.add(("news", "0"))
        for number, more in enumerate(news, 1):
            waiting, key = bool(queue.ready), await queue.get()
            resynced += key[0] == "resync"
            assert not waiting or key[0] == "news" or queue.taken == 0
            queue.done(key)
            if more:
                queue.add(("news", str(number)))
        assert resynced >= len(news) // SHARE

    asyncio.run(run())


@given(st.integers(1, 300), st.integers(1, 4))
def test_services_of_one_namespace_delay_another_namespace_by_one_place(
    hostile: int, namespaces: int
) -> None:
    """A tenant whose services are all refused and retried at once gets one turn before another tenant."""

    async def run() -> None:
        queue = Queue()
        for place in range(namespaces):
            for number in range(hostile):
                queue.add((f"hostile-{place}", str(number)))
        for _ in range(3):
            key = await queue.get()
            queue.done(key)
            queue.add(key)
        queue.add(("other", "new"))
        taken = []
        while ("other", "new") not in taken:
            taken.append(await queue.get())
            queue.done(taken[-1])
        assert len(taken) <= namespaces + 1

    asyncio.run(run())


@given(st.integers(1, 300), st.integers(1, 4), st.integers(0, 1200))
def test_a_resync_goes_round_the_namespaces(many: int, namespaces: int, place: int) -> None:
    """A new leader comes to each tenant at once, however many services were written last by another one."""

    async def run() -> None:
        queue = Queue()
        keys = [(f"hostile-{one}", str(number)) for one in range(namespaces) for number in range(many)]
        queue.resync([*keys[:place], ("other", "one"), *keys[place:]])
        taken = []
        while ("other", "one") not in taken:
            taken.append(await queue.get())
            queue.done(taken[-1])
        assert len(taken) <= namespaces + 1

    asyncio.run(run())


@given(st.integers(1, 16), st.integers(1, 3))
def test_long_reconciles_of_some_namespaces_leave_a_worker_to_another(workers: int, namespaces: int) -> None:
    """None of theirs ends: the first namespace gets half of the workers, the next one a quarter."""

    async def run() -> None:
        queue = Queue(workers=2**namespaces * workers)
        for place in range(namespaces):
            for number in range(100):
                queue.add((f"hostile-{place}", str(number)))
        taken = 0
        while not taken or len(queue.busy) > taken:
            taken = len(queue.busy)
            with suppress(TimeoutError):
                await asyncio.wait_for(queue.get(), 0.001)
        queue.add(("other", "one"))
        assert await asyncio.wait_for(queue.get(), PATIENCE) == ("other", "one")

    asyncio.run(run())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return a clock that stands still until `now` is changed."""
    still = SimpleNamespace(now=1000.0)
    still.monotonic = lambda: still.now
    for module in (queue, costs):
        monkeypatch.setattr(module, "time", still)
    return still


def begun(one: Queue) -> Iterator[tuple[str, str]]:
    """Begin as many reconciles as the queue lets through."""
    while key := one.take():
        yield key


NAMESPACES: Final = 150
WORKERS_AT_MOST: Final = WORKERS_OF_CONTROLLER + 2 * SPARE
HELD: Final = 30
"""Seconds until a request that hangs is given up."""


def test_failing_services_of_many_namespaces_leave_a_worker_to_another(clock: SimpleNamespace) -> None:
    """Each holds a worker until its request is given up, and is tried again at once."""
    one, ends = Queue(workers=WORKERS_AT_MOST), dict[tuple[str, str], float]()
    for place in range(NAMESPACES):
        for number in range(5):
            one.add((f"hostile-{place}", str(number)))
    waited = []
    for second in range(5 * HELD):
        clock.now += 1.0
        for key in [key for key, at in ends.items() if at <= clock.now]:
            del ends[key]
            one.done(key)
            one.add(key)
        if all(one.costs.of(f"hostile-{place}") > 0.0 for place in range(NAMESPACES)):
            one.add(("other", f"new-{second}"))
            waited.append(("other", f"new-{second}"))
        for key in begun(one):
            if key[0] == "other":
                waited.remove(key)
                one.done(key)
            else:
                ends[key] = clock.now + HELD
        assert not waited
    assert one.costs.of("other") == 0.0
    assert len(one.busy) == WORKERS_AT_MOST * 3 // 4


def test_half_of_a_cost_is_forgotten_in_a_minute(clock: SimpleNamespace) -> None:
    spent = Costs()
    spent.charge("one", 8.0)

    clock.now += costs.HALF
    spent.charge("two", 1.0)

    assert (spent.of("one"), spent.of("two"), spent.of("three")) == (4.0, 1.0, 0.0)


def test_costs_that_are_nothing_are_not_kept(clock: SimpleNamespace) -> None:
    spent = Costs()
    for number in range(5):
        spent.charge(f"n{number}", 2 * NOTHING)

    clock.now += 2 * costs.HALF
    spent.charge("last", 1.0)

    assert [*spent.charged] == ["last"]


@pytest.mark.usefixtures("clock")
def test_a_namespace_that_costs_little_goes_first() -> None:
    one = Queue(workers=8)
    one.costs.charge("costly", queue.COSTLY + 1)
    for namespace in ("costly", "cheap"):
        one.add((namespace, "a"))

    assert [*begun(one)] == [("cheap", "a"), ("costly", "a")]


@pytest.mark.usefixtures("clock")
def test_costly_namespaces_have_a_worker_where_there_is_only_one() -> None:
    one = Queue(workers=1)
    one.costs.charge("costly", queue.COSTLY + 1)

    one.add(("costly", "a"))

    assert [*begun(one)] == [("costly", "a")]
