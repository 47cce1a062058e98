"""The metrics of the controller: one field each."""

import platform
from dataclasses import dataclass
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

OUTCOMES: Final = ("done", "retry", "bug")
"""Outcomes of a reconcile. Each has a series from the start, so that `increase` counts the first bug."""
CERTIFICATE_OUTCOMES: Final = ("changed", "unchanged", "failed", "bug")
"""Outcomes of a reconcile of the webhook's certificates, with a series each, too."""
OPERATORS: Final = ("FI408", "FI409", "FI870", "FI873")
"""Codes that an operator can repair, and alerts use; authors repair the others."""
REQUEST_SECONDS: Final = (0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 30.0)
"""The buckets of the API server's answers. A request may take 30 seconds."""


@dataclass(frozen=True, slots=True)
class ControllerMetrics:
    """The metrics of the controller, in a registry of their own."""

    registry: CollectorRegistry
    is_leader: Gauge
    objects: Gauge
    unreadable: Gauge
    unavailable: Gauge
    findings: Gauge
    reconciles: Counter
    seconds: Histogram
    longest: Gauge
    waiting: Gauge
    oldest: Gauge
    requests: Histogram
    watch_age: Gauge
    lease_failures: Counter
    writes: Counter
    repairs: Counter
    certificate_reconciles: Counter


def metrics(version: str = "") -> ControllerMetrics:
    """Create the metrics of a version, all at zero."""
    to = CollectorRegistry()
    Info("fusioninfer_build", "Versions of FusionInfer and of Python", registry=to).info(
        {"version": version, "python": platform.python_version()}
    )
    counter, gauge = partial(Counter, registry=to), partial(Gauge, registry=to)
    histogram, kind = partial(Histogram, registry=to), ("kind",)
    made = ControllerMetrics(
        to,
        is_leader=gauge("fusioninfer_sync_is_leader", "1 while this process is the leader"),
        objects=gauge("fusioninfer_sync_objects", "Objects in the cache", kind),
        unreadable=gauge("fusioninfer_sync_unreadable_objects", "Objects that cannot be read", kind),
        unavailable=gauge(
            "fusioninfer_sync_kind_unavailable", "1 while the objects of a kind cannot be listed", kind
        ),
        findings=gauge("fusioninfer_sync_findings", "Current findings", ("code",)),
        reconciles=counter("fusioninfer_sync_reconciles", "Reconciles of a service", ("outcome",)),
        seconds=histogram("fusioninfer_sync_reconcile_seconds", "Duration of a reconcile"),
        longest=gauge(
            "fusioninfer_sync_reconcile_longest_seconds",
            "Seconds for which the longest of the running reconciles has run",
        ),
        waiting=gauge("fusioninfer_sync_queue_services", "Services that wait for a reconcile"),
        oldest=gauge(
            "fusioninfer_sync_queue_oldest_seconds",
            "Seconds for which the first of the waiting services has waited",
        ),
        requests=histogram(
            "fusioninfer_sync_api_request_seconds",
            "Time until the API server answered a request, by verb and status (none: no answer)",
            ("verb", "code"),
            buckets=REQUEST_SECONDS,
        ),
        watch_age=gauge(
            "fusioninfer_sync_watch_age_seconds",
            "Seconds since the API server last answered the list or the watch of a kind",
            kind,
        ),
        lease_failures=counter(
            "fusioninfer_sync_lease_failures", "Attempts to take or renew the Lease that failed"
        ),
        writes=counter("fusioninfer_sync_writes", "Write requests", ("kind", "verb")),
        repairs=counter(
            "fusioninfer_sync_repairs",
            "Objects that another writer had changed and that were applied again",
            kind,
        ),
        certificate_reconciles=counter(
            "fusioninfer_sync_certificate_reconciles",
            "Reconciles of the webhook's certificates, by outcome",
            ("outcome",),
        ),
    )
    for outcome in OUTCOMES:
        made.reconciles.labels(outcome)
    for outcome in CERTIFICATE_OUTCOMES:
        made.certificate_reconciles.labels(outcome)
    for code in OPERATORS:
        made.findings.labels(code)
    return made
