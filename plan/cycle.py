"""One cycle of the scheduler: it places whole groups of all services, in the order in which Volcano does.

Source: Volcano 1.14 `pkg/scheduler/actions/allocate/allocate.go`. Services come by priority, those whose gang
has not started first, then the one with the smallest share of its dominant resource, then the oldest. Of a
service, the required groups are tried first; the gang starts with all of them or not at all. Every further
group starts whole or not at all, and the turn passes on after each.
Pods of no gang are placed before, one by one: another scheduler does that.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from plan.amounts import UNLIMITED
from plan.pool import Earlier, NodePool
from plan.progress import DEFAULT, Order, Placed, Progress, count, start
from plan.scoring import VOLCANO, Scoring
from plan.ungrouped import place_singly
from plan.workload import GroupKey, RolePods

Signature = tuple[object, ...]
"""What decides whether a group fits."""


@dataclass(slots=True)
class Cycle:
    """One cycle. Room only shrinks: a group of equal pods that did not fit does not fit later in the cycle.

    One of different pods may, since they take other nodes then; not before anything else was placed.
    """

    pool: NodePool
    rules: Scoring = VOLCANO
    order: Order = DEFAULT
    hopeless: set[Signature] = field(default_factory=set)
    tried: set[Signature] = field(default_factory=set)
    """Groups of different pods that did not fit since something was placed."""

    def run(self, everyone: Sequence[Progress]) -> None:
        """Place what fits."""
        waiting = [one for one in everyone if not one.complete and not one.workload.stays]
        place_singly([one for one in waiting if not one.workload.gang], self.pool, self.order)
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
        if signature in self.hopeless or signature in self.tried:
            return False
        placed = self._placed(one, key, pods)
        if len(placed) < len(pods):
            for pod, node in placed.items():
                self.pool.remove(one.numbers[key[0]][bool(pod)], node)
            if firm:
                (self.hopeless if _equal_pods(one.workload.roles[key[0]]) else self.tried).add(signature)
            return False
        self._keep(one, key, placed)
        return True

    def _placed(self, one: Progress, key: GroupKey, pods: list[int]) -> Placed:
        """Place pods until one has no room. Those that request nothing come last.

        Volcano remembers the nodes that had no room for a pod of a role until the group is placed or given
        up (`util/predicate_helper.go`), although leader and workers may differ.
        """
        placed: Placed = {}
        checked: dict[int, Earlier] = {}
        for pod in sorted(pods, key=lambda pod: one.workload.demand(key, pod).best_effort):
            number = one.numbers[key[0]][bool(pod)]
            is_remembered = not one.workload.demand(key, pod).best_effort
            others = [each for each in checked.values() if each.demand != number and is_remembered]
            node = self.pool.place(number, self.rules, next(iter(others), None))
            if node is None:
                break
            placed[pod] = node
            checked[number] = Earlier(number)
            for each in checked.values():
                each.taken.add(node)
        return placed

    def _keep(self, one: Progress, key: GroupKey, placed: Placed) -> None:
        one.placed[key] = placed
        self.tried.clear()
        for pod in placed:
            count(one, self.pool, one.numbers[key[0]][bool(pod)], 1)
        start(one, key)

    def _undo(self, one: Progress, key: GroupKey) -> None:
        for pod, node in one.placed.pop(key).items():
            self.pool.remove(one.numbers[key[0]][bool(pod)], node)
            count(one, self.pool, one.numbers[key[0]][bool(pod)], -1)
        del one.started[key]
        one.ready[key[0]] -= 1
        one.first = 0


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
