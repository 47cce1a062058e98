"""Run pytest; then run the few tests of real components that failed once more, by themselves.

    python -m tests.retried [ARGUMENT of pytest]...

Beside clusters that use every processor, a test can miss a deadline that it meets alone (ADR 30). A test that
fails twice is a failure. One that passes the second time is printed as unstable, and is to be mended. Nothing
is run again after an error of pytest itself, after more than `FEW` failures, or if a test failed that needs
only its own process (`make unit`).

Exit code: that of pytest.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tests.tiers import HERE, SLOW

FEW: Final = 5
"""More failures have a cause of their own."""
FAILED: Final = 1
"""pytest's exit code if tests failed (`_pytest/config/__init__.py`, `ExitCode`)."""
LAST_FAILED: Final = Path(".pytest_cache/v/cache/lastfailed")
"""Where pytest keeps the ids of failed tests, as the keys of an object (`_pytest/cacheprovider.py`)."""


def main(arguments: Sequence[str]) -> int:
    """Run the tests, some of them twice; return the exit code."""
    code = _pytest(["--cache-clear", *arguments])
    failed = sorted(json.loads(LAST_FAILED.read_text())) if code == FAILED else []
    if not may_retry(failed):
        return code
    print(f"\nrunning {len(failed)} failed tests again, by themselves", flush=True)  # noqa: T201 - progress
    code = _pytest(failed)
    print(verdict(failed, code), flush=True)  # noqa: T201 - the result
    return code


def may_retry(failed: Sequence[str]) -> bool:
    """Return whether failed tests, by their ids, are few, and all use other processes, sockets or clocks."""
    return 0 < len(failed) <= FEW and all(map(_is_slow, failed))


def verdict(failed: Iterable[str], code: int) -> str:
    """Return a message about tests that failed beside others, and ran again with this exit code."""
    said = "UNSTABLE: failed beside other tests, passed alone" if code == 0 else "FAILED again"
    return "\n".join((f"{said}:", *(f"  {test}" for test in failed)))


def _is_slow(test: str) -> bool:
    path = HERE.parent / test.partition("::")[0]
    return any(path.is_relative_to(slow) for slow in SLOW)


def _pytest(arguments: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
