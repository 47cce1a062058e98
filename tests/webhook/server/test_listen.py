"""Who is connected, how many, and for how long."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest

from tests.webhook.running import QUICK, Served, serving, until
from tests.wire import connected, ended, post, read
from webhook.server.listen import ConnectionTracker, Limits

FEW = replace(QUICK, connections=4, handshake_seconds=5.0)
Caller = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def strangers(served: Served, number: int) -> AsyncIterator[list[Caller]]:
    """Connect so many who shake hands and ask nothing."""
    async with AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(connected(served.port, served.tls)) for _ in range(number)]
        await until(lambda: len(tracker(served).connections) == min(number, served.state.limits.connections))
        yield callers


def tracker(served: Served) -> ConnectionTracker:
    assert served.state.tracker is not None
    return served.state.tracker


async def ask(caller: Caller) -> int:
    caller[1].write(post("/mutate"))
    return (await read(caller[0])).status


# How many


async def test_a_newcomer_finds_room_among_idle_callers() -> None:
    async with serving(limits=FEW) as served, strangers(served, 4) as callers:
        for one in callers:
            await ask(one)

        reply = await served.post()

        assert (reply.status, served.cut) == (200, ["crowded"])


async def test_who_asked_longest_ago_makes_room() -> None:
    async with serving(limits=FEW) as served, strangers(served, 4) as callers:
        for one in callers[1:] + callers[:1]:
            await ask(one)
        await served.post()

        assert await ended(callers[1][0])
        assert await ask(callers[0]) == 200


async def test_strangers_make_room_before_those_who_have_asked() -> None:
    async with serving(limits=FEW) as served, strangers(served, 1) as (known,):
        await ask(known)
        async with strangers(served, 12):
            assert await ask(known) == 200


async def test_of_strangers_the_first_to_come_makes_room() -> None:
    async with serving(limits=FEW) as served, strangers(served, 4) as callers:
        await served.post()

        assert await ended(callers[0][0])
        assert await ask(callers[1]) == 200


async def test_who_never_shakes_hands_makes_room_too() -> None:
    async with serving(limits=FEW) as served, AsyncExitStack() as stack:
        first, *_rest = [await stack.enter_async_context(connected(served.port)) for _ in range(4)]
        await until(lambda: len(tracker(served).connections) == 4)

        reply = await served.post()

        assert (reply.status, await ended(first[0], 2)) == (200, True)


@pytest.mark.parametrize("tls", [True, False], ids=["shake hands", "do not"])
async def test_a_flood_never_makes_more_connections_than_may_be(tls: bool) -> None:  # noqa: FBT001
    async with serving(limits=FEW) as served, AsyncExitStack() as stack:
        opening = [connected(served.port, served.tls if tls else None) for _ in range(40)]
        await asyncio.gather(*map(stack.enter_async_context, opening), return_exceptions=True)

        await until(lambda: len(served.cut) >= 36)

        assert len(tracker(served).connections) <= 4


async def test_those_who_left_are_not_counted() -> None:
    async with serving(limits=FEW) as served:
        for _ in range(20):
            await served.post()

        assert served.cut == []


# Why one is cut


async def test_headers_that_take_too_long_are_counted() -> None:
    async with serving() as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(b"POST /mutate HTTP/1.1\r\n")
        await ended(reader, 10 * QUICK.header_seconds)

        assert served.cut == ["headers"]


async def test_a_handshake_that_fails_is_counted_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as served, connected(served.port) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await ended(reader)

        assert (served.cut, served.counted, caplog.records) == (["handshake"], [], [])


async def test_a_handshake_that_takes_too_long_is_counted() -> None:
    async with serving() as served, connected(served.port) as (reader, _writer):
        await ended(reader, 10 * QUICK.handshake_seconds)

        assert served.cut == ["handshake"]


# How long


async def test_an_old_connection_is_asked_to_close() -> None:
    async with serving(limits=replace(QUICK, connection_seconds=0.0)) as served:
        reply = await served.post()

        assert (reply.status, reply.headers["connection"]) == (200, "close")


async def test_an_old_connection_is_asked_to_close_by_a_refusal_too() -> None:
    async with serving(limits=replace(QUICK, connection_seconds=0.0)) as served:
        reply = await served.post(path="/nowhere")

        assert (reply.status, reply.headers["connection"]) == (404, "close")


async def test_a_young_connection_is_kept() -> None:
    async with serving() as served:
        reply = await served.post()

        assert "connection" not in reply.headers


async def test_connections_that_began_together_do_not_end_together() -> None:
    async with serving() as served, strangers(served, 4):
        ends = {one.old_at for one in tracker(served).connections}

        assert max(ends) - min(ends) > 1


def test_connections_are_renewed_within_ten_minutes() -> None:
    assert 2 * Limits().connection_seconds <= 600


def test_a_body_has_time_to_come_after_the_last_connection() -> None:
    assert Limits().body_seconds < Limits().finish_seconds


async def test_a_request_that_came_whole_is_answered_however_slow_we_are() -> None:
    async with serving() as served, connected(served.port, served.tls) as caller:
        for _ in range(6):
            caller[1].write(post("/mutate"))
            for _ in range(7):
                time.sleep(1.5 * QUICK.header_seconds)  # noqa: ASYNC251 - the loop is the server's too
                await asyncio.sleep(0)

            assert (await read(caller[0])).status == 200
        assert served.cut == []
