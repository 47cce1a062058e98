"""docs/troubleshooting.md says what the commands check and find: its tables are those of the code."""

from pathlib import Path
from typing import Final

import pytest

from fusioninfer.cluster.check.table import CHECKS
from fusioninfer.cluster.why.cause import REASONS
from tests.test_readme import ANY_TABLE, table

PAGE: Final = Path(__file__).parents[1] / "docs" / "troubleshooting.md"
WHEN: Final = {
    frozenset({"pre"}): "before",
    frozenset({"installed"}): "after",
    frozenset({"pre", "installed"}): "both",
}
"""When a check is made, for the table: before an installation, after it, or both."""


def checks() -> list[dict[str, str]]:
    """Return the table of checks."""
    return [
        {
            "check": f"`{row.name}`",
            "installation": WHEN[row.when],
            "what holds": row.claim,
            "otherwise": row.severity,
            "what to do": row.remedy,
        }
        for row in CHECKS
    ]


def reasons(layer: str) -> list[dict[str, str]]:
    """Return the table of the reasons of one layer."""
    return [
        {"reason": f"`{row.reason}`", "meaning": row.meaning, "what to do": row.remedy}
        for row in REASONS
        if row.layer == layer
    ]


def test_the_tables_are_those_of_the_code(request: pytest.FixtureRequest) -> None:
    layers = dict.fromkeys(row.layer for row in REASONS)
    parts = {layer: table(reasons(layer)) for layer in layers} | {"checks": table(checks())}
    text = PAGE.read_text(encoding="utf-8")
    written = ANY_TABLE.sub(lambda found: found[1] + parts[found[2]] + found[4], text)
    if request.config.getoption("--refresh"):
        PAGE.write_text(written, encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == written


def test_every_layer_has_a_table() -> None:
    found = {match[2] for match in ANY_TABLE.finditer(PAGE.read_text(encoding="utf-8"))}

    assert found == {row.layer for row in REASONS} | {"checks"}
