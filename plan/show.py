"""A plan as text, also on an HTML page, and as JSON: tables in the words of the core design, and lines."""

import html
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from intent.errors import counted, printable
from plan.forecast import Forecast
from plan.progress import Standing
from plan.workload import Groups, Workload

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
        for cells, group in groupby(lines, key=lambda line: line[0]):
            columns = zip(*((step.nodes, step.accelerators) for _, step in group), strict=True)
            numbers = (f"{each[0]}-{each[-1]}" if each[0] < each[-1] else f"{each[0]}" for each in columns)
            rows.append((*numbers, *(cell for _, cell in cells)))
        yield f"{workload.title}: {counted(workload.groups.total(), 'group')}", rows


def _cells(standing: Standing) -> list[tuple[str, str]]:
    """Return heading and cell of each column: of groups, or of roles if there are many groups."""
    workload, share, cells = standing.workload, capacity(standing), []
    for index, role in enumerate(workload.roles):
        started, uncertain = standing.started[index], standing.uncertain[index]
        if workload.groups.total() > MOST_COLUMNS:
            cells.append((role.member.role_name, f"{started} of {role.member.replicas}"))
        else:
            pending = role.member.replicas - started - uncertain
            turns = ["scheduled"] * started + ["uncertain"] * uncertain + ["pending"] * pending
            cells += [(role.label(group), turn) for group, turn in enumerate(turns)]
    cells.append(("capacity", f"{share}%"))
    known = cells if share is not None else [(heading, "not known") for heading, _ in cells]
    return [*known, ("status", status(standing))]


def capacity(standing: Standing) -> int | None:
    """Return the percentage of the groups of a workload that have started; None if it is not known."""
    if standing.is_complete:
        return 100
    started, groups = standing.started.total(), standing.workload.groups.total()
    return None if standing.workload.unknown else 100 * started // groups


def status(standing: Standing) -> str:
    """Return the status of a workload."""
    workload = standing.workload
    if standing.is_complete:
        return "Full capacity" if workload.groups else "No replicas"
    if workload.unknown or workload.waits:
        return "Not known" if workload.unknown else "Waiting"
    if standing.started:
        return f"Partial ({_letters(workload, standing.started)})"
    return "Uncertain" if standing.uncertain else _blocked(workload, standing.alone)


def _blocked(workload: Workload, alone: frozenset[int]) -> str:
    """Return the status of a workload of which nothing has started."""
    needed = workload.required
    if not alone or len(needed) < 2:
        return "Service unavailable"
    if len(alone) == len(needed):
        return f"Blocked (can't satisfy {_letters(workload, needed)} together)"
    names = (workload.roles[index].member.role_name for index in sorted(alone))
    return f"Blocked (only enough for {' or '.join(names)})"


def _letters(workload: Workload, groups: Groups) -> str:
    """Return the groups of roles by kind of role: `1P + 2D`."""
    numbers = Counter[str]()
    for index, role in enumerate(workload.roles):
        numbers[role.member.component_type] += groups[index]
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


def aligned(rows: list[Row], numbers: int = 2) -> Iterator[str]:
    """Align the columns of a table; the first ones are numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pads = [*[str.rjust] * numbers, *[str.ljust] * (len(widths) - numbers)]
    for row in rows:
        yield "  ".join(pad(cell, width) for pad, cell, width in zip(pads, row, widths, strict=True)).rstrip()


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
    workload = standing.workload
    return {
        "namespace": workload.namespace,
        "name": workload.name,
        "scheduled": workload.labels(standing.started, Groups()),
        "uncertain": workload.labels(standing.uncertain, standing.started),
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
