"""How many groups have started on nodes that are added: the fewest, and the most.

Services come by priority; of one priority those first that have not started, in their order. The required
groups of a service start together, and every further one whole. Before each further group Volcano 1.14
compares shares of services (`pkg/scheduler/actions/allocate/allocate.go`): here any may have its turn first,
so each has what the others leave. So it is of pods of no gang, which another scheduler places one by one.
"""

from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from plan.room import Room
from plan.supply import Supply
from plan.workload import Groups, Pods, Workload


@dataclass
class Standing:
    """How far a workload is: how many groups have started, the first ones."""

    workload: Workload
    started: Groups
    """Whichever nodes the scheduler takes."""
    uncertain: Groups
    """The next ones, which may have started too."""
    alone: frozenset[int] = frozenset()
    """In a plan, of a blocked workload: the required roles of which one group would fit by itself."""

    @property
    def pending(self) -> Groups:
        """The groups that have not started."""
        return self.workload.groups - self.started

    @property
    def required(self) -> Groups:
        """The groups that must still start, together, before any other."""
        return self.workload.required - self.started

    @property
    def is_complete(self) -> bool:
        """Whether all groups have started."""
        return not self.pending

    @property
    def is_waiting(self) -> bool:
        """Whether groups start as soon as they have room."""
        return not (self.is_complete or self.workload.waits or self.workload.unknown)

    @property
    def next(self) -> list[Groups]:
        """Which groups may start next: the required ones together, else one of any role."""
        return [self.required] if self.required else [Groups({role: 1}) for role in self.pending]


def _rank(standing: Standing) -> tuple[bool, int]:
    """Return what decides which workloads come first: those of no gang have what the others leave."""
    return not standing.workload.is_gang, -standing.workload.priority


class Progress:
    """Nodes, and how far the workloads are."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        """Start without a node: only what is on nodes already has started."""
        self.standings = []
        for each in workloads:
            started = +Groups({index: role.whole for index, role in enumerate(each.roles)})
            self.standings.append(Standing(each, started, Groups()))
        roles = [role for each in self.standings for role in each.workload.roles]
        self.room = Room(demand for role in roles for demand in (role.demand, *role.pods(1)))
        self.unsure = Pods()
        """The pods of all groups that may have started."""

    def add(self, nodes: Iterable[Supply]) -> None:
        """Add nodes, and start what has room, until that tells of no other group that it has room too."""
        for node in nodes:
            self.room.add(node)
        before: list[tuple[Groups, Groups]] = []
        while before != (now := [(each.started, each.uncertain) for each in self.standings]):
            before = now
            self._take_turns()

    def _take_turns(self) -> None:
        """Start what has room, each workload once."""
        waiting = sorted((each for each in self.standings if each.is_waiting), key=_rank)
        for each in waiting:
            if not each.workload.is_gang:
                self._start(each, Groups())
        for _, group in groupby(waiting, _rank):
            # of workloads that have not started, those without pods on nodes come first
            peers = sorted(group, key=lambda each: bool(each.started))
            for each in peers:
                if first := each.required:
                    self._start(each, Groups() if self.missing(each, first) else first)
            ready = [each for each in peers if not each.required]
            for each in ready:
                self._start(each, Groups())
            for each in ready:  # whichever has its turn first
                for role in each.pending:
                    self._start(each, Groups({role: self._sure(each, role)}))

    def _start(self, standing: Standing, groups: Groups) -> None:
        """Start groups, if any, and note which others may start."""
        pods = standing.workload.pods
        if groups := +groups:
            self.room.take(pods(groups))
            standing.started = standing.started + groups
        most = self._may_start(standing)
        if most != standing.uncertain:
            self.unsure = self.unsure - pods(standing.uncertain) + pods(most)
            standing.uncertain = most

    def _sure(self, standing: Standing, role: int) -> int:
        """Return how many further groups of a role are sure to have room."""
        counts = range(1, standing.pending[role] + 1)
        return bisect(counts, False, key=lambda count: bool(self.missing(standing, Groups({role: count}))))

    def missing(self, standing: Standing, groups: Groups) -> Pods:
        """Return how many slots groups lack to have room together, whatever others may have started.

        The required groups come before all others of a workload, and these in any order of their roles.
        """
        pods, may = standing.workload.pods, standing.uncertain
        own = may if standing.required else Groups({role: may[role] for role in groups})
        everyone = self.unsure - pods(own) + pods(groups)
        lacks = Pods()
        for index, count in groups.items():
            role = standing.workload.roles[index]
            those = role.pods(count)
            lacks |= Pods({role.demand: those.total() - self.room.left(role.demand, everyone - those)})
        return lacks

    def fewest(self, node: Supply) -> int:
        """Return how many nodes like one must be added until something starts; 0 if they start nothing.

        With more nodes more groups may start, so it may take more.
        """
        _, slots = self.room.kind(node)
        waiting = (each for each in self.standings if each.is_waiting)
        lacks = (self.missing(each, groups) for each in waiting for groups in each.next)
        numbers = (
            max(1, *(-(-count // slots[demand]) for demand, count in lack.items()))
            for lack in lacks
            if lack.keys() <= (+slots).keys()
        )
        return min(numbers, default=0)

    def _may_start(self, standing: Standing) -> Groups:
        """Return which groups may start: the required ones together, then those of each role."""
        pods, may_take = standing.workload.pods, self.room.may_take
        first, pending = standing.required, standing.pending
        if not standing.workload.is_gang:  # its pods come one by one, in any order
            return pending if any(may_take(Pods({demand: 1})) for demand in pods(pending)) else Groups()
        if not may_take(pods(first)):
            return Groups()
        return first | Groups(
            {role: count for role, count in pending.items() if may_take(pods(first + Groups({role: 1})))}
        )
