"""The rows of kserve_llm_d.yaml: what KServe and llm-d do, what FusionInfer does, and the tests that show it.

A row has `ours` and `tests`, or `not ours` or `not yet` with the reason. A test is named as pytest names it,
below `tests/`; `golden/NAME` is the golden case of that name.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

ROOT: Final = Path(__file__).parents[1]
DATA: Final = Path(__file__).with_suffix(".yaml")
GOLDEN: Final = re.compile(r"golden/([\w-]+)")
RUNS: Final = "not (skip or skipif or xfail)"
"""The marker expression that leaves out tests that may be skipped."""
STRICT: Final = ConfigDict(extra="forbid", frozen=True)


class Row(BaseModel):
    """A row of the table."""

    model_config = STRICT
    row: str
    theirs: str
    ours: str = ""
    tests: tuple[str, ...] = ()
    not_ours: str = Field(default="", alias="not ours")
    not_yet: str = Field(default="", alias="not yet")

    @model_validator(mode="after")
    def has_one_outcome(self) -> "Row":
        """Refuse a row that is shown and decided against, or neither."""
        if [bool(self.ours and self.tests), bool(self.not_ours), bool(self.not_yet)].count(True) != 1:
            message = f"{self.row} needs ours and tests, or not ours, or not yet"
            raise ValueError(message)
        return self

    @property
    def outcome(self) -> str:
        """What FusionInfer does, or why it does not."""
        reasons = {"not ours": self.not_ours, "not yet": self.not_yet}
        return self.ours or next(f"{name}: {reason}" for name, reason in reasons.items() if reason)


class Area(BaseModel):
    """Rows about one subject."""

    model_config = STRICT
    area: str
    templates: bool = False
    """Whether the rows need templates."""
    checklist: bool = True
    """Whether the rows are counted."""
    rows: tuple[Row, ...]


@cache
def areas() -> tuple[Area, ...]:
    """Read the rows, area by area."""
    return tuple(Area.model_validate(one) for one in yaml.safe_load(DATA.read_text(encoding="utf-8")))


def counted() -> tuple[Row, ...]:
    """Return the rows of the checklist that need no templates."""
    return tuple(row for area in areas() if area.checklist and not area.templates for row in area.rows)


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
