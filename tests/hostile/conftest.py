"""One webhook for all tests that leave it as it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.server import Server, started


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run the webhook as a process, on TLS."""
    with started(tmp_path_factory.mktemp("webhook")) as running:
        yield running


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Give a directory to a webhook of a test's own."""
    return tmp_path
