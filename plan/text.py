"""A plan for a terminal."""

from collections.abc import Iterable, Iterator

from intent.errors import printable
from plan.forecast import Forecast
from plan.rows import tables
from plan.sentences import lists

MOST_TABLES = 10
"""The most services that have a table each."""
WORDS = {"Waiting": "waiting: ", "Further nodes": "next: ", "Idle": "", "Notes": "note: "}
"""What begins each line of a list."""


def as_text(plan: Forecast) -> str:
    """Render a plan."""
    return "".join(f"{printable(line)}\n" for line in _lines(plan))


def _lines(plan: Forecast) -> Iterator[str]:
    for title, rows in tables(plan, 0 if len(plan.workloads) > MOST_TABLES else MOST_TABLES):
        yield from [title] if title else []
        yield from aligned(rows)
        yield ""
    for title, lines in lists(plan).items():
        yield from (f"{WORDS[title]}{line}" for line in lines)


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
