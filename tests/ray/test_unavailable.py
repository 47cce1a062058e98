"""Where Ray cannot be had, the run says so at its end; in CI it fails."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
ONE_TEST: Final = "tests/ray/test_launches.py::test_a_release_known_as_broken_fails_as_the_warning_says"


@pytest.mark.parametrize(("ci", "status"), [("", pytest.ExitCode.OK), ("true", pytest.ExitCode.TESTS_FAILED)])
def test_a_run_without_ray_lists_the_tests_that_did_not_run(tmp_path: Path, ci: str, status: int) -> None:
    nothing = {"FUSIONINFER_RAY_CACHE": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "CI": ci}

    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", ONE_TEST]
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **nothing}, capture_output=True, text=True, check=False
    )

    said = "THE TESTS ON REAL RAY DID NOT RUN" in run.stdout and f"not run: {ONE_TEST}" in run.stdout
    assert (run.returncode, said) == (status, True), run.stdout
