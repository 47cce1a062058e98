"""The webhook as a whole: certificate, HTTPS server, probes, metrics, and the signals that end it."""

import asyncio
import json
import logging
import os
import re
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from certs.reload import CertificateDirectory
from intent.settings import Settings
from server import admission
from server.process import JSON_LINES
from tests.builders.certificates import development
from tests.builders.patience import PATIENCE
from tests.builders.wire import Reply, connected, ended, exchange, get, post, request
from webhook.server.listen import Limits

QUICK = Limits(drain_seconds=0.3, finish_seconds=2.0)
UID = "0df28fbd-5f5f-11e8-bc74-36e6bb280816"
REVIEW = orjson.dumps(
    {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": UID, "operation": "CREATE", "object": {"metadata": {"name": "plain"}, "spec": {}}},
    }
)


Scraped = tuple[socket.socket, CertificateDirectory] | None


@dataclass(frozen=True, slots=True)
class Running:
    """A webhook that runs in this process, and its ports."""

    port: int
    metrics_port: int
    directory: Path
    task: asyncio.Task[None]

    async def certify(self) -> ssl.SSLContext:
        """Write a certificate, wait until the webhook is ready, and return an SSL context that trusts it."""
        bundle = development(self.directory, ["localhost"])
        await ready(self.metrics_port, 200)
        return ssl.create_default_context(cadata=bundle.decode())

    async def sample(self, name: str) -> float:
        """Return the value of one series."""
        text = (await get(self.metrics_port, "/metrics")).body.decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        assert found, f"{name} is missing in\n{text}"
        return float(found[1])


async def ready(port: int, status: int) -> Reply:
    """Wait until `/readyz` answers with this status."""
    async with asyncio.timeout(PATIENCE):
        while (reply := await get(port, "/readyz")).status != status:  # noqa: ASYNC110 - it is asked over HTTP
            await asyncio.sleep(0.01)
        return reply


@asynccontextmanager
async def running(
    directory: Path, *names: str, limits: Limits = QUICK, scraped: Scraped = None
) -> AsyncIterator[Running]:
    sockets = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    source = CertificateDirectory(directory, names)
    task = asyncio.create_task(
        admission.webhook(
            sockets, source, admission.reviews(Settings()), limits, poll_seconds=0.02, scraped=scraped
        )
    )
    await get(ports[1], "/healthz")
    try:
        yield Running(ports[0], ports[1], directory, task)
    finally:
        if not task.done():
            os.kill(os.getpid(), signal.SIGTERM)
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(task, PATIENCE)


async def test_without_a_certificate_it_is_alive_and_with_one_it_is_ready(tmp_path: Path) -> None:
    async with running(tmp_path) as webhook:
        alive = await get(webhook.metrics_port, "/healthz")
        readiness = await get(webhook.metrics_port, "/readyz")
        expiry = await webhook.sample("fusioninfer_tls_not_after_seconds")
        await webhook.certify()

        assert (alive.status, expiry) == (200, 0)
        assert (readiness.status, readiness.body) == (503, b"no certificate that is valid now")
        assert await webhook.sample("fusioninfer_tls_not_after_seconds") > 1.7e9
        assert await webhook.sample('fusioninfer_tls_reloads_total{result="loaded"}') == 1


async def test_requests_are_counted_by_path_and_outcome_and_add_no_series(tmp_path: Path) -> None:
    async with running(tmp_path) as webhook:
        tls, before = await webhook.certify(), await names(webhook)
        sent = (
            ("/mutate", REVIEW),
            ("/mutate?timeout=1s", b"[]"),
            ("/nowhere", REVIEW),
            ("/validate", REVIEW),
        )
        replies = [await exchange(webhook.port, post(path, body), tls) for path, body in sent]

        counts = [
            await webhook.sample(f'fusioninfer_admission_requests_total{{outcome="{one}",path="{path}"}}')
            for one, path in (("unchanged", "/mutate"), ("malformed", "/mutate"), ("allowed", "/validate"))
        ]
        assert ([one.status for one in replies], counts) == ([200, 400, 404, 200], [1, 1, 1])
        assert json.loads(replies[0].body)["response"] == {"uid": UID, "allowed": True}
        assert await webhook.sample('fusioninfer_admission_duration_seconds_count{path="/validate"}') == 1
        assert before == await names(webhook)


async def test_connections_that_are_cut_are_counted_by_reason(tmp_path: Path) -> None:
    async with running(tmp_path) as webhook:
        async with connected(webhook.port) as (reader, writer):
            writer.write(b"not TLS at all")
            await ended(reader)

        assert await webhook.sample('fusioninfer_connections_cut_total{reason="handshake"}') == 1


async def test_a_missing_certificate_is_logged_with_its_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path):
        pass

    (record,) = (one for one in caplog.records if one.levelno == logging.WARNING)
    fields = vars(record)
    assert (fields["result"], fields["reason"]) == ("missing", "tls.crt does not exist")


async def test_a_certificate_that_the_metrics_have_too_is_counted_once(tmp_path: Path) -> None:
    scraped = socket.create_server(("127.0.0.1", 0)), CertificateDirectory(tmp_path)
    async with running(tmp_path, scraped=scraped) as webhook:
        tls = await webhook.certify()
        async with asyncio.timeout(PATIENCE):
            while scraped[1].served is None:  # noqa: ASYNC110 - another task reads the files
                await asyncio.sleep(0.01)
        reply = await exchange(scraped[0].getsockname()[1], request("GET", "/metrics"), tls)

    assert b'fusioninfer_tls_reloads_total{result="loaded"} 1.0' in reply.body


async def test_a_certificate_for_another_service_is_refused(tmp_path: Path) -> None:
    development(tmp_path, ["localhost"])
    async with running(tmp_path, "webhook.system.svc") as webhook:
        reply = await get(webhook.metrics_port, "/readyz")

        assert await webhook.sample('fusioninfer_tls_reloads_total{result="refused"}') == 1
        assert reply.status == 503


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_makes_it_unready_at_once_and_answers_ask_to_close(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with running(tmp_path, limits=Limits(drain_seconds=PATIENCE)) as webhook:
        tls = await webhook.certify()
        os.kill(os.getpid(), number)
        unready = await ready(webhook.metrics_port, 503)
        reply = await exchange(webhook.port, post("/mutate", REVIEW), tls)
        webhook.task.cancel()

    assert unready.body == b"draining"
    assert (reply.status, reply.headers["connection"]) == (200, "close")


def test_a_log_line_has_no_line_break_and_no_exception_message() -> None:
    line = lines_of(ValueError("s3cr3t\nsecond line"))

    assert "\n" not in line
    assert "s3cr3t" not in line
    assert (json.loads(line)["error"], json.loads(line)["event"]) == ("ValueError", "a\nb")


async def names(webhook: Running) -> set[str]:
    text = (await get(webhook.metrics_port, "/metrics")).body.decode()
    return {line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")}


def lines_of(error: Exception) -> str:
    """Render a record as the server does."""
    try:
        raise error
    except ValueError:
        record = logging.LogRecord("test", logging.ERROR, "", 0, "a\nb", None, sys.exc_info())
    return JSON_LINES.format(record)
