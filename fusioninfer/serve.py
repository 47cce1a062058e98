"""Run the webhook: the door, the certificate it shows, its metrics, and the signals that end it."""

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final

import orjson
import structlog

from certs import callers, reload
from fusioninfer import __version__, probes
from intent.settings import Settings
from webhook import review
from webhook.request import VERSION
from webhook.server import app, metrics
from webhook.server.aside import Aside
from webhook.server.listen import CUTS, Limits

log: Final = structlog.stdlib.get_logger(__name__)

Reviews = Mapping[str, Callable[[bytes], review.AdmissionAnswer]]
"""What answers a body, by path."""

_WARM_UP: Final = orjson.dumps(
    {
        "apiVersion": VERSION,
        "kind": "AdmissionReview",
        "request": {
            "uid": "warm-up",
            "operation": "CREATE",
            "object": {
                "metadata": {"name": "warm-up", "annotations": {"fusioninfer.io/service": "warm-up"}},
                "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": {"containers": []}}}},
            },
        },
    }
)
"""A review that walks most of the code, so that the first real one finds it in memory."""


async def webhook(  # noqa: PLR0913 - each is a flag of the command
    source: reload.Source,
    settings: Settings,
    client_names: frozenset[str] = frozenset(),
    *,
    host: str,
    port: int,
    metrics_port: int,
) -> None:
    """Serve `/mutate` and `/validate` over TLS until SIGTERM or SIGINT, then drain and return.

    Until `source` has a certificate to serve the webhook is not ready. If it asks callers for one, that
    must carry one of `client_names`, if there are any. `/healthz`, `/readyz` and `/metrics` are plain HTTP
    on `metrics_port`. Port 0 takes a free one; the log line `listening` says which. Raises OSError if an
    address cannot be listened on.
    """
    sockets = probes.bind(host, port), probes.bind(host, metrics_port)
    await webhook_on(sockets, source, reviews(settings), Limits(), client_names=client_names)


async def webhook_on(  # noqa: PLR0913 - what the command is given, and what tests are impatient with
    sockets: tuple[socket.socket, socket.socket],
    source: reload.Source,
    answers: Reviews,
    limits: Limits,
    *,
    client_names: frozenset[str] = frozenset(),
    look_seconds: float = 10.0,
) -> None:
    """Serve these answers on sockets that listen already: the first for reviews, the second plain.

    Every `look_seconds` it looks whether the certificate was replaced.
    """
    shown = metrics.build(answers, reload.RESULTS, CUTS, __version__)
    hooks = {path: app.Hook(answer, shown.counts[path]) for path, answer in answers.items()}
    dear = Aside(answers)
    state = app.ServerState(hooks, limits, partial(callers.is_one_of, client_names), shown.cut, aside=dear)
    _bind(shown, state, source)
    watching = asyncio.create_task(reload.watch(source, partial(_report, shown), look_seconds))
    _warm_up(answers)
    log.info("listening", port=sockets[0].getsockname()[1], metrics_port=sockets[1].getsockname()[1])
    reviews_socket, plain_socket = sockets
    with _until_signal() as stop:
        async with probes.serving(plain_socket, shown.registry, lambda: _unready(state, source), limits):
            await app.serve(state, reload.listener(source), reviews_socket, stop)
    watching.cancel()
    await dear.close()
    log.info("stopped")


def reviews(settings: Settings) -> Reviews:
    """Answer as these settings say."""
    return {
        "/mutate": partial(review.mutate, settings=settings),
        "/validate": partial(review.validate, settings=settings),
    }


def _bind(shown: metrics.WebhookMetrics, state: app.ServerState, source: reload.Source) -> None:
    """Let the gauges be read when they are asked for: no request pays for them."""
    shown.inflight.set_function(lambda: len(state.waiting))
    shown.connections.set_function(lambda: len(state.tracker.connections) if state.tracker else 0)
    shown.not_after.set_function(lambda: source.served.not_after.timestamp() if source.served else 0.0)


def _unready(state: app.ServerState, source: reload.Source) -> str:
    """Return why reviews would not be answered now; empty if they would."""
    if state.draining:
        return "draining"
    return "" if reload.valid(source, datetime.now(UTC)) else "no certificate that is valid now"


def _report(shown: metrics.WebhookMetrics, change: reload.Reload) -> None:
    """Count and log what became of the certificate."""
    shown.reloads[change.result]()
    level = logging.INFO if change.result == "loaded" else logging.WARNING
    log.log(level, "certificate", result=change.result, reason=change.reason)


def _warm_up(answers: Reviews) -> None:
    """Review once on each path; then keep what lives for ever out of every later collection."""
    for answer in answers.values():
        answer(_WARM_UP)
    gc.collect()
    gc.freeze()


@contextmanager
def _until_signal() -> Iterator[asyncio.Event]:
    """Set an event on SIGTERM or SIGINT; after either, another Ctrl-C ends the process at once."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def end() -> None:
        stop.set()
        loop.remove_signal_handler(signal.SIGINT)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    try:
        yield stop
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
