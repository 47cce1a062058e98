"""Rows as they are counted: a live table on a terminal, a plain line for each finished row elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.table import Table as Grid

from tests.cluster.capacity import Row, Table, expected, short, status, verdict

Show = Callable[[Sequence[Row]], None]
"""Called with all rows so far at every poll; the last row may not be settled yet."""
STYLES: Final = {"right": "green", "WRONG": "bold red", "...": "dim"}


@contextmanager
def board(table: Table, console: Console) -> Iterator[Show]:
    """Show rows while they come."""
    if not console.is_terminal:
        yield lambda rows: _say(rows[-1], console)
        return
    with Live(grid(table, []), console=console, auto_refresh=False) as live:
        yield lambda rows: live.update(grid(table, rows), refresh=True)


def grid(table: Table, rows: Sequence[Row]) -> Grid:
    """Lay rows out: bound pods of each group, what the documents expect, and whether that is so."""
    groups = [short(table, group) for group in table.groups]
    drawn = Grid("GPUs", *groups, "", "the documents", title="bound/there (expected bound)")
    for row in rows:
        drawn.add_row(str(row.gpus), *_cells(row, ""), _styled(verdict(row)), status(row))
    return drawn


def line(row: Row) -> str:
    """Render a row as one line."""
    groups = ", ".join(
        f"{short(row.table, group)} {cell}"
        for group, cell in zip(row.table.groups, _cells(row, "expected "), strict=True)
    )
    return f"{row.gpus} GPUs: {groups}: {verdict(row)}; the documents: {status(row)}"


def _say(row: Row, console: Console) -> None:
    if row.settled:
        console.print(line(row), soft_wrap=True)


def _cells(row: Row, label: str) -> list[str]:
    wanted = expected(row.table, row.gpus)
    return [_cell(row.counted.get(group, (0, 0)), wanted[group][0], label) for group in row.table.groups]


def _cell(counted: tuple[int, int], wanted: int, label: str) -> str:
    bound, there = counted
    return f"{bound}/{there} ({label}{wanted})"


def _styled(word: str) -> str:
    return f"[{STYLES[word]}]{word}[/]"
