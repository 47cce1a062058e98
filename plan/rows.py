"""The rows of a plan's tables: steps at which nothing changes for a service are one row."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from plan.forecast import Forecast, ForecastStep
from plan.sentences import size
from plan.words import NOT_KNOWN, capacity, mark, started, status
from plan.workload import Workload

MOST_COLUMNS = 12
"""The most groups that have a column each; of more, a column has the count of a role."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Consecutive steps at which something is the same."""

    first: ForecastStep
    last: ForecastStep

    @property
    def nodes(self) -> str:
        """The numbers of nodes: `6-9`."""
        return _range(self.first.nodes, self.last.nodes)

    @property
    def accelerators(self) -> str:
        """The numbers of accelerators: `48-72`."""
        return _range(self.first.accelerators, self.last.accelerators)


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def intervals(plan: Forecast, same: Callable[[ForecastStep], Hashable]) -> Iterator[Interval]:
    """Yield the intervals at which `same` returns one value."""
    begun = plan.steps[0]
    for before, step in pairwise(plan.steps):
        if same(step) != same(before):
            yield Interval(begun, before)
            begun = step
    yield Interval(begun, plan.steps[-1])


def columns(plan: Forecast, at: int) -> tuple[str, ...]:
    """Return the titles of the columns of a workload: its groups; of many, its roles, or their types."""
    one = plan.workloads[at]
    if len(one.groups) <= MOST_COLUMNS:
        return tuple(role.label(group) for role in one.roles for group in range(role.replicas))
    return tuple(_parts(one))


def cells(plan: Forecast, step: ForecastStep, at: int) -> tuple[str, ...]:
    """Return the cells of these columns."""
    one = plan.workloads[at]
    if len(one.groups) <= MOST_COLUMNS:
        return tuple(
            mark(plan, step, at, (role, group))
            for role, its in enumerate(one.roles)
            for group in range(its.replicas)
        )
    if capacity(plan, step, at) is None:
        return (NOT_KNOWN,) * len(_parts(one))
    counts = started(plan, step, at)
    return tuple(
        f"{sum(counts[role] for role in roles)} of {sum(one.roles[role].replicas for role in roles)}"
        for roles in _parts(one).values()
    )


def _parts(one: Workload) -> dict[str, list[int]]:
    """Return the roles of a workload by name, or by component type if there are many."""
    found: dict[str, list[int]] = {}
    for at, role in enumerate(one.roles):
        found.setdefault(role.role if len(one.roles) <= MOST_COLUMNS else role.component, []).append(at)
    return found


def table(plan: Forecast, at: int) -> list[tuple[str, ...]]:
    """Return the table of a workload: its header, and a row for each interval."""
    found = [("nodes", "GPUs", *columns(plan, at), "capacity", "status")]
    for each in intervals(plan, lambda step: (cells(plan, step, at), status(plan, step, at))):
        step = each.first
        percentage = capacity(plan, step, at)
        found.append(
            (
                each.nodes,
                each.accelerators,
                *cells(plan, step, at),
                NOT_KNOWN if percentage is None else f"{percentage}%",
                status(plan, step, at),
            )
        )
    return found


def tables(plan: Forecast, most: int) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield the tables: of several services that of all, without a title; then one for each, up to `most`."""
    if len(plan.workloads) > 1:
        yield "", overview(plan)
    for at in range(min(most, len(plan.workloads))):
        yield size(plan, at), table(plan, at)


def overview(plan: Forecast) -> list[tuple[str, ...]]:
    """Return a table of all workloads: how many are full, partial, blocked, and not known if any are."""
    states = ("full", "partial", "blocked", *((NOT_KNOWN,) if plan.unknown else ()))
    found: list[tuple[str, ...]] = [("nodes", "GPUs", *states, "groups")]
    for each in intervals(plan, lambda step: step.started):
        counts = _states(plan, each.first)[: len(states)]
        groups = f"{len(each.first.started)} of {sum(len(one.groups) for one in plan.workloads)}"
        found.append((each.nodes, each.accelerators, *map(str, counts), groups))
    return found


def _states(plan: Forecast, step: ForecastStep) -> tuple[int, int, int, int]:
    """Count the workloads that are full, partial, blocked, and not known."""
    found = [
        (capacity(plan, step, at) is None, sum(started(plan, step, at)), len(one.groups))
        for at, one in enumerate(plan.workloads)
    ]
    unknown = sum(is_unknown for is_unknown, _, _ in found)
    full = sum(has == count for _, has, count in found)
    blocked = sum(not has and count > 0 for is_unknown, has, count in found if not is_unknown)
    return full, len(found) - full - blocked - unknown, blocked, unknown
