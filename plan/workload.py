"""Services as the scheduler sees them: roles, their groups, and the pods of a group."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from intent.annotations import ComponentType
from plan.demand import Demand, PodShape

Pods = Counter[Demand]
"""How many pods of each demand."""
Bound = Mapping[int, frozenset[int]]
"""By group: the worker indices of the pods that are on nodes already; that of a leader is 0."""


@dataclass(frozen=True)
class RolePods:
    """One LeaderWorkerSet: its groups are equal."""

    name: str
    """The LeaderWorkerSet."""
    role: str
    component: ComponentType
    size: int
    replicas: int
    shapes: tuple[PodShape, ...]
    """That of a leader, and of groups of several pods that of a worker."""
    required: int = 0
    """How many whole groups must start before anything of the service does."""
    bound: Bound = field(default_factory=dict)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The groups in the order in which they start: those that are on nodes, then by index."""
        return tuple(sorted(range(self.replicas), key=lambda group: any(self._missing(group))))

    @property
    def whole(self) -> int:
        """How many groups are on nodes."""
        return sum(not any(self._missing(group)) for group in self.bound if group < self.replicas)

    def pods(self, first: int, count: int) -> Pods:
        """Return the pods on no node of so many groups from the first one on, in their order."""
        leaders, workers = count, count * (self.size - 1)
        for group in self.order[first : first + count] if self.bound else ():
            there = self._missing(group)
            leaders, workers = leaders + there[0] - 1, workers + there[1] - self.size + 1
        pods = Pods({self.shapes[0].demand: leaders})
        pods[self.shapes[-1].demand] += workers
        return +pods

    def _missing(self, group: int) -> tuple[int, int]:
        """Return how many leaders and workers of a group are on no node."""
        there = [index for index in self.bound.get(group, ()) if index < self.size]
        return 1 - there.count(0), self.size - 1 - len(there) + there.count(0)

    def label(self, group: int) -> str:
        """Return the name of a group as tables show it; without its index if there is only one."""
        return f"{self.role}-{group}" if self.replicas > 1 else self.role


@dataclass(frozen=True)
class Workload:
    """What is scheduled together: the gang of a service, or a LeaderWorkerSet whose pods are in none."""

    namespace: str
    name: str
    roles: tuple[RolePods, ...]
    is_gang: bool = True
    """Whether it has a PodGroup; else every pod is placed by itself."""
    priority: int = 0
    held: str = ""
    """Why no scheduler looks at the pods at all."""
    notes: tuple[str, ...] = ()
    """What is not modelled, or was assumed."""

    @property
    def title(self) -> str:
        """The name with its namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def groups(self) -> int:
        """How many groups it has."""
        return sum(role.replicas for role in self.roles)

    @cached_property
    def unknown(self) -> str:
        """Why it is not known whether its pods have room, so that none is placed; empty if it is."""
        reasons = (why for role in self.roles for pod in role.shapes for why in pod.unknown)
        why = "; ".join(dict.fromkeys(reasons))
        return why and f"{self.title}: not known whether its pods have room: {why}"

    @cached_property
    def waits(self) -> str:
        """Why none of its pods starts, however many nodes there are; empty if they may."""
        empty = [role.role for role in self.roles if role.replicas < role.required]
        return self.held or (f"{' and '.join(empty)} must start too, and has replicas 0" if empty else "")
