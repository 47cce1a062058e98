"""Options, hooks and servers that several rooms of tests share."""

from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from fusioninfer.demo import Webhook, started_webhook
from tests.lanes import Lanes, divide
from tests.unavailable import collect, hand_over, is_failure, mark, report

structlog.configure(  # so that `caplog` sees an event as a record, with its fields as attributes
    processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make golden` write the expected files anew."""
    parser.addoption("--refresh", action="store_true", help="write the expected files of tests/golden anew")
    parser.addoption("--image", action="store_true", help="run pods of ours from the image, built for it")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Mark tests by their folder, before the ones not asked for are left out; divide them among processes."""
    mark(items)
    if hasattr(config, "workerinput"):
        divide(items, config)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes:
    """Hand out the tests as they are divided, in their order."""
    config.option.loadscopereorder = False
    return Lanes(config, log)


def pytest_testnodedown(node: Any) -> None:
    """Take what one of several processes hands over at its end."""
    collect(node.config, getattr(node, "workeroutput", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end of a run what did not run, and why."""
    report(terminalreporter, config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, tests that could not run are a failure."""
    hand_over(session.config)
    if is_failure(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def webhook() -> Iterator[Webhook]:
    """Run the webhook as a process, on TLS."""
    with started_webhook() as running:
        yield running
