"""The metrics of the controller."""

import platform
from dataclasses import dataclass
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
    volcano_too_old: Gauge
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
    observe_only: Gauge
    paused: Gauge
    paused_writes: Counter
    certificate_not_after: Gauge
    certificate_reconciles: Counter


def metrics(version: str = "") -> ControllerMetrics:
    """Create the metrics of a version, all at zero."""
    to = CollectorRegistry()
    Info("fusioninfer_build", "Versions of FusionInfer and of Python", registry=to).info(
        {"version": version, "python": platform.python_version()}
    )
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
        longest=Gauge(
            "fusioninfer_sync_reconcile_longest_seconds",
            "Seconds for which the longest of the running reconciles has run",
            registry=to,
        ),
        waiting=Gauge("fusioninfer_sync_queue_services", "Services that wait for a reconcile", registry=to),
        oldest=Gauge(
            "fusioninfer_sync_queue_oldest_seconds",
            "Seconds for which the first of the waiting services has waited",
            registry=to,
        ),
        requests=Histogram(
            "fusioninfer_sync_api_request_seconds",
            "Time until the API server answered a request, by verb and status (none: no answer)",
            ["verb", "code"],
            buckets=REQUEST_SECONDS,
            registry=to,
        ),
        watch_age=Gauge(
            "fusioninfer_sync_watch_age_seconds",
            "Seconds since the API server last answered the list or the watch of a kind",
            ["kind"],
            registry=to,
        ),
        lease_failures=Counter(
            "fusioninfer_sync_lease_failures",
            "Attempts to take or renew the Lease that failed",
            registry=to,
        ),
        writes=Counter("fusioninfer_sync_writes", "Write requests", ["kind", "verb"], registry=to),
        repairs=Counter(
            "fusioninfer_sync_repairs",
            "Objects that another writer had changed and that were applied again",
            ["kind"],
            registry=to,
        ),
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
    for outcome in CERTIFICATE_OUTCOMES:
        made.certificate_reconciles.labels(outcome)
    for code in OPERATORS:
        made.findings.labels(code)
    return made
