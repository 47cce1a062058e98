"""Every test that docs/kserve-llm-d.md names runs, and every row of the checklist has its place.

A test is named as pytest names it, below `tests/`; `golden/NAME` is the golden case of that name.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pytest

from hack.pages.kserve_llm_d import areas, counted

ROOT: Final = Path(__file__).parents[2]
GOLDEN: Final = re.compile(r"golden/([\w-]+)")
RUNS: Final = "not (skip or skipif or xfail)"
"""The marker expression that leaves out tests that may be skipped."""
LENGTHS: Final = {"K": 156, "M": 47, "C": 25, "S": 4, "F": 8, "R": 14}
CHECKLIST: Final = [f"{part}{number + 1}" for part, length in LENGTHS.items() for number in range(length)]


def claims() -> Mapping[str, tuple[str, ...]]:
    """Return the tests of each row, by their names in pytest."""
    return {row.row: tuple(map(node_id, row.tests)) for area in areas() for row in area.rows}


def node_id(test: str) -> str:
    """Return the name of a test in pytest."""
    case = GOLDEN.fullmatch(test)
    path = "golden/test_golden.py::test_the_command_expands_to_the_expected_files"
    return f"tests/{path}[{case[1]}]" if case else f"tests/{test}"


def collected(files: Iterable[str], root: Path = ROOT) -> frozenset[str]:
    """Return the tests that pytest collects from files and does not skip, with and without parameters."""
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", RUNS, "-p", "no:cacheprovider")
    own = {
        key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"
    }  # the format depends on it
    run = subprocess.run([*command, *files], cwd=root, env=own, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stdout + run.stderr)
    found = [line for line in run.stdout.splitlines() if "::" in line]
    return frozenset((*found, *(line.partition("[")[0] for line in found)))


def unproven(claimed: Mapping[str, tuple[str, ...]], root: Path = ROOT) -> list[str]:
    """Return the rows with a test that does not exist, is not collected or may be skipped, and the test."""
    files = sorted({test.partition("::")[0] for tests in claimed.values() for test in tests})
    missing = [file for file in files if not (root / file).is_file()]
    known = collected([file for file in files if file not in missing], root)
    return [f"{row}: {test}" for row, tests in claimed.items() for test in tests if test not in known]


def test_every_row_of_the_checklist_has_its_place() -> None:
    rows = [row.row for area in areas() if area.checklist for row in area.rows]

    assert sorted(rows) == sorted(CHECKLIST)


def test_nine_of_ten_rows_that_need_no_templates_are_shown_by_a_test() -> None:
    rows = counted()

    assert sum(bool(row.tests) for row in rows) >= 0.9 * len(rows)


@pytest.mark.slow
def test_every_test_that_the_page_names_is_collected_and_not_skipped() -> None:
    assert unproven(claims()) == []


@pytest.mark.slow
def test_a_test_that_is_missing_or_skipped_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import pytest\n"
        "def test_runs(): pass\n"
        "@pytest.mark.parametrize('x', [1])\n"
        "def test_each(x): pass\n"
        "@pytest.mark.skip\n"
        "def test_skipped(): pass\n"
        "@pytest.mark.skipif(False, reason='')\n"
        "def test_sometimes(): pass\n"
        "@pytest.mark.xfail\n"
        "def test_fails(): pass\n"
    )
    good = ("test_a.py::test_runs", "test_a.py::test_each", "test_a.py::test_each[1]")
    bad = (
        *("test_a.py::test_each[2]", "test_a.py::test_skipped", "test_a.py::test_sometimes"),
        *("test_a.py::test_fails", "test_a.py::test_gone", "test_b.py::test_runs"),
    )

    assert unproven({"A": good, "B": bad}, tmp_path) == [f"B: {test}" for test in bad]
