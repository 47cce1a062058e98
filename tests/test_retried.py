"""A few unstable tests of real components get a second attempt, and nothing else does."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.retried import FEW, may_retry, verdict

ROOT: Final = Path(__file__).parents[1]
CLUSTER: Final = "tests/cluster/test_pause.py::test_a[b/c]"
PURE: Final = "tests/intent/test_names.py::test_a"

SECOND_PASSES: Final = """
from pathlib import Path
def test_first_attempt_fails():
    seen = Path(__file__).with_name("seen")
    was_seen = seen.exists()
    seen.touch()
    assert was_seen
"""
NEVER_PASSES: Final = "def test_fails():\n    assert False\n"
BROKEN: Final = "import a_module_that_does_not_exist\n"


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        ([], False),
        ([CLUSTER], True),
        ([PURE], False),
        ([CLUSTER, PURE], False),
        ([f"{CLUSTER}{at}" for at in range(FEW)], True),
        ([f"{CLUSTER}{at}" for at in range(FEW + 1)], False),
    ],
)
def test_only_a_few_failures_of_real_components_are_retried(failed: list[str], *, expected: bool) -> None:
    assert may_retry(failed) is expected


def test_the_verdict_names_unstable_tests() -> None:
    assert verdict([CLUSTER], 0).splitlines() == [
        "UNSTABLE: failed beside other tests, passed alone:",
        f"  {CLUSTER}",
    ]
    assert verdict([CLUSTER], 1).startswith("FAILED again")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code", "attempts", "said"),
    [
        (SECOND_PASSES, 0, 2, "UNSTABLE"),
        (NEVER_PASSES, 1, 2, "FAILED again"),
        (BROKEN, 2, 1, "a_module_that_does_not_exist"),
    ],
    ids=["unstable", "failing", "broken"],
)
def test_the_exit_code_is_that_of_the_last_attempt(
    tmp_path: Path, text: str, code: int, attempts: int, said: str
) -> None:
    folder = tmp_path / "tests" / "cluster"
    folder.mkdir(parents=True)
    (folder / "test_of_it.py").write_text(text)
    for name in ("__init__.py", "retried.py", "tiers.py"):
        source = ROOT / "tests" / name
        (folder.parent / name).write_text(source.read_text() if source.exists() else "")

    run = [sys.executable, "-m", "tests.retried", "tests/cluster"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.count("test session starts")) == (code, attempts), done.stdout
    assert said in done.stdout
