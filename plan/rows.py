"""What a plan shows: tables in the words of the core design, and lines below them."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from intent.errors import counted
from plan.forecast import Forecast
from plan.progress import Standing
from plan.workload import Workload

MOST_TABLES: Final = 20
"""The most services that have a table."""
MOST_COLUMNS: Final = 12
"""The most groups that have a column each; of more, a column has the count of a role."""
LETTERS: Final = {"prefiller": "P", "decoder": "D", "worker": "W", "encoder": "E"}
NOT_KNOWN: Final = "not known"
Row = tuple[str, ...]


def tables(plan: Forecast) -> Iterator[tuple[str, list[Row]]]:
    """Yield the title and the table of each service."""
    for index, workload in enumerate(plan.workloads[:MOST_TABLES]):
        yield f"{workload.title}: {counted(workload.groups, 'group')}", table(plan, index)


def table(plan: Forecast, index: int) -> list[Row]:
    """Return the header, and a row for each interval of node counts in which nothing changes."""
    rows = [("nodes", "GPUs", *_columns(plan.workloads[index]), "capacity", "status")]
    for cells, group in groupby(plan.steps, lambda step: _cells(step.standings[index])):
        first, *_, last = [*group] * 2
        rows.append((_range(first.nodes, last.nodes), _range(first.accelerators, last.accelerators), *cells))
    return rows


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _columns(workload: Workload) -> Iterator[str]:
    for role in workload.roles:
        yield from map(role.label, range(role.replicas)) if workload.groups <= MOST_COLUMNS else [role.role]


def _cells(standing: Standing) -> Row:
    share = capacity(standing)
    words = [*(_marks(standing) if standing.workload.groups <= MOST_COLUMNS else _numbers(standing))]
    if share is None:
        return *[NOT_KNOWN] * (len(words) + 1), status(standing)
    return *words, f"{share}%", status(standing)


def _marks(standing: Standing) -> Iterator[str]:
    """Yield whether each group has started."""
    for role, started, uncertain in zip(
        standing.workload.roles, standing.started, standing.uncertain, strict=True
    ):
        for turn in map(role.order.index, range(role.replicas)):
            may = "uncertain" if turn < started + uncertain else "pending"
            yield "scheduled" if turn < started else may


def _numbers(standing: Standing) -> Iterator[str]:
    """Yield how many groups of each role have started."""
    for role, count in zip(standing.workload.roles, standing.started, strict=True):
        yield f"{count} of {role.replicas}"


def capacity(standing: Standing) -> int | None:
    """Return the percentage of the groups of a workload that have started; None if it is not known."""
    if standing.is_complete:
        return 100
    roles = {role.name: role.of or role.replicas for role in standing.workload.roles}
    whole = sum(_whole(standing).values())
    return None if standing.workload.unknown else 100 * whole // sum(roles.values())


def _whole(standing: Standing) -> Mapping[str, int]:
    """Return by LeaderWorkerSet how many groups have started as a whole, whichever pods of no gang have."""
    whole: dict[str, int] = {}
    for role, started in zip(standing.workload.roles, standing.started, strict=True):
        left = whole.get(role.name, role.of or role.replicas)
        whole[role.name] = max(0, left - role.replicas + started)
    return whole


def status(standing: Standing) -> str:
    """Return the status of a workload."""
    workload = standing.workload
    if standing.is_complete:
        return "Full capacity" if workload.groups else "No replicas"
    if workload.unknown or workload.waits:
        return "Not known" if workload.unknown else "Waiting"
    if any((whole := _whole(standing)).values()):
        return f"Partial ({_letters(workload, whole)})"
    return "Uncertain" if any(standing.uncertain) else _blocked(workload, standing.alone)


def _blocked(workload: Workload, alone: frozenset[int]) -> str:
    """Return the status of a workload of which nothing has started."""
    required = {role.name: role.required for role in workload.roles}
    needed = sum(map(bool, required.values()))
    if not alone or needed < 2:
        return "Service unavailable"
    if len(alone) == needed:
        return f"Blocked (can't satisfy {_letters(workload, required)} together)"
    return f"Blocked (only enough for {' or '.join(workload.roles[role].role for role in sorted(alone))})"


def _letters(workload: Workload, counts: Mapping[str, int]) -> str:
    """Return the groups of LeaderWorkerSets by kind of role: `1P + 2D`."""
    numbers: dict[str, int] = {}
    for name, component in {role.name: role.component for role in workload.roles}.items():
        numbers[component] = numbers.get(component, 0) + counts[name]
    return " + ".join(f"{numbers[kind]}{letter}" for kind, letter in LETTERS.items() if kind in numbers)


def lines(plan: Forecast) -> Iterator[str]:
    """Yield what waits for what, what further nodes would start, and what is idle."""
    yield from (f"waiting: {sentence}" for sentence in plan.waiting)
    yield from (f"next: {further}" for further in plan.further)
    yield f"idle GPUs: {NOT_KNOWN if plan.unknown else plan.idle}"
    yield from (f"note: {note}" for note in plan.notes)
