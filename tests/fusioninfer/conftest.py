"""The command beside a fake API server."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import main
from tests.sync.conftest import api, kubeconfig

__all__ = ("api", "kubeconfig")

Command = Callable[..., Awaitable[Result]]


@pytest.fixture
def command(kubeconfig: Path) -> Command:
    """Return a function that runs a subcommand beside the fake API server."""

    async def run(*words: str, text: str | None = None) -> Result:
        arguments = [*words, "--kubeconfig", str(kubeconfig)]
        return await asyncio.to_thread(CliRunner().invoke, main, arguments, input=text)

    return run
