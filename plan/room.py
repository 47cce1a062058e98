"""How many pods have room on nodes, wherever the scheduler puts each of them: at least, and at most.

A node has some slots for a demand: the pods of it that fit alone. At least, each pod takes from each demand
the most slots that it can take on any node; at most, it takes only what it requests. Of equal pods both are
the same number. So it does not matter which nodes a scheduler prefers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import product
from typing import NamedTuple

from plan.amounts import UNLIMITED, Amounts, is_device
from plan.demand import Demand
from plan.supply import Supply, Taint, keys, obstacle
from plan.workload import Pods


class NodeKind(NamedTuple):
    """What nodes have in common: the labels that count, the taints, and what is free of each resource."""

    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]
    free: tuple[tuple[str, int], ...]


class Room:
    """Nodes, and the pods that are sure to be on them. All demands are named before."""

    def __init__(self, demands: Iterable[Demand]) -> None:
        """Start without a node."""
        self._asked = {demand: Counter(dict(demand.requests)) for demand in demands}
        self._resources = sorted({name for asked in self._asked.values() for name in asked})
        self.labels = frozenset[str]().union(*map(keys, self._asked))
        """The labels of nodes that count."""
        self._kinds: dict[NodeKind, Counter[Demand]] = {}
        self._loss = Counter[tuple[Demand, Demand]]()
        """The most slots of the second demand that a pod of the first takes, on any node."""
        self._low = Counter[Demand]()
        """The slots that are left at least."""
        self._slots = Counter[Demand]()
        """The slots of all nodes, whatever is on them."""
        self._free = defaultdict[frozenset[Demand], Amounts](Amounts)
        """What nodes have together, by the demands that have a slot there."""
        self.taken: Pods = Counter()
        """The pods that are sure to be there."""

    # --- nodes ---------------------------------------------------------------------------------------

    def add(self, node: Supply) -> None:
        """Add a node."""
        slots = self.slots(node)
        self._low.update(slots)
        self._slots.update(slots)
        self._free[frozenset(+slots)].update(dict(self._kind(node).free))

    def slots(self, node: Supply) -> Pods:
        """Return how many pods of each demand a node has room for."""
        kind = self._kind(node)
        if kind not in self._kinds:
            slots = self._kinds[kind] = Counter({each: self._count(each, kind) for each in self._asked})
            here = [demand for demand, count in slots.items() if count]
            scarce = self._scarce(here, dict(kind.free))
            for taker, loser in product(here, here):
                has, needs = self._asked[taker], self._asked[loser]
                takes = max((-(-has[name] // needs[name]) for name in scarce if needs[name]), default=0)
                self._loss[taker, loser] = max(self._loss[taker, loser], min(slots[loser], takes))
        return self._kinds[kind]

    def _kind(self, node: Supply) -> NodeKind:
        return NodeKind(
            tuple((key, value) for key, value in sorted(node.labels.items()) if key in self.labels),
            node.taints,
            tuple((name, max(0, node.free(name))) for name in self._resources),
        )

    def _count(self, demand: Demand, kind: NodeKind) -> int:
        if obstacle(demand, dict(kind.labels), kind.taints):
            return 0
        asked = self._asked[demand]
        return min(free // asked[name] for name, free in kind.free if asked[name])

    def _scarce(self, here: Iterable[Demand], free: Mapping[str, int]) -> list[str]:
        """Return the resources of a node that pods can use up.

        Where all pods take accelerators, no other resource is used up before these are, unless the pods that
        request most of it for each accelerator use it up.
        """
        asked = [self._asked[demand] for demand in here]
        limited = [name for name in free if free[name] < UNLIMITED]
        shared = (name for name in limited if is_device(name) and all(each[name] for each in asked))
        device = next(shared, None)
        if device is None:
            return limited
        most = [
            name
            for name in limited
            if any(each[name] * free[device] > each[device] * free[name] for each in asked)
        ]
        return [device, *most]

    # --- at least ------------------------------------------------------------------------------------

    def left(self, demand: Demand, pods: Pods) -> int:
        """Return how many slots are left at least, once other pods may have come too."""
        return self._low[demand] - sum(count * self._loss[other, demand] for other, count in pods.items())

    def fit(self, demand: Demand, pods: Pods) -> int:
        """Return how many pods of a demand, of those together, have room at least."""
        count = pods[demand]
        return max(0, min(count, self.left(demand, pods - Counter({demand: count}))))

    def take(self, pods: Pods) -> None:
        """Place pods that are sure to have room."""
        self._low = Counter({demand: max(0, self.left(demand, pods)) for demand in self._asked})
        self.taken = self.taken + pods

    # --- at most -------------------------------------------------------------------------------------

    def may_take(self, pods: Pods) -> bool:
        """Return whether there may be room for pods together, if all pods are placed as well as possible."""
        there = pods + self.taken
        for where in {demand.where for demand in pods}:
            alike = Pods({demand: count for demand, count in there.items() if demand.where == where})
            free = sum((has for here, has in self._free.items() if not here.isdisjoint(alike)), Amounts())
            asked = Amounts()
            for demand, count in alike.items():
                asked.update({name: count * amount for name, amount in demand.requests})
            if not (alike <= self._slots and asked <= free):
                return False
        return True
