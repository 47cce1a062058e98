"""Fixtures of the tests on real Ray, and a loud word where those could not run."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, NoReturn

import pytest

from intent import Object
from tests.netns import NamespacesUnavailableError, require_namespaces
from tests.ray.install import RayUnavailableError, install
from tests.ray.running import Group, running
from webhook.expand import expanded

HERE: Final = Path(__file__).parent
UNAVAILABLE: Final = pytest.StashKey[str]()

Start = Callable[..., AbstractContextManager[Group]]


@pytest.fixture(scope="session")
def start(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Run the group of a LeaderWorkerSet, as we leave it, on a release of Ray; it ends with the block."""

    @contextmanager
    def started(lws: Object, release: str, *, late: float = 0, named: bool = True) -> Iterator[Group]:
        programs = _installed(release, request.config)
        with running(
            expanded(lws), programs, tmp_path_factory.mktemp("group"), late=late, named=named
        ) as group:
            yield group

    return started


@pytest.fixture(scope="session")
def namespaces(request: pytest.FixtureRequest) -> None:
    """Skip where there can be no network namespaces."""
    try:
        require_namespaces()
    except NamespacesUnavailableError as error:
        _skip(error, request.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test here `ray`, before the ones not asked for are left out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.ray)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end of a run what did not run, and why."""
    if reason := config.stash.get(UNAVAILABLE, ""):
        terminalreporter.section("THE TESTS ON REAL RAY DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.line(reason)
        skipped = [each for each in terminalreporter.stats.get("skipped", []) if "ray" in each.keywords]
        for report in skipped:
            terminalreporter.line(f"not run: {report.nodeid}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, tests on real Ray that could not run are a failure."""
    if UNAVAILABLE in session.config.stash and os.environ.get("CI") == "true":
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _installed(release: str, config: pytest.Config) -> Path:
    """Install with progress on the terminal, past pytest's capture; skip where Ray cannot be had."""
    capture = config.pluginmanager.getplugin("capturemanager")
    try:
        require_namespaces()
        with capture.global_and_fixture_disabled():
            return install(release, sys.stderr)
    except (NamespacesUnavailableError, RayUnavailableError) as error:
        _skip(error, config)


def _skip(error: Exception, config: pytest.Config) -> NoReturn:
    config.stash[UNAVAILABLE] = str(error)
    pytest.skip("Ray is unavailable")
