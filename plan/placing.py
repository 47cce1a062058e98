"""Which nodes a pod may use at all: selector, required affinity, taints."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from intent.shapes import whole
from plan.demand import Demand
from plan.supply import Taint

KEEPS_AWAY: Final = ("NoSchedule", "NoExecute")


def obstacle(demand: Demand, labels: Mapping[str, str], taints: Iterable[Taint]) -> str:
    """Return what keeps a pod from a node with these labels and taints; empty if it may use it."""
    selectors = [_read(where) for where in demand.where]
    if not all(_selects(selector, labels) for selector in selectors):
        return "its node selector or affinity"
    strict = [taint for taint in taints if taint.effect in KEEPS_AWAY]
    tolerated = (
        any(_tolerates(each, taint) for each in selector["tolerations"])
        for selector in selectors
        for taint in strict
    )
    return "" if all(tolerated) else "taints"


def keys(demand: Demand) -> frozenset[str]:
    """Return the labels that count for a pod."""
    selectors = [_read(where) for where in demand.where]
    rules = (rule for selector in selectors for term in selector["terms"] or () for rule in term)
    return frozenset().union(
        (str(rule.get("key")) for rule in rules), *(each["labels"] for each in selectors)
    )


@lru_cache(maxsize=1 << 12)
def _read(where: str) -> Any:
    return json.loads(where)


def _selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """Return whether a node has all labels, and one of the terms holds; one without rules does not."""
    terms = selector["terms"]
    return all(labels.get(key) == value for key, value in selector["labels"].items()) and (
        terms is None or any(term and all(_holds(rule, labels) for rule in term) for term in terms)
    )


def _holds(rule: Any, labels: Mapping[str, str]) -> bool:
    value, values, operator = labels.get(rule.get("key")), rule.get("values") or [], rule.get("operator")
    if operator in {"Gt", "Lt"}:
        number, bound = whole(value), whole(values[0]) if values else None
        if number is None or bound is None:
            return False
        return number > bound if operator == "Gt" else number < bound
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(operator, False)


def _tolerates(toleration: Any, taint: Taint) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if (effect and effect != taint.effect) or (key and key != taint.key):
        return False
    return toleration.get("operator") == "Exists" or bool(key and toleration.get("value", "") == taint.value)
