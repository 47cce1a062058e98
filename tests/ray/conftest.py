"""Fixtures of the tests on real Ray."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from intent import Object
from tests.builders.netns import NamespacesUnavailableError, require_namespaces
from tests.ray.install import RayUnavailableError, install
from tests.ray.running import Group, running
from webhook.expand import expanded

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
def namespaces() -> None:
    """Fail where there can be no network namespaces."""
    try:
        require_namespaces()
    except NamespacesUnavailableError as error:
        _fail(error)


def _installed(release: str, config: pytest.Config) -> Path:
    """Install with progress on the terminal, past pytest's capture; fail where Ray cannot be had."""
    capture = config.pluginmanager.getplugin("capturemanager")
    try:
        require_namespaces()
        with capture.global_and_fixture_disabled():
            return install(release, sys.stderr)
    except (NamespacesUnavailableError, RayUnavailableError) as error:
        _fail(error)


def _fail(error: Exception) -> NoReturn:
    pytest.fail(f"Ray cannot run here: {error}", pytrace=False)
