"""What a node has, and which pods it admits: of a Node object, or of the short form `10x8,2x4@pool=h100`."""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from intent import Object
from intent.shapes import labels, listed, mapping, metadata, text, whole
from plan.amounts import CPU, MEMORY, UNIT, UNLIMITED, Amounts, PlanError, amounts, is_device, shown
from plan.demand import Demand, requests

MOST_NODES: Final = 100_000
KEEPS_AWAY: Final = ("NoSchedule", "NoExecute")
SHAPE: Final = re.compile(r"([0-9]{1,12})x([0-9]{1,12})((?:@[^@,=]+=[^@,]*)*)")
FORM: Final = "COUNTxGPUS, for example 10x8 or 4x8,2x4@pool=h100"
NAME: Final = "metadata.name"
"""The one field of nodes that `matchFields` knows; among the labels, under this key."""


class Taint(NamedTuple):
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return f"taint {self.key}{'=' if self.value else ''}{self.value}:{self.effect}"


@dataclass(frozen=True, slots=True, eq=False)
class Supply:
    """One node. Two are never equal: `Room` says which are alike."""

    allocatable: Amounts
    used: Amounts = field(default_factory=Amounts)
    """What the pods on it request."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    partial: bool = False
    """Whether only accelerators were given: of all else it has as much as anybody asks for."""

    def has(self, name: str) -> int:
        """Return how much of a resource it has."""
        return UNLIMITED if self.partial and not is_device(name) else self.allocatable[name]

    def free(self, name: str) -> int:
        """Return how much of a resource is free."""
        return max(0, self.has(name) - self.used[name])

    def slots(self, demand: Demand) -> int:
        """Return how many pods of a demand have room."""
        if obstacle(demand, self):
            return 0
        return min(self.free(name) // amount for name, amount in demand.requests)


def shape(node: Supply, marks: Iterable[str] = ()) -> str:
    """Return what a node has, in words: accelerators, CPU and memory, the labels of `marks`, taints.

    Memory is cut to whole GiB: equal machines differ by less.
    """
    room = [
        shown(name, amount) for name, amount in sorted(node.allocatable.items()) if is_device(name) and amount
    ]
    if not node.partial:
        memory = node.allocatable[MEMORY]
        room += [shown(CPU, node.allocatable[CPU]), shown(MEMORY, memory - memory % (2**30 * UNIT))]
    named = (f"{key}={node.labels[key]}" for key in sorted(marks) if key in node.labels)
    return ", ".join((*(room or ["no accelerator"]), *named, *map(str, node.taints)))


# --- which pods a node admits -----------------------------------------------------------------------


def lack(node: Supply, demand: Demand) -> str:
    """Return what a node lacks for a pod, in words."""
    if why := obstacle(demand, node):
        return f"excluded by {why}"
    if small := [name for name, amount in demand.requests if node.has(name) < amount]:
        return f"too small ({', '.join(small)})"
    used = [name for name, amount in demand.requests if node.free(name) < amount]
    return f"in use ({', '.join(used)})" if used else "large enough"


def obstacle(demand: Demand, node: Supply) -> str:
    """Return what keeps a pod from a node, whatever is free there; empty if it may use it."""
    selectors = [_read(where) for where in demand.where]
    for selector in selectors:
        if not any(all(_holds(rule, node.labels) for rule in rules) for rules in selector["rules"]):
            return "its node selector or affinity"
    strict = [taint for taint in node.taints if taint.effect in KEEPS_AWAY]
    tolerated = (
        any(_tolerates(each, taint) for each in selector["tolerations"])
        for selector in selectors
        for taint in strict
    )
    return "" if all(tolerated) else "taints"


def keys(demand: Demand) -> frozenset[str]:
    """Return the labels that count for a pod."""
    lists = (rules for where in demand.where for rules in _read(where)["rules"])
    return frozenset(str(rule.get("key")) for rules in lists for rule in rules)


@lru_cache(maxsize=1 << 12)
def _read(where: str) -> Any:
    return json.loads(where)


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


# --- Node objects -----------------------------------------------------------------------------------


def _supply(node: Object, used: defaultdict[str, Amounts]) -> Supply:
    """Read a Node, to which the API server gave its defaults; `used`: what pods request, by their node."""
    status, name = mapping(node.get("status")), text(metadata(node).get("name"))
    taints = map(mapping, listed(mapping(node.get("spec")).get("taints")))
    return Supply(
        amounts(status.get("allocatable")),
        used[name],
        labels={NAME: name} | {key: text(value) for key, value in labels(node).items()},
        taints=tuple(
            Taint(text(each.get("key")), text(each.get("value")), text(each.get("effect"))) for each in taints
        ),
    )


def out_of_service(node: Object) -> str:
    """Return why a node takes no pods: it is cordoned, or not ready; empty if it does."""
    if mapping(node.get("spec")).get("unschedulable") is True:
        return "cordoned"
    conditions = map(mapping, listed(mapping(node.get("status")).get("conditions")))
    is_unready = any(each.get("type") == "Ready" and each.get("status") != "True" for each in conditions)
    return "not ready" if is_unready else ""


def supplies(nodes: Iterable[Object], pods: Iterable[Object]) -> tuple[Supply, ...]:
    """Return the nodes that take pods, with what `pods` on them request: those that have not ended."""
    used = defaultdict[str, Amounts](Amounts)
    for spec in (mapping(pod.get("spec")) for pod in pods):
        used[text(spec.get("nodeName"))].update(requests(spec))
    return tuple(_supply(node, used) for node in nodes if not out_of_service(node))


# --- the short form ---------------------------------------------------------------------------------


def parse_shapes(word: str, offered: Collection[str]) -> tuple[Supply, ...]:
    """Parse `COUNTxGPUS[@LABEL=VALUE]…`, separated by commas. Raises `PlanError`.

    `offered`: the accelerator that the services request, which is that of the nodes.
    """
    if len(offered) > 1:
        raise PlanError(
            f"the services request {', '.join(sorted(offered))}; plan one of them, or on a cluster"
        )
    nodes: list[Supply] = []
    for part in map(str.strip, word.split(",")):
        matched = SHAPE.fullmatch(part)
        if not matched:
            raise PlanError(f"--nodes: {part[:80]!r} is not {FORM}")
        count, gpus, named = matched.groups()
        if len(nodes) + int(count) > MOST_NODES:
            raise PlanError(f"--nodes: more than {MOST_NODES} nodes are not planned")
        room = Amounts({name: int(gpus) * UNIT for name in offered or {"nvidia.com/gpu"}})
        marks = dict(mark.split("=", 1) for mark in named.split("@")[1:])
        nodes += [Supply(room, labels=marks, partial=True)] * int(count)
    return tuple(nodes)
