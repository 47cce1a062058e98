"""The most expensive reviews known, beside `json.loads` of their bodies and a fixed piece of work."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from tests.bench.report import Row, row
from tests.bench.run import Run
from tests.hostile import worst
from tests.hostile.fuzz import PATHS

SPENT: Final = "the most expensive, of what it may cost"
SECONDS: Final = "the most expensive"


def measure(run: Run, bodies: Mapping[str, bytes] | None = None) -> Iterator[Row]:
    """Measure both calls of every review; report the worse as a share of its limit (`docs/webhook.md`)."""
    most = longest = 0.0
    sent = worst.bodies() if bodies is None else bodies
    for (name, body), _ in zip(sent.items(), run.rounds(len(sent), "worst"), strict=True):
        times = run.effort.blocks_of_worst
        read, plain = worst.cost(json.loads, body, times), worst.reference(times)
        costs = {path: worst.cost(PATHS[path], body, times) for path in PATHS}
        spent = max(costs.values()) / worst.allowed(body, times)
        most, longest = max(most, spent), max(longest, *costs.values())
        told = {path.strip("/"): f"{cost * 1e3:.2g} ms, {cost / read:.3g} x" for path, cost in costs.items()}
        yield row(
            name, "", [spent], bytes=len(body), of_plain_64_KB=round(max(costs.values()) / plain), **told
        )
    yield row(SPENT, "", [most])
    yield row(SECONDS, "s", [longest])
