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
from itertools import product
from typing import Final, NamedTuple

from plan.amounts import UNLIMITED, is_device
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


class Room:
    """Nodes, and the pods that are sure to be on them. All pods and nodes are named before."""

    def __init__(self, needs: Iterable[Need], nodes: Iterable[Supply]) -> None:
        """Prepare what depends on the pods and the nodes that there may be."""
        self.needs: Final = tuple(dict.fromkeys(needs))
        self._asked = {one: dict(one.requests) for one in self.needs}
        asked = {name for one in self.needs for name, amount in one.requests if amount}
        self.resources: Final = tuple(sorted(asked))
        self._labels = frozenset[str]().union(*(keys(one.demand) for one in self.needs))
        self._counts: dict[NodeKind, dict[Need, int]] = {}
        self._loss = self._losses(dict.fromkeys(map(self.kind, nodes)))
        self.low = dict.fromkeys(self.needs, 0)
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
        for one, count in self.counts(kind).items():
            self.low[one] += count

    def counts(self, kind: NodeKind) -> Mapping[Need, int]:
        """Return how many slots a node has."""
        if kind not in self._counts:
            self._counts[kind] = {one: self._count(one, kind) for one in self.needs}
        return self._counts[kind]

    def _count(self, one: Need, kind: NodeKind) -> int:
        if obstacle(one.demand, dict(kind.labels), kind.taints):
            return 0
        asked, free = self._asked[one], zip(self.resources, kind.free, strict=True)
        return max(0, min(left // asked[name] for name, left in free if asked.get(name)))

    # --- at least ------------------------------------------------------------------------------------

    def _losses(self, kinds: Iterable[NodeKind]) -> dict[tuple[Need, Need], int]:
        """Return the most slots of each need that one pod of another takes, on any node."""
        found: dict[tuple[Need, Need], int] = {}
        for kind in kinds:
            counts = {one: count for one, count in self.counts(kind).items() if count}
            scarce = self._scarce(kind, counts)
            for one, other in product(counts, counts):
                most = min(counts[other], self._takes(one, other, scarce))
                found[one, other] = max(found.get((one, other), 0), most)
        return found

    def _takes(self, one: Need, other: Need, scarce: Iterable[str]) -> int:
        """Return by how much a pod of one need lowers the slots of another on a node, at most."""
        has, needs = self._asked[one], self._asked[other]
        return max((-(-has.get(name, 0) // needs[name]) for name in scarce if needs.get(name)), default=0)

    def _scarce(self, kind: NodeKind, here: Iterable[Need]) -> Sequence[str]:
        """Return the resources of a node that pods can use up.

        Where all pods take accelerators, no other resource is used up before these are, unless the pods that
        request most of it for each accelerator use it up.
        """
        free = dict(zip(self.resources, kind.free, strict=True))
        devices = [name for name in self.resources if is_device(name) and free[name]]
        limited = [name for name in self.resources if free[name] < UNLIMITED]
        asked = [self._asked[one] for one in here]
        if len(devices) != 1 or not all(one.get(devices[0]) for one in asked):
            return limited
        (device,) = devices
        most = {
            name: max((Fraction(one.get(name, 0), one[device]) for one in asked), default=0) for name in free
        }
        return [name for name in limited if name == device or free[name] < most[name] * free[device]]

    def left(self, one: Need, pods: Pods) -> int:
        """Return how many slots are left at least, once other pods may have come too."""
        return self.low[one] - sum(count * self._loss.get((other, one), 0) for other, count in pods.items())

    def take(self, pods: Pods) -> None:
        """Place pods that are sure to have room."""
        for one in self.needs:
            self.low[one] = max(0, self.left(one, pods))
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
            sum(count * self._asked[other].get(name, 0) for other, count in stay.items()) <= inside.free[name]
            for name, amount in one.requests
            if amount
        )

    def _inside(self, one: Need) -> "_Inside":
        if one not in self._known:
            inside, outside = Counter[str](), Counter[Need]()
            slots = 0
            for kind, many in self.nodes.items():
                counts = self.counts(kind)
                if own := counts[one]:
                    slots += many * own
                    for name, left in zip(self.resources, kind.free, strict=True):
                        inside[name] += many * left
                else:
                    for other in self.needs:
                        outside[other] += many * counts[other]
            self._known[one] = _Inside(slots, inside, outside)
        return self._known[one]


class _Inside(NamedTuple):
    """The nodes that pods of a demand may use, and what other pods have elsewhere."""

    slots: int
    free: Mapping[str, int]
    outside: Mapping[Need, int]
