"""The webhook's metrics; all names are in this file.

Every label has a closed set of values, and every series exists from the start: no request can add one, and
`rate()` sees the first error. Children are bound here, so that no request looks them up by their labels.
"""

import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

OUTCOMES: Final = (
    "unchanged",  # allowed, no patch was needed
    "patched",  # allowed, with a patch
    "allowed",  # valid
    "denied",  # invalid
    "forbidden",  # the client certificate does not carry an expected name (403)
    "malformed",  # not an AdmissionReview, or in an unsupported form (400, 413, 415)
    "incomplete",  # the body did not arrive completely and in time (400, 408)
    "late",  # the caller's deadline had passed (504)
    "overloaded",  # asked to retry (429)
    "error",  # a bug (500)
)

READ_OUTCOMES: Final = (
    "read",  # every template was read
    "missing",  # one of them does not exist, or cannot be read
    "late",  # not all were read in time
    "crowded",  # too many requests of the caller wait for templates (429)
)
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

Count = Callable[[str, float], None]
"""Counts one request: its outcome, and the seconds from its first byte to its answer."""


@dataclass(frozen=True, slots=True)
class WebhookMetrics:
    """The metrics as plain callables, and gauges that the command binds to the state they show."""

    registry: CollectorRegistry
    counts: Mapping[str, Count]
    """By path."""
    reloads: Mapping[str, Callable[[], None]]
    """By result."""
    cut: Callable[[str], None]
    """Counts one connection that was cut, by reason."""
    read: Count
    """Counts the templates of one request: the outcome, and the seconds with the wait for a turn."""
    inflight: Gauge
    connections: Gauge
    not_after: Gauge


def build(
    paths: Iterable[str], reload_results: Iterable[str], cuts: Iterable[str], version: str
) -> WebhookMetrics:
    """Build a registry with every series that this process will ever expose."""
    registry = CollectorRegistry()
    _build_info(registry, version)
    return WebhookMetrics(
        registry=registry,
        counts=_counts(registry, paths),
        reloads=_reloads(registry, reload_results),
        cut=_cut(registry, cuts),
        read=_reads(registry),
        inflight=Gauge(
            "fusioninfer_admission_inflight",
            "Admission requests whose body is still arriving.",
            registry=registry,
        ),
        connections=Gauge(
            "fusioninfer_connections",
            "Open connections to the HTTPS port, including those in their TLS handshake.",
            registry=registry,
        ),
        not_after=Gauge(
            "fusioninfer_tls_not_after_seconds",
            "Expiry of the serving certificate, in seconds since 1970; 0 while there is none.",
            registry=registry,
        ),
    )


def _counts(registry: CollectorRegistry, paths: Iterable[str]) -> dict[str, Count]:
    requests = Counter(
        "fusioninfer_admission_requests",
        "Admission requests, by path and outcome.",
        ("path", "outcome"),
        registry=registry,
    )
    durations = Histogram(
        "fusioninfer_admission_duration_seconds",
        "Time from the first byte of an admission request to its answer.",
        ("path",),
        buckets=_SECONDS,
        registry=registry,
    )
    return {path: _count(requests, durations, path) for path in paths}


def _count(requests: Counter, durations: Histogram, path: str) -> Count:
    """Bind the children of one path."""
    increments = {outcome: requests.labels(path, outcome).inc for outcome in OUTCOMES}
    observe = durations.labels(path).observe

    def count(outcome: str, seconds: float) -> None:
        increments[outcome]()
        observe(seconds)

    return count


def _reads(registry: CollectorRegistry) -> Count:
    reads = Counter(
        "fusioninfer_template_reads",
        "Requests whose InferenceTemplates were to be read, by outcome.",
        ("outcome",),
        registry=registry,
    )
    durations = Histogram(
        "fusioninfer_template_read_duration_seconds",
        "Time in which the InferenceTemplates of a request were read, with the wait for a turn.",
        buckets=_SECONDS,
        registry=registry,
    )
    increments = {outcome: reads.labels(outcome).inc for outcome in READ_OUTCOMES}

    def count(outcome: str, seconds: float) -> None:
        increments[outcome]()
        durations.observe(seconds)

    return count


def _reloads(registry: CollectorRegistry, results: Iterable[str]) -> dict[str, Callable[[], None]]:
    reloads = Counter(
        "fusioninfer_tls_reloads",
        "Certificates found in the directory, by result: loaded, missing or refused.",
        ("result",),
        registry=registry,
    )
    return {result: reloads.labels(result).inc for result in results}


def _cut(registry: CollectorRegistry, reasons: Iterable[str]) -> Callable[[str], None]:
    cut = Counter(
        "fusioninfer_connections_cut",
        "Connections that the server cut, by reason: handshake, headers, or too many connections (crowded).",
        ("reason",),
        registry=registry,
    )
    increments = {reason: cut.labels(reason).inc for reason in reasons}
    return lambda reason: increments[reason]()


def _build_info(registry: CollectorRegistry, version: str) -> None:
    info = Info("fusioninfer_build", "Versions of FusionInfer and of Python.", registry=registry)
    info.info({"version": version, "python": platform.python_version()})
