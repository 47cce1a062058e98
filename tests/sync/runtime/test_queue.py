"""Every service gets its look: once, by one worker, and later after a failure."""

import asyncio

from sync.runtime.clock import Backoff
from sync.runtime.queue import Queue

A, B = ("ns", "a"), ("ns", "b")


async def test_a_key_that_comes_twice_is_looked_at_once() -> None:
    queue = Queue()
    for key in (A, B, A):
        queue.add(key)

    looked = [await queue.get(), await queue.get()]

    assert (looked, queue.ready) == ([A, B], {})


async def test_a_key_that_comes_during_its_look_gets_another_one() -> None:
    queue = Queue()
    queue.add(A)
    await queue.get()

    queue.add(A)

    assert A not in queue.ready
    queue.done(A)
    assert await queue.get() == A


async def test_a_key_may_come_later() -> None:
    queue = Queue()

    queue.add_later(A, 0.05)

    assert not queue.ready
    assert await asyncio.wait_for(queue.get(), 1) == A


async def test_a_later_look_can_be_taken_back() -> None:
    queue = Queue()
    queue.add_later(A, 0.02)

    queue.add_later(A, None)
    await asyncio.sleep(0.05)

    assert not queue.ready


def test_who_is_told_to_wait_waits() -> None:
    assert Backoff().next(at_least=20) == 20


def test_it_never_waits_longer_than_the_longest() -> None:
    backoff = Backoff()

    waits = [backoff.next() for _ in range(50)]

    assert max(waits) <= 0.1


def test_it_waits_longer_after_more_failures() -> None:
    first = [Backoff(last=0.02).next() for _ in range(200)]
    later = [Backoff(last=0.1).next() for _ in range(200)]

    assert sum(first) < sum(later)
