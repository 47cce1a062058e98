"""Where the Go modules cannot be had, the run says so at its end; in CI it fails."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
ONE_TEST: Final = "tests/cluster/test_testbed.py::test_the_controller_is_its_service_account"


@pytest.mark.parametrize(
    ("processes", "ci", "status"),
    [("0", "", pytest.ExitCode.OK), ("1", "true", pytest.ExitCode.TESTS_FAILED)],
)
def test_a_run_without_go_modules_lists_the_tests_that_did_not_run(
    tmp_path: Path, processes: str, ci: str, status: int
) -> None:
    nothing = {
        "FUSIONINFER_TESTBED_CACHE": str(tmp_path),
        "GOMODCACHE": str(tmp_path / "modules"),
        "GOPROXY": "off",
        "PIP_NO_INDEX": "1",
        "CI": ci,
    }

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-o", f"cache_dir={tmp_path}", "-n", processes, ONE_TEST],
        cwd=ROOT,
        env={**os.environ, **nothing},
        capture_output=True,
        text=True,
        check=False,
    )

    said = "THE TESTS ON REAL COMPONENTS DID NOT RUN" in run.stdout and f"not run: {ONE_TEST}" in run.stdout
    assert (run.returncode, said) == (status, True), run.stdout
