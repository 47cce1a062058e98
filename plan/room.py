"""How many pods have room on nodes, wherever the scheduler puts each of them: at least, and at most.

A node has some slots for a demand: the pods of it that fit alone. At least, each pod takes from each demand
the most slots that it can take on any node; at most, it takes only what it requests. Of equal pods both are
the same number. So it does not matter which nodes a scheduler prefers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import product
from typing import Any

from plan.amounts import UNLIMITED, Amounts
from plan.demand import Demand
from plan.supply import Supply, keys
from plan.workload import Pods


class Room:
    """Nodes, and the pods that are sure to be on them. All demands are named before."""

    def __init__(self, demands: Iterable[Demand]) -> None:
        """Start without a node."""
        self._asked = {demand: Counter(dict(demand.requests)) for demand in demands}
        self._resources = sorted({name for asked in self._asked.values() for name in asked})
        self.labels = sorted(frozenset[str]().union(*map(keys, self._asked)))
        """The labels of nodes that count."""
        self.nodes = Counter[Supply]()
        """How many nodes are alike, by the first of them."""
        self._kinds: dict[Any, tuple[Supply, Pods]] = {}
        """The first node of each kind, and its slots."""
        self._loss = Counter({(demand, demand): 1 for demand in self._asked})
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
        kind, slots = self.kind(node)
        self.nodes[kind] += 1
        self._low.update(slots)
        self._slots.update(slots)
        self._free[frozenset(+slots)].update({name: kind.free(name) for name in self._resources})

    def kind(self, node: Supply) -> tuple[Supply, Pods]:
        """Return the first node that is like one in all that counts, and its slots."""
        room = ((node.has(name), node.free(name)) for name in self._resources)
        key = (*map(node.labels.get, self.labels), node.taints, *room)
        if key not in self._kinds:
            slots = Pods({demand: node.slots(demand) for demand in self._asked})
            self._kinds[key] = node, slots
            here = list(+slots)
            scarce = self._scarce(node, here)
            for taker, loser in product(here, here):
                has, needs = self._asked[taker], self._asked[loser]
                takes = max((-(-has[name] // needs[name]) for name in scarce if needs[name]), default=0)
                self._loss[taker, loser] = max(self._loss[taker, loser], min(slots[loser], takes))
        return self._kinds[key]

    def _scarce(self, node: Supply, here: Iterable[Demand]) -> list[str]:
        """Return the resources of a node that pods can use up.

        Not one of which each pod takes at most the share that it takes of another: that is used up first.
        """
        asked = [self._asked[demand] for demand in here]
        free = {name: node.free(name) for name in self._resources if 0 < node.free(name) < UNLIMITED}
        scarce = list(free)
        for name, amount in free.items():
            others = (other for other in scarce if other != name)
            if any(all(each[name] * free[by] <= each[by] * amount for each in asked) for by in others):
                scarce.remove(name)
        return scarce

    # --- at least ------------------------------------------------------------------------------------

    def left(self, demand: Demand, pods: Pods) -> int:
        """Return how many slots are left at least, once other pods may have come too."""
        return self._low[demand] - sum(count * self._loss[other, demand] for other, count in pods.items())

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
