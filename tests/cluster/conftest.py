"""Fixtures of the tests on real components, and a loud word where those could not run."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NoReturn, TypeVar

import pytest

from tests.cluster.testbed.build import build, envoy
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import running
from tests.cluster.testbed.modules import (
    CERTIFICATE_CRDS,
    CERTIFICATE_MODULES,
    CRDS,
    MODULES,
    ROUTE_CRDS,
    ROUTE_MODULES,
)
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.network import Network, network
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.ours import (
    MANIFESTS,
    install_manifests,
    start_sync,
    start_webhook,
    wait_admission,
)
from tests.cluster.testbed.toolchain import ModulesUnavailableError
from tests.netns import NamespacesUnavailableError, require_namespaces

HERE: Final = Path(__file__).parent
UNAVAILABLE: Final = pytest.StashKey[str]()

T = TypeVar("T")
AddNodes = Callable[[int], tuple[str, ...]]


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with running(_obtained(request.config, lambda: build(sys.stderr))) as there:
        yield there


@pytest.fixture(scope="session")
def routed(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Another cluster, which has the resources of the Gateway API and its Inference Extension."""
    built = _obtained(request.config, lambda: build(sys.stderr, (*MODULES, *ROUTE_MODULES)))
    _obtained(request.config, envoy)
    with running(built, (*CRDS, *ROUTE_CRDS)) as there:
        yield there


@pytest.fixture(scope="session")
def certified(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Another cluster, which has the resources of cert-manager and our manifests; no webhook runs."""
    built = _obtained(request.config, lambda: build(sys.stderr, (*MODULES, *CERTIFICATE_MODULES)))
    with running(built, (*CRDS, *CERTIFICATE_CRDS)) as there:
        install_manifests(there)
        install_manifests(there, MANIFESTS.parent / "self-signed")
        yield there


@pytest.fixture(scope="session")
def pod_network(routed: Cluster, request: pytest.FixtureRequest) -> Iterator[Network]:
    """A network of pods beside that cluster."""
    try:
        require_namespaces()
    except NamespacesUnavailableError as error:
        _skip(error, request.config)
    with network(routed) as there:
        yield there


@pytest.fixture(scope="session")
def admission(cluster: Cluster) -> Cluster:
    """The cluster with our manifests and our webhook."""
    install_manifests(cluster)
    start_webhook(cluster)
    wait_admission(cluster)
    return cluster


@pytest.fixture(scope="session")
def fusioninfer(admission: Cluster) -> Cluster:
    """The cluster with all of ours: the loop too."""
    start_sync(admission)
    return admission


@pytest.fixture
def add_nodes(cluster: Cluster) -> Iterator[AddNodes]:
    """Add so many nodes of 8 GPUs; none is left after the test."""
    yield lambda count: add_gpu_nodes(cluster, count)
    remove_nodes(cluster)


@pytest.fixture
def namespace(cluster: Cluster, add_nodes: AddNodes) -> Iterator[str]:  # noqa: ARG001 - pods go before their nodes
    """A new namespace; what is in it is removed after the test."""
    name = add_namespace(cluster)
    yield name
    empty_namespace(cluster, name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test here `cluster`, before the ones not asked for are left out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end of a run what did not run, and why."""
    if reason := config.stash.get(UNAVAILABLE, ""):
        terminalreporter.section("THE TESTS ON REAL COMPONENTS DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.line(reason)
        skipped = [each for each in terminalreporter.stats.get("skipped", []) if "cluster" in each.keywords]
        for report in skipped:
            terminalreporter.line(f"not run: {report.nodeid}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, tests on real components that could not run are a failure."""
    if UNAVAILABLE in session.config.stash and os.environ.get("CI") == "true":
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _obtained(config: pytest.Config, obtain: Callable[[], T]) -> T:
    """Build with progress on the terminal, past pytest's capture; skip where that cannot be had."""
    capture = config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            return obtain()
    except ModulesUnavailableError as error:
        _skip(error, config)


def _skip(error: Exception, config: pytest.Config) -> NoReturn:
    config.stash[UNAVAILABLE] = str(error)
    pytest.skip("real components are unavailable")
