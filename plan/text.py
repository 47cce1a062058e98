"""A plan for a terminal."""

from collections.abc import Iterable, Iterator

from intent.errors import printable
from plan.forecast import Forecast
from plan.rows import overview, table
from plan.sentences import further, idle, size, waiting

MOST_TABLES = 10
"""The most services that have a table each."""


def as_text(plan: Forecast) -> str:
    """Render a plan."""
    return "".join(f"{printable(line)}\n" for line in _lines(plan))


def _lines(plan: Forecast) -> Iterator[str]:
    several = len(plan.workloads) > 1
    if several:
        yield from aligned(overview(plan))
        yield ""
    for at in range(len(plan.workloads) if len(plan.workloads) <= MOST_TABLES else 0):
        yield size(plan, at)
        yield from aligned(table(plan, at))
        yield ""
    sections = {"waiting": tuple(waiting(plan)), "next": tuple(further(plan)), "note": plan.notes}
    for title in ("waiting", "next"):
        yield from (f"{title}: {line}" for line in sections[title])
    yield idle(plan)
    yield from (f"note: {line}" for line in sections["note"])


def aligned(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Align the columns of a table; the first two are numbers."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if at < 2 else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
