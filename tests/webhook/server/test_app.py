"""The webhook's server over real TLS sockets: what it accepts, what it refuses, and how it ends."""

import asyncio
import logging
import socket
import ssl
import time
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.builders.patience import PATIENCE
from tests.builders.wire import connected, ended, post, read, request
from tests.webhook.running import (
    QUICK,
    REVIEW,
    UID,
    USUAL,
    Served,
    cancelled,
    half_then_whole,
    serving,
    until,
)
from webhook.review import PEER, AdmissionAnswer, Malformed
from webhook.server.callers import Peer
from webhook.server.shares import FullError

# Answers


async def test_an_answer_is_the_json_of_the_callable_and_shows_no_versions() -> None:
    async with serving(lambda body: AdmissionAnswer(body, "patched")) as served:
        reply = await served.post()

        assert (reply.status, reply.body, served.counted) == (200, REVIEW, ["patched"])
        assert (reply.headers["content-type"], reply.headers["server"]) == ("application/json", "fusioninfer")
        assert "connection" not in reply.headers


@pytest.mark.parametrize(
    ("sent", "status", "counted"),
    [
        ({"path": "/mutate?timeout=5s"}, 200, ["unchanged"]),
        ({"Content_Type": "application/json; charset=utf-8"}, 200, ["unchanged"]),
        ({"body": b"x" * USUAL.body_bytes}, 200, ["unchanged"]),
        ({"path": "/mutate/"}, 404, []),
        ({"path": "//mutate"}, 404, []),
        ({"path": "/mutate/../metrics"}, 404, []),
        ({"path": "/%6dutate%00"}, 404, []),
        ({"Content_Type": "text/plain"}, 415, ["malformed"]),
        ({"Content_Type": ""}, 415, ["malformed"]),
        ({"Content_Type": "application/json-patch+json"}, 415, ["malformed"]),
        ({"body": b"not gzip at all", "Content_Encoding": "gzip"}, 415, ["malformed"]),
    ],
    ids=[
        *(
            *("a query", "a charset", "the most bytes", "an unknown path", "two slashes", "dots"),
            *("a zero byte", "text", "no type", "another type"),
        ),
        "an encoding",
    ],
)
async def test_a_request_is_reviewed_or_refused_and_counted_once(
    sent: dict[str, Any], status: int, counted: list[str]
) -> None:
    async with serving() as served:
        reply = await served.post(**sent)

        assert (reply.status, served.counted) == (status, counted)


async def test_the_address_of_the_caller_stands_where_an_answer_has_a_place_for_it() -> None:
    async with serving() as served:
        reply = await served.post(f'["{PEER}","of an author: {PEER}"]'.encode())

    assert reply.body == f'["called from 127.0.0.1","of an author: {PEER}"]'.encode()


async def test_a_body_may_arrive_in_pieces() -> None:
    sent = post("/mutate", REVIEW)
    async with serving() as served, connected(served.port, served.tls) as (reader, writer):
        for start in range(0, len(sent), 40):
            writer.write(sent[start : start + 40])
            await asyncio.sleep(0.005)

        reply = await read(reader)

        assert (reply.body, len(served.state.waiting)) == (REVIEW, 0)


async def test_after_a_body_in_pieces_the_connection_stays_usable() -> None:
    async with serving(limits=QUICK) as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(post("/mutate", b"{", Content_Length="2"))
        await asyncio.sleep(0.05)
        writer.write(b"}")
        await read(reader)
        await asyncio.sleep(3 * QUICK.header_seconds)
        writer.write(post("/mutate"))

        reply = await read(reader)

        assert reply.status == 200


async def test_an_answer_is_one_write() -> None:
    async with serving() as served:
        records = await asyncio.to_thread(records_of, served.port, served.tls, post("/mutate", REVIEW))

        assert records == 1


def records_of(port: int, tls: ssl.SSLContext, sent: bytes) -> int:
    """Send a request and count the TLS records of the answer; each write is one record."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = tls.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with socket.create_connection(("127.0.0.1", port), 5) as plain:
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                plain.sendall(outgoing.read())
                incoming.write(plain.recv(65536))
        client.write(sent)
        plain.sendall(outgoing.read())
        time.sleep(0.2)
        answer = plain.recv(65536)
    count = 0
    while answer:
        count += 1
        answer = answer[5 + int.from_bytes(answer[3:5], "big") :]
    return count


# Refusals


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "TRACE"])
async def test_other_methods_than_post_are_refused(method: str) -> None:
    async with serving() as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(request(method, "/mutate"))

        head = await reader.readline()

        assert head == b"HTTP/1.1 405 Method Not Allowed\r\n"


async def test_a_declared_length_over_the_limit_is_refused_before_a_byte_is_read() -> None:
    async with serving() as served:
        reply = await served.send(post("/mutate", b"", Content_Length=str(USUAL.body_bytes + 1)))

        assert (reply.status, reply.headers["connection"]) == (413, "close")


@pytest.mark.parametrize("chunks", [b"", b"2\r\n{}\r\n0\r\n\r\n"], ids=["that arrive", "that are there"])
async def test_a_body_of_chunks_is_refused_and_cut(chunks: bytes) -> None:
    async with serving() as served, connected(served.port, served.tls) as (reader, writer):
        chunked = post("/mutate", b"", Content_Length="", Transfer_Encoding="chunked")
        writer.write(chunked + chunks)

        reply = await read(reader)

        assert (reply.status, reply.headers["connection"], await ended(reader)) == (411, "close", True)


async def test_a_malformed_body_is_refused_with_the_reason() -> None:
    def refuse(_body: bytes) -> AdmissionAnswer:
        raise Malformed("no request \ud800")

    async with serving(refuse) as served:
        reply = await served.post()

        assert (reply.status, reply.body, served.counted) == (400, b"no request ?", ["malformed"])


@pytest.mark.parametrize(
    "sent",
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        post("/mutate", Transfer_Encoding="chunked"),
        b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"\x16\x03\x01 nonsense\r\n\r\n",
    ],
    ids=["http2", "length-and-chunked", "two-lengths", "bytes"],
)
async def test_invalid_http_is_refused_without_a_log(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as served:
        reply = await served.send(sent)

        assert (reply.status, reply.headers["server"], caplog.records) == (400, "fusioninfer", [])


async def test_a_bug_is_a_500_without_details_or_retry_and_logged_once_without_the_object(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(broken) as served:
        reply = await served.post()

    assert (reply.status, reply.body) == (500, b"internal error; see the webhook's log")
    assert "retry-after" not in reply.headers
    (record,) = caplog.records
    fields = vars(record)
    assert (fields["uid"], fields["error"], fields["path"]) == (UID, "KeyError", "/mutate")
    assert fields["trace"][-1].endswith(" broken")
    assert "s3cr3t" not in str(fields)


class Second:
    """The second process, of which one answer is known."""

    def __init__(self, answer: AdmissionAnswer | None) -> None:
        self.answer = answer

    def takes(self, _peer: Peer, _body: bytes) -> bool:
        return True

    async def review(self, _path: str, _peer: Peer, _body: bytes) -> AdmissionAnswer:
        if self.answer is None:
            raise FullError
        return self.answer


@pytest.mark.parametrize(
    ("answer", "status", "logged"),
    [
        (AdmissionAnswer(b"", "lost"), 500, ["the process for expensive reviews ended"]),
        (AdmissionAnswer(b'{"error":"KeyError"}', "bug"), 500, ["review failed"]),
        (AdmissionAnswer(b"no JSON", "malformed"), 400, []),
        (AdmissionAnswer(b"", "slow"), 504, []),
        (None, 429, []),
    ],
)
async def test_what_the_second_process_cannot_answer_is_an_http_error(
    caplog: pytest.LogCaptureFixture, answer: AdmissionAnswer | None, status: int, logged: list[str]
) -> None:
    async with serving() as served:
        served.state.offload = cast("Any", Second(answer))
        reply = await served.post()

    assert (reply.status, [record.message for record in caplog.records]) == (status, logged)


@pytest.mark.parametrize(("outcome", "logged"), [("unchanged", []), ("denied", [("denied", "/mutate", UID)])])
async def test_of_requests_those_that_are_denied_are_logged_once_with_their_uid(
    caplog: pytest.LogCaptureFixture, outcome: str, logged: list[Any]
) -> None:
    caplog.set_level(logging.INFO)
    async with serving(lambda body: AdmissionAnswer(body, outcome)) as served:
        await served.post()

    found = [(record.message, vars(record)["path"], vars(record)["uid"]) for record in caplog.records]
    assert found == logged


# Slow callers, and too many of them


async def test_headers_that_arrive_byte_by_byte_are_cut() -> None:
    async with serving(limits=QUICK) as served, connected(served.port, served.tls) as (reader, writer):
        drip = asyncio.create_task(dripping(writer))

        cut = await ended(reader)

        drip.cancel()
        assert cut


async def test_a_second_request_whose_headers_do_not_end_is_cut() -> None:
    async with serving(limits=QUICK) as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(post("/mutate"))
        await read(reader)
        writer.write(b"POST /mu")

        assert await ended(reader)


async def test_an_idle_connection_is_closed_after_its_limit() -> None:
    limits = replace(USUAL, keepalive_seconds=0.2)
    async with serving(limits=limits) as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(post("/mutate"))
        await read(reader)

        assert await ended(reader)


async def test_a_body_that_does_not_end_is_refused_and_cut() -> None:
    async with serving(limits=QUICK) as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(post("/mutate", b"{", Content_Length="9"))

        reply = await read(reader)

        assert (reply.status, served.counted, await ended(reader)) == (408, ["incomplete"], True)


async def test_a_caller_that_leaves_during_its_body_is_counted() -> None:
    async with serving(limits=replace(USUAL, body_seconds=PATIENCE)) as served:
        async with connected(served.port, served.tls) as (_reader, writer):
            writer.write(post("/mutate", b"{", Content_Length="9"))
            await asyncio.sleep(0.05)
        await until(lambda: bool(served.counted))

        assert served.counted == ["incomplete"]


async def test_the_body_that_waited_longest_is_evicted_when_too_many_wait() -> None:
    async with (
        serving(limits=replace(USUAL, reviews=1, body_seconds=PATIENCE)) as served,
        connected(served.port, served.tls) as (reader, writer),
    ):
        writer.write(post("/mutate", b"{", Content_Length="9"))
        await until(lambda: bool(served.state.waiting))
        newer = asyncio.create_task(half_then_whole(served))

        reply = await read(reader)

        assert (reply.status, reply.headers["retry-after"], (await newer).status) == (429, "1", 200)


async def test_the_number_of_waiting_bodies_is_bounded_and_they_do_not_delay_a_request() -> None:
    async with serving(limits=replace(USUAL, body_seconds=PATIENCE)) as served:
        tracker = [
            asyncio.create_task(served.send(post("/mutate", b"{", Content_Length="9"))) for _ in range(9)
        ]
        await until(lambda: len(served.counted) == 9 - USUAL.reviews)
        found = [*served.counted], len(served.state.waiting)

        reply = await served.post()

        await cancelled(tracker)
        assert (*found, reply.status) == (["overloaded"] * 7, 2, 200)


async def test_a_request_past_its_deadline_is_not_reviewed() -> None:
    async with serving() as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(post("/mutate?timeout=0s", b"{", Content_Length="2"))
        await asyncio.sleep(0.05)
        writer.write(b"}")

        reply = await read(reader)

        assert (reply.status, served.counted) == (504, ["late"])


# Draining


async def test_while_draining_every_answer_and_every_refusal_asks_to_close() -> None:
    async with serving(limits=replace(USUAL, drain_seconds=4.0)) as served:
        served.stop.set()
        await until(lambda: served.state.draining)

        replies = [await served.post(path=path) for path in ("/mutate", "/nowhere")]

        assert [(one.status, one.headers["connection"]) for one in replies] == [
            (200, "close"),
            (404, "close"),
        ]


async def test_after_draining_nothing_is_accepted() -> None:
    async with serving() as served:
        served.stop.set()

        async with asyncio.timeout(PATIENCE):
            while not await is_refused(served):  # noqa: ASYNC110 - only a connection shows it
                await asyncio.sleep(0.01)


async def is_refused(served: Served) -> bool:
    """Return whether a connection is refused; one may still be accepted, and closed unanswered."""
    try:
        await served.post()
    except (ConnectionError, asyncio.IncompleteReadError) as error:
        return isinstance(error, ConnectionRefusedError)
    return False


async def test_a_body_that_is_still_arriving_is_awaited() -> None:
    limits = replace(USUAL, body_seconds=PATIENCE)
    async with serving(limits=limits) as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(post("/mutate", b"{", Content_Length="2"))
        await until(lambda: bool(served.state.waiting))
        served.stop.set()
        await asyncio.sleep(0.2)
        writer.write(b"}")

        reply = await read(reader)

        assert (reply.status, reply.headers["connection"]) == (200, "close")


async def test_idle_connections_do_not_delay_the_end() -> None:
    async with serving(limits=QUICK) as served, connected(served.port, served.tls) as (reader, writer):
        writer.write(post("/mutate"))
        await read(reader)
        begun = time.monotonic()
        served.stop.set()

        await ended(reader)

        assert time.monotonic() - begun < QUICK.finish_seconds


def broken(body: bytes) -> AdmissionAnswer:
    raise KeyError(body.decode())


async def dripping(writer: asyncio.StreamWriter) -> None:
    for byte in b"POST /mutate HTTP/1.1\r\nHost: " + b"x" * 1000:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.02)
