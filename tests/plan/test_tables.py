"""Both capacity tables of the core design, by `fusioninfer plan` alone: marks, percentages, and words."""

import json
from typing import Any, Final

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, SCHEDULED, Table

GPUS_OF_A_NODE: Final = 8
TABLES: Final = {
    "monolithic": (MONOLITHIC, "capacity", ("worker-0", "worker-1")),
    "disaggregated": (DISAGGREGATED, "status", ("prefill", "decode-0", "decode-1")),
}
"""A table, the field of a plan that has its words, and the names of its groups in plans."""


def planned(table: Table) -> dict[int, dict[str, Any]]:
    """Return what the plan of a table's files says of the service, by number of GPUs."""
    nodes = f"{max(table.rows) // GPUS_OF_A_NODE}x{GPUS_OF_A_NODE}"
    result = CliRunner().invoke(main, ["plan", *map(str, table.files), "--nodes", nodes, "-o", "json"])
    assert result.exit_code == 0, result.output
    return {row["gpus"]: row["services"][0] for row in json.loads(result.stdout)["rows"]}


@pytest.mark.parametrize("name", TABLES)
def test_one_plan_from_nothing_to_full_has_all_rows_of_the_documents(name: str) -> None:
    table, field, names = TABLES[name]

    rows = planned(table)

    for gpus, (marks, words) in table.rows.items():
        scheduled = [group for group, mark in zip(names, marks.split(), strict=True) if mark == SCHEDULED]
        assert rows[gpus]["scheduled"] == scheduled
        assert rows[gpus][field] == (int(words[:-1]) if field == "capacity" else words)
