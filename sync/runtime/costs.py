"""What namespaces cost lately: the seconds for which their reconciles held workers."""

import time
from dataclasses import dataclass, field
from typing import Final

HALF: Final = 60.0
"""Seconds after which half of a cost is forgotten."""
NOTHING: Final = 0.01
"""A cost that is not kept any more."""


@dataclass(slots=True)
class Costs:
    """The costs of namespaces. Times are monotonic."""

    charged: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By namespace, the one charged last at the end: seconds, and the time at which they were right."""

    def charge(self, namespace: str, seconds: float) -> None:
        """Add the seconds of a reconcile that ended."""
        total = self.of(namespace) + seconds
        self.charged.pop(namespace, None)
        self.charged[namespace] = (total, time.monotonic())
        while self.charged and self.of(first := next(iter(self.charged))) < NOTHING:
            del self.charged[first]

    def of(self, namespace: str) -> float:
        """Return what a namespace cost lately; older seconds count less."""
        seconds, at = self.charged.get(namespace, (0.0, 0.0))
        return seconds * 0.5 ** ((time.monotonic() - at) / HALF) if seconds else 0.0
