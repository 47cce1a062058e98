"""A plan as text, also on an HTML page, and as JSON: tables in the words of the core design, and lines."""

import html
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from intent.errors import counted, printable
from plan.forecast import Forecast
from plan.progress import Counts, Standing
from plan.workload import Workload

MOST_COLUMNS: Final = 12
"""The most groups that have a column each; of more, a column has the count of a role."""
LETTERS: Final = {"prefiller": "P", "decoder": "D", "worker": "W", "encoder": "E"}
Row = tuple[str, ...]


def tables(plan: Forecast) -> Iterator[tuple[str, list[Row]]]:
    """Yield the title and the table of each service: a row for each interval in which nothing changes."""
    for standings in zip(*(step.standings for step in plan.steps), strict=True):
        workload = standings[0].workload
        rows = [("nodes", "GPUs", *(heading for heading, _ in _cells(standings[0])))]
        lines = zip(map(_cells, standings), plan.steps, strict=True)
        for cells, group in groupby(lines, key=itemgetter(0)):
            ends = [(step.nodes, step.accelerators) for _, step in group]
            numbers = (_range(low, high) for low, high in zip(ends[0], ends[-1], strict=True))
            rows.append((*numbers, *(cell for _, cell in cells)))
        yield f"{workload.title}: {counted(workload.groups, 'group')}", rows


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _cells(standing: Standing) -> list[tuple[str, str]]:
    """Return heading and cell of each column: of groups, or of roles if there are many groups."""
    workload, share = standing.workload, capacity(standing)
    roles = zip(workload.roles, standing.started, standing.uncertain, strict=True)
    if workload.groups > MOST_COLUMNS:
        cells = [(role.role, f"{started} of {role.replicas}") for role, started, _ in roles]
    else:
        cells = []
        for role, started, uncertain in roles:
            pending = role.replicas - started - uncertain
            turns = ["scheduled"] * started + ["uncertain"] * uncertain + ["pending"] * pending
            cells += [(role.label(group), turn) for group, turn in enumerate(turns)]
    cells.append(("capacity", f"{share}%"))
    known = cells if share is not None else [(heading, "not known") for heading, _ in cells]
    return [*known, ("status", status(standing))]


def capacity(standing: Standing) -> int | None:
    """Return the percentage of the groups of a workload that have started; None if it is not known."""
    if standing.is_complete:
        return 100
    return None if standing.workload.unknown else 100 * sum(standing.started) // standing.workload.groups


def status(standing: Standing) -> str:
    """Return the status of a workload."""
    workload = standing.workload
    if standing.is_complete:
        return "Full capacity" if workload.groups else "No replicas"
    if workload.unknown or workload.waits:
        return "Not known" if workload.unknown else "Waiting"
    if any(standing.started):
        return f"Partial ({_letters(workload, standing.started)})"
    return "Uncertain" if any(standing.uncertain) else _blocked(workload, standing.alone)


def _blocked(workload: Workload, alone: frozenset[int]) -> str:
    """Return the status of a workload of which nothing has started."""
    required = tuple(role.required for role in workload.roles)
    needed = sum(map(bool, required))
    if not alone or needed < 2:
        return "Service unavailable"
    if len(alone) == needed:
        return f"Blocked (can't satisfy {_letters(workload, required)} together)"
    return f"Blocked (only enough for {' or '.join(workload.roles[role].role for role in sorted(alone))})"


def _letters(workload: Workload, counts: Counts) -> str:
    """Return the groups of roles by kind of role: `1P + 2D`."""
    numbers: dict[str, int] = {}
    for role, count in zip(workload.roles, counts, strict=True):
        numbers[role.component] = numbers.get(role.component, 0) + count
    return " + ".join(f"{numbers[kind]}{letter}" for kind, letter in LETTERS.items() if kind in numbers)


# --- formats ----------------------------------------------------------------------------------------


def as_text(plan: Forecast) -> str:
    """Render a plan for a terminal: what waits for what is below the tables."""
    lines = (
        *(line for title, rows in tables(plan) for line in (title, *aligned(rows), "")),
        *(f"waiting: {sentence}" for sentence in plan.waiting),
        *(f"next: {further}" for further in plan.further),
        *(f"note: {note}" for note in plan.notes),
    )
    return "".join(f"{printable(line)}\n" for line in lines)


def aligned(rows: Iterable[Row], numbers: int = 2) -> Iterator[str]:
    """Align the columns of a table; the first ones are numbers."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = list(zip(row, widths, strict=True))
        words = [cell.ljust(width) for cell, width in cells[numbers:]]
        shown = (*(cell.rjust(width) for cell, width in cells[:numbers]), *words)
        yield "  ".join(shown).rstrip()


def as_data(plan: Forecast) -> dict[str, Any]:
    """Render a plan as JSON; every step is a row. A number that is not known is null."""
    return {
        "complete": plan.complete,
        "rows": [
            {"nodes": step.nodes, "gpus": step.accelerators, "services": [*map(_service, step.standings)]}
            for step in plan.steps
        ],
        "waiting": list(plan.waiting),
        "next": [
            {"nodes": more.nodes, "like": more.shape, "starts": list(more.starts)} for more in plan.further
        ],
        "notes": list(plan.notes),
    }


def _service(standing: Standing) -> dict[str, Any]:
    roles = zip(standing.workload.roles, standing.started, strict=True)
    return {
        "namespace": standing.workload.namespace,
        "name": standing.workload.name,
        "scheduled": [role.label(group) for role, count in roles for group in range(count)],
        "uncertain": standing.labels(standing.uncertain),
        "capacity": capacity(standing),
        "status": status(standing),
    }


PAGE: Final = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'"/>
<title>Capacity</title></head><body><pre>
{}</pre></body></html>
"""


def as_page(plan: Forecast) -> str:
    """Render the same text as one HTML page, which loads nothing and runs no script."""
    return PAGE.format(html.escape(as_text(plan)))
