"""Which nodes a pod may use at all: selector, required affinity, taints."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from plan.demand import Demand, NodeSelectorTerm, Requirement, Toleration
from plan.supply import Taint

NAME: Final = "metadata.name"
"""The one field of nodes that `matchFields` knows; kept beside the labels, under this key."""
KEEPS_AWAY: Final = ("NoSchedule", "NoExecute")
Obstacle = Literal["", "selector", "taint"]
"""Why a pod may not use a node; empty if it may."""


def obstacle(demand: Demand, labels: Mapping[str, str], taints: Iterable[Taint]) -> Obstacle:
    """Return why a pod may not use a node with these labels and taints."""
    if any(labels.get(key) != value for key, value in demand.selector):
        return "selector"
    if demand.required is not None and not any(_matches(term, labels) for term in demand.required):
        return "selector"
    untolerated = (one for one in taints if one.effect in KEEPS_AWAY and not _tolerated(one, demand))
    return "taint" if any(True for _ in untolerated) else ""


def keys(demand: Demand) -> frozenset[str]:
    """Return the labels that count for a pod."""
    named = {NAME if one.field else one.key for term in demand.required or () for one in term}
    return frozenset(named | {key for key, _ in demand.selector})


def _matches(term: NodeSelectorTerm, labels: Mapping[str, str]) -> bool:
    return bool(term) and all(_holds(one, labels) for one in term)


def _holds(one: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(NAME if one.field else one.key)
    match one.operator:
        case "In":
            return value in one.values
        case "NotIn":
            return value not in one.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(value, one)
    return False


def _compares(value: str | None, one: Requirement) -> bool:
    numbers = [_whole(each) for each in (value, *one.values)]
    if len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
        return False
    return numbers[0] > numbers[1] if one.operator == "Gt" else numbers[0] < numbers[1]


def _whole(value: str | None) -> int | None:
    if value is None or len(value) > 19:
        return None
    digits = value.removeprefix("-")
    return int(value) if digits.isascii() and digits.isdecimal() else None


def _tolerated(taint: Taint, demand: Demand) -> bool:
    return any(_tolerates(one, taint) for one in demand.tolerations)


def _tolerates(one: Toleration, taint: Taint) -> bool:
    if one.effect and one.effect != taint.effect:
        return False
    if one.key and one.key != taint.key:
        return False
    if one.exists:
        return True
    return bool(one.key) and one.value == taint.value
