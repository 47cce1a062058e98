"""Both capacity tables of the core design, by `fusioninfer plan` alone: marks, percentages, and words."""

import json
from dataclasses import replace
from typing import Any, Final

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from plan.progress import Standing
from plan.rows import capacity, status
from plan.workload import Workload
from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, SCHEDULED, Table
from tests.plan.services import role

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


@pytest.mark.parametrize(
    ("started", "expected"),
    [((1, 0), (0, "Service unavailable")), ((2, 1), (50, "Partial (1W)")), ((1, 1), (0, "Uncertain"))],
)
def test_a_group_in_no_gang_counts_once_its_leader_and_workers_have_started(
    started: tuple[int, int], expected: tuple[int, str]
) -> None:
    halves = tuple(replace(role("worker", replicas=2), required=0, of=2) for _ in range(2))
    may = (1, 1) if expected[1] == "Uncertain" else (0, 0)

    standing = Standing(Workload("", "a", halves, is_gang=False), started, may, frozenset())

    assert (capacity(standing), status(standing)) == expected
