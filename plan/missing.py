"""What keeps pending groups from starting, what further nodes would start, and what stays idle."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from plan.amounts import PODS, UNIT, is_device, shown
from plan.placing import NAME
from plan.pool import NodePool
from plan.progress import Progress
from plan.scoring import KUBERNETES
from plan.simulation import Simulation, WorkloadGroup
from plan.supply import Supply, shape
from plan.workload import GroupKey

MOST_FURTHER: Final = 4096
"""The most further nodes of one shape that are tried."""
MOST_SHAPES: Final = 8
"""The most shapes of which further nodes are tried."""
HOSTNAME: Final = "kubernetes.io/hostname"
ELSEWHERE: Final = (
    "the scheduler does not find it: it takes the best node for each pod, moves none, and does not try a "
    "node again that had no room for the leader or a worker of the group"
)
TAKEN: Final = "taken by the pods that have room"


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why the next groups of a workload do not start."""

    workload: int
    groups: tuple[GroupKey, ...]
    """The groups that must start together: the required ones, or one further group."""
    pods: int
    fit: int
    """How many of the pods of these groups would fit."""
    reason: str


@dataclass(frozen=True, slots=True)
class Further:
    """What further nodes of one shape would start."""

    like: Supply
    shape: str
    tried: int
    """How many were tried: 0 if no pending pod may use them, or they are too small."""
    starts: tuple[WorkloadGroup, ...] = ()
    """What that many start, and fewer do not; empty if nothing."""


@dataclass(frozen=True, slots=True)
class Idle:
    """What is free at the end."""

    accelerators: int
    held: int
    """How many of these pending pods could have, if groups did not start whole."""


# --- what is missing --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trial:
    """What would happen to pods that were placed one by one now."""

    pods: int
    fit: int
    reason: str = ""
    """Why the first pod that has no room has none."""


def trial(end: Simulation, one: Progress, keys: list[GroupKey]) -> Trial:
    """Place the pods of groups, as far as they have room, and remove them again."""
    placed: list[tuple[int, int]] = []
    left: list[int] = []
    pods = [
        (key, pod) for key in keys for pod in one.workload.pods(key) if pod not in one.placed.get(key, {})
    ]
    for key, pod in pods:
        number = one.numbers[key[0]][bool(pod)]
        node = None if number in left else end.pool.place(number, KUBERNETES)
        if node is None:
            left.append(number)
        else:
            placed.append((number, node))
    reason = _reason(end.pool, left[0], {node for _, node in placed}) if left else ""
    for number, node in placed:
        end.pool.remove(number, node)
    return Trial(len(pods), len(placed), reason)


def _next(one: Progress) -> list[GroupKey]:
    """Return the groups that must start together: those that are required, or one further group."""
    left = [role.required - has for role, has in zip(one.workload.roles, one.ready, strict=True)]
    needed = []
    for key in one.pending if one.workload.gang and not one.is_ready else ():
        if left[key[0]] > 0:
            needed.append(key)
            left[key[0]] -= 1
    return needed or [*islice(one.pending, 1)]


def shortages(end: Simulation) -> Iterator[Shortage]:
    """Yield what each workload lacks that has not started as a whole."""
    for at, one in enumerate(end.progress):
        if one.complete or (one.workload.unknown and not one.workload.waits):
            continue
        groups = tuple(_next(one))
        empty = [its.role for its in one.workload.roles if its.replicas < its.required]
        if one.workload.waits:
            yield Shortage(at, groups[:1], 0, 0, "; ".join(one.workload.waits))
        elif one.workload.gang and empty:
            yield Shortage(at, groups, 0, 0, f"{' and '.join(empty)} must start too, and has replicas 0")
        else:
            found = trial(end, one, [*groups])
            yield Shortage(at, groups, found.pods, found.fit, found.reason or ELSEWHERE)


def _reason(pool: NodePool, number: int, own: set[int]) -> str:
    """Return why no node has room for a pod: how many nodes there are, and what each lacks.

    `own`: the nodes that the other pods of the group are on.
    """
    counts: dict[str, int] = {}
    states = dict(pool.classes)
    for node in own:
        states[pool.states[node]] -= 1
    for (kind, free, _), count in states.items():
        lack = _lack(pool, number, kind, free)
        counts[lack] = counts.get(lack, 0) + count
    counts[TAKEN] = len(own)
    asked = [shown(name, amount) for name, amount in pool.demands[number].requests if name != PODS]
    listed = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()) if count)
    nodes = (
        f"of {len(pool.nodes)} node{'s' * (len(pool.nodes) > 1)}, {listed}"
        if pool.nodes
        else "there is no node"
    )
    return f"a pod requests {', '.join(asked) or 'nothing'}; {nodes}"


def _lack(pool: NodePool, number: int, kind: int, free: tuple[int, ...]) -> str:
    match pool.way(number, kind).obstacle:
        case "selector":
            return "excluded by its node selector or affinity"
        case "taint":
            return "excluded by taints"
    has = pool.kinds[kind].allocatable
    small = [pool.resources[at] for at, amount in pool.needs[number] if has[at] < amount]
    if small:
        absent = [pool.resources[at] for at, _ in pool.needs[number] if not has[at]]
        return f"without {' and '.join(absent)}" if absent else f"too small ({', '.join(small)})"
    busy = [pool.resources[at] for at, amount in pool.needs[number] if free[at] < amount]
    return f"in use ({', '.join(busy)})" if busy else "with room"


# --- what more would do -----------------------------------------------------------------------------


def shapes(end: Simulation, nodes: Sequence[Supply]) -> dict[str, tuple[int, Supply]]:
    """Return the shapes of nodes by their words, each with the first node and its kind."""
    found: dict[str, tuple[int, Supply]] = {}
    kinds: dict[int, None] = {}
    for at, one in enumerate(nodes):
        kind = end.pool.states[at][0]
        if kind not in kinds:
            kinds[kind] = None
            marks = [mark for mark in end.pool.kinds[kind].labels if mark[0] not in {NAME, HOSTNAME}]
            found.setdefault(shape(one, marks), (kind, one))
    return found


def further(end: Simulation, nodes: Sequence[Supply]) -> Iterator[Further]:
    """Yield for shapes of nodes how many more of it start something, and what; usable ones come first."""
    pending = [one for one in end.progress if not one.complete and not one.workload.stays]
    useful = {words: _most_useful(end.pool, kind, pending) for words, (kind, _) in shapes(end, nodes).items()}
    chosen = sorted(useful, key=lambda words: not useful[words]) if pending else []
    for words in chosen[:MOST_SHAPES]:
        like = shapes(end, nodes)[words][1]
        yield _further(end, like, words, min(MOST_FURTHER, useful[words]))


def _most_useful(pool: NodePool, kind: int, pending: list[Progress]) -> int:
    """Return how many nodes of a kind are enough to start something, if any are: one for each pod on them."""
    counts = [0]
    for one in pending:
        numbers = [one.numbers[key[0]][bool(pod)] for key in _next(one) for pod in one.workload.pods(key)]
        counts.append(sum(_is_usable(pool, number, kind) for number in numbers))
    return max(counts)


def _is_usable(pool: NodePool, number: int, kind: int) -> bool:
    """Return whether a pod has room on an empty node of a kind."""
    has = pool.kinds[kind].allocatable
    return not pool.way(number, kind).obstacle and all(has[at] >= need for at, need in pool.needs[number])


def _further(end: Simulation, like: Supply, words: str, most: int) -> Further:
    """Find the smallest number of nodes that starts something: fewer of them start nothing."""
    enough = _enough(end, like, most)
    if not most or not (starts := _starts(end, like, enough)):
        return Further(like, words, most)
    low = enough // 2
    while enough - low > 1:
        middle = (low + enough) // 2
        if new := _starts(end, like, middle):
            enough, starts = middle, new
        else:
            low = middle
    return Further(like, words, enough, tuple(sorted(starts)))


def _enough(end: Simulation, like: Supply, most: int) -> int:
    """Return the first power of two that starts something, or the most."""
    count = 1
    while count < most and not _starts(end, like, count):
        count *= 2
    return min(count, most)


def _starts(end: Simulation, like: Supply, count: int) -> frozenset[WorkloadGroup]:
    goes_on = end.copy()
    names = [f"further-{at}" for at in range(count)]
    goes_on.add(
        replace(like, name=name, used={}, compared=(0, 0), labels={**like.labels, HOSTNAME: name})
        for name in names
    )
    return goes_on.started - end.started


def idle(end: Simulation) -> Idle:
    """Return what is free, and what pending pods could have of it if they were placed one by one."""
    offered = [at for at, name in enumerate(end.pool.resources) if is_device(name)]
    free = sum(count * max(0, state[1][at]) for state, count in end.pool.classes for at in offered) // UNIT
    trial, held, full = end.pool.copy(), 0, set[int]()
    for one in end.progress:
        for key in one.pending if free and not one.workload.stays else ():
            for pod in one.workload.pods(key):
                number = one.numbers[key[0]][bool(pod)]
                if pod in one.placed.get(key, {}) or number in full:
                    continue
                if trial.place(number, KUBERNETES) is None:
                    full.add(number)
                else:
                    held += sum(amount for name, amount in trial.demands[number].requests if is_device(name))
    return Idle(free, held // UNIT)
