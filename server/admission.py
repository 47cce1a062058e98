"""Run the webhook: its HTTPS server, its certificate, its metrics, and the signals that end it."""

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from typing import Final

import orjson
import structlog

from catalog.release import VERSION
from certs import reload
from intent import Object
from intent.settings import Settings
from server import probes
from webhook import review, templated
from webhook.server import app, metrics
from webhook.server.callers import Callers
from webhook.server.listen import Limits
from webhook.server.offload import Offload
from webhook.server.reading import TemplateLoader

Reviews = Mapping[str, Callable[[bytes], review.AdmissionAnswer]]
"""The functions that answer a body: by path, and by step of a request that names templates."""
PATHS: Final = ("/mutate", "/validate")
LIMITS: Final = Limits()
NOBODY_KNOWN: Final = Callers()
log: Final = structlog.stdlib.get_logger(__name__)


async def webhook(  # noqa: PLR0913 - the command's arguments, and the times that tests shorten
    sockets: tuple[socket.socket, socket.socket],
    source: reload.CertificateDirectory,
    answers: Reviews,
    limits: Limits = LIMITS,
    *,
    callers: Callers = NOBODY_KNOWN,
    scraped: tuple[socket.socket, reload.CertificateDirectory] | None = None,
    templates_namespace: str = "",
    kubeconfig: str | None = None,
    poll_seconds: float = 10.0,
) -> None:
    """Serve `/mutate` and `/validate` over TLS until SIGTERM or SIGINT, then drain and return.

    `sockets` already listen: the first for admission requests, the second for `/healthz`, `/readyz` and
    `/metrics` in plain HTTP; with `scraped`, its socket has `/metrics` with TLS, for clients with a
    certificate of its CA. The webhook is not ready until `source` has a certificate to serve, of which the
    directory is read again every `poll_seconds`. If it requires client certificates, `callers` has the names
    that they must carry. With `templates_namespace`, it reads InferenceTemplates of the object's namespace
    and of this one.
    Raises OSError if there are no credentials to read templates.
    """
    reviews_socket, plain_socket = sockets
    shown, reading, scrapes = metrics.WebhookMetrics(PATHS, reload.RESULTS, VERSION), None, None
    async with AsyncExitStack() as stack:
        if templates_namespace:
            from server.template_reader import reader  # noqa: PLC0415 - it loads the Kubernetes client

            read = await stack.enter_async_context(reader(templates_namespace, kubeconfig))
            reading = TemplateLoader(read, callers.reserved)
        offload = Offload(answers, callers.reserved)
        stack.push_async_callback(offload.close)
        counts = {path: partial(shown.count, path) for path in PATHS}
        state = app.ServerState(answers, counts, limits, callers, shown.cut, offload=offload, reading=reading)
        _bind(shown, state, source)
        watched = [reload.watch(source, partial(_report, shown), poll_seconds)]
        if scraped:
            watched.append(reload.watch(scraped[1], partial(_log, "metrics"), poll_seconds))
            scrapes = probes.Scrapes(scraped[0], reload.listener(scraped[1]))
        for each in watched:
            stack.callback(asyncio.create_task(each).cancel)
        warm_up(answers)
        if not callers.reserved:
            offload.start()
        port, metrics_port = (each.getsockname()[1] for each in sockets)
        log.info("listening", port=port, metrics_port=metrics_port)
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        unready = partial(_unready, state, source)
        async with probes.serving(plain_socket, shown.registry, unready, limits, scrapes=scrapes):
            await app.serve(state, reload.listener(source), reviews_socket, stop)
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


# --- reviews that run through most of the code, so that no real one finds it cold ------------------

_ENGINE: Final[Object] = {
    "name": "engine",
    "image": "registry.example/vllm-openai:v0.17.1",
    "command": ["vllm", "serve"],
    "args": ["org/model", "--tensor-parallel-size", "16", "--unknown", "--kv-transfer-config", "{}"],
    "resources": {"limits": {"nvidia.com/gpu": "8"}},
    "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}},
}
_NAME: Final = "warm-up"
_KEYS: Final = {"service": _NAME, "component-type": "decoder", "strategy": "pd-disaggregation"}
_OBJECT: Final[Object] = {
    "metadata": {"name": _NAME, "annotations": {f"fusioninfer.io/{key}": _KEYS[key] for key in _KEYS}},
    "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": {"containers": [_ENGINE]}}}},
}
_REQUEST: Final = {"uid": _NAME, "operation": "CREATE", "object": _OBJECT}
BODY: Final = orjson.dumps({"apiVersion": review.VERSION, "kind": "AdmissionReview", "request": _REQUEST})
"""The review of a LeaderWorkerSet as its author wrote it: /mutate expands it, and /validate denies it."""


def warm_up(reviews: Reviews) -> None:
    """Answer a review of each path; then exempt all long-lived objects from garbage collection.

    The first of a namespace would take several times as long, and might count as expensive on a slow machine.
    """
    for path in PATHS:
        reviews[path](BODY)
    gc.collect()
    gc.freeze()
