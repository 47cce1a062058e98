"""Services as the scheduler sees them: roles, their groups, and the pods of a group in their order."""

from dataclasses import dataclass, field
from functools import cached_property

from intent.annotations import ComponentType
from plan.demand import Demand

MOST_GROUPS = 20_000
"""The most groups of one role, and the most pods of one service, that are planned."""
GroupKey = tuple[int, int]
"""The position of a role in its workload, and the index of the group."""


@dataclass(frozen=True, slots=True)
class RolePods:
    """One LeaderWorkerSet: its groups are equal."""

    name: str
    """The LeaderWorkerSet."""
    role: str
    component: ComponentType
    size: int
    replicas: int
    leader: Demand
    worker: Demand
    required: int = 0
    """How many whole groups must start before anything of the service does."""
    bound: frozenset[tuple[int, int]] = frozenset()
    """Group and worker index of the pods that are on nodes already."""

    def label(self, group: int) -> str:
        """Return the name of a group as tables show it; without its index if there is only one."""
        return f"{self.role}-{group}" if self.replicas > 1 else self.role


@dataclass(frozen=True)
class Workload:
    """What is scheduled together: the gang of a service, or LeaderWorkerSets that are in none."""

    namespace: str
    name: str
    roles: tuple[RolePods, ...]
    gang: str = ""
    """The PodGroup; empty: every pod is placed by itself."""
    min_member: int = 0
    priority: int = 0
    created: str = ""
    """When the PodGroup was created, as a sort key."""
    waits: tuple[str, ...] = ()
    """Why no scheduler looks at the pods at all."""
    notes: tuple[str, ...] = field(default=())
    """What is not modelled, or was assumed."""

    @property
    def title(self) -> str:
        """The name with its namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @cached_property
    def unknown(self) -> str:
        """Why it is not known whether its pods have room, so that none is placed; empty if it is."""
        pods = (pod for role in self.roles for pod in (role.leader, role.worker)[: role.size])
        why = "; ".join(dict.fromkeys(why for pod in pods for why in pod.unknown))
        return why and f"{self.title}: not known whether its pods have room: {why}"

    @property
    def stays(self) -> bool:
        """Whether none of its pods is placed."""
        return bool(self.waits or self.unknown)

    @cached_property
    def groups(self) -> tuple[GroupKey, ...]:
        """All groups, in the order in which the scheduler tries them, required ones aside."""
        found = [(role, group) for role, one in enumerate(self.roles) for group in range(one.replicas)]
        return tuple(sorted(found, key=self._order))

    def _order(self, key: GroupKey) -> tuple[int, int, str]:
        """Volcano: by the priority of its pods, by index, by the name of the policy."""
        role, group = self.roles[key[0]], key[1]
        priority = max(role.leader.priority, role.worker.priority if role.size > 1 else 0, 0)
        return -priority, group, f"{role.name}-{group}"

    def label(self, key: GroupKey) -> str:
        """Return the name of a group as tables show it."""
        return self.roles[key[0]].label(key[1])

    def missing(self, key: GroupKey) -> tuple[int, int]:
        """Return how many leaders and workers of a group are not on a node."""
        role, group = self.roles[key[0]], key[1]
        there = [pod for at, pod in role.bound if at == group and pod < role.size] if role.bound else []
        leaders = there.count(0)
        return 1 - leaders, role.size - 1 - (len(there) - leaders)
