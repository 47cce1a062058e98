"""Every test that docs/kserve-llm-d.md names exists, and every row of the checklist has its place.

A test is named as pytest names it, below `tests/`; `golden/NAME` is the golden case of that name.
"""

from pathlib import Path
from typing import Final

from hack.pages.kserve_llm_d import areas, counted

TESTS: Final = Path(__file__).parents[1]
LENGTHS: Final = {"K": 156, "M": 47, "C": 25, "S": 4, "F": 8, "R": 14}
CHECKLIST: Final = [f"{part}{number + 1}" for part, length in LENGTHS.items() for number in range(length)]
NAMED: Final = sorted({test for area in areas() for row in area.rows for test in row.tests})


def test_every_test_that_the_page_names_exists() -> None:
    assert [test for test in NAMED if not exists(test)] == []


def exists(test: str) -> bool:
    """Return whether a file defines a test, or a golden case has its folder."""
    path, _, name = test.partition("::")
    place = TESTS / path
    if not name:
        return place.is_dir()
    return place.is_file() and f"def {name.partition('[')[0]}(" in place.read_text(encoding="utf-8")


def test_every_row_of_the_checklist_has_its_place() -> None:
    rows = [row.row for area in areas() if area.checklist for row in area.rows]

    assert sorted(rows) == sorted(CHECKLIST)


def test_nine_of_ten_rows_that_need_no_templates_are_shown_by_a_test() -> None:
    rows = counted()

    assert sum(bool(row.tests) for row in rows) >= 0.9 * len(rows)
