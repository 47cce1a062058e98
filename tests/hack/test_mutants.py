"""The runner of mutants, on a product of a few lines."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from hack.mutants.edits import identified

ROOT: Final = Path(__file__).parents[2]
PRODUCT: Final = """\
LIMITS = {"small": 3}


def size(number):
    if number < 3:
        return "small"
    return "large"


def clipped(number):
    return 0 if number < 0 else number


def unused():
    return 5
"""
TESTS: Final = """\
import subprocess, sys

from plan import LIMITS, clipped, size


def test_the_limit_is_large():
    assert [size(number) for number in (2, 3)] == ["small", "large"]
    assert LIMITS["small"] == 3


def test_nothing_is_negative():
    assert [clipped(number) for number in (-1, 0, 1)] == [0, 0, 1]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "plan/__init__.py": PRODUCT,
        "tests/test_plan.py": TESTS,
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
        "tests/conftest.py": "from hypothesis import settings\n\nsettings.register_profile('unit')\n",
    }
    for name, text in files.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
    shutil.copytree(ROOT / "hack/mutants", tmp_path / "tree/hack/mutants")
    shutil.copy(ROOT / "hack/rooms.py", tmp_path / "tree/hack")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "tree", check=True)
    return tmp_path / "tree"


@pytest.mark.slow
def test_a_mutant_is_caught_by_a_test_of_its_line_and_an_equivalent_one_survives(tree: Path) -> None:
    verdicts = {
        "if (number <= 3):": "caught",
        'LIMITS = {"small": (4)}': "caught",
        "return 0 if (number <= 0) else number": "survived",
        "return (6)": "no test covers",
    }
    source = PRODUCT.encode()
    listed = [
        {"seed": 1, "id": key, "path": "plan/__init__.py", "line": edit.line, "before": "", "after": after}
        for key, edit in identified("plan/__init__.py", source).items()
        if (after := edit.apply(source).split(b"\n")[edit.line - 1].strip().decode()) in verdicts
    ]
    (tree.parent / "listed").write_text("".join(f"{json.dumps(row)}\n" for row in listed))
    command = (sys.executable, "-m", "hack.mutants", "run", "--tests=tests", "../listed", "../results")
    environment = {**os.environ, "HOME": str(tree.parent), "PYTHONPATH": str(tree)}
    subprocess.run(command, cwd=tree, env=environment, check=True)
    results = [json.loads(line) for line in (tree.parent / "results").read_text().splitlines()]
    assert {row["after"]: row["verdict"] for row in results} == verdicts
