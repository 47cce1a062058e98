"""The webhook's metrics; all names are in this file.

Every label has a closed set of values, and every series exists from the start: no request can add one, and
`rate()` sees the first error.
"""

import platform
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

from webhook.server.listen import CUTS

OUTCOMES: Final = (
    "unchanged",  # allowed, no patch was needed
    "patched",  # allowed, with a patch
    "allowed",  # valid
    "denied",  # invalid
    "forbidden",  # the client certificate does not carry an expected name (403)
    "malformed",  # not an AdmissionReview, or in an unsupported form (400, 411, 413, 415)
    "incomplete",  # the body did not arrive completely and in time (400, 408)
    "late",  # the caller's deadline had passed (504)
    "overloaded",  # asked to retry (429)
    "error",  # a bug (500)
)

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

Count = Callable[[str, float], None]
"""Counts one request: its outcome, and the seconds from its first byte to its answer."""


class WebhookMetrics:
    """The metrics in a registry; the command binds the gauges to the state that they show."""

    def __init__(self, paths: Iterable[str], reload_results: Iterable[str], version: str) -> None:
        """Make every series that this process will ever expose."""
        self.registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        info = Info("fusioninfer_build", "Versions of FusionInfer and of Python.", registry=self.registry)
        info.info({"version": version, "python": platform.python_version()})
        self.requests = counter(
            "fusioninfer_admission_requests",
            "Admission requests, by path and outcome.",
            ("path", "outcome"),
        )
        self.durations = Histogram(
            "fusioninfer_admission_duration_seconds",
            "Time from the first byte of an admission request to its answer.",
            ("path",),
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.reloads = counter(
            "fusioninfer_tls_reloads",
            "Certificates found in the directory, by result: loaded, missing or refused.",
            ("result",),
        )
        self.cuts = counter(
            "fusioninfer_connections_cut",
            "Connections that the server cut, by reason: handshake, headers, or too many (crowded).",
            ("reason",),
        )
        self.inflight = gauge(
            "fusioninfer_admission_inflight", "Admission requests whose body is still arriving."
        )
        self.not_after = gauge(
            "fusioninfer_tls_not_after_seconds",
            "Expiry of the serving certificate, in seconds since 1970; 0 while there is none.",
        )
        for path in paths:
            self.durations.labels(path)
            for outcome in OUTCOMES:
                self.requests.labels(path, outcome)
        for result in reload_results:
            self.reloads.labels(result)
        for reason in CUTS:
            self.cuts.labels(reason)

    def count(self, path: str, outcome: str, seconds: float) -> None:
        """Count one admission request: its outcome, and the seconds from its first byte to its answer."""
        self.requests.labels(path, outcome).inc()
        self.durations.labels(path).observe(seconds)

    def cut(self, reason: str) -> None:
        """Count one connection that was cut."""
        self.cuts.labels(reason).inc()
