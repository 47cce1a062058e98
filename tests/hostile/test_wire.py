"""Hostile connections, certificates, and the end of the process."""

import asyncio
import os
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
import trustme

from tests.builders.lws import lws
from tests.builders.patience import PATIENCE
from tests.builders.reviews import review
from tests.builders.wire import ask, connected, ended, get, post, read, request
from tests.hostile.server import PRODUCTION, Server, started
from tests.tiers import count

SENT = orjson.dumps(review(lws()))
OTHER = "127.0.0.2"
GONE = (ConnectionError, ssl.SSLError, asyncio.IncompleteReadError)


async def asked(server: Server, path: str = "/mutate") -> int:
    """Send a review on a new connection; return the status."""
    return (await ask(server.port, server.tls, SENT, path)).status


@asynccontextmanager
async def opened(server: Server, number: int, *, tls: bool) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """Open `number` connections from another address, a few at a time."""
    async with AsyncExitStack() as stack:
        writers = []
        for _ in range(number // 10):
            opening = [connected(server.port, server.tls if tls else None, OTHER) for _ in range(10)]
            opened = await asyncio.gather(*map(stack.enter_async_context, opening))
            writers += [writer for _reader, writer in opened]
        yield writers


async def test_more_connections_than_files_block_no_request(tmp_path: Path) -> None:
    with started(tmp_path, files=60) as server:
        async with opened(server, 100, tls=False):
            assert [await asked(server) for _ in range(5)] == [200] * 5

        assert server.samples()['fusioninfer_connections_cut_total{reason="crowded"}'] >= 40


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
async def test_only_the_api_servers_certificate_is_accepted(tmp_path: Path, version: str) -> None:
    ca, other = trustme.CA(), trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "callers.pem")
    with started(tmp_path, ca=str(tmp_path / "callers.pem"), names=["apiserver"]) as server:
        server.tls.maximum_version = ssl.TLSVersion[version]
        with pytest.raises(GONE):
            await asked(server)
        for signer, name, status in (
            (other, "apiserver", None),
            (ca, "somebody", 403),
            (ca, "apiserver", 200),
        ):
            signer.issue_cert(common_name=name).configure_cert(server.tls)
            with suppress(*GONE):
                assert await asked(server) == status

        assert (await asked(server), server.is_alive()) == (200, True)
        assert (
            server.samples()['fusioninfer_admission_requests_total{outcome="forbidden",path="/mutate"}'] == 1
        )


HEAD = b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(SENT)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(SENT), SENT)
SMUGGLED = {
    "length and chunked": HEAD + LENGTH + CHUNKED + b"\r\n" + CHUNKS,
    "chunked and length": HEAD + CHUNKED + LENGTH + b"\r\n" + CHUNKS,
    "two lengths": HEAD + LENGTH + b"Content-Length: 1\r\n\r\n" + SENT,
    "one length twice": HEAD + LENGTH + LENGTH + b"\r\n" + SENT,
    "a list of lengths": HEAD + b"Content-Length: 5, 5\r\n\r\n" + SENT,
    "a signed length": HEAD + b"Content-Length: +5\r\n\r\n" + SENT,
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n" + SENT,
    "a hexadecimal length": HEAD + b"Content-Length: 0x5\r\n\r\n" + SENT,
    "a huge length": HEAD + b"Content-Length: 99999999999999999999\r\n\r\n" + SENT,
    "chunked twice": HEAD + CHUNKED + CHUNKED + b"\r\n" + CHUNKS,
    "chunked, and something else": HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKS,
    "almost chunked": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "a folded header": HEAD + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + CHUNKS,
    "a space before the colon": HEAD + b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKS,
    "a zero byte in a header": HEAD + b"X: \x00\r\n" + LENGTH + b"\r\n" + SENT,
    "a bare line feed": HEAD + b"X: y\n" + LENGTH + b"\r\n" + SENT,
    "a chunk of no length": HEAD + CHUNKED + b"\r\n\r\n" + SENT,
    "a chunk of a signed length": HEAD + CHUNKED + b"\r\n-1\r\n" + SENT,
    "a chunk of a huge length": HEAD + CHUNKED + b"\r\n" + b"f" * 17 + b"\r\n" + SENT,
    "a chunk longer than it says": HEAD + CHUNKED + b"\r\n1\r\n" + SENT + b"\r\n0\r\n\r\n",
    "a chunk extension with a zero byte": HEAD + CHUNKED + b"\r\n2;\x00\r\n{}\r\n0\r\n\r\n",
    "no host and no version": b"POST /mutate\r\n\r\n",
    "another version": HEAD.replace(b"HTTP/1.1", b"HTTP/3.7") + LENGTH + b"\r\n" + SENT,
    "200 headers": HEAD + b"X: y\r\n" * 200 + LENGTH + b"\r\n" + SENT,
    "a header of 100 KB": HEAD + b"X: " + b"y" * 100_000 + b"\r\n" + LENGTH + b"\r\n" + SENT,
    "a path of 100 KB": HEAD.replace(b"/mutate", b"/" + b"m" * 100_000) + LENGTH + b"\r\n" + SENT,
}


@pytest.mark.parametrize("sent", SMUGGLED.values(), ids=SMUGGLED)
async def test_ambiguous_framing_is_refused_and_the_connection_closed(server: Server, sent: bytes) -> None:
    async with connected(server.port, server.tls) as (reader, writer):
        writer.write(sent + post("/validate", SENT))

        reply = await read(reader)

        assert (reply.status, await ended(reader)) == (400, True)


async def test_pipelined_requests_are_answered_in_order(server: Server) -> None:
    async with connected(server.port, server.tls) as (reader, writer):
        writer.write(post("/mutate", SENT) * 3 + post("/nowhere", SENT) + post("/validate", SENT))

        assert [(await read(reader)).status for _ in range(5)] == [200, 200, 200, 404, 200]


async def test_a_half_closed_connection_is_answered_or_closed(server: Server) -> None:
    _reader, writer = await asyncio.open_connection("127.0.0.1", server.metrics_port)
    writer.write(request("GET", "/healthz"))
    writer.write_eof()

    reply = await asyncio.wait_for(_reader.read(), PATIENCE)

    writer.close()
    assert reply == b"" or reply.startswith(b"HTTP/1.1 200")


async def test_a_signal_ends_the_process_without_a_failed_call(tmp_path: Path) -> None:
    patient = replace(PRODUCTION, drain_seconds=3.0, body_seconds=PATIENCE, finish_seconds=PATIENCE)
    with started(tmp_path, patient) as server:
        await ask(server.port, server.tls, SENT)  # else a second process starts meanwhile
        async with connected(server.port, server.tls) as (reader, writer):
            os.kill(server.process.pid, signal.SIGTERM)
            async with asyncio.timeout(PATIENCE):
                while (await get(server.metrics_port, "/readyz")).status == 200:  # noqa: ASYNC110 - the server is another process
                    await asyncio.sleep(0.02)
                reply = await ask(server.port, server.tls, SENT)
                writer.write(post("/mutate", SENT)[:-9])
                while await accepts(server):  # noqa: ASYNC110 - until the drain has ended
                    await asyncio.sleep(0.05)
            writer.write(SENT[-9:])
            last = await read(reader)

        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert (last.status, last.headers["connection"]) == (200, "close")
        assert await asyncio.to_thread(server.process.wait, PATIENCE) == 0
        assert [line["event"] for line in server.log()] == ["listening", "certificate", "stopped"]


async def accepts(server: Server) -> bool:
    """Return whether new connections are accepted."""
    try:
        async with connected(server.port):
            return True
    except ConnectionError:
        return False


async def test_thousands_of_requests_leak_nothing(server: Server) -> None:
    for _ in range(300):
        server.send(SENT)
    descriptors, memory = len(os.listdir(f"/proc/{server.process.pid}/fd")), server.memory()  # noqa: PTH208 - no disk is read

    for _ in range(50):
        await asked(server)
    for _ in range(count("REQUESTS")):
        server.send(SENT)

    left = len(os.listdir(f"/proc/{server.process.pid}/fd")) - descriptors  # noqa: PTH208 - no disk is read
    assert left <= 1
    assert server.memory() - memory < 3_000_000
