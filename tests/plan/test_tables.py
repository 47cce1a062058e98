"""Both capacity tables of the core design, by `fusioninfer plan` alone: marks, percentages, and words."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, SCHEDULED, Table, short

GPUS_OF_A_NODE = 8
TABLES = {"monolithic": MONOLITHIC, "disaggregated": DISAGGREGATED}


def planned(table: Table, gpus: int) -> dict[str, Any]:
    """Return the plan of the files of a table for a number of GPUs."""
    files = [str(file) for file in table.files]
    words = ["plan", *files, "--nodes", f"{gpus // GPUS_OF_A_NODE}x{GPUS_OF_A_NODE}", "-o", "json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code in {0, 1}, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def scheduled(table: Table, gpus: int) -> set[str]:
    """Return the groups that are scheduled in a row of the documents, by the names that plans have."""
    alone = [one.rpartition("-")[0] for one in table.groups]
    marks = zip(table.groups, table.rows[gpus][0].split(), strict=True)
    names = {group for group, mark in marks if mark == SCHEDULED}
    titles = {
        one: short(table, one) if table is DISAGGREGATED else f"worker-{short(table, one)}" for one in names
    }
    return {
        title.removesuffix("-0") if alone.count(one.rpartition("-")[0]) == 1 else title
        for one, title in titles.items()
    }


@pytest.mark.parametrize("name", TABLES)
def test_one_plan_from_nothing_to_full_has_all_rows_of_the_documents(name: str) -> None:
    table = TABLES[name]

    rows = {row["gpus"]: row["services"][0] for row in planned(table, max(table.rows))["rows"]}

    words = {
        gpus: f"{row['capacity']}%" if table is MONOLITHIC else row["status"] for gpus, row in rows.items()
    }
    found = {gpus: (set(rows[gpus]["scheduled"]), words[gpus]) for gpus in table.rows}
    assert found == {gpus: (scheduled(table, gpus), table.rows[gpus][1]) for gpus in table.rows}
