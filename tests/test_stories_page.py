"""docs/stories.md: its capacity tables are those that the tests hold against the real scheduler."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, SCHEDULED, Table, short

PAGE: Final = Path(__file__).parents[1] / "docs" / "stories.md"
TABLES: Final = {"monolithic": MONOLITHIC, "disaggregated": DISAGGREGATED}
MARKED: Final = re.compile(r"(<!-- (monolithic|disaggregated):[^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)


def written(table: Table) -> str:
    """Write a capacity table: a row for each number of GPUs, a column for each group."""
    groups = [short(table, group) for group in table.groups]
    lines = [["free GPUs", *groups, "service"], ["---"] * (len(groups) + 2)]
    for gpus, (marks, words) in table.rows.items():
        states = ["runs" if mark == SCHEDULED else "waits" for mark in marks.split()]
        lines.append([str(gpus), *states, words])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def test_the_tables_are_those_of_the_tests(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    made = MARKED.sub(lambda found: found[1] + written(TABLES[found[2]]) + found[4], text)
    if request.config.getoption("--refresh"):
        PAGE.write_text(made, encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == made
