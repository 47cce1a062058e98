"""A reason and a message: what a condition says, before it has a time."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one condition says."""

    reason: str
    message: str = ""
