"""The parameters of every part: how much to measure, and how."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console
from rich.progress import track

from tests.bench.noise import Noise, calibrate


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: enough to be believed, or just enough to see that it works."""

    blocks: int = 40
    """Of the stages of a review."""
    rounds: int = 6
    writes: int = 150
    """Dry runs on the API server, of one round."""
    warm: int = 50
    """Sent before, unmeasured: the first calls connect, and fill what is filled once."""
    objects: int = 10_000
    """LeaderWorkerSets that the controller and LWS's manager know."""
    gangs: int = 1_000
    """Services for which the controller makes the PodGroup."""
    changes: int = 1_000
    idle: float = 60.0
    """Seconds for which nothing changes."""


WHOLE: Final = Effort()
QUICK: Final = Effort(blocks=1, rounds=1, writes=5, warm=2, objects=40, gangs=20, changes=10, idle=1.0)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the benchmark."""

    effort: Effort = WHOLE
    noise: Noise = field(default_factory=Noise)
    console: Console = field(default_factory=lambda: Console(stderr=True))

    def rounds(self, count: int, what: str) -> Iterator[int]:
        """Count rounds, with a bar on a terminal; before each, look how noisy the machine is."""
        hidden = not self.console.is_terminal
        for at in track(range(count), f"{what:<24}", disable=hidden, console=self.console, transient=True):
            calibrate(self.noise)
            yield at
