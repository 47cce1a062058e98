"""docs/status.md says what is true: its tables are those of the code, its example is what the code says."""

from pathlib import Path
from typing import Final

import pytest

from sync.changes import EVENTS
from sync.status import status
from sync.status.components import PHASES
from sync.status.reasons import CONDITIONS, REASONS, ConditionStatus, Reason
from tests.sync.status.samples import NOW, routes, seen, waiting
from tests.test_readme import ANY_TABLE, table

PAGE: Final = Path(__file__).parents[1] / "docs" / "status.md"

GOOD: Final[dict[str, ConditionStatus]] = {**dict.fromkeys(CONDITIONS, "True"), "Failed": "False"}
"""The status of a condition when all is well; `Progressing` is neither good nor bad."""


def example() -> str:
    """Write what kubectl shows of a service for which there is no room."""
    observed = seen(waiting("prefill", 0, 2), waiting("decode", 0, 4), routes=routes())
    made = status(observed, {}, NOW)["conditions"]
    lines = (f"{one['type']}={one['status']} {one['reason']}: {one['message']}\n" for one in made)
    return f"```\n{''.join(lines)}```\n"


def conditions() -> list[dict[str, str]]:
    """Return the table of conditions."""
    return [{"condition": f"`{name}`", "`True` means": meaning} for name, meaning in CONDITIONS.items()]


def reasons() -> list[dict[str, str]]:
    """Return the table of reasons, condition by condition."""
    return [
        {
            "condition": f"`{row.condition}`",
            "status": row.status,
            "reason": f"`{row.reason}`",
            "meaning": row.meaning,
            "what to do": row.remedy or "nothing",
        }
        for name in CONDITIONS
        for row in REASONS
        if row.condition == name
    ]


def phases() -> list[dict[str, str]]:
    """Return the table of phases."""
    return [{"phase": f"`{word}`", "when": meaning} for word, meaning, _ in PHASES]


def events() -> list[dict[str, str]]:
    """Return the table of Events about what the controller does."""
    return [
        {"reason": f"`{reason}`", "type": kind, "what happened": meaning}
        for reason, (kind, meaning) in EVENTS.items()
    ]


def test_the_tables_are_those_of_the_code(request: pytest.FixtureRequest) -> None:
    tables = {"conditions": conditions(), "reasons": reasons(), "phases": phases(), "events": events()}
    parts = {name: table(rows) for name, rows in tables.items()} | {"example": example()}
    text = PAGE.read_text(encoding="utf-8")
    written = ANY_TABLE.sub(lambda found: found[1] + parts[found[2]] + found[4], text)
    if request.config.getoption("--refresh"):
        PAGE.write_text(written, encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == written


@pytest.mark.parametrize(
    "row",
    [row for row in REASONS if row.condition != "Progressing" and row.status != GOOD.get(row.condition)],
    ids=lambda row: f"{row.condition}-{row.reason}",
)
def test_every_false_condition_has_a_remedy(row: Reason) -> None:
    assert row.remedy
