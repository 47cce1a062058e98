"""The metrics of the controller, and the HTTP server for /metrics, /healthz and /readyz."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

OUTCOMES: Final = ("done", "retry", "bug")
"""Outcomes of a reconcile. Each has a series from the start, so that `increase` counts the first bug."""
OPERATORS: Final = ("FI408", "FI409", "FI870", "FI873")
"""Codes that an operator can repair, and alerts use; authors repair the others."""


@dataclass(frozen=True, slots=True)
class ControllerMetrics:
    """The metrics of the controller, in a registry of their own."""

    registry: CollectorRegistry
    is_leader: Gauge
    objects: Gauge
    unreadable: Gauge
    unavailable: Gauge
    findings: Gauge
    volcano_too_old: Gauge
    reconciles: Counter
    seconds: Histogram
    writes: Counter
    observe_only: Gauge
    paused: Gauge
    paused_writes: Counter
    certificate_not_after: Gauge
    certificate_checks: Counter


def metrics() -> ControllerMetrics:
    """Create the metrics, all at zero."""
    to = CollectorRegistry()
    made = ControllerMetrics(
        registry=to,
        is_leader=Gauge("fusioninfer_sync_is_leader", "1 while this process is the leader", registry=to),
        objects=Gauge("fusioninfer_sync_objects", "Objects in the cache", ["kind"], registry=to),
        unreadable=Gauge(
            "fusioninfer_sync_unreadable_objects", "Objects that cannot be read", ["kind"], registry=to
        ),
        unavailable=Gauge(
            "fusioninfer_sync_kind_unavailable",
            "1 while the objects of a kind cannot be listed",
            ["kind"],
            registry=to,
        ),
        findings=Gauge("fusioninfer_sync_findings", "Current findings", ["code"], registry=to),
        volcano_too_old=Gauge(
            "fusioninfer_sync_volcano_too_old", "1 if the version of Volcano is below 1.14.1", registry=to
        ),
        reconciles=Counter(
            "fusioninfer_sync_reconciles", "Reconciles of a service", ["outcome"], registry=to
        ),
        seconds=Histogram("fusioninfer_sync_reconcile_seconds", "Duration of a reconcile", registry=to),
        writes=Counter("fusioninfer_sync_writes", "Write requests", ["kind", "verb"], registry=to),
        observe_only=Gauge(
            "fusioninfer_sync_observe_only", "1 if this process is in observe-only mode", registry=to
        ),
        paused=Gauge("fusioninfer_sync_paused", "Services that an annotation pauses", registry=to),
        paused_writes=Counter(
            "fusioninfer_sync_paused_writes",
            "Write requests that were withheld by a pause",
            ["kind", "verb"],
            registry=to,
        ),
        certificate_not_after=Gauge(
            "fusioninfer_sync_certificate_not_after_seconds",
            "Expiry of the webhook's certificates, in seconds since 1970",
            ["certificate"],
            registry=to,
        ),
        certificate_checks=Counter(
            "fusioninfer_sync_certificate_checks", "Checks of the webhook's Secret", ["outcome"], registry=to
        ),
    )
    for outcome in OUTCOMES:
        made.reconciles.labels(outcome)
    for code in OPERATORS:
        made.findings.labels(code)
    return made


@asynccontextmanager
async def serving(
    port: int, registry: CollectorRegistry, ready: Callable[[], bool], host: str | None = None
) -> AsyncIterator[None]:
    """Serve until the context is left. `ready` is true once the caches are filled, on every replica.

    Without a `host` the server listens on every address.
    """
    runner = web.AppRunner(_app(registry, ready), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield
    finally:
        await runner.cleanup()


def _app(registry: CollectorRegistry, ready: Callable[[], bool]) -> web.Application:
    async def healthz(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n") if ready() else web.Response(status=503, text="not synced\n")

    async def exposition(_request: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4}
        )

    app = web.Application()
    app.add_routes(
        [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", exposition)]
    )
    return app
