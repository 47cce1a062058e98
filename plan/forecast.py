"""A plan: what starts with each number of nodes, why groups wait, and what further nodes would start."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Final, NamedTuple

from intent.errors import counted
from plan.amounts import PODS, Amounts, accelerators, shown
from plan.demand import Demand
from plan.progress import Progress, Standing
from plan.supply import NAME, Supply, lack, shape
from plan.workload import Groups, Workload

MOST_STEPS: Final = 128
"""The most rows that are computed: of more nodes, several are added at once."""
MOST_SHAPES: Final = 8
"""The most shapes of which further nodes are tried."""
MOST_NAMES: Final = 8
"""The most groups that a sentence names."""
HOSTNAME: Final = "kubernetes.io/hostname"


class ForecastStep(NamedTuple):
    """What is so after nodes were added."""

    nodes: int
    accelerators: int
    standings: tuple[Standing, ...]
    """By workload."""


class Further(NamedTuple):
    """What further nodes of one shape would start."""

    nodes: int
    """How many start something; 0 if nothing does."""
    shape: str
    starts: tuple[str, ...] = ()

    def __str__(self) -> str:
        nodes = counted(self.nodes, "more node") if self.nodes else "more nodes"
        return f"{nodes} with {self.shape} would start {_listed(self.starts) or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a plan says."""

    steps: tuple[ForecastStep, ...]
    waiting: tuple[str, ...]
    """Why groups wait, one sentence for each service."""
    further: tuple[Further, ...]
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every group starts."""
        return all(standing.is_complete for standing in self.steps[-1].standings)


def forecast(
    workloads: Sequence[Workload], nodes: Sequence[Supply], *, present: int = 0, notes: Iterable[str] = ()
) -> Forecast:
    """Plan workloads on nodes, which are added one by one; the first `present` are there from the start.

    Rows are for at most `MOST_STEPS` numbers of nodes, the last one among them.
    """
    by = max(1, -(-(len(nodes) - present) // (MOST_STEPS - 1)))
    progress, count, gpus, steps = Progress(workloads), 0, 0, []
    for size in (*range(present, len(nodes), by), len(nodes)):
        progress.add(nodes[count:size])
        gpus += sum(accelerators(node.allocatable) for node in nodes[count:size])
        count = size
        standings = (replace(each, alone=_alone(progress, each)) for each in progress.standings)
        steps.append(ForecastStep(size, gpus, tuple(standings)))
    return Forecast(
        tuple(steps),
        tuple(_waiting(progress)),
        tuple(_further(progress, nodes)),
        (*notes, *_notes(workloads, nodes), *([f"nodes are added {by} at a time"] if by > 1 else [])),
    )


def _alone(progress: Progress, standing: Standing) -> frozenset[int]:
    """Return the required roles of which a group would fit by itself."""
    is_blocked = standing.is_waiting and not (standing.started or standing.uncertain)
    needed = standing.required if is_blocked else ()
    return frozenset(role for role in needed if not progress.missing(standing, Groups({role: 1})))


def _names(progress: Progress, standing: Standing, groups: Groups) -> tuple[str, ...]:
    """Return the names of the next groups, of several services with theirs."""
    service = f"{standing.workload.title}/" if len(progress.standings) > 1 else ""
    return tuple(f"{service}{label}" for label in standing.workload.labels(groups, standing.started))


def _listed(names: Sequence[str]) -> str:
    """List names; of many, the first ones and their number."""
    more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    return " and ".join((", ".join(names[:MOST_NAMES]), *more))


# --- what is missing --------------------------------------------------------------------------------


def _waiting(progress: Progress) -> Iterator[str]:
    """Yield what each workload lacks that has not started as a whole."""
    for standing in progress.standings:
        if standing.is_complete:
            continue
        groups = standing.next[0]
        names = _names(progress, standing, groups)
        if standing.workload.waits:
            yield f"{_listed(names)}: {standing.workload.waits}"
        elif standing.is_waiting:
            pods, lacks = standing.workload.pods(groups).total(), progress.missing(standing, groups)
            ((lacking, _),) = lacks.most_common(1)
            together = "must start together" if standing.workload.is_gang else "wait"
            yield (
                f"{_listed(names)} {together if len(names) > 1 else 'waits'}: "
                f"{max(0, pods - lacks.total())} of {pods} pods have room; {_reason(progress, lacking)}"
            )


def _reason(progress: Progress, demand: Demand) -> str:
    """Return what a pod requests, and what nodes lack for it."""
    asked = ", ".join(shown(name, amount) for name, amount in demand.requests if name != PODS) or "nothing"
    nodes, lacks = progress.room.nodes, Counter[str]()
    for node, count in nodes.items():
        lacks[lack(node, demand)] += count
    listed = ", ".join(f"{count} {what}" for what, count in sorted(lacks.items()))
    there = f"of {counted(nodes.total(), 'node')}, {listed}" if nodes else "there is no node"
    return f"a pod requests {asked}; {there}"


# --- further nodes ----------------------------------------------------------------------------------


def _further(end: Progress, nodes: Sequence[Supply]) -> Iterator[Further]:
    """Yield what further nodes would start: of each shape, those with the most accelerators first."""
    marks = {*end.room.labels} - {HOSTNAME, NAME}
    shapes: dict[str, Supply] = {}
    for node in sorted(nodes, key=lambda node: -accelerators(node.allocatable)):
        shapes.setdefault(shape(node, marks), node)
    if any(standing.is_waiting for standing in end.standings):
        for words, node in islice(shapes.items(), MOST_SHAPES):
            empty = replace(node, used=Amounts(), labels={**node.labels, HOSTNAME: "", NAME: ""})
            yield _first_start(end, empty, words)


def _first_start(end: Progress, node: Supply, words: str) -> Further:
    """Add nodes of a shape until something starts: as many at once as certainly start nothing, and one."""
    progress, count = deepcopy(end), 0
    while more := progress.fewest(node):
        for part in filter(None, (more - 1, 1)):
            progress.add([node] * part)
        count += more
        both = zip(end.standings, progress.standings, strict=True)
        starts = (_names(end, old, new.started - old.started) for old, new in both)
        if names := tuple(chain.from_iterable(starts)):
            return Further(count, words, names)
    return Further(0, words)


# --- what is not modelled ---------------------------------------------------------------------------


def _notes(workloads: Sequence[Workload], nodes: Sequence[Supply]) -> Iterator[str]:
    yield from (workload.unknown for workload in workloads if workload.unknown)
    for workload in workloads:
        of_pods = {what for role in workload.roles for pod in role.shapes for what in pod.unmodelled}
        if unmodelled := of_pods.union(workload.unmodelled):
            yield f"{workload.title}: not modelled: {', '.join(sorted(unmodelled))}"
    if len({workload.priority for workload in workloads}) > 1:
        yield "preemption is not modelled: a service of higher priority takes only what is free"
    if any(node.partial for node in nodes):
        yield "only accelerators were given: the nodes count as having enough CPU, memory and other resources"
