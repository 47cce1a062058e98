"""Options, hooks and servers that several folders of tests share."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import structlog

from tests import tiers
from tests.golden.served import Webhook, started_webhook

LONGEST: Final = 2000
"""The characters of a failure that are printed at once; the whole comes at the end."""

tiers.register_profiles()

structlog.configure(  # so that `caplog` sees an event as a record, with its fields as attributes
    processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make image-check`."""
    parser.addoption("--image", action="store_true", help="run our pods from the image, built for it")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Skip the folders of other tiers before they are imported."""
    return tiers.is_left_out(collection_path) or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Group the tests for several processes."""
    if hasattr(config, "workerinput"):
        tiers.group(items, config)


def pytest_collection_finish() -> None:
    """Exempt the collected tests from garbage collection: they live as long as the process.

    What tests allocate is mostly freed by its last reference: to look for cycles every 700 objects takes a
    fifteenth of the time.
    """
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Print a failure as it happens: the run goes on, and its list comes at the end."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        sys.stderr.write(f"\nFAILED {report.nodeid}\n{report.longreprtext[-LONGEST:]}\n")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> tiers.Groups:
    """Hand out the tests group by group, in their order."""
    config.option.loadscopereorder = False
    return tiers.Groups(config, log)


@pytest.fixture(scope="session")
def webhook() -> Iterator[Webhook]:
    """Run the webhook as a process, on TLS."""
    with started_webhook() as running:
        yield running
