"""Time: timestamps of the Kubernetes API, a monotonic clock for deadlines, and the delay before a retry."""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final


def now() -> str:
    """Return the time in RFC 3339, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def precisely() -> str:
    """Return the time as `MicroTime`: RFC 3339 to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


steady: Final[Callable[[], float]] = _since_boot if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
"""Seconds that only increase, also while the machine is suspended: other processes may have gone on.

Only Linux has such a clock; its CLOCK_MONOTONIC stops during suspend (clock_gettime(2)).
"""


TURN: Final = 0.001
"""Seconds of work after which other tasks of this process run: between two steps of a reconcile there may be
one turn of each kind that is listed or watched."""
SHORTEST: Final = 0.5
LONGEST: Final = 30.0
MINUTE: Final = 60.0
"""What failed is tried again within a minute, as messages promise: a longer `Retry-After` is not obeyed."""


@dataclass(slots=True)
class Backoff:
    """Decorrelated jitter, 0.5 to 30 seconds ("Exponential Backoff And Jitter", AWS Architecture Blog)."""

    last: float = SHORTEST

    def next(self, at_least: float = 0.0) -> float:
        """Return the seconds to wait, `at_least` those of a `Retry-After` header, a minute at most."""
        upper = max(SHORTEST, self.last * 3)
        self.last = min(LONGEST, random.uniform(SHORTEST, upper))  # noqa: S311 - spreads load, guards no secret
        return min(MINUTE, max(self.last, at_least))

    def reset(self) -> None:
        """Start with the shortest delay again, after a success."""
        self.last = SHORTEST


@dataclass(slots=True)
class Pace:
    """Long work in turns, between which other tasks run."""

    since: float = field(default_factory=time.monotonic)
    """When the turn began."""

    async def rest(self) -> None:
        """Let other tasks run if the turn is over."""
        if time.monotonic() > self.since + TURN:
            await asyncio.sleep(0)
            self.since = time.monotonic()
