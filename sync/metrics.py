"""The metrics of the controller: one field each."""

import platform
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

OUTCOMES: Final = ("done", "retry", "bug")
"""Outcomes of a reconcile. Each has a series from the start, so that `increase` counts the first bug."""
CERTIFICATE_OUTCOMES: Final = ("changed", "unchanged", "failed", "bug")
"""Outcomes of a reconcile of the webhook's certificates, with a series each, too."""
OPERATORS: Final = ("FI408", "FI409", "FI870", "FI873")
"""Codes that an operator can repair, and alerts use; authors repair the others."""
REQUEST_SECONDS: Final = (0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 30.0)
"""The buckets of the API server's answers. A request may take 30 seconds."""
_CREATE: Final = "create"


def _metric(kind: Any, name: str, meaning: str, *labels: str, **options: Any) -> dict[str, Any]:
    """Build the metadata of one field: how `metrics` creates it in a registry."""
    return {_CREATE: partial(kind, name, meaning, labels, **options)}


@dataclass(frozen=True, slots=True)
class ControllerMetrics:
    """The metrics of the controller, in a registry of their own."""

    registry: CollectorRegistry
    is_leader: Gauge = field(
        metadata=_metric(Gauge, "fusioninfer_sync_is_leader", "1 while this process is the leader")
    )
    objects: Gauge = field(
        metadata=_metric(Gauge, "fusioninfer_sync_objects", "Objects in the cache", "kind")
    )
    unreadable: Gauge = field(
        metadata=_metric(Gauge, "fusioninfer_sync_unreadable_objects", "Objects that cannot be read", "kind")
    )
    unavailable: Gauge = field(
        metadata=_metric(
            Gauge,
            "fusioninfer_sync_kind_unavailable",
            "1 while the objects of a kind cannot be listed",
            "kind",
        )
    )
    findings: Gauge = field(metadata=_metric(Gauge, "fusioninfer_sync_findings", "Current findings", "code"))
    reconciles: Counter = field(
        metadata=_metric(Counter, "fusioninfer_sync_reconciles", "Reconciles of a service", "outcome")
    )
    seconds: Histogram = field(
        metadata=_metric(Histogram, "fusioninfer_sync_reconcile_seconds", "Duration of a reconcile")
    )
    longest: Gauge = field(
        metadata=_metric(
            Gauge,
            "fusioninfer_sync_reconcile_longest_seconds",
            "Seconds for which the longest of the running reconciles has run",
        )
    )
    waiting: Gauge = field(
        metadata=_metric(Gauge, "fusioninfer_sync_queue_services", "Services that wait for a reconcile")
    )
    oldest: Gauge = field(
        metadata=_metric(
            Gauge,
            "fusioninfer_sync_queue_oldest_seconds",
            "Seconds for which the first of the waiting services has waited",
        )
    )
    requests: Histogram = field(
        metadata=_metric(
            Histogram,
            "fusioninfer_sync_api_request_seconds",
            "Time until the API server answered a request, by verb and status (none: no answer)",
            *("verb", "code"),
            buckets=REQUEST_SECONDS,
        )
    )
    watch_age: Gauge = field(
        metadata=_metric(
            Gauge,
            "fusioninfer_sync_watch_age_seconds",
            "Seconds since the API server last answered the list or the watch of a kind",
            "kind",
        )
    )
    lease_failures: Counter = field(
        metadata=_metric(
            Counter, "fusioninfer_sync_lease_failures", "Attempts to take or renew the Lease that failed"
        )
    )
    writes: Counter = field(
        metadata=_metric(Counter, "fusioninfer_sync_writes", "Write requests", "kind", "verb")
    )
    repairs: Counter = field(
        metadata=_metric(
            Counter,
            "fusioninfer_sync_repairs",
            "Objects that another writer had changed and that were applied again",
            "kind",
        )
    )
    certificate_reconciles: Counter = field(
        metadata=_metric(
            Counter,
            "fusioninfer_sync_certificate_reconciles",
            "Reconciles of the webhook's certificates, by outcome",
            "outcome",
        )
    )


def metrics(version: str = "") -> ControllerMetrics:
    """Create the metrics of a version, all at zero."""
    to = CollectorRegistry()
    Info("fusioninfer_build", "Versions of FusionInfer and of Python", registry=to).info(
        {"version": version, "python": platform.python_version()}
    )
    rows = {one.name: one.metadata[_CREATE] for one in fields(ControllerMetrics) if _CREATE in one.metadata}
    made = ControllerMetrics(to, **{name: create(registry=to) for name, create in rows.items()})
    for outcome in OUTCOMES:
        made.reconciles.labels(outcome)
    for outcome in CERTIFICATE_OUTCOMES:
        made.certificate_reconciles.labels(outcome)
    for code in OPERATORS:
        made.findings.labels(code)
    return made
