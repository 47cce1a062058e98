"""Time: timestamps of the Kubernetes API, a monotonic clock for deadlines, and the delay before a retry."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final


def now() -> str:
    """Give the time in RFC 3339, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def precisely() -> str:
    """Give the time as `MicroTime`, RFC 3339 to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


steady: Final[Callable[[], float]] = _since_boot if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
"""Seconds that only grow, also while the machine sleeps, in which others may have gone on.

Linux alone has such a clock; its CLOCK_MONOTONIC stands still then (clock_gettime(2)).
"""


SHORTEST: Final = 0.5
LONGEST: Final = 30.0


@dataclass(slots=True)
class Backoff:
    """Decorrelated jitter, 0.5 to 30 seconds ("Exponential Backoff And Jitter", AWS Architecture Blog)."""

    last: float = SHORTEST

    def next(self, at_least: float = 0.0) -> float:
        """Give the seconds to wait; `at_least` is what a `Retry-After` asked for."""
        upper = max(SHORTEST, self.last * 3)
        self.last = min(LONGEST, random.uniform(SHORTEST, upper))  # noqa: S311 - spreads load, guards no secret
        return max(self.last, at_least)

    def reset(self) -> None:
        """Start short again: it worked."""
        self.last = SHORTEST
