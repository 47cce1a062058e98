"""Options, hooks and servers that several rooms of tests share."""

from collections.abc import Iterator

import pytest

from fusioninfer.demo import Webhook, started_webhook
from tests.unavailable import is_failure, mark, report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make golden` write the expected files anew."""
    parser.addoption("--refresh", action="store_true", help="write the expected files of tests/golden anew")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their folder, before the ones not asked for are left out."""
    mark(items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end of a run what did not run, and why."""
    report(terminalreporter, config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, tests that could not run are a failure."""
    if is_failure(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def webhook() -> Iterator[Webhook]:
    """Run the webhook as a process, on TLS."""
    with started_webhook() as running:
        yield running
