"""Options, hooks and servers that several folders of tests share."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from fusioninfer.demo import Webhook, started_webhook
from tests import tiers
from tests.unavailable import collect, hand_over, is_failure, report

tiers.register_profiles()

structlog.configure(  # so that `caplog` sees an event as a record, with its fields as attributes
    processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `make golden` and `make image-check`."""
    parser.addoption("--refresh", action="store_true", help="write the expected files of tests/golden anew")
    parser.addoption("--image", action="store_true", help="run our pods from the image, built for it")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the folders that `make unit` leaves out before they are imported."""
    return tiers.is_left_out(collection_path, config.option.markexpr) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Mark tests before those not asked for are deselected, and group them for several processes."""
    tiers.mark(items)
    if hasattr(config, "workerinput"):
        tiers.group(items, config)


def pytest_collection_finish() -> None:
    """Exempt the collected tests from garbage collection: they live as long as the process.

    What tests allocate is mostly freed by its last reference: to look for cycles every 700 objects takes a
    fifteenth of the time.
    """
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> tiers.Groups:
    """Hand out the tests group by group, in their order."""
    config.option.loadscopereorder = False
    return tiers.Groups(config, log)


def pytest_testnodedown(node: Any) -> None:
    """Collect what a process of several reports at its end."""
    collect(node.config, getattr(node, "workeroutput", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report at the end of a run what did not run, and why."""
    report(terminalreporter, config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in CI if tests could not run."""
    hand_over(session.config)
    if is_failure(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def webhook() -> Iterator[Webhook]:
    """Run the webhook as a process, on TLS."""
    with started_webhook() as running:
        yield running
