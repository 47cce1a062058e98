"""Nodes are added step by step: the fewest groups that start with each of them, and those that may start too.

Services come in the order of Volcano (1.14, `pkg/scheduler/actions/allocate/allocate.go`): by priority, those
whose gang has not started first, then the one with the smallest share of its dominant resource, then the
oldest. Of a service, the required groups start together; every further one starts whole, and the turn passes
on after each. Pods of no gang come first in the plan: another scheduler places them at the same time, one by
one and in any order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain, filterfalse, islice, product
from typing import Final, NamedTuple

from intent.errors import counted
from plan.amounts import PODS, UNIT, Amounts, accelerators, is_device, largest, shown
from plan.demand import Demand
from plan.placing import NAME, keys, obstacle
from plan.room import Need, Pods, Room, need
from plan.supply import Supply, shape
from plan.workload import GroupKey, RolePods, Workload

WorkloadGroup = tuple[int, GroupKey]
"""The position of a workload, and a group of it."""
MOST_STEPS: Final = 128
"""The most rows that are computed: of more nodes, several are added at once."""
DETAILED: Final = 20
"""Of more workloads, rows do not say why they are blocked."""
MOST_FURTHER: Final = 4096
"""The most further nodes of one shape that are tried."""
MOST_SHAPES: Final = 8
"""The most shapes of which further nodes are tried."""
HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(frozen=True)
class ForecastStep:
    """What is so after nodes were added."""

    nodes: int
    accelerators: int
    started: frozenset[WorkloadGroup]
    """The groups that have started, whichever nodes the scheduler takes."""
    uncertain: frozenset[WorkloadGroup] = frozenset()
    """The groups that may have started, too."""
    alone: tuple[tuple[int, frozenset[int]], ...] = ()
    """By workload that is blocked: the required roles of which one group would fit by itself."""

    @cached_property
    def counts(self) -> Counter[tuple[int, int]]:
        """How many groups have started, by workload and role."""
        return Counter((at, role) for at, (role, _) in self.started)


class Shortage(NamedTuple):
    """Why the next groups of a workload do not start."""

    workload: int
    groups: tuple[GroupKey, ...]
    """The groups that must start together: the required ones, or one further group."""
    pods: int
    fit: int
    """How many of the pods of these groups have room, at least."""
    reason: str


class Further(NamedTuple):
    """What further nodes of one shape would start."""

    like: Supply
    shape: str
    tried: int
    """How many were tried: 0 if no pending pod may use them, or they are too small."""
    starts: tuple[WorkloadGroup, ...] = ()
    """What that many start, and fewer do not; empty if nothing."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a plan says."""

    workloads: tuple[Workload, ...]
    nodes: tuple[Supply, ...]
    steps: tuple[ForecastStep, ...]
    shortages: tuple[Shortage, ...]
    further: tuple[Further, ...]
    idle: int
    """How many accelerators no group has that has started."""
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every group starts."""
        return sum(len(one.groups) for one in self.workloads) == len(self.steps[-1].started)

    @property
    def unknown(self) -> bool:
        """Whether it is not known of a workload which devices it takes."""
        return any(one.unknown for one in self.workloads)

    def accelerators(self, key: WorkloadGroup) -> int:
        """Return how many accelerators a group has."""
        role = self.workloads[key[0]].roles[key[1][0]]
        each = [role.leader, *([role.worker] * (role.size - 1))]
        return sum(amount for one in each for name, amount in one.requests if is_device(name)) // UNIT


def forecast(
    workloads: Sequence[Workload], nodes: Sequence[Supply], *, present: int = 0, notes: Iterable[str] = ()
) -> Forecast:
    """Plan workloads on nodes, which are added one by one; the first `present` are there from the start.

    Rows are for at most `MOST_STEPS` numbers of nodes, the last one among them.
    """
    by = max(1, -(-(len(nodes) - present) // (MOST_STEPS - 1)))
    sizes = [*range(present, len(nodes), by), len(nodes)]
    end = _State.of(workloads, nodes)
    steps = tuple(_steps(end, nodes, sizes))
    kinds = _shapes(end, nodes)
    further = tuple(_further(end, like, words) for words, like in islice(kinds.items(), MOST_SHAPES))
    tried = f"further nodes were tried of {MOST_SHAPES} of {len(kinds)} shapes"
    return Forecast(
        tuple(workloads),
        tuple(nodes),
        steps,
        tuple(_shortages(end)),
        further,
        end.idle,
        (*notes, *_notes(workloads, nodes, by), *([tried] if len(kinds) > MOST_SHAPES else [])),
    )


def _steps(end: "_State", nodes: Sequence[Supply], sizes: list[int]) -> Iterator[ForecastStep]:
    count = 0
    for size in sizes:
        end.add(nodes[count:size])
        count = size
        alone = tuple(_alone(end)) if len(end.standings) <= DETAILED else ()
        yield ForecastStep(count, end.accelerators, end.started, end.uncertain, alone)


def _alone(end: "_State") -> Iterator[tuple[int, frozenset[int]]]:
    """Yield for each blocked workload the required roles of which a group would fit by itself."""
    for at, one in enumerate(end.standings):
        if one.workload.gang and not one.workload.stays and not one.is_ready:
            needed = [role for role, its in enumerate(one.workload.roles) if one.ready[role] < its.required]
            yield at, frozenset(role for role in needed if end.is_sure(one, [(role, 0)]))


# --- one workload -----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Standing:
    """How far a workload is."""

    workload: Workload
    started: set[GroupKey] = field(default_factory=set)
    uncertain: list[GroupKey] = field(default_factory=list)
    """The groups that may have started."""
    ready: list[int] = field(default_factory=list)
    """How many groups of each role have started."""
    pods: int = 0
    """How many pods are on nodes."""
    has: Amounts = field(default_factory=dict)
    """What these pods request."""

    def copy(self) -> "_Standing":
        return replace(
            self,
            started={*self.started},
            uncertain=[*self.uncertain],
            ready=[*self.ready],
            has=dict(self.has),
        )

    @property
    def pending(self) -> Iterator[GroupKey]:
        """The groups that have not started, in order."""
        return filterfalse(self.started.__contains__, self.workload.groups)

    @property
    def complete(self) -> bool:
        """Whether every group has started."""
        return len(self.started) == len(self.workload.groups)

    @property
    def is_ready(self) -> bool:
        """Whether the required groups have started."""
        return all(has >= its.required for has, its in zip(self.ready, self.workload.roles, strict=True))

    def next(self) -> list[GroupKey]:
        """Return the groups that must start together: those that are required, or one further group."""
        left = [its.required - has for its, has in zip(self.workload.roles, self.ready, strict=True)]
        needed = []
        for key in self.pending if self.workload.gang and not self.is_ready else ():
            if left[key[0]] > 0:
                needed.append(key)
                left[key[0]] -= 1
        return needed or [*islice(self.pending, 1)]

    def candidates(self) -> Iterator[list[GroupKey]]:
        """Yield what may start next: the required groups, or the next group of each role."""
        if not self.is_ready:
            yield self.next()
            return
        seen = set[int]()
        for key in self.pending:
            if key[0] not in seen:
                seen.add(key[0])
                yield [key]

    def start(self, groups: Iterable[GroupKey]) -> None:
        for key in groups:
            self.started.add(key)
            self.ready[key[0]] += 1
            self.count(pods_of(self.workload, [key]))

    def count(self, pods: Pods) -> None:
        self.pods += pods.total()
        for one, count in pods.items():
            for name, amount in one.requests:
                self.has[name] = self.has.get(name, 0) + count * amount


def pods_of(workload: Workload, groups: Iterable[GroupKey]) -> Pods:
    """Return the pods of groups that are not on nodes yet."""
    found: Pods = Counter()
    for key in groups:
        for one, count in zip(_needs(workload.roles[key[0]]), workload.missing(key), strict=True):
            if count:
                found[one] += count
    return found


def _needs(role: RolePods) -> tuple[Need, Need]:
    """Return the needs of leader and workers."""
    return need(role.leader), need(role.worker)


def group_need(role: RolePods) -> Need:
    """Return the need of a pod that is as large as the leader and as a worker, on nodes that both may use.

    Volcano does not try a node again that had no room for the leader or a worker of a group.
    """
    leader, worker = role.leader, role.worker
    if role.size == 1 or leader == worker:
        return need(leader)
    both = largest(dict(leader.requests), dict(worker.requests))
    terms = [one.required for one in (leader, worker) if one.required is not None]
    required = tuple(tuple(chain(*each)) for each in product(*terms)) if terms else None
    tolerations = tuple(one for one in leader.tolerations if one in worker.tolerations)
    return need(
        Demand(tuple(sorted(both.items())), (*leader.selector, *worker.selector), required, tolerations)
    )


def _all_needs(workloads: Iterable[Workload]) -> Iterator[Need]:
    for role in (role for one in workloads for role in one.roles):
        yield from (*_needs(role), group_need(role))


# --- all workloads ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _State:
    """Nodes, and how far the workloads are."""

    room: Room
    standings: list[_Standing]
    nodes: list[Supply] = field(default_factory=list)
    whole: Amounts = field(default_factory=dict)
    """What all nodes have together."""
    used: int = 0
    """The accelerators of the pods that were on nodes before."""
    unsure: Pods = field(default_factory=Counter)
    """The pods of gangs that may be on nodes."""
    loose: Pods = field(default_factory=Counter)
    """The pods of no gang that wait: any of them may be on nodes."""

    @classmethod
    def of(cls, workloads: Sequence[Workload], nodes: Sequence[Supply]) -> "_State":
        """Return the state before the first node: what is bound already has started."""
        return cls(Room(_all_needs(workloads), nodes), [_begun(one) for one in workloads])

    def copy(self) -> "_State":
        standings = [one.copy() for one in self.standings]
        return replace(
            self, room=self.room.copy(), standings=standings, nodes=[*self.nodes], whole=dict(self.whole)
        )

    def add(self, nodes: Iterable[Supply]) -> None:
        """Add nodes, and start what has room."""
        for node in nodes:
            self.nodes.append(node)
            self.room.add(node)
            self.used += accelerators(node.used)
            for name, amount in node.allocatable.items():
                self.whole[name] = self.whole.get(name, 0) + amount
        self._settle_loose()
        waiting = [
            one
            for one in self.standings
            if one.workload.gang and not one.complete and not one.workload.stays and _is_valid(one.workload)
        ]
        queue = [(self._order(one), at) for at, one in enumerate(waiting)]
        heapify(queue)
        while queue:
            _, at = heappop(queue)
            one = waiting[at]
            if self._start(one) and not one.complete:
                heappush(queue, (self._order(one), at))

    def _order(self, one: _Standing) -> tuple[int, bool, float, str, str]:
        workload = one.workload
        shares = (has / self.whole[name] for name, has in one.has.items() if self.whole.get(name))
        is_begun = one.pods >= workload.min_member
        return -workload.priority, is_begun, max(shares, default=0.0), workload.created, workload.title

    def _start(self, one: _Standing) -> bool:
        """Start what is sure to have room; if nothing is, find what may start.

        Where a group of another role may have started, the turn may have passed to another service before.
        """
        for groups in one.candidates():
            roles = {key[0] for key in groups}
            is_next = all(key[0] in roles for key in one.uncertain)
            if is_next and self.is_sure(one, groups):
                self.room.take(pods_of(one.workload, groups))
                one.start(groups)
                self._set_uncertain(one, [key for key in one.uncertain if key not in groups])
                return True
            its = [key for key in self._may_start(one) if key[0] in roles and key not in one.uncertain]
            self._set_uncertain(one, [*one.uncertain, *its])
        self._set_uncertain(one, self._may_start(one))
        return False

    def is_sure(self, one: _Standing, groups: Sequence[GroupKey]) -> bool:
        """Return whether groups have room together, whatever others may have started."""
        others, by_role = self._others(one), dict[int, list[GroupKey]]()
        for key in groups:
            by_role.setdefault(key[0], []).append(key)
        pods = {role: pods_of(one.workload, its) for role, its in by_role.items()}
        for role, its in pods.items():
            beside = others + sum((pods[other] for other in by_role if other != role), Counter())
            asked = next(iter(its)) if len(its) == 1 else group_need(one.workload.roles[role])
            if self.room.left(asked, beside) < its.total():
                return False
        return True

    def _others(self, one: _Standing) -> Pods:
        """Return the pods of the other workloads that may be on nodes."""
        return self.unsure + self.loose - pods_of(one.workload, one.uncertain)

    def _set_uncertain(self, one: _Standing, groups: list[GroupKey]) -> None:
        self.unsure = self.unsure - pods_of(one.workload, one.uncertain) + pods_of(one.workload, groups)
        one.uncertain = groups

    def _may_start(self, one: _Standing) -> list[GroupKey]:
        """Return the groups that may start: the required ones together, then the others of each role."""
        first = [] if one.is_ready or not one.workload.gang else one.next()
        if first and not self.room.may_take(pods_of(one.workload, first)):
            return []
        found, full = [*first], set[int]()
        pods = [pods_of(one.workload, first) for _ in one.workload.roles]
        for key in one.pending:
            role = key[0]
            if key not in first and role not in full:
                pods[role] += pods_of(one.workload, [key])
                if self.room.may_take(pods[role]):
                    found.append(key)
                else:
                    full.add(role)
        return found

    def _settle_loose(self) -> None:
        """Start what has room of the workloads in no gang, whatever order their pods come in.

        Groups of one pod are alike: as many start as have room. Others start all together, or are uncertain.
        """
        loose = [
            one for one in self.standings if not (one.workload.gang or one.workload.stays or one.complete)
        ]
        pending = {id(one): pods_of(one.workload, one.pending) for one in loose}
        everyone = sum(pending.values(), self.unsure)
        for one in loose:
            own, groups = pending[id(one)], [*one.pending]
            beside = everyone - own
            sure = groups if all(self._has_room(each, beside + own) for each in own) else []
            if not sure and len(own) == len(one.workload.roles) == one.workload.roles[0].size == 1:
                sure = groups[: max(0, self.room.left(next(iter(own)), beside))]
            started = pods_of(one.workload, sure)
            self.room.take(started)
            everyone -= started
            one.start(sure)
            one.uncertain = self._may_start(one)
        self.loose = sum((pods_of(one.workload, one.pending) for one in loose), Counter())

    def _has_room(self, asked: Need, everyone: Pods) -> bool:
        """Return whether all pods of a need have room beside all others."""
        count = everyone[asked]
        return self.room.left(asked, everyone - Counter({asked: count})) >= count

    # --- what is so ----------------------------------------------------------------------------------

    @property
    def started(self) -> frozenset[WorkloadGroup]:
        """All groups that have started."""
        return frozenset((at, key) for at, one in enumerate(self.standings) for key in one.started)

    @property
    def uncertain(self) -> frozenset[WorkloadGroup]:
        """All groups that may have started, too."""
        return frozenset((at, key) for at, one in enumerate(self.standings) for key in one.uncertain)

    @property
    def accelerators(self) -> int:
        """The accelerators of all nodes of which pods may request some."""
        return accelerators({name: its for name, its in self.whole.items() if name in self.room.resources})

    @property
    def idle(self) -> int:
        """The accelerators that neither other pods have nor groups that have started."""
        whole = accelerators({name: self.whole.get(name, 0) for name in self.room.resources})
        taken: Amounts = {}
        for one in self.standings:
            for name, amount in one.has.items():
                taken[name] = taken.get(name, 0) + amount
        return max(0, whole - self.used - accelerators(taken))


def _begun(workload: Workload) -> _Standing:
    """Return the progress of a workload before the first node: what is bound already."""
    made = _Standing(workload, ready=[0] * len(workload.roles))
    for key in workload.groups:
        leaders, workers = workload.missing(key)
        leader, worker = _needs(workload.roles[key[0]])
        made.count(Counter({leader: 1 - leaders}))
        made.count(Counter({worker: workload.roles[key[0]].size - 1 - workers}))
        if not leaders and not workers:
            made.start([key])
    return made


def _is_valid(one: Workload) -> bool:
    """Return whether there are enough groups of each role: else the scheduler skips the service."""
    return all(role.replicas >= role.required for role in one.roles)


# --- what is missing --------------------------------------------------------------------------------


def _shortages(end: _State) -> Iterator[Shortage]:
    """Yield what each workload lacks that has not started as a whole."""
    for at, one in enumerate(end.standings):
        workload = one.workload
        if one.complete or (workload.unknown and not workload.waits):
            continue
        groups = tuple(one.next())
        empty = [its.role for its in workload.roles if its.replicas < its.required]
        if workload.waits:
            yield Shortage(at, groups[:1], 0, 0, "; ".join(workload.waits))
        elif workload.gang and empty:
            yield Shortage(at, groups, 0, 0, f"{' and '.join(empty)} must start too, and has replicas 0")
        else:
            pods = pods_of(workload, groups)
            fit, lacking = _fit(end.room, pods)
            yield Shortage(at, groups, pods.total(), fit, _reason(end.nodes, lacking.demand))


def _fit(room: Room, pods: Pods) -> tuple[int, Need]:
    """Return how many of the pods have room at least, and the demand of those that have none."""
    found, before, lacking = 0, Counter[Need](), next(iter(pods))
    for one, count in pods.items():
        has = min(count, max(0, room.left(one, before)))
        lacking = one if has < count else lacking
        before[one] += has
        found += has
    return found, lacking


def _reason(nodes: Sequence[Supply], one: Demand) -> str:
    """Return what a pod requests, and what nodes lack for it."""
    asked = ", ".join(shown(name, amount) for name, amount in one.requests if name != PODS) or "nothing"
    counts = Counter(_lack(node, one) for node in nodes)
    listed = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    there = f"of {counted(len(nodes), 'node')}, {listed}" if nodes else "there is no node"
    return f"a pod requests {asked}; {there}"


def _lack(node: Supply, one: Demand) -> str:
    """Return what a node lacks for a pod."""
    match obstacle(one, {**node.labels, NAME: node.name}, node.taints):
        case "selector":
            return "excluded by its node selector or affinity"
        case "taint":
            return "excluded by taints"
    asked = [(name, amount) for name, amount in one.requests if not node.has_enough(name)]
    for what, has in (("too small", node.allocatable.get), ("in use", node.free)):
        short = [name for name, amount in asked if (has(name) or 0) < amount]
        if what == "too small" and (absent := [name for name in short if not node.allocatable.get(name)]):
            return f"without {', '.join(absent)}"
        if short:
            return f"{what} ({', '.join(short)})"
    return "large enough"


# --- further nodes ----------------------------------------------------------------------------------


def _shapes(end: _State, nodes: Sequence[Supply]) -> dict[str, Supply]:
    """Return the shapes of nodes, the most accelerators first, if a group is pending that could start."""
    pending = [one for one in end.standings if not one.complete and not one.workload.stays]
    if not any(_is_valid(one.workload) or not one.workload.gang for one in pending):
        return {}
    marks = frozenset[str]().union(*(keys(one.demand) for one in end.room.needs)) - {HOSTNAME, NAME}
    found: dict[str, Supply] = {}
    for one in nodes:
        labels = ((key, value) for key, value in one.labels.items() if key in marks)
        found.setdefault(shape(one, labels), one)
    return dict(sorted(found.items(), key=lambda item: -accelerators(item[1].allocatable)))


def _further(end: _State, like: Supply, words: str) -> Further:
    """Add nodes of a shape until something starts."""
    more = replace(like, used={}, labels={**like.labels, HOSTNAME: "further"}, name="further")
    counts = end.room.counts(end.room.kind(more))
    wanted: Pods = Counter()
    for one in end.standings:
        if not one.workload.stays:
            wanted += pods_of(one.workload, one.pending)
    if not any(counts[one] for one in wanted):
        return Further(like, words, 0)
    goes_on = end.copy()
    most = min(MOST_FURTHER, wanted.total())
    for count in range(1, most + 1):
        goes_on.add([more])
        if starts := goes_on.started - end.started:
            return Further(like, words, count, tuple(sorted(starts)))
    return Further(like, words, most)


# --- what is not modelled ---------------------------------------------------------------------------


def _notes(workloads: Sequence[Workload], nodes: Sequence[Supply], by: int) -> Iterator[str]:
    yield from (one.unknown for one in workloads if one.unknown)
    demands = [pod for one in workloads for role in one.roles for pod in (role.leader, role.worker)]
    for one in workloads:
        pods = (pod for role in one.roles for pod in (role.leader, role.worker))
        if unmodelled := {what for pod in pods for what in pod.unmodelled}:
            yield f"{one.title}: not modelled: {', '.join(sorted(unmodelled))}"
        yield from (f"{one.title}: {note}" for note in one.notes)
        if not one.gang and any(role.size > 1 for role in one.roles):
            yield (
                f"{one.title}: its pods are in no gang and come in any order; its groups are promised "
                "together, or not at all"
            )
    priorities = {one.priority for one in workloads if one.gang}
    priorities |= {role.leader.priority for one in workloads if not one.gang for role in one.roles}
    if len(priorities) > 1:
        yield "preemption is not modelled: a service of higher priority takes only what is free"
    if any(one.gang for one in workloads) and any(not one.gang for one in workloads):
        yield (
            "pods of no gang are placed by another scheduler, at the same time; the plan places them first, "
            "with each number of nodes"
        )
    if any(one.partial for one in nodes):
        names = {name for one in demands for name, _ in one.requests if "/" in name}
        others = ", ".join(sorted(filterfalse(is_device, names)))
        yield (
            "only accelerators were given: the nodes count as having enough CPU, memory and other "
            f"resources{others and f' ({others})'}"
        )
    if by > 1:
        yield f"nodes are added {by} at a time"
