"""Nodes and services while nodes are added; the groups that have started so far."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plan.cycle import Cycle
from plan.pool import Choose, NodePool, first
from plan.progress import DEFAULT, Order, Progress, begin
from plan.scoring import VOLCANO, Scoring
from plan.supply import Supply
from plan.workload import GroupKey, Workload, demands

WorkloadGroup = tuple[int, GroupKey]
"""The position of a workload, and a group of it."""


@dataclass(slots=True)
class Simulation:
    """Nodes and workloads, and what was placed so far."""

    pool: NodePool
    progress: list[Progress]
    rules: Scoring = VOLCANO
    order: Order = DEFAULT

    @classmethod
    def of(
        cls,
        workloads: Sequence[Workload],
        rules: Scoring = VOLCANO,
        choose: Choose = first,
        order: Order = DEFAULT,
    ) -> "Simulation":
        """Return the simulation before the first node. `order`: that of the pods of no gang."""
        pool = NodePool(demands(workloads), choose)
        return cls(pool, [begin(one, pool, order) for one in workloads], rules, order)

    def add(self, nodes: Iterable[Supply]) -> None:
        """Add nodes, and place what fits."""
        self.pool.add(nodes)
        self.settle()

    def settle(self) -> None:
        """Place what fits."""
        Cycle(self.pool, self.rules, self.order).run(self.progress)

    @property
    def started(self) -> frozenset[WorkloadGroup]:
        """All groups that have started."""
        return frozenset((at, key) for at, one in enumerate(self.progress) for key in one.started)

    def copy(self) -> "Simulation":
        """Return a simulation that goes on by itself."""
        return Simulation(self.pool.copy(), [one.copy() for one in self.progress], self.rules, self.order)


def random(seed: int) -> Choose:
    """Return a choice that is the same in every run."""
    state = [seed * 2_654_435_761 % 2**32]

    def choose(count: int) -> int:
        state[0] = (state[0] * 1_664_525 + 1_013_904_223) % 2**32
        return (state[0] >> 16) % count

    return choose
