"""However a caller cuts what it sends, none of it takes much of the event loop outside of a turn.

And however many requests of others wait, a caller waits for few of them.
"""

import asyncio
import socket
import time
from asyncio import events
from contextlib import suppress
from dataclasses import replace
from functools import partial
from ipaddress import ip_network
from statistics import median
from typing import Final

import pytest

from tests.builders.wire import connected, post, read
from tests.hostile import worst
from tests.hostile.flood import addresses
from tests.webhook.running import CLIENT_TLS, serving, until
from webhook.review import AdmissionAnswer
from webhook.server.callers import Callers, Peer
from webhook.server.listen import Connection, Limits
from webhook.server.shares import LoopTurns

HEAD: Final = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED: Final = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS: Final = b"1\r\nx\r\n" * 40_000
LINE: Final = b"GET / HTTP/1.1\r\n"
CUT: Final[dict[str, tuple[bytes, int]]] = {
    "chunks": (CHUNKED % b"/mutate" + CHUNKS, 0),
    "chunks of a refused body": (CHUNKED % b"/nothing" + CHUNKS, 0),
    "requests": ((LINE + b"Host: x\r\n\r\n") * 10_000, 0),
    "headers": ((LINE + b"a:\r\n" * 100 + b"\r\n") * 500, 0),
    "records of a body": (HEAD % b"/mutate" + b"Content-Length: 20000\r\n\r\n" + b"x" * 20_000, 1),
    "records of headers": (LINE + b"".join(b"%d:%s\r\n" % (at, b"x" * 400) for at in range(50)), 1),
}
"""What a connection sends, and the size of its TLS records; 0: the largest."""
CONNECTIONS: Final = 50
FEW: Final = 5
"""Reviews of others: one has begun, and another may before the request is read."""
TRIES: Final = 3
MOST: Final = 20
"""The CPU time of the longest callback, as a multiple of `worst.reference`: a fifth of that of a review."""


def send(port: int, sent: bytes, size: int) -> None:
    """Send bytes; the server may end the connection before."""
    with (
        suppress(OSError),
        socket.create_connection(("127.0.0.1", port)) as plain,
        CLIENT_TLS.wrap_socket(plain, server_hostname="localhost") as line,
    ):
        line.settimeout(0.5)
        for at in range(0, len(sent), size or len(sent)):
            line.sendall(sent[at : at + (size or len(sent))])
        line.recv(1)


@pytest.fixture
def longest(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the CPU time of each callback of the event loop."""
    found: list[float] = []
    run = events.Handle._run  # noqa: SLF001 - what the event loop calls

    def measured(self: events.Handle) -> None:
        since = time.thread_time()
        run(self)
        found.append(time.thread_time() - since)

    monkeypatch.setattr(events.Handle, "_run", measured)
    return found


@pytest.mark.parametrize("what", CUT)
async def test_no_read_takes_much_of_the_event_loop(what: str, longest: list[float]) -> None:
    ratios = []
    async with serving() as served:
        await served.post()
        for _ in range(TRIES):
            longest.clear()
            await asyncio.to_thread(send, served.port, *CUT[what])
            ratios.append(max(longest) / worst.reference())
            if ratios[-1] < MOST:
                break

    assert min(ratios) < MOST


async def test_each_part_of_headers_takes_a_turn() -> None:
    async with serving() as served, connected(served.port, served.tls) as (reader, writer):
        served.state.turns.pause = 0.5
        since = time.monotonic()
        for part in (b"GET / HTTP/1.1\r\n", b"Host: x\r\n", b"\r\n"):
            writer.write(part)
            await asyncio.sleep(0.05)
        await read(reader)

    assert time.monotonic() - since > 0.75  # the second part waits, and then the request


async def test_a_part_of_a_body_takes_one_turn_and_the_last_one_that_of_its_review(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[bytes] = []
    wait = LoopTurns.wait

    async def counted(self: LoopTurns, peer: Peer, namespace: bytes = b"") -> None:
        waited.append(namespace)
        await wait(self, peer, namespace)

    def waited_since(count: int) -> bool:
        return len(waited) > count and not served.state.turns.is_busy

    async with serving() as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(post("/mutate", b"{}"))
        await read(reader)
        await until(lambda: not served.state.turns.is_busy)
        monkeypatch.setattr(LoopTurns, "wait", counted)
        for part in (HEAD % b"/mutate" + b"Content-Length: 19\r\n\r\n", b'{"namespace"'):
            writer.write(part)
            await until(partial(waited_since, len(waited)))
        writer.write(b':"ns0"}')
        await read(reader)

    assert waited == [b"", b"", b"ns0"]


EXTENDED: Final = CHUNKED % b"/mutate" + b"1;"
ENDLESS: Final[dict[str, tuple[bytes, bytes]]] = {
    "blank lines": (b"\r\n", b"\r\n"),
    "headers": (LINE, b"a: b\r\n"),
    "a chunk extension": (EXTENDED, b"a"),
    "a chunk extension behind a request": (LINE + b"Host: x\r\n\r\n" + EXTENDED, b"a"),
    "the rest of a refused body": (CHUNKED % b"/nothing" + b"1;", b"a"),
}
"""What a connection begins with, and goes on with for as long as it is read."""


@pytest.mark.parametrize("what", ENDLESS)
async def test_nothing_is_read_on_before_a_turn(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[bytes] = []
    received = Connection.data_received

    def counted(self: Connection, data: bytes) -> None:
        reads.extend([data] if data else [])
        received(self, data)

    begin, more = ENDLESS[what]
    async with serving() as served, connected(served.port, served.tls) as (reader, writer):
        monkeypatch.setattr(Connection, "data_received", counted)
        writer.write(begin)
        if "request" in what or "refused" in what:
            await read(reader)
        await until(lambda: bool(reads) and not served.state.turns.is_busy)
        served.state.turns.is_busy = True  # with the work of another caller that does not end
        for _ in range(20):
            writer.write(more)
            await asyncio.sleep(0.01)
        found = len(reads)
        served.state.turns.is_busy = False
        await served.state.turns.wait(Peer())  # and those that wait after it, so that the server ends

    assert found <= 3


@pytest.mark.parametrize("known", [False, True])
async def test_beside_many_requests_of_others_a_caller_waits_for_few(*, known: bool) -> None:
    """It has one connection; the others have one address, or, where the caller is known, many."""
    reviewed: list[bytes] = []

    def review(body: bytes) -> AdmissionAnswer:
        reviewed.append(body)
        time.sleep(0.001)
        return AdmissionAnswer(body, "unchanged")

    async def others(source: str) -> None:
        async with connected(served.port, served.tls, source) as (reader, writer):
            while not ended.is_set():
                writer.write(post("/mutate"))
                await read(reader)

    ended = asyncio.Event()
    callers = Callers(networks=(ip_network("127.0.0.1"),)) if known else Callers()
    async with serving(review, replace(Limits(), drain_seconds=0.0), callers) as served:
        sources = addresses(CONNECTIONS) if known else addresses(1) * CONNECTIONS
        tasks = [asyncio.create_task(others(source)) for source in sources]
        await until(lambda: len(reviewed) > 2 * CONNECTIONS)
        waited = []
        async with connected(served.port, served.tls) as (reader, writer):
            for _ in range(20):
                before = len(reviewed)
                writer.write(post("/mutate", b"{ }"))
                await read(reader)
                waited.append(len(reviewed) - before)
        ended.set()
        await asyncio.gather(*tasks)

    assert median(waited) <= FEW
