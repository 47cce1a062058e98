"""The time: as Kubernetes writes it, for people to read; and a clock for deadlines, which nobody can set."""

import time
from collections.abc import Callable
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
