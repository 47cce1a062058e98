"""The metrics of the controller."""

from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

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
    certificate_reconciles: Counter


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
            "Expiry of the certificates kept for the webhook (ca, serving), in seconds since 1970",
            ["certificate"],
            registry=to,
        ),
        certificate_reconciles=Counter(
            "fusioninfer_sync_certificate_reconciles",
            "Reconciles of the webhook's certificates, by outcome",
            ["outcome"],
            registry=to,
        ),
    )
    for outcome in OUTCOMES:
        made.reconciles.labels(outcome)
    for code in OPERATORS:
        made.findings.labels(code)
    return made
