"""One cycle of the scheduler: it places whole groups of all services, in the order in which Volcano does.

Source: Volcano 1.14 `pkg/scheduler/actions/allocate/allocate.go`. Services come by priority, those whose gang
has not started first, then the one with the smallest share of its dominant resource, then the oldest. Of a
service, the required groups are tried first; the gang starts with all of them or not at all. Every further
group starts whole or not at all, and the turn passes on after each.
Pods of no gang are placed before, one by one: another scheduler does that.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from plan.amounts import UNLIMITED
from plan.pool import Pool
from plan.scoring import KUBERNETES, VOLCANO, Scoring
from plan.workload import GroupKey, RolePods, Workload

Placed = dict[int, int]
"""The node of each pod of a group, by worker index."""
Signature = tuple[object, ...]
"""What decides whether a group fits."""


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
        )


def begin(workload: Workload, pool: Pool) -> Progress:
    """Return the progress of a workload before the first cycle: what is bound already."""
    index = {one: at for at, one in enumerate(pool.demands)}
    numbers = {
        at: (index[role.leader], index[role.worker] if role.size > 1 else index[role.leader])
        for at, role in enumerate(workload.roles)
    }
    made = Progress(workload, numbers, ready=[0] * len(workload.roles), allocated=[0] * len(pool.resources))
    for key in workload.groups:
        role = workload.roles[key[0]]
        there = (
            [pod for group, pod in role.bound if group == key[1] and pod < role.size] if role.bound else []
        )
        for pod in there:
            _count(made, pool, numbers[key[0]][bool(pod)], 1)
        if len(there) == role.size:
            _start(made, key)
    return made


@dataclass(slots=True)
class Cycle:
    """One cycle. What did not fit once does not fit later in the cycle, since room only shrinks."""

    pool: Pool
    rules: Scoring = VOLCANO
    hopeless: set[Signature] = field(default_factory=set)

    def run(self, everyone: Sequence[Progress]) -> None:
        """Place what fits."""
        waiting = [one for one in everyone if not one.complete and not one.workload.waits]
        for one in waiting:
            if not one.workload.gang:
                self._one_by_one(one)
        queue = [
            (self._order(one), at) for at, one in enumerate(waiting) if one.workload.gang and _is_valid(one)
        ]
        heapify(queue)
        while queue:
            _, at = heappop(queue)
            one = waiting[at]
            if self._gang(one) and not one.complete:
                heappush(queue, (self._order(one), at))

    def _order(self, one: Progress) -> tuple[int, bool, float, str, str]:
        workload = one.workload
        started = one.pods >= workload.min_member
        return -workload.priority, started, self._share(one), workload.created, workload.title

    def _share(self, one: Progress) -> float:
        """Return the share of the resource of which the workload has most."""
        shares = (
            has / whole
            for has, whole in zip(one.allocated, self.pool.whole, strict=True)
            if 0 < whole < UNLIMITED
        )
        return max(shares, default=0.0)

    # --- gangs ---------------------------------------------------------------------------------------

    def _gang(self, one: Progress) -> bool:
        """Start the required groups, or one further group; return whether anything started."""
        tried: list[GroupKey] = []
        dead: set[int] = set()
        for key in _required_first(one):
            if key[0] in dead:
                continue
            if self._whole(one, key, firm=not tried):
                tried.append(key)
                if one.is_ready and one.pods >= one.workload.min_member:
                    return True
            elif _equal_pods(one.workload.roles[key[0]]):
                dead.add(key[0])
                if one.ready[key[0]] < one.workload.roles[key[0]].required:
                    break
        for key in reversed(tried):
            self._undo(one, key)
        return False

    def _whole(self, one: Progress, key: GroupKey, *, firm: bool) -> bool:
        """Place a whole group, or nothing of it. `firm`: nothing is placed that may be undone."""
        pods = one.workload.pods(key)
        signature = _signature(one, key, pods)
        if signature in self.hopeless:
            return False
        placed = self._placed(one, key, pods)
        if len(placed) < len(pods):
            for pod, node in placed.items():
                self.pool.remove(one.numbers[key[0]][bool(pod)], node)
            if firm:
                self.hopeless.add(signature)
            return False
        self._keep(one, key, placed)
        return True

    def _placed(self, one: Progress, key: GroupKey, pods: list[int]) -> Placed:
        """Place pods until one has no room. Those that request nothing come last."""
        placed: Placed = {}
        for pod in sorted(pods, key=lambda pod: one.workload.demand(key, pod).best_effort):
            node = self.pool.place(one.numbers[key[0]][bool(pod)], self.rules)
            if node is None:
                break
            placed[pod] = node
        return placed

    def _keep(self, one: Progress, key: GroupKey, placed: Placed) -> None:
        one.placed[key] = placed
        for pod in placed:
            _count(one, self.pool, one.numbers[key[0]][bool(pod)], 1)
        _start(one, key)

    def _undo(self, one: Progress, key: GroupKey) -> None:
        for pod, node in one.placed.pop(key).items():
            self.pool.remove(one.numbers[key[0]][bool(pod)], node)
            _count(one, self.pool, one.numbers[key[0]][bool(pod)], -1)
        del one.started[key]
        one.ready[key[0]] -= 1
        one.first = 0

    # --- pods of no gang -----------------------------------------------------------------------------

    def _one_by_one(self, one: Progress) -> None:
        """Place every pod that has room, whether the rest of its group has or not."""
        for key in tuple(one.pending):
            before = one.placed.setdefault(key, {})
            missing = [pod for pod in one.workload.pods(key) if pod not in before]
            for pod in missing:
                number = one.numbers[key[0]][bool(pod)]
                signature = (number,)
                node = None if signature in self.hopeless else self.pool.place(number, KUBERNETES)
                if node is None:
                    self.hopeless.add(signature)
                    continue
                before[pod] = node
                _count(one, self.pool, number, 1)
            if all(pod in before for pod in one.workload.pods(key)):
                _start(one, key)


def _is_valid(one: Progress) -> bool:
    """Return whether there are enough groups of each role: else the scheduler skips the service."""
    return all(role.replicas >= role.required for role in one.workload.roles)


def _required_first(one: Progress) -> Iterable[GroupKey]:
    """Return the pending groups: first as many of each role as are required, then the others."""
    if one.is_ready:
        return one.pending
    left = [role.required - has for role, has in zip(one.workload.roles, one.ready, strict=True)]
    needed: list[GroupKey] = []
    others: list[GroupKey] = []
    for key in one.pending:
        (needed if left[key[0]] > 0 else others).append(key)
        left[key[0]] -= 1
    return needed + others


def _equal_pods(role: RolePods) -> bool:
    return not role.bound and (role.size == 1 or role.leader == role.worker)


def _signature(one: Progress, key: GroupKey, pods: list[int]) -> Signature:
    if _equal_pods(one.workload.roles[key[0]]):
        return one.numbers[key[0]][0], len(pods)
    return tuple(one.numbers[key[0]][bool(pod)] for pod in pods)


def _start(one: Progress, key: GroupKey) -> None:
    one.started[key] = None
    one.ready[key[0]] += 1


def _count(one: Progress, pool: Pool, demand: int, times: int) -> None:
    one.pods += times
    for at, amount in pool.needs[demand]:
        one.allocated[at] += times * amount
