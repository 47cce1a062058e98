"""The table of reasons, of which docs/status.md is made, says what to do."""

from typing import Final

import pytest

from sync.status.reasons import CONDITIONS, REASONS, ConditionStatus, Reason

GOOD: Final[dict[str, ConditionStatus]] = {**dict.fromkeys(CONDITIONS, "True"), "Failed": "False"}
"""The status of a condition when all is well; `Progressing` is neither good nor bad."""


@pytest.mark.parametrize(
    "row",
    [row for row in REASONS if row.condition != "Progressing" and row.status != GOOD.get(row.condition)],
    ids=lambda row: f"{row.condition}-{row.reason}",
)
def test_every_false_condition_has_a_remedy(row: Reason) -> None:
    assert row.remedy
