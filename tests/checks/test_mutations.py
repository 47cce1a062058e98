"""The old faults that the safety law must catch: each still finds the code that it changes."""

import subprocess
import sys

import pytest

from tests.cluster.safety.mutations import MUTATIONS


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_each_old_fault_finds_the_code_that_it_changes(name: str) -> None:
    """In a process of its own: it changes functions of the controller."""
    code = f"from tests.cluster.safety.mutations import MUTATIONS; MUTATIONS[{name!r}].put_back()"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
