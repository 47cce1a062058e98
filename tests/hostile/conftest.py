"""Webhooks for all tests that leave their state unchanged."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.server import Server, started


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run the webhook as a process, on TLS, with the limits of production."""
    with started(tmp_path_factory.mktemp("webhook")) as running:
        yield running


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    """Run a webhook whose memory no other test has used."""
    with started(tmp_path) as running:
        yield running
