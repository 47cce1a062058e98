"""Who may read the metrics with TLS: tokens that the API server answers for, and certificates of a CA."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
import trustme
from prometheus_client import CollectorRegistry, Gauge

from certs.reload import CertificateDirectory, listener, poll
from intent import Object
from kube.client import ApiError, Client
from kube.request import Request
from server import probes
from server.scrapes import ACCESS, TOKENS, by_token, made_context
from tests.builders.certificates import development
from tests.builders.wire import Reply, exchange, get, request

KNOWN = {"authenticated": True, "user": {"username": "prom", "groups": ["monitoring"], "extra": {"a": ["b"]}}}
LOCAL = "127.0.0.1", 0


class ApiServer:
    """Answers the two reviews, as a client does."""

    def __init__(self, answers: Mapping[str, Object | Exception]) -> None:
        self.answers = answers
        self.sent: list[Any] = []
        self.waiting = self.most = 0

    async def call(self, asked: Request, seconds: float) -> Object:
        """Return the status of a review, after others had time to come."""
        assert seconds <= 5
        answer = self.answers[asked.path]
        self.sent.append(cast("Object", asked.body)["spec"])
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0.01)
        self.waiting -= 1
        if isinstance(answer, Exception):
            raise answer
        return {"status": answer}


@asynccontextmanager
async def serving(scrapes: probes.Scrapes) -> AsyncIterator[tuple[int, int]]:
    """Serve probes, and metrics with TLS; return both ports."""
    registry = CollectorRegistry()
    Gauge("answer", "The answer.", registry=registry).set(42)
    plain = socket.create_server(LOCAL)
    async with probes.serving(plain, registry, lambda: "", scrapes=scrapes):
        yield plain.getsockname()[1], scrapes.sock.getsockname()[1]


def anybody() -> ssl.SSLContext:
    """Return the context of a client that verifies nothing."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def scrape(port: int, token: str = "", tls: ssl.SSLContext | None = None, **more: str) -> Reply:
    headers = {"Authorization": token} if token else {}
    sent = request(
        more.get("method", "GET"),
        more.get("path", "/metrics"),
        b"",
        Content_Type="",
        Content_Length="",
        **headers,
    )
    return await exchange(port, sent, tls or anybody())


@asynccontextmanager
async def of_controller(tokens: Object | Exception, access: Object | Exception) -> AsyncIterator[Any]:
    api = ApiServer({TOKENS: tokens, ACCESS: access})
    sock = socket.create_server(LOCAL)
    async with serving(
        probes.Scrapes(sock, made_context("localhost"), by_token(cast("Client", api)))
    ) as ports:
        yield api, ports


async def test_a_token_that_may_get_the_path_gets_the_metrics() -> None:
    async with of_controller(KNOWN, {"allowed": True}) as (api, (plain, secure)):
        reply = await scrape(secure, "Bearer abc")

        assert (reply.status, b"\nanswer 42.0\n" in reply.body) == (200, True)
        assert api.sent == [
            {"token": "abc"},
            {
                "user": "prom",
                "uid": "",
                "groups": ["monitoring"],
                "extra": {"a": ["b"]},
                "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
            },
        ]
        assert (await get(plain, "/readyz")).status == 200


@pytest.mark.parametrize(
    ("token", "known", "allowed", "reason"),
    [
        ("", KNOWN, {"allowed": True}, "send a token"),
        ("Basic YTpi", KNOWN, {"allowed": True}, "send a token"),
        ("Bearer ", KNOWN, {"allowed": True}, "send a token"),
        ("Bearer a", {"authenticated": False, "error": "expired"}, {"allowed": True}, "does not know"),
        ("Bearer a", {}, {"allowed": True}, "does not know"),
        ("Bearer a", {"authenticated": True}, {"allowed": True}, "did not say"),
        ("Bearer a", KNOWN, {"allowed": False}, "prom may not get the path /metrics"),
        ("Bearer a", KNOWN, {}, "fusioninfer-metrics-reader"),
        ("Bearer a", ApiError(403, {"message": "forbidden"}), {"allowed": True}, "did not say"),
        ("Bearer a", KNOWN, TimeoutError(), "did not say"),
        ("Bearer a", aiohttp.ClientError(), {"allowed": True}, "did not say"),
    ],
)
async def test_without_both_answers_a_token_gets_nothing(
    token: str, known: Object | Exception, allowed: Object | Exception, reason: str
) -> None:
    async with of_controller(known, allowed) as (_, (_, secure)):
        reply = await scrape(secure, token)

        assert (reply.status, b"answer" in reply.body) == (403, False)
        assert reason in reply.body.decode()


async def test_one_token_is_reviewed_at_a_time() -> None:
    async with of_controller({}, {"allowed": True}) as (api, (_, secure)):
        replies = await asyncio.gather(*(scrape(secure, f"Bearer {at}") for at in range(20)))

    assert {reply.status for reply in replies} == {403}
    assert (len(api.sent), api.most) == (20, 1)


async def test_with_tls_the_plain_port_has_no_metrics_and_the_other_has_nothing_else() -> None:
    async with of_controller(KNOWN, {"allowed": True}) as (api, (plain, secure)):
        replies = [
            await get(plain, "/metrics"),
            await scrape(secure, "Bearer a", path="/readyz"),
            await scrape(secure, "Bearer a", method="DELETE"),
        ]

        assert [reply.status for reply in replies] == [404, 404, 405]
        assert api.sent == []


@pytest.mark.parametrize(("signer", "status"), [("ours", 200), ("another", None), ("", None)])
async def test_a_webhook_shows_its_metrics_to_certificates_of_its_ca(
    tmp_path: Path, signer: str, status: int | None
) -> None:
    bundle, cas = development(tmp_path, ["localhost"]), {"ours": trustme.CA(), "another": trustme.CA()}
    cas["ours"].cert_pem.write_to_path(tmp_path / "ca.crt")
    source = CertificateDirectory(tmp_path, client_ca=tmp_path / "ca.crt")
    poll(source, datetime.now(UTC))
    tls = ssl.create_default_context(cadata=bundle.decode())
    if signer:
        cas[signer].issue_cert(common_name="prometheus").configure_cert(tls)
    seen = None
    async with serving(probes.Scrapes(socket.create_server(LOCAL), listener(source))) as (_, secure):
        with suppress(OSError, EOFError):
            seen = (await scrape(secure, tls=tls)).status

    assert seen == status
