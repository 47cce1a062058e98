"""The metrics of the controller: one field each."""

import platform
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

OUTCOMES: Final = ("done", "retry", "bug")
"""Outcomes of a reconcile. Each has a series from the start, so that `increase` counts the first bug."""
CERTIFICATE_OUTCOMES: Final = ("changed", "unchanged", "failed", "bug")
"""Outcomes of a reconcile of the webhook's certificates, with a series each, too."""
OPERATORS: Final = ("FI409", "FI870", "FI873")
"""Codes that an operator can repair, and alerts use; authors repair the others."""
REQUEST_SECONDS: Final = (0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 30.0)
"""The buckets of the API server's answers. A request may take 30 seconds."""


class ControllerMetrics:
    """The metrics of a controller of this version, all at zero, in a registry of their own."""

    def __init__(self, version: str = "") -> None:
        self.registry = to = CollectorRegistry()
        Info("fusioninfer_build", "Versions of FusionInfer and of Python", registry=to).info(
            {"version": version, "python": platform.python_version()}
        )
        counter, gauge = partial(Counter, registry=to), partial(Gauge, registry=to)
        histogram, kind = partial(Histogram, registry=to), ("kind",)
        self.is_leader = gauge("fusioninfer_sync_is_leader", "1 while this process is the leader")
        self.objects = gauge("fusioninfer_sync_objects", "Objects in the cache", kind)
        self.unreadable = gauge("fusioninfer_sync_unreadable_objects", "Objects that cannot be read", kind)
        self.unavailable = gauge(
            "fusioninfer_sync_kind_unavailable", "1 while the objects of a kind cannot be listed", kind
        )
        self.findings = gauge("fusioninfer_sync_findings", "Current findings", ("code",))
        self.reconciles = counter("fusioninfer_sync_reconciles", "Reconciles of a service", ("outcome",))
        self.seconds = histogram("fusioninfer_sync_reconcile_seconds", "Duration of a reconcile")
        self.longest = gauge(
            "fusioninfer_sync_reconcile_longest_seconds",
            "Seconds for which the longest of the running reconciles has run",
        )
        self.waiting = gauge("fusioninfer_sync_queue_services", "Services that wait for a reconcile")
        self.oldest = gauge(
            "fusioninfer_sync_queue_oldest_seconds",
            "Seconds for which the first of the waiting services has waited",
        )
        self.requests = histogram(
            "fusioninfer_sync_api_request_seconds",
            "Time until the API server answered a request, by verb and status (none: no answer)",
            ("verb", "code"),
            buckets=REQUEST_SECONDS,
        )
        self.watch_age = gauge(
            "fusioninfer_sync_watch_age_seconds",
            "Seconds since the API server last answered the list or the watch of a kind",
            kind,
        )
        self.lease_failures = counter(
            "fusioninfer_sync_lease_failures", "Attempts to take or renew the Lease that failed"
        )
        self.writes = counter("fusioninfer_sync_writes", "Write requests", ("kind", "verb"))
        self.repairs = counter(
            "fusioninfer_sync_repairs",
            "Objects that another writer had changed and that were applied again",
            kind,
        )
        self.certificate_reconciles = counter(
            "fusioninfer_sync_certificate_reconciles",
            "Reconciles of the webhook's certificates, by outcome",
            ("outcome",),
        )
        for outcome in OUTCOMES:
            self.reconciles.labels(outcome)
        for outcome in CERTIFICATE_OUTCOMES:
            self.certificate_reconciles.labels(outcome)
        for code in OPERATORS:
            self.findings.labels(code)
