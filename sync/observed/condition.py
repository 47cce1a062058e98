"""Conditions (`metav1.Condition`) that other controllers wrote."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from intent import Object
from intent.shapes import listed, mapping, number, text
from sync.observed.cached import LONGEST


@dataclass(frozen=True, slots=True)
class ObservedCondition:
    """One condition."""

    type: str
    status: str
    """`True`, `False` or `Unknown`."""
    reason: str = ""
    message: str = ""
    observed: int = 0
    """Its `observedGeneration`; 0 if it has none."""


def conditions(value: Any) -> tuple[ObservedCondition, ...]:
    """Read a list of conditions."""
    return tuple(_condition(one) for one in listed(value) if isinstance(one, dict))


def current(found: Iterable[ObservedCondition], generation: int) -> dict[str, ObservedCondition]:
    """Return the conditions of this generation or a later one, by type."""
    return {one.type: one for one in found if one.observed >= generation}


def shortened(value: Any) -> str:
    """Return a text on one line, truncated to `LONGEST` characters."""
    line = " ".join(text(value).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


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
