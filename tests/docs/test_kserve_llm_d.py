"""Each row of kserve_llm_d.yaml, what KServe and llm-d do, has one outcome; the tests that it names exist.

A row has `ours` and `tests`, or the reason of `not ours` or `not yet`. A test is named as pytest names it,
below `tests/`; `golden/NAME` is the golden case of that name.
"""

from pathlib import Path
from typing import Any, Final

import yaml

TESTS: Final = Path(__file__).parents[1]
AREAS: Final = yaml.safe_load((Path(__file__).parent / "kserve_llm_d.yaml").read_text(encoding="utf-8"))
LENGTHS: Final = {"K": 156, "M": 47, "C": 25, "S": 4, "F": 8, "R": 14}
CHECKLIST: Final = [f"{part}{number + 1}" for part, length in LENGTHS.items() for number in range(length)]
ROWS: Final = [row for area in AREAS for row in area["rows"]]
NAMED: Final = sorted({test for row in ROWS for test in row.get("tests", ())})
FIELDS: Final = {"row", "theirs"}
OUTCOMES: Final = ({"ours", "tests"}, {"not ours"}, {"not yet"})


def test_every_row_has_one_outcome() -> None:
    assert [row for row in ROWS if not has_one_outcome(row)] == []


def has_one_outcome(row: dict[str, Any]) -> bool:
    return all(row.values()) and set(row) - FIELDS in OUTCOMES and set(row) >= FIELDS


def test_every_test_that_a_row_names_exists() -> None:
    assert [test for test in NAMED if not exists(test)] == []


def exists(test: str) -> bool:
    """Return whether a file defines a test, or a golden case has its folder."""
    path, _, name = test.partition("::")
    place = TESTS / path
    if not name:
        return place.is_dir()
    return place.is_file() and f"def {name.partition('[')[0]}(" in place.read_text(encoding="utf-8")


def test_every_row_of_the_checklist_has_its_place() -> None:
    rows = [row["row"] for area in AREAS if area.get("checklist", True) for row in area["rows"]]

    assert sorted(rows) == sorted(CHECKLIST)


def test_nine_of_ten_rows_that_need_no_templates_are_shown_by_a_test() -> None:
    checked = (area for area in AREAS if area.get("checklist", True) and not area.get("templates"))
    rows = [row for area in checked for row in area["rows"]]

    assert sum("tests" in row for row in rows) >= 0.9 * len(rows)
