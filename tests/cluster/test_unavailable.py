"""Where the Go modules cannot be had, the tests on real components fail and say why."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
ONE_TEST: Final = "tests/cluster/test_testbed.py::test_the_controller_is_its_service_account"


def test_a_run_without_go_modules_fails_and_says_why(tmp_path: Path) -> None:
    nothing = {
        "FUSIONINFER_TESTBED_CACHE": str(tmp_path),
        "GOMODCACHE": str(tmp_path / "modules"),
        "GOPROXY": "off",
        "PIP_NO_INDEX": "1",
    }

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-o", f"cache_dir={tmp_path}", ONE_TEST],
        cwd=ROOT,
        env={**os.environ, **nothing},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == pytest.ExitCode.TESTS_FAILED
    assert "the real components cannot run here: " in run.stdout
