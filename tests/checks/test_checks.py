"""The commands of `make check`, run at low priority beside the tests that wait.

mypy keeps what it learns where the testbed keeps its binaries, so that the first run on a clean clone is not
the longest test: it compares the digest of each file, so clones can share the folder.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.testbed.build import LOW, cache_directory

ROOT: Final = Path(__file__).parents[2]
RECIPE: Final = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]
COMMANDS: Final = [line.split() for line in re.findall(r"\$\(BIN\)/(.+)", RECIPE)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_source_passes(command: list[str]) -> None:
    program = Path(sys.executable).parent / command[0]
    environment = os.environ | {"MYPY_CACHE_DIR": str(cache_directory() / "mypy")}

    done = subprocess.run(
        (*LOW, program, *command[1:]), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_checks() -> None:
    assert len(COMMANDS) == RECIPE.count("\n\t")
