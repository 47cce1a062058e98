"""Report tests on real programs that could not run; in CI they fail the run.

`TITLES` has a row for each folder of such tests. Its tests have the marker of that name (tests/tiers.py).
"""

import os
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import pytest

TITLES: Final = {
    "cluster": "THE TESTS ON REAL COMPONENTS DID NOT RUN",
    "ray": "THE TESTS ON REAL RAY DID NOT RUN",
}
REASONS: Final = pytest.StashKey[dict[str, str]]()
"""Why the tests of a marker cannot run."""


def unavailable(marker: str, what: str, error: Exception, config: pytest.Config) -> NoReturn:
    """Skip a test whose programs are not available here, and keep the reason."""
    config.stash.setdefault(REASONS, {})[marker] = str(error)
    pytest.skip(f"{what} unavailable")


def report(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write what did not run, and why."""
    for marker, reason in config.stash.get(REASONS, {}).items():
        reporter.section(TITLES[marker], sep="!", red=True, bold=True)
        reporter.line(reason)
        for skipped in reporter.stats.get("skipped", []):
            if marker in skipped.keywords:
                reporter.line(f"not run: {skipped.nodeid}")


def hand_over(config: pytest.Config) -> None:
    """Pass the reasons of this process to the one that started it."""
    if hasattr(config, "workeroutput"):
        config.workeroutput["unavailable"] = config.stash.get(REASONS, {})


def collect(config: pytest.Config, output: Mapping[str, Any]) -> None:
    """Keep the reasons of another process."""
    config.stash.setdefault(REASONS, {}).update(output.get("unavailable", {}))


def is_failure(config: pytest.Config) -> bool:
    """Return whether tests did not run where every test must run: in CI."""
    return bool(config.stash.get(REASONS, {})) and os.environ.get("CI") == "true"
