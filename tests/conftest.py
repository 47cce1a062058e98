"""Options and servers that several rooms of tests share."""

from collections.abc import Iterator

import pytest

from fusioninfer.demo import Webhook, started_webhook


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make golden` write the expected files anew."""
    parser.addoption("--refresh", action="store_true", help="write the expected files of tests/golden anew")


@pytest.fixture(scope="session")
def webhook() -> Iterator[Webhook]:
    """Run the webhook as a process, on TLS."""
    with started_webhook() as running:
        yield running
