"""Run the webhook: its HTTPS server, its certificate, its metrics, and the signals that end it."""

import asyncio
import logging
import signal
import socket
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from catalog.release import VERSION
from certs import reload
from intent.settings import Settings
from server import probes
from server.warm_up import PATHS, Reviews, warm_up
from webhook import review, templated
from webhook.server import app, metrics
from webhook.server.callers import Callers
from webhook.server.listen import Limits
from webhook.server.offload import Offload
from webhook.server.reading import TemplateLoader

log: Final = structlog.stdlib.get_logger(__name__)


async def webhook(  # noqa: PLR0913 - each is a flag of the command
    source: reload.CertificateDirectory,
    settings: Settings,
    callers: Callers,
    *,
    host: str,
    port: int,
    metrics_port: int,
    scraped: tuple[int, Path] | None = None,
    templates_namespace: str = "",
    kubeconfig: str | None = None,
) -> None:
    """Serve `/mutate` and `/validate` over TLS until SIGTERM or SIGINT, then drain and return.

    The webhook is not ready until `source` has a certificate to serve. If `source` requires client
    certificates, `callers` has the names that they must carry. `/healthz`, `/readyz` and
    `/metrics` are plain HTTP on `metrics_port`; with `scraped`, a port and the file of a CA, `/metrics` has
    TLS on that port, for clients with a certificate of that CA. Port 0 takes a free one; the log line
    `listening` contains it. With `templates_namespace`, it reads InferenceTemplates of the object's namespace
    and of this one.
    Raises OSError if an address cannot be listened on, or if there are no credentials to read templates.
    """
    sockets = probes.bind(host, port), probes.bind(host, metrics_port)
    run = partial(webhook_on, sockets, source, reviews(settings), Limits(), callers=callers)
    if scraped:
        own = replace(source, client_ca=scraped[1], served=None, reported=None)
        run = partial(run, scraped=(probes.bind(host, scraped[0]), own))
    if not templates_namespace:
        await run()
        return
    from server.template_reader import reader  # noqa: PLC0415 - it loads the Kubernetes client

    async with reader(templates_namespace, kubeconfig) as read:
        await run(reading=TemplateLoader(read, reserved=callers.reserved))


async def webhook_on(  # noqa: PLR0913 - the command's arguments, and the times that tests shorten
    sockets: tuple[socket.socket, socket.socket],
    source: reload.CertificateDirectory,
    answers: Reviews,
    limits: Limits,
    *,
    callers: Callers | None = None,
    poll_seconds: float = 10.0,
    reading: TemplateLoader | None = None,
    scraped: tuple[socket.socket, reload.CertificateDirectory] | None = None,
) -> None:
    """Serve on sockets that already listen: the first for admission requests, the second for plain HTTP.

    `scraped` has the socket on which /metrics has TLS, and its certificate with the CA of its callers.
    Every `poll_seconds` the certificate's directory is read again. `reading` reads templates for /mutate.
    """
    shown = metrics.build(PATHS, reload.RESULTS, VERSION)
    if reading is not None:
        reading.count = shown.read
    callers = callers or Callers()
    offload = Offload(answers, callers.reserved)
    counts = {path: partial(shown.count, path) for path in PATHS}
    state = app.ServerState(answers, counts, limits, callers, shown.cut, offload=offload, reading=reading)
    _bind(shown, state, source)
    watching = [asyncio.create_task(reload.watch(source, partial(_report, shown), poll_seconds))]
    scrapes = None
    if scraped:
        watching.append(asyncio.create_task(reload.watch(scraped[1], partial(_log, "metrics"), poll_seconds)))
        scrapes = probes.Scrapes(scraped[0], reload.listener(scraped[1]))
    warm_up(answers)
    if not callers.reserved:
        offload.start()
    log.info("listening", port=sockets[0].getsockname()[1], metrics_port=sockets[1].getsockname()[1])
    reviews_socket, plain_socket = sockets
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        async with probes.serving(
            plain_socket, shown.registry, lambda: _unready(state, source), limits, scrapes=scrapes
        ):
            await app.serve(state, reload.listener(source), reviews_socket, stop)
    finally:
        for each in watching:
            each.cancel()
        await offload.close()
    log.info("stopped")


def reviews(settings: Settings) -> Reviews:
    """Return the functions that answer under these settings."""
    return {
        "/mutate": partial(review.mutate, settings=settings),
        "/validate": partial(review.validate, settings=settings),
        templated.ASKED: templated.asked,
        templated.ANSWERED: partial(templated.answered, settings=settings),
    }


def _bind(shown: metrics.WebhookMetrics, state: app.ServerState, source: reload.CertificateDirectory) -> None:
    """Bind the gauges to what they show; it is read on a scrape, so requests do not pay for it."""
    shown.inflight.set_function(lambda: len(state.waiting))
    shown.not_after.set_function(lambda: source.served.not_after.timestamp() if source.served else 0.0)


def _unready(state: app.ServerState, source: reload.CertificateDirectory) -> str:
    """Return why admission requests would not be answered now; empty if they would."""
    if state.draining:
        return "draining"
    return "" if reload.valid(source, datetime.now(UTC)) else "no certificate that is valid now"


def _report(shown: metrics.WebhookMetrics, change: reload.Reload) -> None:
    """Count and log the result of loading the certificate; it is the same one on the port of the metrics."""
    shown.reloads.labels(change.result).inc()
    _log("admission", change)


def _log(use: str, change: reload.Reload) -> None:
    level = logging.INFO if change.result == "loaded" else logging.WARNING
    log.log(level, "certificate", use=use, result=change.result, reason=change.reason)
