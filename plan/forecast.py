"""Nodes are added step by step: what starts with each of them, and what is missing at the end."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import filterfalse
from typing import Final

from plan.amounts import UNIT, is_device
from plan.missing import MOST_SHAPES, Further, Idle, Shortage, further, idle, shapes, shortages, trial
from plan.pool import first
from plan.progress import DEFAULT, Order, Placed
from plan.scoring import VOLCANO, Scoring
from plan.simulation import Simulation, WorkloadGroup, random
from plan.supply import Supply
from plan.workload import Workload, demands

MOST_STEPS: Final = 128
"""The most rows that are computed: of more nodes, several are added at once."""
DETAILED: Final = 20
"""Of more workloads, rows do not say why they are blocked."""
TRIALS: Final = 8
"""How often equally good nodes are chosen differently, to see what depends on it."""


@dataclass(frozen=True)
class ForecastStep:
    """What is so after nodes were added."""

    nodes: int
    accelerators: int
    started: frozenset[WorkloadGroup]
    """All groups that have started, however equally good nodes are chosen."""
    uncertain: frozenset[WorkloadGroup] = frozenset()
    """The groups that start or not, depending on which of equally good nodes the scheduler takes."""
    alone: tuple[tuple[int, frozenset[int]], ...] = ()
    """By workload that is blocked: the required roles of which one group would fit by itself."""

    @cached_property
    def counts(self) -> Counter[tuple[int, int]]:
        """How many groups have started, by workload and role."""
        return Counter((at, role) for at, (role, _) in self.started)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a plan says."""

    workloads: tuple[Workload, ...]
    nodes: tuple[Supply, ...]
    steps: tuple[ForecastStep, ...]
    placed: tuple[tuple[WorkloadGroup, Placed], ...]
    """The nodes of the pods that were placed, at the end."""
    shortages: tuple[Shortage, ...]
    further: tuple[Further, ...]
    idle: Idle
    notes: tuple[str, ...]
    work: int
    """How many times nodes of one state were compared with a pod."""

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
    workloads: Sequence[Workload],
    nodes: Sequence[Supply],
    *,
    present: int = 0,
    rules: Scoring = VOLCANO,
    notes: Iterable[str] = (),
) -> Forecast:
    """Plan workloads on nodes, which are added one by one; the first `present` are there from the start.

    Rows are for at most `MOST_STEPS` numbers of nodes, the last one among them.
    """
    sizes = _sizes(len(nodes), present)
    end = Simulation.of(workloads, rules)
    steps = list(_steps(end, nodes, sizes))
    ties = end.pool.ties
    choices = [(random(seed), DEFAULT) for seed in (range(1, TRIALS) if ties else ())]
    choices += [(first, order) for order in _orders(workloads)]
    others = [
        list(_steps(Simulation.of(workloads, rules, choose, order), nodes, sizes))
        for choose, order in choices
    ]
    rows = [_merged([one, *(other[at] for other in others)]) for at, one in enumerate(steps)]
    placed = ((at, key, one.placed[key]) for at, one in enumerate(end.progress) for key in one.placed)
    more = tuple(further(end, nodes))
    return Forecast(
        tuple(workloads),
        tuple(nodes),
        tuple(rows),
        tuple(((at, key), pods) for at, key, pods in placed),
        tuple(shortages(end)),
        more,
        idle(end),
        (*notes, *_notes(workloads, nodes, ties, sizes), *_untried(len(shapes(end, nodes)), more)),
        end.pool.work[0],
    )


# --- rows -------------------------------------------------------------------------------------------


def _sizes(count: int, present: int) -> list[int]:
    """Return the numbers of nodes that have a row."""
    by = max(1, -(-(count - present) // (MOST_STEPS - 1)))
    return [*range(present, count, by), count]


def _steps(end: Simulation, nodes: Sequence[Supply], sizes: list[int]) -> Iterator[ForecastStep]:
    count = 0
    offered = [at for at, name in enumerate(end.pool.resources) if is_device(name)]
    detailed = len(end.progress) <= DETAILED
    for size in sizes:
        end.add(nodes[count:size])
        count = size
        gpus = sum(end.pool.whole[at] for at in offered) // UNIT
        yield ForecastStep(count, gpus, end.started, alone=tuple(_alone(end)) if detailed else ())


def _alone(end: Simulation) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield for each blocked workload the required roles of which a group would fit by itself."""
    for at, one in enumerate(end.progress):
        if one.workload.gang and not one.workload.stays and not one.is_ready:
            needed = [role for role, its in enumerate(one.workload.roles) if one.ready[role] < its.required]
            yield at, frozenset(role for role in needed if not trial(end, one, [(role, 0)]).reason)


def _merged(steps: list[ForecastStep]) -> ForecastStep:
    """Return what holds however equally good nodes are chosen."""
    sure = frozenset[WorkloadGroup].intersection(*(one.started for one in steps))
    some = frozenset[WorkloadGroup].union(*(one.started for one in steps))
    return ForecastStep(steps[0].nodes, steps[0].accelerators, sure, some - sure, steps[0].alone)


def _orders(workloads: Sequence[Workload]) -> Iterator[Order]:
    """Yield the other orders in which pods of no gang may come."""
    single = [one for one in workloads if not one.gang]
    is_mixed, differ = any(map(_is_mixed, single)), len(demands(single)) > 1
    for groups_first in {False, is_mixed}:
        for lowest_first in {False, differ}:
            if groups_first or lowest_first:
                yield Order(groups_first, lowest_first)


def _is_mixed(one: Workload) -> bool:
    """Return whether pods of groups that wait for each other are placed one by one."""
    return not one.gang and any(role.size > 1 for role in one.roles)


# --- what is not modelled ---------------------------------------------------------------------------


def _notes(
    workloads: Sequence[Workload], nodes: Sequence[Supply], ties: int, sizes: list[int]
) -> Iterator[str]:
    yield from (one.unknown for one in workloads if one.unknown)
    for one in workloads:
        unmodelled = {
            what for role in one.roles for pod in (role.leader, role.worker) for what in pod.unmodelled
        }
        if unmodelled:
            yield f"{one.title}: not modelled: {', '.join(sorted(unmodelled))}"
        yield from (f"{one.title}: {note}" for note in one.notes)
        if _is_mixed(one):
            yield (
                f"{one.title}: its pods are in no gang and come in any order; a group counts as started only "
                "if it starts in each order that was tried"
            )
    if ties:
        yield (
            "several nodes are equally good for a pod, and the scheduler takes any of them; a group counts "
            "as started only if it starts with each of the choices that were tried"
        )
    priorities = {one.priority for one in workloads if one.gang}
    priorities |= {one.priority for one in demands(one for one in workloads if not one.gang)}
    if len(priorities) > 1:
        yield "preemption is not modelled: a service of higher priority takes only what is free"
    if any(one.gang for one in workloads) and any(not one.gang for one in workloads):
        yield (
            "pods of no gang are placed by another scheduler, at the same time; the plan places them first, "
            "one by one, with each number of nodes"
        )
    if any(one.partial for one in nodes):
        names = {name for one in demands(workloads) for name, _ in one.requests if "/" in name}
        others = ", ".join(sorted(filterfalse(is_device, names)))
        yield (
            "only accelerators were given: the nodes count as having enough CPU, memory and other "
            f"resources{others and f' ({others})'}"
        )
    if len(sizes) > 1 and sizes[1] - sizes[0] > 1:
        yield f"nodes are added {sizes[1] - sizes[0]} at a time"
    zones = {one.labels.get("topology.kubernetes.io/zone") for one in nodes}
    if len(zones) > 1:
        yield "zones are not modelled: of equal nodes, the scheduler prefers one in a zone with fewer pods"


def _untried(count: int, tried: Sequence[Further]) -> Iterator[str]:
    if tried and count > MOST_SHAPES:
        yield f"further nodes were tried of {MOST_SHAPES} of {count} shapes"
