"""A cause: why a service, or a part of it, does not serve."""

from dataclasses import dataclass
from typing import Final, Literal

from catalog.codes import CODES
from sync.status.reasons import CAUSES

Effect = Literal["blocks", "degrades", "note"]
"""Whether the service cannot serve, serves less than it should, or serves as it should."""
EFFECTS: Final[tuple[Effect, ...]] = ("blocks", "degrades", "note")


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause."""

    layer: str
    reason: str
    """A reason of `sync.status.reasons`, or a code."""
    object: str
    """Kind and name of the object that it is about."""
    message: str
    remedy: str = ""
    effect: Effect = "blocks"


def cause(reason: str, about: str, message: str, effect: Effect = "blocks", layer: str = "rules") -> Cause:
    """Return a cause with the remedy of its reason, which is not at the end of its message too.

    `layer`: that of a code; a reason has its own.
    """
    row, text = CAUSES.get(reason), message.removesuffix(f" ({reason})")
    if row:
        return Cause(row.layer, reason, about, text, row.remedy, effect)
    return Cause(layer, reason, about, text, CODES[reason].remedy, effect)
