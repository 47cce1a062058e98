"""No service is lost, and none is reconciled by two workers, in any order of events."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from sync.queue import LANES, SPACES, Queue, Turns
from tests.builders.patience import PATIENCE

SHARE: Final = 2
KEYS: Final = [(space, name) for space in ("one", "two") for name in "abc"]
KEY = st.sampled_from(KEYS)
STEP = st.one_of(
    st.tuples(st.sampled_from(["add", "later", "retry", "never"]), KEY),
    st.tuples(st.just("resync"), st.lists(KEY, max_size=4)),
    st.tuples(st.sampled_from(["get", "done", "wait"]), st.none()),
)


class Model:
    """A model of the queue."""

    def __init__(self) -> None:
        self.queue = Queue(SHARE)
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
        """A namespace has at most its share of the reconciles."""
        return sum(one[0] == key[0] for one in self.busy) < SHARE

    def compare(self) -> None:
        """Each due key is in one lane, or waits for the end of its reconcile; no other key is anywhere."""
        queue = self.queue
        changed, unchanged = waiting(queue.ready), waiting(queue.unchanged)
        ready = changed | unchanged
        assert not changed & unchanged
        assert queue.begun.keys() == set(self.busy)
        assert not ready & queue.begun.keys()
        assert queue.again <= queue.begun.keys()
        assert ready | queue.again == self.owed
        assert all((*queue.ready.waiting.values(), *queue.unchanged.waiting.values()))


def waiting(lane: Turns[None]) -> set[tuple[str, str]]:
    return {key for keys in lane.waiting.values() for key in keys}


@given(st.lists(STEP, max_size=30))
def test_no_service_is_lost(steps: list[tuple[str, Any]]) -> None:
    async def run() -> None:
        model = Model()
        for step, what in steps:
            await model.play(step, what)
        for handle in model.queue.later.values():
            handle.cancel()

    asyncio.run(run())


@given(st.lists(st.booleans(), min_size=LANES * 8, max_size=LANES * 8))
def test_neither_lane_starves(news: list[bool]) -> None:
    """The resync continues despite constant changes; changes go first however long the resync is."""

    async def run() -> None:
        queue, resynced = Queue(), 0
        queue.resync([("resync", str(number)) for number in range(100)])
        queue.add(("news", "0"))
        for number, more in enumerate(news, 1):
            waiting, key = bool(queue.ready.waiting), await queue.get()
            resynced += key[0] == "resync"
            assert not waiting or key[0] == "news" or queue.taken == 0
            queue.done(key)
            if more:
                queue.add(("news", str(number)))
        assert resynced >= len(news) // LANES

    asyncio.run(run())


@given(st.integers(1, 300), st.integers(1, 4))
def test_services_of_a_namespace_delay_another_one_by_one_place(hostile: int, namespaces: int) -> None:
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


def begun(one: Queue) -> Iterator[tuple[str, str]]:
    """Begin as many reconciles as the queue lets through."""
    while key := one.take():
        yield key


@given(st.integers(1, 16), st.integers(1, SPACES - 1))
def test_endless_reconciles_of_some_namespaces_leave_a_slot_to_another(share: int, namespaces: int) -> None:
    one = Queue(share)
    for place in range(namespaces):
        for number in range(100):
            one.add((f"hostile-{place}", str(number)))
    assert len([*begun(one)]) == share * namespaces

    one.add(("other", "one"))

    assert [*begun(one)] == [("other", "one")]


@given(st.integers(SPACES, 5 * SPACES), st.integers(1, 4))
def test_where_namespaces_use_all_slots_another_waits_for_its_turn(namespaces: int, share: int) -> None:
    """Each reconcile of theirs fails at some time, and is tried again at once."""
    one = Queue(share)
    for place in range(namespaces):
        for number in range(share + 1):
            one.add((f"hostile-{place}", str(number)))
    assert len([*begun(one)]) == SPACES * share
    one.add(("other", "new"))
    ended = 0
    while ("other", "new") not in one.begun:
        one.done(key := next(iter(one.begun)))
        one.add(key)
        ended += len([*begun(one)])

    assert ended <= namespaces + 1
