"""The rows of a plan's tables: steps at which nothing changes for a service are one row."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from plan.forecast import Forecast, Step
from plan.words import capacity, mark, status

MOST_COLUMNS = 12
"""The most groups that have a column each; of more, a column has the count of a role."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Consecutive steps at which something is the same."""

    first: Step
    last: Step

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


def intervals(plan: Forecast, same: Callable[[Step], Hashable]) -> Iterator[Interval]:
    """Yield the intervals at which `same` returns one value."""
    begun = plan.steps[0]
    for before, step in pairwise(plan.steps):
        if same(step) != same(before):
            yield Interval(begun, before)
            begun = step
    yield Interval(begun, plan.steps[-1])


def columns(plan: Forecast, at: int) -> tuple[str, ...]:
    """Return the titles of the columns of a workload: its groups, or its roles."""
    one = plan.workloads[at]
    if len(one.groups) <= MOST_COLUMNS:
        return tuple(role.label(group) for role in one.roles for group in range(role.replicas))
    return tuple(role.role for role in one.roles)


def cells(plan: Forecast, step: Step, at: int) -> tuple[str, ...]:
    """Return the cells of these columns."""
    one = plan.workloads[at]
    if len(one.groups) <= MOST_COLUMNS:
        return tuple(
            mark(step, at, (role, group))
            for role, its in enumerate(one.roles)
            for group in range(its.replicas)
        )
    return tuple(
        f"{sum((at, (role, group)) in step.started for group in range(its.replicas))} of {its.replicas}"
        for role, its in enumerate(one.roles)
    )


def table(plan: Forecast, at: int) -> list[tuple[str, ...]]:
    """Return the table of a workload: its header, and a row for each interval."""
    found = [("nodes", "GPUs", *columns(plan, at), "capacity", "status")]
    for each in intervals(plan, lambda step: (cells(plan, step, at), status(plan, step, at))):
        step = each.first
        found.append(
            (
                each.nodes,
                each.accelerators,
                *cells(plan, step, at),
                f"{capacity(plan, step, at)}%",
                status(plan, step, at),
            )
        )
    return found


def overview(plan: Forecast) -> list[tuple[str, ...]]:
    """Return a table of all workloads: how many are full, partial, and blocked."""
    found: list[tuple[str, ...]] = [("nodes", "GPUs", "full", "partial", "blocked", "groups")]
    for each in intervals(plan, lambda step: step.started):
        counts = _states(plan, each.first)
        started = f"{len(each.first.started)} of {sum(len(one.groups) for one in plan.workloads)}"
        found.append((each.nodes, each.accelerators, *map(str, counts), started))
    return found


def _states(plan: Forecast, step: Step) -> tuple[int, int, int]:
    """Count the workloads that are full, partial, and blocked."""
    by_workload = [0] * len(plan.workloads)
    for at, _ in step.started:
        by_workload[at] += 1
    full = sum(has == len(one.groups) for has, one in zip(by_workload, plan.workloads, strict=True))
    blocked = sum(not has and bool(one.groups) for has, one in zip(by_workload, plan.workloads, strict=True))
    return full, len(by_workload) - full - blocked, blocked
