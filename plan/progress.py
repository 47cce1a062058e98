"""How many groups have started on nodes that are added: the fewest, and the most.

Services come by priority; of one priority those first that have not started, in their order. The required
groups of a service start together, and every further one whole. Before each further group Volcano 1.14
compares shares of services (`pkg/scheduler/actions/allocate/allocate.go`): here any may have its turn first,
so each has what the others leave. So it is of pods of no gang, which another scheduler places one by one.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import add, sub
from typing import Any

from plan.room import Room
from plan.supply import Supply
from plan.workload import Pods, Workload

Counts = tuple[int, ...]
"""A number of groups of each role."""


@dataclass
class Standing:
    """How far a workload is: how many groups have started, the first ones."""

    workload: Workload
    started: Counts
    """Whichever nodes the scheduler takes."""
    uncertain: Counts
    """The next ones, which may have started too."""
    like: int = 0
    """Equal for workloads whose pods and numbers of groups are equal."""
    alone: frozenset[int] = frozenset()
    """In a plan, of a blocked workload: the required roles of which one group would fit by itself."""

    @property
    def pending(self) -> Counts:
        """How many groups have not started."""
        return tuple(map(sub, (role.replicas for role in self.workload.roles), self.started))

    @property
    def required(self) -> Counts:
        """How many groups must still start, together, before any other."""
        roles = zip(self.workload.roles, self.started, strict=True)
        return tuple(max(0, role.required - has) for role, has in roles)

    @property
    def is_complete(self) -> bool:
        """Whether all groups have started."""
        return not any(self.pending)

    @property
    def is_waiting(self) -> bool:
        """Whether groups start as soon as they have room."""
        return not (self.is_complete or self.workload.waits or self.workload.unknown)

    def only(self, role: int, count: int = 1) -> Counts:
        """Return a number of groups of one role."""
        return tuple(count if each == role else 0 for each in range(len(self.started)))

    def next(self) -> Iterator[Counts]:
        """Yield which groups may start next: the required ones together, else one of any role."""
        if any(self.required):
            yield self.required
        else:
            yield from (self.only(role) for role, count in enumerate(self.pending) if count)

    def pods(self, counts: Counts) -> Pods:
        """Return the pods of the next groups."""
        each = zip(self.workload.roles, counts, strict=True)
        return sum((role.pods(count) for role, count in each), Pods())

    def labels(self, counts: Counts) -> list[str]:
        """Return the names of the next groups."""
        each = zip(self.workload.roles, self.started, counts, strict=True)
        return [
            role.label(group)
            for role, first, count in each
            for group in range(first, min(first + count, role.replicas))
        ]


def _rank(standing: Standing) -> tuple[bool, int]:
    """Return what decides which workloads come first: those of no gang have what the others leave."""
    return not standing.workload.is_gang, -standing.workload.priority


class Progress:
    """Nodes, and how far the workloads are."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        """Start without a node: only what is on nodes already has started."""
        self.standings: list[Standing] = []
        alike: dict[Any, int] = {}
        for each in workloads:
            equal = (each.is_gang, *(replace(role, name="", whole=0) for role in each.roles))
            like, counts = alike.setdefault(equal, len(alike)), tuple(role.whole for role in each.roles)
            self.standings.append(Standing(each, counts, (0,) * len(counts), like))
        roles = (role for each in self.standings for role in each.workload.roles)
        self.room = Room(demand for role in roles for demand in (role.demand, *role.pods(1)))
        self.unsure: Pods = Counter()
        """The pods of all groups that may have started."""
        self._known: dict[Any, Any] = {}
        """What was computed of equal workloads since something changed, by what it depends on."""

    def add(self, nodes: Iterable[Supply]) -> None:
        """Add nodes, and start what has room, until that tells of no other group that it has room too."""
        for node in nodes:
            self.room.add(node)
        self._known.clear()
        before: list[tuple[Counts, Counts]] = []
        while before != (now := [(each.started, each.uncertain) for each in self.standings]):
            before = now
            self._take_turns()

    def _take_turns(self) -> None:
        """Start what has room, each workload once."""
        waiting = sorted((each for each in self.standings if each.is_waiting), key=_rank)
        for each in waiting:
            if not each.workload.is_gang:
                self._start(each)
        for _, group in groupby(waiting, _rank):
            # of workloads that have not started, those without pods on nodes come first
            peers = sorted(group, key=lambda each: any(each.started))
            for each in peers:
                if any(first := each.required):
                    self._start(each, () if self.missing(each, first) else first)
            ready = [each for each in peers if not any(each.required)]
            for each in ready:
                self._start(each)
            for each in ready:  # whichever has its turn first
                for role in range(len(each.started)):
                    self._start(each, each.only(role, self._sure(each, role)))

    def _start(self, standing: Standing, groups: Counts = ()) -> None:
        """Start groups, if any, and note which others may start."""
        if any(groups):
            self.room.take(standing.pods(groups))
            standing.started = tuple(map(add, standing.started, groups))
            self._known.clear()
        key = standing.like, standing.started
        most = self._known[key] = self._known.get(key) or self._may_start(standing)
        if most != standing.uncertain:
            self.unsure = self.unsure - standing.pods(standing.uncertain) + standing.pods(most)
            standing.uncertain = most
            self._known.clear()

    def _sure(self, standing: Standing, role: int) -> int:
        """Return how many further groups of a role are sure to have room."""
        counts = range(1, standing.pending[role] + 1)
        return bisect(
            counts, False, key=lambda count: bool(self.missing(standing, standing.only(role, count)))
        )

    def missing(self, standing: Standing, groups: Counts) -> Pods:
        """Return how many slots groups lack to have room together, whatever others may have started.

        The required groups come before all others of a workload, and these in any order of their roles.
        """
        key = standing.like, standing.started, standing.uncertain, groups
        if key not in self._known:
            self._known[key] = self._count_missing(standing, groups)
        pods: Pods = self._known[key]
        return pods

    def _count_missing(self, standing: Standing, groups: Counts) -> Pods:
        is_first = any(standing.required)
        others = zip(standing.uncertain, groups, strict=True)
        own = tuple(may if count or is_first else 0 for may, count in others)
        everyone = self.unsure - standing.pods(own) + standing.pods(groups)
        lacks = Pods()
        for role, count in zip(standing.workload.roles, groups, strict=True):
            if not count:
                continue
            those = role.pods(count)
            lacks |= Pods({role.demand: those.total() - self.room.left(role.demand, everyone - those)})
        return lacks

    def fewest(self, node: Supply) -> int:
        """Return how many nodes like one must be added until something starts; 0 if they start nothing.

        With more nodes more groups may start, so it may take more.
        """
        slots = self.room.slots(node)
        waiting = (each for each in self.standings if each.is_waiting)
        lacks = (self.missing(each, groups) for each in waiting for groups in each.next())
        numbers = (
            max(1, *(-(-count // slots[demand]) for demand, count in lack.items()))
            for lack in lacks
            if lack.keys() <= (+slots).keys()
        )
        return min(numbers, default=0)

    def _may_start(self, standing: Standing) -> Counts:
        """Return how many groups may start: the required ones together, then those of each role."""
        first, pending = standing.required, standing.pending
        if not standing.workload.is_gang:  # its pods come one by one, in any order
            singles = (Counter({demand: 1}) for demand in standing.pods(pending))
            return pending if any(map(self.room.may_take, singles)) else standing.only(0, 0)
        if not self.room.may_take(standing.pods(first)):
            return standing.only(0, 0)
        more = [tuple(map(add, first, standing.only(role))) for role in range(len(first))]
        return tuple(
            most if self.room.may_take(standing.pods(counts)) else least
            for counts, most, least in zip(more, pending, first, strict=True)
        )
