"""Fixtures of the tests on real components."""

import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final, NoReturn, TypeVar

import pytest

from tests import tiers
from tests.builders.netns import NamespacesUnavailableError, require_namespaces
from tests.cluster.testbed.admissions import trust
from tests.cluster.testbed.build import Built, build, envoy, find_buildah, find_prometheus, source
from tests.cluster.testbed.built_image import Image, build_image, in_container
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import restart_component, running, stop_all
from tests.cluster.testbed.images import CHECKOUT, Program
from tests.cluster.testbed.modules import (
    CERTIFICATE_CRDS,
    CERTIFICATE_MODULES,
    CHART_MODULES,
    CRDS,
    EARLIER_CHART_MODULES,
    GITOPS_MODULES,
    ISTIO_CRDS,
    MERGE_MODULES,
    MERGO_MODULES,
    MODULES,
    POLICY_MODULES,
    ROUTE_CRDS,
    ROUTE_DEFINITIONS,
    ROUTE_MODULES,
    SCHEDULER_MODULES,
    SCHEMA_MODULES,
    TEMPLATE_MODULES,
    Module,
)
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.network import Network, network
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.ours import (
    MANIFESTS,
    SHARED,
    install_manifests,
    logs_of_ours,
    restart_deposed,
    start_controllers,
    start_sync,
    start_templated_webhook,
    start_webhook,
    wait_admission,
)
from tests.cluster.testbed.pki import issue
from tests.cluster.testbed.toolchain import ModulesUnavailableError

T = TypeVar("T")
HURRIED: Final = {"--lease-duration": 6, "--renew-deadline": 4, "--retry-period": 1}
"""A Lease that is lost now and then while the API server is away."""
AddNodes = Callable[[int], tuple[str, ...]]
STARTED: Final[dict[str, Cluster]] = {}
"""The shared clusters that run, by their fixtures."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report the ends of our logs, and our processes that died, with each test that fails."""
    report = yield
    if report.failed:
        clusters = {id(value): value for value in item.funcargs.values() if isinstance(value, Cluster)}
        title = "logs of the webhook and the controller"
        report.sections += [(title, logs_of_ours(one)) for one in clusters.values()]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Have a controller in each shared cluster, whatever the test before did to its API server."""
    for there in STARTED.values():
        restart_deposed(there)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the processes of a shared cluster after the last test that uses it."""
    if there := STARTED.pop(tiers.ended(item, nextitem), None):
        stop_all(there)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with running(obtained(request.config, lambda: build(sys.stderr))) as there:
        STARTED["cluster"] = there
        yield there


@pytest.fixture(scope="session")
def routed(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Another cluster, which has the resources of the Gateway API, its Inference Extension and Istio."""
    built = obtained(request.config, lambda: build(sys.stderr, (*MODULES, *ROUTE_MODULES)))
    obtained(request.config, envoy)
    with running(built, (*CRDS, *ROUTE_CRDS, *ISTIO_CRDS)) as there:
        STARTED["routed"] = there
        yield there


@pytest.fixture(scope="session")
def built(request: pytest.FixtureRequest) -> Built:
    """The binaries of a cluster, without a cluster."""
    return obtained(request.config, lambda: build(sys.stderr))


@pytest.fixture(scope="module")
def stored(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """An API server and its store alone, with our manifests and every policy."""
    core = [module for module in MODULES if module.name in {"etcd", "kubernetes"}]
    built = obtained(request.config, lambda: build(sys.stderr, core))
    with running(built, (), ()) as there:
        for folder in ("base", "self-signed", "ownership"):
            install_manifests(there, MANIFESTS.parent / folder)
        yield there


@pytest.fixture(scope="session")
def built_schedulers(request: pytest.FixtureRequest) -> Built:
    """The binaries of a cluster with the schedulers of gangs and of other pods, without a cluster."""
    return obtained(request.config, lambda: build(sys.stderr, (*MODULES, *SCHEDULER_MODULES)))


@pytest.fixture(scope="session")
def built_routes(request: pytest.FixtureRequest) -> Built:
    """The binaries of endpoint pickers and sidecars, without a cluster."""
    return obtained(request.config, lambda: build(sys.stderr, ROUTE_MODULES))


@pytest.fixture(scope="session")
def upstream(request: pytest.FixtureRequest) -> Built:
    """The modules whose definitions have the schemas that ours embeds."""
    return obtained(request.config, lambda: build(sys.stderr, SCHEMA_MODULES))


@pytest.fixture(scope="session")
def certified(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Another cluster, which has the resources of cert-manager and our manifests; no webhook runs."""
    built = obtained(request.config, lambda: build(sys.stderr, (*MODULES, *CERTIFICATE_MODULES)))
    with running(built, (*CRDS, *CERTIFICATE_CRDS)) as there:
        STARTED["certified"] = there
        install_manifests(there)
        install_manifests(there, MANIFESTS.parent / "self-signed")
        yield there


@pytest.fixture(scope="module")
def pair(certified: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of that cluster's own authority, which its webhook configurations trust then."""
    directory = tmp_path_factory.mktemp("pair")
    issue(certified.authority, directory)
    trust(certified, certified.authority_pem)
    return directory


@pytest.fixture(scope="session")
def bare(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster for tests that install and uninstall everything, with the resources of cert-manager."""
    built = obtained(request.config, lambda: build(sys.stderr, (*MODULES, *CERTIFICATE_MODULES)))
    with running(built, (*CRDS, *CERTIFICATE_CRDS)) as there:
        STARTED["bare"] = there
        yield there


@pytest.fixture(scope="session")
def templated(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster whose webhook reads templates, as its ServiceAccount, with our controller."""
    built = obtained(request.config, lambda: build(sys.stderr, MODULES))
    with running(built, CRDS) as there:
        STARTED["templated"] = there
        install_manifests(there)
        restart_component(there, "kube-controller-manager")
        start_templated_webhook(there)
        wait_admission(there)
        start_sync(there, flags={"--templates-namespace": SHARED})
        yield there


@pytest.fixture(scope="module")
def templated_network(templated: Cluster) -> Iterator[Network]:
    """A network of pods beside that cluster."""
    _require_namespaces()
    with network(templated) as there:
        yield there


@pytest.fixture(scope="session")
def served(routed: Cluster) -> Cluster:
    """That cluster with all of ours."""
    _start_admission(routed)
    start_sync(routed)
    return routed


@pytest.fixture(scope="session")
def served_network(served: Cluster) -> Iterator[Network]:
    """A network of pods beside that cluster with all of ours."""
    _require_namespaces()
    with network(served) as there:
        yield there


@pytest.fixture(scope="module")
def shaken(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster for the chaos test: with routes, our webhook, and two controllers."""
    built = obtained(request.config, lambda: build(sys.stderr, (*MODULES, *ROUTE_MODULES)))
    with running(built, (*CRDS, *ROUTE_CRDS)) as there:
        _start_admission(there)
        start_controllers(there, HURRIED)
        yield there


@pytest.fixture(scope="module")
def admitting(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster of a test's own, with routes and our webhook; its controllers are the test's own."""
    built = obtained(request.config, lambda: build(sys.stderr, (*MODULES, *ROUTE_DEFINITIONS)))
    with running(built, (*CRDS, *ROUTE_CRDS)) as there:
        _start_admission(there)
        yield there


def program(modules: tuple[Module, ...], name: str) -> Callable[[pytest.FixtureRequest], Path]:
    """Return a fixture: a program of some modules."""

    @pytest.fixture(scope="session")
    def built(request: pytest.FixtureRequest) -> Path:
        return obtained(request.config, lambda: build(sys.stderr, modules)).binary(name)

    return built


helm = program(CHART_MODULES, "helm")
"""Helm itself."""
helm_3 = program(EARLIER_CHART_MODULES, "helm-3")
"""Helm of the release line before."""


@pytest.fixture(scope="session")
def gitops(request: pytest.FixtureRequest) -> Built:
    """The libraries of Argo CD and of Flux, as programs."""
    return obtained(request.config, lambda: build(sys.stderr, GITOPS_MODULES))


strategic_merge = program(MERGE_MODULES, "strategic-merge")
"""Kubernetes' strategic merge of pod templates, as a program."""
mergo = program(MERGO_MODULES, "mergo")
"""The merge of llm-d's ModelService, as a program."""
go_template = program(TEMPLATE_MODULES, "go-template")
"""Go's `text/template` with Sprig, as a program."""


@pytest.fixture(scope="session")
def source_of(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """Download a module of `components/` by its name, and return the folder of its source."""
    return lambda name: obtained(request.config, lambda: source(name))


cyclonus = program(POLICY_MODULES, "cyclonus")
"""An engine of NetworkPolicies, which says what they let through."""


@pytest.fixture(scope="session")
def promtool(request: pytest.FixtureRequest) -> Path:
    """The tool of Prometheus that tries rules out."""
    return obtained(request.config, lambda: find_prometheus("promtool"))


@pytest.fixture(scope="session")
def prometheus(request: pytest.FixtureRequest) -> Path:
    """Prometheus itself."""
    return obtained(request.config, lambda: find_prometheus("prometheus"))


@pytest.fixture(scope="session")
def admission(cluster: Cluster) -> Cluster:
    """The cluster with our manifests and our webhook."""
    _start_admission(cluster)
    return cluster


@pytest.fixture(scope="session")
def fusioninfer(admission: Cluster) -> Cluster:
    """The cluster with all of ours: the controller too."""
    start_sync(admission)
    return admission


@pytest.fixture(scope="module")
def own_network(admission: Cluster) -> Iterator[Network]:
    """A network for pods of ours beside the cluster with our manifests."""
    _require_namespaces()
    with network(admission) as there:
        yield there


@pytest.fixture(scope="session")
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """Our image, built from the Dockerfile."""
    _require_namespaces()
    tools, place = obtained(request.config, find_buildah), tmp_path_factory.mktemp("image")
    yield build_image(tools, place)
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def runs(own_network: Network, request: pytest.FixtureRequest) -> Program:
    """Return what our pods run: this checkout, or with `--image` the image."""
    if not request.config.getoption("--image"):
        return CHECKOUT
    folder = own_network.cluster.directory
    folder.chmod(0o755)  # the user of the image looks into it
    return in_container(request.getfixturevalue("image"), folder)


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


@pytest.fixture
def routed_namespace(routed: Cluster) -> Iterator[str]:
    """A new namespace in the cluster that has routes."""
    name = add_namespace(routed)
    yield name
    empty_namespace(routed, name)


def _start_admission(cluster: Cluster) -> None:
    """Install our manifests and start our webhook. The garbage collector takes up new kinds every 30 s."""
    install_manifests(cluster)
    restart_component(cluster, "kube-controller-manager")
    start_webhook(cluster)
    wait_admission(cluster)


def obtained(config: pytest.Config, obtain: Callable[[], T]) -> T:
    """Build with progress on the terminal, past pytest's capture; fail where that cannot be had."""
    capture = config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            return obtain()
    except ModulesUnavailableError as error:
        _fail(error)


def _require_namespaces() -> None:
    try:
        require_namespaces()
    except NamespacesUnavailableError as error:
        _fail(error)


def _fail(error: Exception) -> NoReturn:
    pytest.fail(f"the real components cannot run here: {error}", pytrace=False)
