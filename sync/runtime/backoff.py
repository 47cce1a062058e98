"""How long to wait before the next try: longer after every failure, never in step with others."""

import random
from dataclasses import dataclass
from typing import Final

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
