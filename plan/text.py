"""A plan for a terminal."""

from collections.abc import Iterable, Iterator

from intent.errors import printable
from plan.forecast import Forecast
from plan.rows import lines, tables


def as_text(plan: Forecast) -> str:
    """Render a plan."""
    return "".join(f"{printable(line)}\n" for line in _lines(plan))


def _lines(plan: Forecast) -> Iterator[str]:
    for title, rows in tables(plan):
        yield title
        yield from aligned(rows)
        yield ""
    yield from lines(plan)


def aligned(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Align the columns of a table; the first two are numbers."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        numbers = [cell.rjust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        words = [cell.ljust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        yield "  ".join((*numbers, *words)).rstrip()
