"""Where tests on real programs cannot run, the run says so at its end; in CI it fails.

A row for each folder of such tests. Every test in it has the marker of that name.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

HERE: Final = Path(__file__).parent
TITLES: Final = {
    "cluster": "THE TESTS ON REAL COMPONENTS DID NOT RUN",
    "ray": "THE TESTS ON REAL RAY DID NOT RUN",
}
REASONS: Final = pytest.StashKey[dict[str, str]]()
"""Why the tests of a marker cannot run."""


def unavailable(marker: str, what: str, error: Exception, config: pytest.Config) -> NoReturn:
    """Skip a test for what is not to be had here, and remember why."""
    config.stash.setdefault(REASONS, {})[marker] = str(error)
    pytest.skip(f"{what} unavailable")


def mark(items: list[pytest.Item]) -> None:
    """Mark every test by its folder."""
    for item in items:
        for marker in TITLES:
            if HERE / marker in item.path.parents:
                item.add_marker(marker)


def report(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what did not run, and why."""
    for marker, reason in config.stash.get(REASONS, {}).items():
        reporter.section(TITLES[marker], sep="!", red=True, bold=True)
        reporter.line(reason)
        for skipped in reporter.stats.get("skipped", []):
            if marker in skipped.keywords:
                reporter.line(f"not run: {skipped.nodeid}")


def hand_over(config: pytest.Config) -> None:
    """Where tests run in several processes, have the first one know why some cannot run in this one."""
    if hasattr(config, "workeroutput"):
        config.workeroutput["unavailable"] = config.stash.get(REASONS, {})


def collect(config: pytest.Config, output: Mapping[str, Any]) -> None:
    """Remember why tests cannot run in another process."""
    config.stash.setdefault(REASONS, {}).update(output.get("unavailable", {}))


def is_failure(config: pytest.Config) -> bool:
    """Whether something did not run where everything must: in CI."""
    return bool(config.stash.get(REASONS, {})) and os.environ.get("CI") == "true"
