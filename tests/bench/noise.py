"""How noisy the machine was: a fixed piece of work, done again and again between the measurements.

What it costs should be one number. How far the numbers lie apart is how far to believe the others: on the
clock of the process for CPU, on that of the wall for all that waits.
"""

import os
import platform
import time
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Final

from intent import Object

WORK: Final = 40_000
"""Additions of one piece of work: about two milliseconds."""


@dataclass(slots=True)
class Noise:
    """The cost of each piece of work, in seconds of CPU and of wall time."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    load: tuple[float, ...] = field(default_factory=os.getloadavg)
    """The load average at the start."""


def calibrate(noise: Noise) -> None:
    """Do the piece of work once, and note what it cost."""
    cpu, wall = time.thread_time(), time.perf_counter()
    total = 0
    for number in range(WORK):
        total += number
    noise.cpu.append(time.thread_time() - cpu)
    noise.wall.append(time.perf_counter() - wall)


def summary(noise: Noise) -> Object:
    """Describe the machine and its noise; spreads are of the middle eight tenths to the median."""
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "load_before": round(noise.load[0], 2),
        "load_after": round(os.getloadavg()[0], 2),
        "pieces_of_work": len(noise.cpu),
        "cpu_milliseconds": round(_median(noise.cpu) * 1e3, 3),
        "cpu_spread": round(_spread(noise.cpu), 2),
        "wall_milliseconds": round(_median(noise.wall) * 1e3, 3),
        "wall_spread": round(_spread(noise.wall), 2),
    }


def _median(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) // 2]


def _spread(seconds: list[float]) -> float:
    """Return the width of the middle eight tenths, as a part of the median."""
    tenths = quantiles([*seconds, *seconds], n=10, method="inclusive")  # there may be one alone
    return (tenths[-1] - tenths[0]) / _median(seconds)
