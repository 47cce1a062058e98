"""How long webhooks take, as the API server itself counts it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

METRIC: Final = "apiserver_admission_webhook_admission_duration_seconds"
"""`k8s.io/apiserver` `pkg/admission/metrics`; its buckets are few and wide."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of one webhook: how many, their seconds together, and how many took at most so long."""

    count: float = 0.0
    seconds: float = 0.0
    within: Mapping[float, float] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """The mean in seconds."""
        return self.seconds / self.count if self.count else math.nan

    def quantile(self, part: float) -> float:
        """Return the bound of the bucket up to which such a part of the calls lies."""
        reached = (bound for bound, count in sorted(self.within.items()) if count >= part * self.count)
        return next(reached, math.inf)


NONE: Final = Calls()
Seen = Mapping[str, Calls]
"""Calls by the name of the webhook."""


def read(page: str, operation: str) -> Seen:
    """Read the calls for one operation from an API server's page of metrics."""
    lines = [line for line in page.splitlines(keepends=True) if METRIC in line]
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for family in text_string_to_metric_families("".join(lines)):
        for sample in family.samples:
            if sample.labels["operation"] == operation:
                kind = sample.name.removeprefix(METRIC) + sample.labels.get("le", "")
                found[sample.labels["name"]][kind] += sample.value
    return {name: _calls(counted) for name, counted in found.items()}


def between(before: Seen, after: Seen) -> Seen:
    """Return the calls between two readings."""
    return {name: _sum(calls, before.get(name, NONE), -1) for name, calls in after.items()}


def together(calls: Iterable[Calls]) -> Calls:
    """Add calls up."""
    return reduce(_sum, calls, NONE)


def _calls(counted: Mapping[str, float]) -> Calls:
    within = {float(kind.removeprefix("_bucket")): counted[kind] for kind in counted if "_bucket" in kind}
    return Calls(counted["_count"], counted["_sum"], within)


def _sum(one: Calls, other: Calls, sign: int = 1) -> Calls:
    bounds = one.within.keys() | other.within.keys()
    within = {at: one.within.get(at, 0.0) + sign * other.within.get(at, 0.0) for at in bounds}
    return Calls(one.count + sign * other.count, one.seconds + sign * other.seconds, within)
