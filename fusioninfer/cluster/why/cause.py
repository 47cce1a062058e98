"""A cause: why a service, or a part of it, does not serve."""

from dataclasses import dataclass
from typing import Literal

from catalog.codes import CODES
from sync.status.reasons import CAUSES

Effect = Literal["blocks", "degrades"]
"""Whether the service cannot serve, or serves less than it should."""


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
