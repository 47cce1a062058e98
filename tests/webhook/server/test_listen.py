"""Connections: how many, how old, and which one is cut."""

import asyncio
import errno
import socket
import ssl
import time
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import NoReturn

import pytest
from aiohttp import web

from tests.builders import key_updates
from tests.builders.patience import PATIENCE
from tests.builders.virtual_time import VirtualTimeLoop, virtual_time
from tests.builders.wire import connected, ended, post, read
from tests.webhook.running import QUICK, UID, USUAL, Served, serving, until
from webhook.server.callers import Callers
from webhook.server.listen import READ, UNREAD, Limits, Listener, Tls, listening
from webhook.server.shares import LoopTurns

FEW = replace(USUAL, connections=4, handshake_seconds=PATIENCE)
OTHER = "127.0.0.2"
Caller = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def opened(
    served: Served, number: int, source: str = "127.0.0.1", *, tls: bool = True
) -> AsyncIterator[list[Caller]]:
    """Open connections that send no request."""
    async with AsyncExitStack() as stack:
        opening = (connected(served.port, served.tls if tls else None, source) for _ in range(number))
        callers = [await stack.enter_async_context(one) for one in opening]
        await until(lambda: len(listener(served).connections) >= min(number, served.state.limits.connections))
        yield callers


def listener(served: Served) -> Listener:
    assert served.state.listener is not None
    return served.state.listener


async def ask(caller: Caller) -> int:
    caller[1].write(post("/mutate"))
    return (await read(caller[0])).status


def test_a_server_without_connections_has_no_timer() -> None:
    async def timers() -> int:
        loop = virtual_time()
        async with serving(limits=QUICK), asyncio.timeout(3600):
            before = loop.timers
            await asyncio.sleep(60)
            return loop.timers - before

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(timers()) == 1


# The limit


async def test_the_caller_idle_for_longest_is_evicted() -> None:
    async with serving(limits=FEW) as served, opened(served, 4) as callers:
        for one in callers[1:] + callers[:1]:
            await ask(one)
        reply = await served.post()

        assert (reply.status, served.cut) == (200, ["crowded"])
        assert await ended(callers[1][0])
        assert await ask(callers[0]) == 200


@pytest.mark.parametrize("tls", [True, False], ids=["with handshakes", "without"])
@pytest.mark.parametrize("asks", [True, False], ids=["asks", "is silent"])
async def test_many_connections_of_one_address_evict_none_of_another(*, tls: bool, asks: bool) -> None:
    async with serving(limits=FEW) as served, opened(served, 2) as callers:
        for one in callers:
            await ask(one)
        async with opened(served, 12, OTHER, tls=tls) as others:
            for one in others if tls and asks else ():
                with suppress(ConnectionError, asyncio.IncompleteReadError):
                    await ask(one)

            assert [await ask(one) for one in callers] == [200, 200]


async def test_with_many_addresses_each_keeps_its_share() -> None:
    async with serving(limits=replace(FEW, connections=8)) as served, opened(served, 8) as callers:
        for one in range(2, 5):
            async with opened(served, 8, f"127.0.0.{one}"):
                pass
        async with AsyncExitStack() as stack:
            for one in range(2, 5):
                await stack.enter_async_context(opened(served, 8, f"127.0.0.{one}"))

            assert [await ask(one) for one in callers[6:]] == [200, 200]
            assert [await ended(one[0]) for one in callers[:6]] == [True] * 6


KNOWN = Callers(networks=(ip_network("127.0.0.1"),))


async def test_half_of_the_connections_are_kept_for_known_callers() -> None:
    async with serving(limits=FEW, callers=KNOWN) as served, AsyncExitStack() as stack:
        for one in range(2, 8):
            await stack.enter_async_context(opened(served, 1, f"127.0.0.{one}"))
        await until(lambda: len(served.cut) == 4)
        async with opened(served, 2):
            assert (len(served.cut), len(listener(served).connections)) == (4, 4)


async def test_a_known_caller_evicts_others_and_is_never_evicted_by_them() -> None:
    async with (
        serving(limits=FEW, callers=KNOWN) as served,
        opened(served, 2, OTHER),
        opened(served, 4) as known,
    ):
        with pytest.raises(ConnectionError):
            await served.post(source=OTHER)

        assert [await ask(one) for one in known] == [200] * 4


async def test_an_address_makes_few_handshakes_at_once_and_another_does_not_wait_for_it() -> None:
    limits = replace(USUAL, handshake_seconds=PATIENCE)
    async with serving(limits=limits) as served, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(connected(served.port, source=OTHER)) for _ in range(20)]
        await until(lambda: len(listener(served).connections) == 20)
        same = asyncio.create_task(served.post(source=OTHER))

        assert ((await served.post()).status, same.done()) == (200, False)
        for _reader, writer in silent:
            writer.close()
        assert (await same).status == 200


async def test_of_many_handshakes_an_event_loop_turn_does_a_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, turns, seen = asyncio.get_running_loop(), 0, list[int]()
    plain = SSLProtocol.buffer_updated

    def tick() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(tick)

    def updated(self: SSLProtocol, nbytes: int) -> None:
        if isinstance(self, Tls) and not self.shaken.done():
            seen.append(turns)
        plain(self, nbytes)

    async def begun(served: Served, source: str) -> tuple[asyncio.StreamWriter, bytes]:
        """Return a connection and the bytes that complete its handshake."""
        read, written = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = served.tls.wrap_bio(read, written, server_hostname="localhost")
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port, local_addr=(source, 0))
        while True:
            try:
                client.do_handshake()
            except ssl.SSLWantReadError:
                writer.write(written.read())
                read.write(await reader.read(READ))
            else:
                return writer, written.read()

    monkeypatch.setattr(SSLProtocol, "buffer_updated", updated)
    async with serving(limits=replace(USUAL, handshake_seconds=PATIENCE)) as served:
        tick()
        callers = await asyncio.gather(*(begun(served, f"127.0.1.{one}") for one in range(1, 21)))
        for writer, last in callers:
            writer.write(last)
        await until(lambda: len(seen) >= 40)
        for writer, _ in callers:
            writer.transport.abort()

    assert len(set(seen)) == len(seen)


async def test_of_connections_without_a_request_the_oldest_is_evicted() -> None:
    async with serving(limits=FEW) as served, opened(served, 4) as callers:
        await served.post()

        assert await ended(callers[0][0])
        assert await ask(callers[1]) == 200


async def test_a_connection_without_a_handshake_is_evicted_too() -> None:
    async with serving(limits=FEW) as served, AsyncExitStack() as stack:
        opening = [connected(served.port, source=OTHER) for _ in range(4)]
        first, *_rest = [await stack.enter_async_context(one) for one in opening]
        await until(lambda: len(listener(served).connections) == 4)

        reply = await served.post()

        assert (reply.status, await ended(first[0])) == (200, True)


@pytest.mark.parametrize("tls", [True, False], ids=["with handshakes", "without"])
async def test_a_flood_never_exceeds_the_limit(tls: bool) -> None:  # noqa: FBT001 - a parameter of the test
    async with serving(limits=FEW) as served, AsyncExitStack() as stack:
        opening = [connected(served.port, served.tls if tls else None) for _ in range(40)]
        await asyncio.gather(*map(stack.enter_async_context, opening), return_exceptions=True)

        await until(lambda: len(served.cut) >= 36)

        assert len(listener(served).connections) <= 4


async def test_the_system_keeps_little_of_what_a_connection_sends_and_nobody_reads() -> None:
    async def answer(_request: web.BaseRequest) -> NoReturn:
        raise AssertionError

    with socket.create_server(("127.0.0.1", 0)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * UNREAD)
        async with listening(answer, sock, Limits(), callers=Callers(), turns=LoopTurns()):
            size = sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

    assert size <= 2 * UNREAD  # connections have that of their socket (`tcp(7)`)


@pytest.mark.parametrize(("number", "is_cut"), [(1, False), (200, True)])
async def test_a_connection_of_empty_records_is_cut(tmp_path: Path, number: int, *, is_cut: bool) -> None:
    async with serving() as served:
        assert await asyncio.to_thread(key_updates.send, served.port, number, tmp_path / "keys") == is_cut
        await until(lambda: not listener(served).connections)


@pytest.mark.parametrize(("size", "status"), [(700, 200), (16_000, 200), (1, 0)])
async def test_a_connection_whose_records_have_data_is_kept(size: int, status: int) -> None:
    sent = post("/mutate", b'{"request":{"uid":"' + UID.encode() + b'","object":"' + b"x" * 60_000 + b'"}}')
    async with serving() as served, connected(served.port, served.tls) as (reader, writer):
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            for at in range(0, len(sent), size):
                writer.write(sent[at : at + size])  # a record each
                await writer.drain()
            assert (await read(reader)).status == status
            status = 0

        assert status == 0


async def test_closed_connections_do_not_count() -> None:
    async with serving(limits=FEW) as served:
        for _ in range(20):
            await served.post()

        assert served.cut == []


# Reasons


async def test_slow_headers_are_counted() -> None:
    async with serving(limits=QUICK) as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(b"POST /mutate HTTP/1.1\r\n")
        await ended(reader)

        assert served.cut == ["headers"]


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00" * 50,
        b"\x16\x03\x01\xff\xff" + b"\x00" * 99,
        b"\x80\x2e\x01\x00\x02",
        b"SSH-2.0-x\r\n",
    ],
    ids=["HTTP", "HTTP/2", "zeros", "long record", "SSLv2", "SSH"],
)
async def test_a_failed_handshake_is_counted_not_logged(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(limits=QUICK) as served, connected(served.port) as (reader, writer):
        writer.write(sent)
        await ended(reader)

        assert (served.cut, served.counted, caplog.records) == (["handshake"], [], [])


async def test_a_slow_handshake_is_counted() -> None:
    async with serving(limits=QUICK) as served, connected(served.port) as (reader, _writer):
        await ended(reader)

        assert served.cut == ["handshake"]


# Age


async def test_each_answer_and_each_refusal_asks_an_old_connection_to_close() -> None:
    async with serving(limits=replace(USUAL, connection_seconds=0.0)) as served:
        replies = [await served.post(path=path) for path in ("/mutate", "/nowhere")]

        assert [(one.status, one.headers["connection"]) for one in replies] == [
            (200, "close"),
            (404, "close"),
        ]


async def test_the_maximum_age_varies_between_connections() -> None:
    async with serving() as served, opened(served, 4):
        ends = {one.old_at for one in listener(served).connections}

        assert max(ends) - min(ends) > 1


def test_the_limits_of_production_fit_each_other_and_api_servers() -> None:
    """These keep an idle connection for 90 s."""
    assert 2 * Limits().connection_seconds <= 600
    assert Limits().body_seconds < Limits().finish_seconds
    assert Limits().keepalive_seconds > 90


async def test_the_server_finishes_in_time_however_slow_it_is() -> None:
    limits = replace(USUAL, finish_seconds=0.5)

    async def others() -> None:
        while True:
            time.sleep(0.2)  # noqa: ASYNC251 - the event loop is the server's too
            await asyncio.sleep(0)

    async with AsyncExitStack() as later:
        async with serving(limits=limits) as served:
            _, writer = await later.enter_async_context(connected(served.port, served.tls))
            writer.write(post("/mutate", b"{", Content_Length="2"))
            await until(lambda: bool(served.state.waiting))
            busy, since = asyncio.create_task(others()), time.monotonic()
        took = time.monotonic() - since
        busy.cancel()

    assert took < 8.0  # 25 sleeps of 0.4 s, with those of the end, would be 13


async def test_without_files_the_server_does_not_accept_all_the_time() -> None:
    class Full(socket.socket):
        tried = 0

        def accept(self) -> NoReturn:
            self.tried += 1
            raise OSError(errno.EMFILE, "too many open files")

    async def answer(_request: web.BaseRequest) -> NoReturn:
        raise AssertionError

    sock = Full()
    sock.bind(("127.0.0.1", 0))
    async with listening(answer, sock, USUAL, callers=Callers(), turns=LoopTurns()):
        with socket.create_connection(sock.getsockname()):
            await asyncio.sleep(0.35)

    assert 2 <= sock.tried <= 5


async def test_a_complete_request_is_answered_however_slow_the_server_is() -> None:
    async with serving(limits=QUICK) as served, connected(served.port, served.tls) as caller:
        caller[1].write(post("/mutate"))
        assert (await read(caller[0])).status == 200
        for _ in range(2):
            caller[1].write(post("/mutate"))
            for _ in range(7):
                time.sleep(1.5 * QUICK.header_seconds)  # noqa: ASYNC251 - the event loop is the server's too
                await asyncio.sleep(0)

            assert (await read(caller[0])).status == 200
        assert served.cut == []
