"""How far one service is: which of its groups have started, and which of its pods are on nodes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from plan.pool import NodePool
from plan.workload import GroupKey, Workload

Placed = dict[int, int]
"""The node of each pod of a group, by worker index."""


@dataclass(frozen=True, slots=True)
class Order:
    """In which order pods of no gang are tried.

    By default all leaders come before all workers, as LeaderWorkerSet creates them: the fewest groups start.
    """

    groups_first: bool = False
    """One group comes after the other: the most groups start."""
    lowest_first: bool = False
    """Pods of low priority come first: pods that found no room wait for a while, and others overtake them."""

    def place(self, key: GroupKey, pod: int) -> tuple[int, int]:
        """Return the place of a pod in its workload."""
        return (key[1], pod) if self.groups_first else (pod, key[1])


DEFAULT: Final = Order()


@dataclass(frozen=True, slots=True, order=True)
class Single:
    """A pod of no gang that waits."""

    place: tuple[int, int]
    """Its place in the order of its workload."""
    key: GroupKey
    pod: int


@dataclass(slots=True)
class Progress:
    """How far one workload is."""

    workload: Workload
    numbers: dict[int, tuple[int, int]]
    """The demands of leader and workers, by role, as positions in the pool."""
    placed: dict[GroupKey, Placed] = field(default_factory=dict)
    """The pods that were placed; of a started group all of them, unless some were bound before."""
    started: dict[GroupKey, None] = field(default_factory=dict)
    """The groups whose pods are all on nodes, in the order in which they started."""
    ready: list[int] = field(default_factory=list)
    """How many groups of each role have started."""
    pods: int = 0
    """How many pods are on nodes."""
    allocated: list[int] = field(default_factory=list)
    singles: dict[int, list[Single]] = field(default_factory=dict)
    """Of a workload that is in no gang: the pods that wait, by demand, the next one last."""
    left: dict[GroupKey, int] = field(default_factory=dict)
    """Of these, how many each group has."""
    first: int = 0
    """The groups before this one have started."""

    @property
    def pending(self) -> Iterator[GroupKey]:
        """The groups that have not started, in order."""
        groups = self.workload.groups
        while self.first < len(groups) and groups[self.first] in self.started:
            self.first += 1
        for at in range(self.first, len(groups)):
            if groups[at] not in self.started:
                yield groups[at]

    @property
    def complete(self) -> bool:
        """Whether every group has started."""
        return len(self.started) == len(self.workload.groups)

    @property
    def is_ready(self) -> bool:
        """Whether the required groups have started."""
        roles = self.workload.roles
        return all(has >= role.required for has, role in zip(self.ready, roles, strict=True))

    def copy(self) -> "Progress":
        """Return a progress that goes on by itself."""
        return Progress(
            self.workload,
            self.numbers,
            {key: dict(pods) for key, pods in self.placed.items()},
            dict(self.started),
            [*self.ready],
            self.pods,
            [*self.allocated],
            {demand: [*pods] for demand, pods in self.singles.items()},
            dict(self.left),
            self.first,
        )


def begin(workload: Workload, pool: NodePool, order: Order = DEFAULT) -> Progress:
    """Return the progress of a workload before the first cycle: what is bound already."""
    index = {one: at for at, one in enumerate(pool.demands)}
    numbers = {
        at: (index[role.leader], index[role.worker] if role.size > 1 else index[role.leader])
        for at, role in enumerate(workload.roles)
    }
    made = Progress(workload, numbers, ready=[0] * len(workload.roles), allocated=[0] * len(pool.resources))
    there: dict[GroupKey, list[int]] = {}
    for at, role in enumerate(workload.roles):
        for group, pod in role.bound:
            if pod < role.size:
                there.setdefault((at, group), []).append(pod)
    for key in workload.groups:
        pods = there.get(key, [])
        for pod in pods:
            count(made, pool, numbers[key[0]][bool(pod)], 1)
        if len(pods) == workload.roles[key[0]].size:
            start(made, key)
        elif not workload.gang:
            _wait_singly(made, key, order)
    for waiting in made.singles.values():
        waiting.sort(reverse=True)
    return made


def _wait_singly(made: Progress, key: GroupKey, order: Order) -> None:
    missing = made.workload.pods(key)
    made.left[key] = len(missing)
    for pod in missing:
        waiting = made.singles.setdefault(made.numbers[key[0]][bool(pod)], [])
        waiting.append(Single(order.place(key, pod), key, pod))


def start(one: Progress, key: GroupKey) -> None:
    """Take a group as started."""
    one.started[key] = None
    one.ready[key[0]] += 1


def count(one: Progress, pool: NodePool, demand: int, times: int) -> None:
    """Count a pod that was placed, or with -1 one that was removed."""
    one.pods += times
    for at, amount in pool.needs[demand]:
        one.allocated[at] += times * amount
