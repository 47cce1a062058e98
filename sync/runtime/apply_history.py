"""The history of what was applied to one object: it detects conflicting writers and slows down rewording."""

import time
from dataclasses import dataclass, field
from typing import Final

FIGHT: Final = 5
"""So many repairs a minute are a fight with somebody, not a repair."""
MINUTE: Final = 60.0
REWORDINGS: Final = 5
"""So many times in `REWORDING` seconds a status is written that says the same in other words.

Refusals quote ports and times. What a scheduler says of a new pod comes in a moment, and is not kept waiting.
"""
REWORDING: Final = 150.0


@dataclass(slots=True)
class ApplyHistory:
    """What was written of one object lately."""

    asked: bytes = b""
    """What was asked for last."""
    stored: bytes = b""
    """What was stored then."""
    repairs: list[float] = field(default_factory=list)
    """When (monotonic) it was written over, in the last minute, though nobody asked for anything else."""
    shape: bytes = b""
    """Of a status: what was asked for last, without its messages."""
    rewordings: list[float] = field(default_factory=list)
    """Of a status: when (monotonic) it was written lately only to say the same in other words."""

    def is_settled(self, asked: bytes, stored: bytes) -> bool:
        """Whether writing would change nothing: it is stored, or was asked for before and stored as it is."""
        return asked == stored or (self.asked, self.stored) == (asked, stored)

    def fights(self, asked: bytes) -> bool:
        """Whether somebody undoes this, each time that we write it."""
        now = time.monotonic()
        self.repairs = [at for at in self.repairs if at > now - MINUTE]
        return self.asked == asked and len(self.repairs) >= FIGHT

    def note(self, asked: bytes) -> None:
        """Remember a write as a repair; what nobody asked for before begins anew."""
        self.repairs = [*self.repairs, time.monotonic()] if self.asked == asked else []

    def settle(self, asked: bytes, stored: bytes) -> None:
        """Remember what became of what was asked for."""
        self.asked, self.stored = asked, stored

    def reword_in(self, asked: bytes, shape: bytes) -> float:
        """Give the seconds until a status may be written; 0 if now, and if it says something else."""
        if asked == self.asked or shape != self.shape:
            return 0.0
        now = time.monotonic()
        self.rewordings = [at for at in self.rewordings if at > now - REWORDING]
        if len(self.rewordings) >= REWORDINGS:
            return self.rewordings[0] + REWORDING - now
        self.rewordings.append(now)
        return 0.0
