"""Every service is reconciled once, by one worker, and later after a failure."""

import asyncio

from sync.clock import Backoff
from sync.queue import Queue
from tests.builders.patience import PATIENCE

A, B = ("ns", "a"), ("ns", "b")


async def test_a_key_may_be_added_with_a_delay() -> None:
    queue = Queue(4)

    queue.add_later(A, 0.05)

    assert not queue.ready.waiting
    assert await asyncio.wait_for(queue.get(), PATIENCE) == A


async def test_a_delay_can_be_removed() -> None:
    queue = Queue(4)
    queue.add_later(A, 0.02)

    queue.add_later(A, None)
    await asyncio.sleep(0.05)

    assert not queue.ready.waiting


def test_the_delay_grows_with_failures_to_a_maximum_or_is_what_the_server_asks_for() -> None:
    backoff = Backoff()
    first = [Backoff(last=0.02).next() for _ in range(200)]
    later = [Backoff(last=0.1).next() for _ in range(200)]

    assert sum(first) < sum(later)
    assert max(backoff.next() for _ in range(50)) <= 0.1
    assert Backoff().next(at_least=20) == 20
    assert Backoff().next(at_least=3600) == 60


async def test_the_age_of_the_queue_is_that_of_its_oldest_service() -> None:
    queue = Queue(4)
    assert (queue.depth(), queue.oldest()) == (0, 0.0)

    queue.resync([A])
    await asyncio.sleep(0.05)
    queue.add(B)
    queue.add(A)  # it waits since the resync

    assert queue.depth() == 2
    assert queue.oldest() >= 0.05
    for key in (await queue.get(), await queue.get()):
        queue.done(key)
    assert (queue.depth(), queue.oldest()) == (0, 0.0)


async def test_the_longest_reconcile_is_the_first_that_runs() -> None:
    queue = Queue(4)
    queue.add(A)
    first = await queue.get()
    await asyncio.sleep(0.05)
    queue.add(B)
    second = await queue.get()

    assert queue.longest() >= 0.05
    queue.done(first)
    assert queue.longest() < 0.05
    queue.done(second)
    assert queue.longest() == 0.0
