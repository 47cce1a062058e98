"""No service is lost, and none is reconciled by two workers, in any order of events."""

import asyncio
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from sync.runtime.queue import SHARE, Queue
from tests.patience import PATIENCE

KEYS: Final = [(space, name) for space in ("one", "two") for name in "abc"]
KEY = st.sampled_from(KEYS)
STEP = st.one_of(
    st.tuples(st.sampled_from(["add", "later", "retry", "never", "soon", "in vain"]), KEY),
    st.tuples(st.just("sweep"), st.lists(KEY, max_size=4)),
    st.tuples(st.sampled_from(["get", "done", "wait"]), st.none()),
)


class Model:
    """A model of the queue."""

    def __init__(self) -> None:
        self.queue = Queue()
        self.owed: set[tuple[str, str]] = set()
        """Keys whose reconcile is due and has not begun since."""
        self.busy: list[tuple[str, str]] = []

    async def play(self, step: str, what: Any) -> None:
        """Do one step in both, and compare."""
        queue, key = self.queue, what
        if step == "add":
            queue.add(key)
            self.owed.add(key)
        elif step == "sweep":
            queue.sweep(what)
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
        elif step == "get" and self.owed - set(self.busy):
            got = await asyncio.wait_for(queue.get(), PATIENCE)
            assert got in self.owed
            assert got not in self.busy
            self.owed.discard(got)
            self.busy.append(got)
        elif step == "done" and self.busy:
            queue.done(self.busy.pop(0))
        self.compare()

    def compare(self) -> None:
        """Each due key is in one lane, or waits for the end of its reconcile; no other key is anywhere."""
        queue, ready = self.queue, {*self.queue.ready, *self.queue.unchanged}
        assert not queue.ready.keys() & queue.unchanged.keys()
        assert queue.busy == set(self.busy)
        assert not ready & queue.busy
        assert queue.again <= queue.busy
        assert ready | queue.again == self.owed
        assert {key for keys in queue.turns.values() for key in keys} == queue.ready.keys()
        assert all(queue.turns.values())


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
    """The sweep continues despite constant changes; changes go first however long the sweep is."""

    async def run() -> None:
        queue, swept = Queue(), 0
        queue.sweep([("sweep", str(number)) for number in range(100)])
        queue.add(("news", "0"))
        for number, more in enumerate(news, 1):
            waiting, key = bool(queue.ready), await queue.get()
            swept += key[0] == "sweep"
            assert not waiting or key[0] == "news" or queue.taken == 0
            queue.done(key)
            if more:
                queue.add(("news", str(number)))
        assert swept >= len(news) // SHARE

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
        assert len(taken) <= namespaces + 1

    asyncio.run(run())
