"""The old faults that the safety law must catch: each still finds the code that it changes."""

import subprocess
import sys
from typing import Final

import pytest

EACH: Final = """\
import os
import server.controller  # once, for all
from tests.cluster.safety.mutations import MUTATIONS

for one in MUTATIONS.values():
    if not (child := os.fork()):
        one.put_back()
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        os._exit(1)
print(len(MUTATIONS))
"""
"""Each in a process of its own: it changes functions of the controller."""


@pytest.mark.slow
def test_each_old_fault_finds_the_code_that_it_changes() -> None:
    done = subprocess.run([sys.executable, "-c", EACH], capture_output=True, text=True, check=False)

    assert (done.returncode, int(done.stdout or 0) > 10) == (0, True), done.stderr
