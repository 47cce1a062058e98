"""A `metav1.Condition` of somebody else, and what of it is kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from intent import Object
from intent.shapes import listed, mapping, number, text

LONGEST: Final = 200
"""Characters that are kept of what others say."""


@dataclass(frozen=True, slots=True)
class ObservedCondition:
    """One condition."""

    type: str
    status: str
    """`True`, `False` or `Unknown`."""
    reason: str = ""
    message: str = ""
    observed: int = 0
    """The generation that it was computed for; 0 if it does not say."""


def conditions(value: Any) -> tuple[ObservedCondition, ...]:
    """Read a list of conditions."""
    return tuple(_condition(one) for one in listed(value) if isinstance(one, dict))


def current(found: Iterable[ObservedCondition], generation: int) -> dict[str, ObservedCondition]:
    """Give the conditions that speak of this generation or a later one, by type."""
    return {one.type: one for one in found if one.observed >= generation}


def shortened(value: Any) -> str:
    """Give a text on one line, cut where it gets long."""
    words = " ".join(text(value).split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 3]}..."


def generation(obj: Object) -> int:
    """Read `metadata.generation`."""
    return number(mapping(obj.get("metadata")).get("generation"))


def _condition(one: Object) -> ObservedCondition:
    return ObservedCondition(
        type=text(one.get("type")),
        status=text(one.get("status")),
        reason=text(one.get("reason")),
        message=shortened(one.get("message")),
        observed=number(one.get("observedGeneration")),
    )
