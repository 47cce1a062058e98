"""The history of what was applied to one object: it detects conflicting writers and slows down rewording."""

import time
from dataclasses import dataclass, field
from typing import Final

FIGHT: Final = 5
"""Repairs within a minute after which another writer is taken to revert each write."""
MINUTE: Final = 60.0
REWORDINGS: Final = 5
"""Writes of a status within `REWORDING` seconds that change nothing but its messages.

Refusals quote ports and times, so they may change with each try. The messages of a scheduler about a new pod
come within a moment, and are written at once.
"""
REWORDING: Final = 150.0


@dataclass(slots=True)
class ApplyHistory:
    """What was applied to one object lately. Times are monotonic."""

    desired: bytes = b""
    """The fingerprint of what was applied last."""
    stored: bytes = b""
    """The fingerprint of what was stored then."""
    repairs: list[float] = field(default_factory=list)
    """Times, within the last minute, at which the same desired state was applied again."""
    shape: bytes = b""
    """Of a status: the digest of what was applied last, without its messages."""
    rewordings: list[float] = field(default_factory=list)
    """Of a status: recent times at which only its messages changed."""

    def is_settled(self, desired: bytes, stored: bytes) -> bool:
        """Return whether a write would change nothing.

        Either the desired state is stored, or it was applied before and what is stored is the result.
        """
        return desired == stored or (self.desired, self.stored) == (desired, stored)

    def is_contested(self, desired: bytes) -> bool:
        """Return whether another writer reverts this desired state each time it is applied."""
        now = time.monotonic()
        self.repairs = [at for at in self.repairs if at > now - MINUTE]
        return self.desired == desired and len(self.repairs) >= FIGHT

    def note(self, desired: bytes) -> bool:
        """Record a write: a repair if the desired state is the same as before, else a fresh start.

        Returns whether it is a repair.
        """
        is_repair = self.desired == desired
        self.repairs = [*self.repairs, time.monotonic()] if is_repair else []
        return is_repair

    def settle(self, desired: bytes, stored: bytes) -> None:
        """Record what is stored after the desired state was applied."""
        self.desired, self.stored = desired, stored

    def reword_in(self, desired: bytes, shape: bytes) -> float:
        """Return the seconds until a status may be written; 0 unless only its messages changed."""
        if desired == self.desired or shape != self.shape:
            return 0.0
        now = time.monotonic()
        self.rewordings = [at for at in self.rewordings if at > now - REWORDING]
        if len(self.rewordings) >= REWORDINGS:
            return self.rewordings[0] + REWORDING - now
        self.rewordings.append(now)
        return 0.0
