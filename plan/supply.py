"""What a node has: of a Node object, or of the short form `10x8,2x4@pool=h100`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from intent import Object
from intent.shapes import labels, listed, mapping, metadata, text
from plan.amounts import CPU, MEMORY, PODS, UNIT, Amounts, accelerators, amounts, is_device, shown, total
from plan.demand import requests

MOST_NODES: Final = 100_000
MOST_GPUS: Final = 4096
"""The most accelerators of one node in the short form."""
PODS_OF_A_NODE: Final = 110
"""The kubelet's default."""
SHAPE: Final = re.compile(r"([0-9]{1,12})x([0-9]{1,12})(?::([^@,]+))?((?:@[^@,=]+=[^@,]*)*)")
FORM: Final = "COUNTxGPUS, for example 10x8 or 4x8,2x4@pool=h100"
ENDED: Final = ("Succeeded", "Failed")


class ShapeError(ValueError):
    """Raised if the short form of nodes cannot be read; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True)
class Supply:
    """One node."""

    name: str
    allocatable: Amounts
    used: Amounts = field(default_factory=dict)
    """What the pods on it request."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    partial: bool = False
    """Whether only some resources were given: of the others it has as much as anybody asks for."""

    def has_enough(self, name: str) -> bool:
        """Return whether a resource was not given, and counts as enough for anybody."""
        return self.partial and not is_device(name)

    def free(self, name: str) -> int:
        """Return how much of a resource is free."""
        return self.allocatable.get(name, 0) - self.used.get(name, 0)


def shape(node: Supply, marks: Iterable[tuple[str, str]] = ()) -> str:
    """Return what a node has, in words: accelerators, CPU and memory, labels that count, taints.

    Memory is cut to whole GiB: equal machines differ by less.
    """
    room = sorted((name, amount) for name, amount in node.allocatable.items() if accelerators({name: amount}))
    found = [shown(name, amount) for name, amount in room] or ["no accelerator"]
    for name, unit in () if node.partial else ((CPU, 1), (MEMORY, 2**30 * UNIT)):
        amount = node.allocatable.get(name, 0)
        found.append(shown(name, amount - amount % unit if amount >= unit else amount))
    taints = (f"taint {one.key}{'=' if one.value else ''}{one.value}:{one.effect}" for one in node.taints)
    return ", ".join((*found, *(f"{key}={value}" for key, value in sorted(marks)), *taints))


# --- Node objects -----------------------------------------------------------------------------------


def supply(node: Object) -> Supply:
    """Read a Node."""
    status = mapping(node.get("status"))
    has = amounts(status.get("allocatable")) or amounts(status.get("capacity"))
    return Supply(
        name=text(metadata(node).get("name")),
        allocatable=has if PODS in has else has | {PODS: PODS_OF_A_NODE * UNIT},
        labels={key: text(value) for key, value in labels(node).items()},
        taints=tuple(
            Taint(text(one.get("key")), text(one.get("value")), text(one.get("effect")))
            for one in map(mapping, listed(mapping(node.get("spec")).get("taints")))
        ),
    )


def unread(node: Object) -> Iterator[str]:
    """Yield what cannot be read of what a node has, and would count as nothing."""
    status = mapping(node.get("status"))
    field = "allocatable" if status.get("allocatable") else "capacity"
    table = mapping(status.get(field))
    for name in table.keys() - amounts(table).keys():
        yield f"status.{field}[{name[:80]}]: {table[name]!r:.80} is no quantity, such as 8 or 512Gi"


def out_of_service(node: Object) -> str:
    """Return why a node takes no pods: it is cordoned, or not ready; empty if it does."""
    if mapping(node.get("spec")).get("unschedulable") is True:
        return "cordoned"
    for one in map(mapping, listed(mapping(node.get("status")).get("conditions"))):
        if one.get("type") == "Ready" and one.get("status") != "True":
            return "not ready"
    return ""


def with_pods(nodes: Iterable[Supply], pods: Iterable[Object]) -> tuple[Supply, ...]:
    """Return nodes with the pods that are bound to them; pods that have ended use nothing."""
    by_name: dict[str, list[Object]] = {}
    for pod in pods:
        spec = mapping(pod.get("spec"))
        if text(mapping(pod.get("status")).get("phase")) not in ENDED and text(spec.get("nodeName")):
            by_name.setdefault(text(spec.get("nodeName")), []).append(spec)
    return tuple(_with_specs(one, by_name.get(one.name, [])) for one in nodes)


def _with_specs(node: Supply, specs: list[Object]) -> Supply:
    return replace(node, used=total((node.used, *(requests(spec) | {PODS: UNIT} for spec in specs))))


# --- the short form ---------------------------------------------------------------------------------


def parse_shapes(word: str, offered: Iterable[str]) -> tuple[Supply, ...]:
    """Parse `COUNTxGPUS[:RESOURCE][@LABEL=VALUE]…`, separated by commas. Raises `ShapeError`.

    `offered`: the accelerators that the services request. Of two, a shape must say which one it has.
    """
    found: list[Supply] = []
    for part in word.split(","):
        count, gpus, resource, named = _shape(part.strip())
        if len(found) + count > MOST_NODES:
            raise ShapeError(f"more than {MOST_NODES} nodes are not planned")
        has = {PODS: PODS_OF_A_NODE * UNIT}
        if gpus:
            has[resource or _resource(part, offered)] = gpus * UNIT
        found += [
            Supply(f"node-{at}", has, labels=named, partial=True)
            for at in range(len(found), len(found) + count)
        ]
    return tuple(found)


def _shape(part: str) -> tuple[int, int, str, dict[str, str]]:
    matched = SHAPE.fullmatch(part)
    if not matched:
        raise ShapeError(f"{part[:80]!r} is not {FORM}")
    count, gpus, resource, named = matched.groups()
    if int(gpus) > MOST_GPUS:
        raise ShapeError(f"{part[:80]!r}: no node has more than {MOST_GPUS} accelerators")
    if resource and not is_device(resource):
        raise ShapeError(f"{part[:80]!r}: {resource[:80]!r} is no accelerator; list nodes with --nodes-file")
    return int(count), int(gpus), resource or "", dict(_labels(named))


def _labels(named: str) -> Iterator[tuple[str, str]]:
    for one in named.split("@")[1:]:
        key, _, value = one.partition("=")
        yield key, value


def _resource(part: str, offered: Iterable[str]) -> str:
    """Return the accelerator of a shape that names none."""
    names = sorted(set(offered))
    if len(names) > 1:
        raise ShapeError(
            f"{part[:80]!r}: the services request {', '.join(names)}; say which, as in {part[:40]}:{names[0]}"
        )
    return names[0] if names else "nvidia.com/gpu"
