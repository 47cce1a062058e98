"""What a node has: of a Node object, or of the short form `10x8,2x4@pool=h100`."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from intent import Object
from intent.shapes import labels, listed, mapping, metadata, text
from plan.amounts import CPU, MEMORY, PODS, UNIT, UNLIMITED, Amounts, amounts, is_device, shown
from plan.demand import requests

MOST_NODES: Final = 100_000
PODS_OF_A_NODE: Final = 110 * UNIT
"""The kubelet's default."""
SHAPE: Final = re.compile(r"([0-9]{1,12})x([0-9]{1,12})((?:@[^@,=]+=[^@,]*)*)")
FORM: Final = "COUNTxGPUS, for example 10x8 or 4x8,2x4@pool=h100"
ENDED: Final = ("Succeeded", "Failed")
NAME: Final = "metadata.name"
"""The one field of nodes that `matchFields` knows; among the labels, under this key."""


class ShapeError(ValueError):
    """Raised if the short form of nodes cannot be read; the message says what is wrong."""


class Taint(NamedTuple):
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return f"taint {self.key}{'=' if self.value else ''}{self.value}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Supply:
    """One node."""

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
        return self.has(name) - self.used[name]


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


# --- Node objects -----------------------------------------------------------------------------------


def supply(node: Object) -> Supply:
    """Read a Node."""
    status, name = mapping(node.get("status")), text(metadata(node).get("name"))
    taints = map(mapping, listed(mapping(node.get("spec")).get("taints")))
    return Supply(
        Amounts(
            {PODS: PODS_OF_A_NODE} | (amounts(status.get("allocatable")) or amounts(status.get("capacity")))
        ),
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


def with_pods(nodes: Iterable[Supply], pods: Iterable[Object]) -> tuple[Supply, ...]:
    """Return nodes with the pods that are bound to them; pods that have ended use nothing."""
    used: dict[str, Amounts] = {}
    for pod in pods:
        spec = mapping(pod.get("spec"))
        if text(mapping(pod.get("status")).get("phase")) not in ENDED:
            used.setdefault(text(spec.get("nodeName")), Amounts()).update(
                requests(spec) + Amounts({PODS: UNIT})
            )
    return tuple(replace(node, used=used.get(node.labels[NAME], Amounts())) for node in nodes)


# --- the short form ---------------------------------------------------------------------------------


def parse_shapes(word: str, offered: Collection[str]) -> tuple[Supply, ...]:
    """Parse `COUNTxGPUS[@LABEL=VALUE]…`, separated by commas. Raises `ShapeError`.

    `offered`: the accelerator that the services request, which is that of the nodes.
    """
    if len(offered) > 1:
        raise ShapeError(
            f"the services request {', '.join(sorted(offered))}; plan one of them, or on a cluster"
        )
    nodes: list[Supply] = []
    for part in map(str.strip, word.split(",")):
        matched = SHAPE.fullmatch(part)
        if not matched:
            raise ShapeError(f"{part[:80]!r} is not {FORM}")
        count, gpus, named = matched.groups()
        if len(nodes) + int(count) > MOST_NODES:
            raise ShapeError(f"more than {MOST_NODES} nodes are not planned")
        room = Amounts({name: int(gpus) * UNIT for name in offered or {"nvidia.com/gpu"}})
        marks = dict(mark.split("=", 1) for mark in named.split("@")[1:])
        nodes += [Supply(room, labels=marks, partial=True)] * int(count)
    return tuple(nodes)
