"""How many pods have room on nodes, wherever the scheduler puts each of them: at least, and at most.

A node has some slots for a demand: the pods of it that fit alone. At least, each pod takes from each demand
the most slots that it can take on any node; at most, it takes only what it requests. Of equal pods both are
the same number. So it does not matter which nodes a scheduler prefers.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from plan.amounts import UNLIMITED, Amounts, is_device
from plan.demand import Demand
from plan.placing import NAME, keys, obstacle
from plan.supply import Supply, Taint

Pods = Counter["Need"]
"""How many pods of each demand."""


@dataclass(frozen=True, slots=True, eq=False)
class Need:
    """A demand, without what does not decide where its pods have room. Equal ones are one object."""

    demand: Demand

    @property
    def requests(self) -> tuple[tuple[str, int], ...]:
        """Thousandths by resource."""
        return self.demand.requests


@lru_cache(maxsize=1 << 12)
def need(demand: Demand) -> Need:
    """Return the need of a demand."""
    bare = replace(demand, priority=0, scheduler="", unmodelled=(), unknown=())
    return Need(bare) if bare == demand else need(bare)


class NodeKind(NamedTuple):
    """What nodes have in common: the labels that count, the taints, and what is free of each resource."""

    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]
    free: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """A pod of a demand, on nodes that have room for a pod of `first` too, if there is one."""

    demand: Need
    first: Need | None = None

    @property
    def is_pair(self) -> bool:
        """Whether a node may have room for the demand, and none for `first`."""
        has = dict(self.demand.requests)
        return self.first is not None and any(
            has.get(name, 0) < amount for name, amount in self.first.requests
        )


class Check(NamedTuple):
    """So many slots have to be there, beside the pods that come first."""

    slot: Slot
    slots: int
    first: Pods = Counter()  # noqa: RUF012 - it is never changed
    """Pods of the same group that come first."""


class Room:
    """Nodes, and the pods that are sure to be on them. All pods and nodes are named before."""

    def __init__(self, slots: Iterable[Slot], nodes: Iterable[Supply], few: Pods) -> None:
        """Prepare what depends on the pods and the nodes that there may be. `few`: all pods that may come."""
        self.slots: Final = tuple(dict.fromkeys(slots))
        self.demands: Final = tuple(dict.fromkeys(one.demand for one in self.slots if one.first is None))
        self._needs = {one.demand: dict(one.demand.requests) for one in self.slots}
        asked = {name for one in self._needs for name, amount in one.requests if amount}
        self.resources: Final = tuple(sorted(asked))
        self._labels = frozenset[str]().union(*(keys(one.demand) for one in self.demands))
        self._few = few
        self._counts: dict[NodeKind, dict[Slot, int]] = {}
        kinds = dict.fromkeys(map(self.kind, nodes))
        self._loss = self._losses(tuple(kinds))
        self.low = dict.fromkeys(self.slots, 0)
        """The slots that are left at least."""
        self.nodes: Counter[NodeKind] = Counter()
        self.taken: Pods = Counter()
        """The pods that are sure to be there."""
        self._known: dict[Need, _Inside] = {}

    def copy(self) -> "Room":
        """Return the same room, which changes by itself."""
        made = object.__new__(Room)
        made.__dict__ = {**self.__dict__, "low": dict(self.low)}
        made.nodes, made.taken = Counter(self.nodes), Counter(self.taken)
        return made

    # --- nodes ---------------------------------------------------------------------------------------

    def kind(self, node: Supply) -> NodeKind:
        """Return the kind of a node."""
        labels = {**node.labels, NAME: node.name}
        free = (UNLIMITED if node.has_enough(name) else node.free(name) for name in self.resources)
        own = tuple((key, labels[key]) for key in sorted(self._labels) if key in labels)
        return NodeKind(own, node.taints, tuple(free))

    def add(self, node: Supply) -> None:
        """Add a node."""
        kind = self.kind(node)
        self.nodes[kind] += 1
        self._known = {}
        for slot, count in self.counts(kind).items():
            self.low[slot] += count

    def counts(self, kind: NodeKind) -> Mapping[Slot, int]:
        """Return how many slots a node has."""
        if kind not in self._counts:
            alone = {one.demand: self._count(one.demand, kind) for one in self.slots}
            self._counts[kind] = {
                one: alone[one.demand] if one.first is None or alone[one.first] else 0 for one in self.slots
            }
        return self._counts[kind]

    def _count(self, demand: Need, kind: NodeKind) -> int:
        if obstacle(demand.demand, dict(kind.labels), kind.taints):
            return 0
        asked = dict(demand.requests)
        free = zip(self.resources, kind.free, strict=True)
        return max(0, min(left // asked[name] for name, left in free if asked.get(name)))

    # --- at least ------------------------------------------------------------------------------------

    def _losses(self, kinds: Sequence[NodeKind]) -> dict[tuple[Need, Slot], int]:
        """Return the most slots that one pod of a demand takes, on any node."""
        found: dict[tuple[Need, Slot], int] = {}
        for kind in kinds:
            counts = self.counts(kind)
            scarce = self._scarce(kind)
            for one in self.demands:
                for slot in self.slots if counts.get(Slot(one)) else ():
                    takes = counts[slot] if slot.is_pair else self._takes(one, slot.demand, scarce)
                    most = min(counts[slot], takes)
                    found[one, slot] = max(found.get((one, slot), 0), most)
        return found

    def _takes(self, one: Need, other: Need, scarce: Iterable[str]) -> int:
        """Return by how much a pod of one demand lowers the slots of another on a node, at most."""
        has, needs = self._needs[one], self._needs[other]
        return max((-(-has.get(name, 0) // needs[name]) for name in scarce if needs.get(name)), default=0)

    def _scarce(self, kind: NodeKind) -> Sequence[str]:
        """Return the resources of a node that pods can use up.

        None of the others is used up before the accelerators are: not even by the pods that request most of
        it for each accelerator, beside all pods that request no accelerator.
        """
        free = dict(zip(self.resources, kind.free, strict=True))
        here = [one for one in self.demands if self.counts(kind).get(Slot(one))]
        devices = [name for name in self.resources if is_device(name) and free[name]]
        if len(devices) != 1:
            return [name for name in self.resources if free[name] < UNLIMITED]
        (device,) = devices
        loose = Counter({one: self._few[one] for one in here if not self._needs[one].get(device)})
        bound = [self._needs[one] for one in here if one not in loose]
        beside = {
            name: sum(count * self._needs[one].get(name, 0) for one, count in loose.items()) for name in free
        }
        return [
            name
            for name in self.resources
            if name == device or free[name] < _most(name, device, free, bound) + beside[name]
        ]

    def left(self, slot: Slot, pods: Pods) -> int:
        """Return how many slots are left at least, once other pods may have come too."""
        return self.low[slot] - self.loss(slot, pods)

    def loss(self, slot: Slot, pods: Pods) -> int:
        """Return how many slots pods take at most."""
        return sum(count * self._loss.get((one, slot), 0) for one, count in pods.items())

    def take(self, pods: Pods) -> None:
        """Place pods that are sure to have room."""
        for slot in self.slots:
            self.low[slot] = max(0, self.left(slot, pods))
        self.taken += pods

    # --- at most -------------------------------------------------------------------------------------

    def may_take(self, pods: Pods) -> bool:
        """Return whether there may be room for pods together, if all pods are placed as well as possible."""
        there = pods + self.taken
        return all(self._may_take(one, there) for one in pods if pods[one])

    def _may_take(self, one: Need, there: Pods) -> bool:
        """Return whether the nodes that a demand may use have what pods request that cannot be elsewhere."""
        inside = self._inside(one)
        if there[one] > inside.slots:
            return False
        stay = {other: max(0, count - inside.outside[other]) for other, count in there.items()}
        return all(
            sum(count * self._needs[other].get(name, 0) for other, count in stay.items()) <= inside.free[name]
            for name, amount in one.requests
            if amount
        )

    def _inside(self, one: Need) -> "_Inside":
        if one not in self._known:
            inside, outside = Counter[str](), Counter[Need]()
            slots = 0
            for kind, many in self.nodes.items():
                counts = self.counts(kind)
                if own := counts[Slot(one)]:
                    slots += many * own
                    for name, left in zip(self.resources, kind.free, strict=True):
                        inside[name] += many * left
                else:
                    for other in self.demands:
                        outside[other] += many * counts[Slot(other)]
            self._known[one] = _Inside(slots, inside, outside)
        return self._known[one]


class _Inside(NamedTuple):
    """The nodes that pods of a demand may use, and what other pods have elsewhere."""

    slots: int
    free: Mapping[str, int]
    outside: Mapping[Need, int]


def _most(name: str, device: str, free: Amounts, pods: Iterable[Amounts]) -> Fraction:
    """Return the most of a resource that pods use which use up a node's accelerators."""
    each = (Fraction(one.get(name, 0), one[device]) for one in pods)
    return max(each, default=Fraction(0)) * free[device]
