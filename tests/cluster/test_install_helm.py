"""docs/install.md and docs/operations.md with Helm on a new cluster: upgrade, install, test, uninstall.

The webhook and the controller are processes beside it. The upgrade starts from a chart of before the labels.
"""

import json
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import yaml

from hack.manifests.chart import ONLY_IN_CHART
from hack.manifests.objects import DOCS, MANIFESTS
from intent import Object
from tests.cluster.testbed.admissions import bundles, call_on_loopback, trust
from tests.cluster.testbed.api import ApiError, create, delete, get, items, patch, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.console import Console, console, must, run
from tests.cluster.testbed.control_plane import kill_process, restart_component
from tests.cluster.testbed.controllers import pod_group
from tests.cluster.testbed.inventory import inventory
from tests.cluster.testbed.lives import Life, lives, reconciled_throughout, start_services
from tests.cluster.testbed.namespaces import empty_namespace
from tests.cluster.testbed.ours import start_sync, start_webhook, wait_admission
from tests.cluster.testbed.wait import until
from tests.manifests.pages import commands

OPERATIONS: Final = DOCS / "operations.md"
NAMESPACE: Final = "fusioninfer-system"
DEFINITIONS: Final = {
    f"CustomResourceDefinition//{plural}.fusioninfer.io"
    for plural in ("inferenceservices", "inferencetemplates")
}
INSTALL: Final = commands(DOCS / "install.md")["With Helm"]
TEST: Final = next(each for each in INSTALL if "helm test" in each)
UPGRADE: Final = next(each for each in commands(OPERATIONS)["Upgrade"] if "helm upgrade" in each)
UNINSTALL: Final = commands(OPERATIONS)["Uninstall"]
REMOVE: Final = next(each for each in UNINSTALL if "helm uninstall" in each)
AFTERWARDS: Final = tuple(
    each for each in UNINSTALL if each.startswith("kubectl delete") and " -f " not in each
)
RUN: Final = (*INSTALL, UPGRADE, REMOVE, *AFTERWARDS)
OLD: Final = Path(__file__).parent / "charts" / "unlabelled.tgz"
"""The chart of before its objects had labels: cert-manager was its default."""
OLD_VALUES: Final = "--set webhook.replicas=3 --set sync.logLevel=debug --set sync.gangsOnly=true"
NEXT: Final = "0.2.0"
SECRET: Final = 1024 * 1024
"""The most bytes of a Secret, in which Helm stores the chart and what it rendered."""
LEAF: Final = path("secrets", NAMESPACE, "fusioninfer-webhook-tls")
PICKER_ROLES: Final = (
    "ClusterRole//fusioninfer-endpoint-picker",
    "ClusterRole//fusioninfer-endpoint-picker-election",
)
KINDS: Final = "deployments,services,networkpolicies,serviceaccounts,poddisruptionbudgets"
DIFFERENCE: Final = f"helm get manifest fusioninfer -n {NAMESPACE} | kubectl diff -f -"


@dataclass(frozen=True, slots=True)
class Old:
    """A shell in which the old chart was installed, what was in the cluster before, and what it made."""

    cluster: Cluster
    console: Console
    before: frozenset[str]
    uids: dict[str, str]


@dataclass(frozen=True, slots=True)
class Upgraded:
    """After an upgrade: the uids, what differs from the chart, a Deployment, the bundles, the refusal."""

    uids: dict[str, str]
    difference: str
    deployment: Object
    injected: dict[str, str]
    bundles: dict[str, str]
    refused: str


@dataclass(frozen=True, slots=True)
class Again:
    """The images before, after another upgrade, and after the way back."""

    images: tuple[frozenset[str], frozenset[str], frozenset[str]]
    uids: dict[str, str]


@dataclass(frozen=True, slots=True)
class Removed:
    """The services before and after `helm uninstall`; the objects then, and at the end of the page."""

    before: Life
    after: Life
    gang: bool
    by_helm: frozenset[str]
    at_last: frozenset[str]


@pytest.fixture(scope="module")
def old(bare: Cluster, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Old:
    """Install the chart of before with values of its own."""
    there, before = console(bare, tmp_path_factory.mktemp("helm"), helm), inventory(bare)
    copy_chart(there)
    shutil.unpack_archive(OLD, there.folder / "old")
    without_version(there.folder / "old" / "fusioninfer")
    must(there, f"{install_command()} {OLD_VALUES}".replace("manifests/chart", "old/fusioninfer"))
    return Old(bare, there, before, uids(bare))


@pytest.fixture(scope="module")
def upgraded(old: Old) -> Upgraded:
    """Have cert-manager inject its bundle, and upgrade as the page says; before that, without the mode."""
    cluster, there = old.cluster, old.console
    trust(cluster, cluster.authority_pem)
    injected = bundles(cluster)
    create(cluster.api, path("secrets", NAMESPACE), of_cert_manager())
    refused = run(there, UPGRADE).stderr
    must(there, f"{UPGRADE} --set certificates.mode=cert-manager")
    difference = run(there, DIFFERENCE)
    return Upgraded(
        uids(cluster),
        difference.stdout + difference.stderr,
        get(cluster.api, path("deployments", NAMESPACE, "fusioninfer-webhook")),
        injected,
        bundles(cluster),
        refused,
    )


@pytest.fixture(scope="module")
def again(old: Old, upgraded: Upgraded) -> Again:  # noqa: ARG001 - that comes first
    """Upgrade to a next version with the values in use alone, and go back."""
    cluster, there = old.cluster, old.console
    image = images(cluster)
    must(there, f"helm upgrade fusioninfer {next_chart(there)} --namespace {NAMESPACE} --reuse-values")
    second = images(cluster)
    must(there, f"helm rollback fusioninfer --namespace {NAMESPACE}")
    return Again((image, second, images(cluster)), uids(cluster))


@pytest.fixture(scope="module")
def installed(old: Old, again: Again) -> str:  # noqa: ARG001 - that comes first
    """Uninstall all, and install the chart as the page says, with certificates of the controller."""
    must(old.console, REMOVE)
    delete(old.cluster.api, LEAF)
    for command in INSTALL:
        if command != TEST:
            must(old.console, command)
    said = run(old.console, DIFFERENCE)
    return said.stdout + said.stderr


@pytest.fixture(scope="module")
def working(old: Old, installed: str) -> Old:  # noqa: ARG001 - that comes first
    """Run webhook and controller; the API server calls the webhook on loopback; two services run."""
    cluster = old.cluster
    restart_component(cluster, "kube-controller-manager")
    start_webhook(cluster)
    call_on_loopback(cluster)
    start_sync(cluster)
    wait_admission(cluster)
    start_services(cluster)
    return old


@dataclass(frozen=True, slots=True)
class Trial:
    """What the test pod printed and its exit status, what `helm test` said; and without a webhook."""

    printed: str
    status: int
    said: str
    without: int


@pytest.fixture(scope="module")
def tested(working: Old) -> Trial:
    """Run `helm test`; its pod's container is a process, and its phase is reported as the kubelet would."""
    cluster, there = working.cluster, working.console
    with subprocess.Popen(
        ["bash", "-c", TEST], cwd=there.folder, env=there.variables, stdout=subprocess.PIPE, text=True
    ) as helm_test:
        pod = until(lambda: test_pod(cluster), "the test pod is created")
        done = run_test(cluster, pod, cluster.ports["webhook"])
        phase = "Succeeded" if done.returncode == 0 else "Failed"
        patch(
            cluster.api, path("pods", NAMESPACE, "fusioninfer-test", "status"), {"status": {"phase": phase}}
        )
        said, _ = helm_test.communicate()
    return Trial(done.stdout, done.returncode, said, run_test(cluster, pod, 1).returncode)


@pytest.fixture(scope="module")
def removed(working: Old, tested: Trial) -> Removed:  # noqa: ARG001 - that comes first
    """Uninstall as the page says, while the controller goes on and its services are changed."""
    cluster, there = working.cluster, working.console
    before = lives(cluster)
    with reconciled_throughout(cluster):
        must(there, REMOVE)
        by_helm = inventory(cluster)
    after, gang = lives(cluster), pod_group(cluster, "default", "whole") is not None
    kill_process(cluster, "sync")
    kill_process(cluster, "webhook")
    empty_namespace(cluster, "default")
    for command in AFTERWARDS:
        must(there, command)
    return Removed(before, after, gang, by_helm, inventory(cluster))


def install_command() -> str:
    return next(each for each in INSTALL if each.startswith("helm install"))


def of_cert_manager() -> Object:
    """Return the Secret that cert-manager made for the old chart."""
    data = {"tls.crt": b64encode(b"crt").decode(), "tls.key": b64encode(b"key").decode()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "fusioninfer-webhook-tls"},
        "data": data,
    }


def copy_chart(there: Console) -> None:
    """Have a chart of our own, for any Kubernetes: the API server of the testbed says that it is v0.0.0."""
    (there.folder / "manifests").unlink()
    shutil.copytree(MANIFESTS / "chart", there.folder / "manifests" / "chart")
    without_version(there.folder / "manifests" / "chart")


def without_version(chart: Path) -> None:
    file = chart / "Chart.yaml"
    file.write_text(re.sub(r"(?m)^kubeVersion: .*\n", "", file.read_text()))


def next_chart(there: Console) -> str:
    """Write the chart as a next release would have it; return its folder."""
    folder = there.folder / "next"
    shutil.copytree(there.folder / "manifests" / "chart", folder)
    file = folder / "Chart.yaml"
    file.write_text(re.sub(r"(?m)^(version|appVersion): .*$", rf"\1: {NEXT}", file.read_text()))
    return folder.name


def uids(cluster: Cluster) -> dict[str, str]:
    """Return the uid of every object of ours in the namespace."""
    found = json.loads(kubectl(cluster, "get", KINDS, "--namespace", NAMESPACE, "--output=json"))["items"]
    return {f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["uid"] for each in found}


def images(cluster: Cluster) -> frozenset[str]:
    """Return the images of the Deployments."""
    found = items(cluster.api, path("deployments", NAMESPACE))
    return frozenset(each["spec"]["template"]["spec"]["containers"][0]["image"] for each in found)


def test_pod(cluster: Cluster) -> Object:
    try:
        return get(cluster.api, path("pods", NAMESPACE, "fusioninfer-test"))
    except ApiError:
        return {}


test_pod.__test__ = False  # type: ignore[attr-defined] # pytest takes it for a test


def run_test(cluster: Cluster, pod: Object, port: int) -> subprocess.CompletedProcess[str]:
    """Run the container of the test pod with the addresses of the testbed in place of the Services."""
    (container,) = pod["spec"]["containers"]
    addresses = {
        "https://fusioninfer-webhook.": f"https://127.0.0.1:{port}",
        "http://fusioninfer-webhook.": f"http://127.0.0.1:{cluster.ports['webhook-metrics']}/readyz",
        "http://fusioninfer-sync.": f"http://127.0.0.1:{cluster.ports['sync-metrics']}/readyz",
        "/etc/fusioninfer/ca": str(cluster.directory / "ca.crt"),
    }
    words = [
        next(address for start, address in addresses.items() if word.startswith(start))
        for word in container["args"]
    ]
    command = [sys.executable, *container["command"][1:], *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# --- upgrade ----------------------------------------------------------------------------------------


def test_an_upgrade_that_would_leave_the_certificate_of_cert_manager_is_refused(upgraded: Upgraded) -> None:
    assert "certificates.mode: the Secret fusioninfer-webhook-tls" in upgraded.refused


def test_objects_after_an_upgrade_equal_the_chart(upgraded: Upgraded) -> None:
    assert upgraded.difference == ""


def test_an_upgrade_from_the_chart_without_labels_makes_nothing_anew(old: Old, upgraded: Upgraded) -> None:
    assert upgraded.uids == old.uids


def test_an_upgrade_keeps_the_values_of_the_release(upgraded: Upgraded) -> None:
    assert upgraded.deployment["spec"]["replicas"] == 3


def test_an_upgrade_leaves_the_injected_bundles(upgraded: Upgraded) -> None:
    assert "" not in upgraded.injected.values()
    assert upgraded.bundles.items() >= upgraded.injected.items()


def test_the_next_version_runs_its_own_image_and_back_the_one_before(again: Again) -> None:
    first, second, third = again.images

    assert second == {re.sub(r":[^:]+$", f":{NEXT}", image) for image in first}
    assert third == first


def test_the_next_version_makes_nothing_anew(old: Old, again: Again) -> None:
    assert again.uids == old.uids


# --- install ----------------------------------------------------------------------------------------


def test_stored_objects_equal_the_chart(installed: str) -> None:
    assert installed == ""


def test_the_release_fits_into_a_secret_many_times(working: Old) -> None:
    releases = items(working.cluster.api, path("secrets", NAMESPACE), fieldSelector="type=helm.sh/release.v1")

    assert [size for each in releases if (size := len(each["data"]["release"])) >= SECRET / 3] == []


def test_helm_test_expands_a_leaderworkerset(tested: Trial) -> None:
    assert "expands a LeaderWorkerSet\n" in tested.printed
    assert tested.status == 0
    assert "Phase:          Succeeded" in tested.said


def test_helm_test_fails_without_a_webhook(tested: Trial) -> None:
    assert tested.without != 0


def test_the_script_of_helm_test_is_rendered_as_it_is(helm: Path) -> None:
    made = subprocess.run(
        [str(helm), "template", "x", str(MANIFESTS / "chart"), "--show-only", "templates/test.yaml"],
        capture_output=True,
        text=True,
        check=True,
    )

    (container,) = yaml.safe_load(made.stdout)["spec"]["containers"]
    assert container["command"][-1] == (ONLY_IN_CHART / "test.py").read_text()


# --- uninstall --------------------------------------------------------------------------------------


def test_uninstalling_restarts_nothing_though_the_controller_goes_on(removed: Removed) -> None:
    assert removed.after == removed.before
    assert removed.gang


def test_helm_leaves_the_definition_the_namespace_and_the_roles_of_endpoint_pickers(
    old: Old, removed: Removed
) -> None:
    left = {name for name in ours(removed.by_helm - old.before) if f"/{NAMESPACE}/" not in name}

    assert left == {*DEFINITIONS, f"Namespace//{NAMESPACE}", *PICKER_ROLES}


def test_nothing_of_ours_is_left(old: Old, removed: Removed) -> None:
    assert ours(removed.at_last - old.before) == set()


def ours(found: frozenset[str]) -> set[str]:
    """Leave out the services, and the addresses of deleted Services, which the API server frees later."""
    return {name for name in found if "/default/" not in name and not name.startswith("IPAddress/")}
