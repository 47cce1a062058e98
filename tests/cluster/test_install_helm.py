"""docs/install.md and docs/operations.md with Helm: install, a next version, uninstall, on a new cluster."""

import json
import re
import shutil
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.bundles import bundles, inject_bundle
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.console import Console, console, must, run
from tests.cluster.testbed.inventory import inventory
from tests.manifests.objects import DOCS, MANIFESTS
from tests.manifests.pages import chapters, commands

OPERATIONS: Final = DOCS / "operations.md"
NAMESPACE: Final = "fusioninfer-system"
DEFINITION: Final = "CustomResourceDefinition//inferenceservices.fusioninfer.io"
INSTALL: Final = commands(DOCS / "install.md")["With Helm"]
UNINSTALL: Final = commands(OPERATIONS)["Uninstall"]
REST: Final = UNINSTALL.index("kubectl delete namespace fusioninfer-system")
"""The index of the first command after `helm uninstall`."""
(REMOVE,) = re.findall(r"`(helm uninstall [^`]+)`", chapters(OPERATIONS)["Uninstall"])
NEXT: Final = "0.2.0"
SECRET: Final = 1024 * 1024
"""The most bytes of a Secret, in which Helm stores the chart and what it rendered."""
PICKER_ROLES: Final = (
    "ClusterRole//fusioninfer-endpoint-picker",
    "ClusterRole//fusioninfer-endpoint-picker-election",
)
KINDS: Final = "deployments,services,networkpolicies,serviceaccounts,poddisruptionbudgets"


@dataclass(frozen=True, slots=True)
class Installed:
    """A shell in which the chart was installed, what was in the cluster before, and what differs since."""

    cluster: Cluster
    console: Console
    before: frozenset[str]
    difference: str


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The uids before and after; the images before, after, and after the way back; the bundles."""

    first: dict[str, str]
    second: dict[str, str]
    images: tuple[frozenset[str], frozenset[str], frozenset[str]]
    injected: str
    bundles: set[str]


@dataclass(frozen=True, slots=True)
class Removed:
    """The objects after `helm uninstall`, and at the end of the page."""

    by_helm: frozenset[str]
    at_last: frozenset[str]


@pytest.fixture(scope="module")
def installed(bare: Cluster, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the chart as the page says."""
    there, before = console(bare, tmp_path_factory.mktemp("helm"), helm), inventory(bare)
    copy_chart(there)
    for command in INSTALL:
        must(there, command)
    said = run(there, f"helm get manifest fusioninfer -n {NAMESPACE} | kubectl diff -f -")
    return Installed(bare, there, before, said.stdout + said.stderr)


@pytest.fixture(scope="module")
def upgraded(installed: Installed) -> Upgraded:
    """Have cert-manager inject its bundle, upgrade to a next version, and go back."""
    cluster, there = installed.cluster, installed.console
    first, image = uids(cluster), images(cluster)
    injected = b64encode(cluster.authority_pem).decode()
    inject_bundle(cluster, injected)
    must(there, f"helm upgrade fusioninfer {next_chart(there)} --namespace {NAMESPACE} --reuse-values")
    second, next_image, trusted = uids(cluster), images(cluster), bundles(cluster)
    must(there, f"helm rollback fusioninfer --namespace {NAMESPACE}")
    return Upgraded(first, second, (image, next_image, images(cluster)), injected, trusted)


@pytest.fixture(scope="module")
def removed(installed: Installed, upgraded: Upgraded) -> Removed:  # noqa: ARG001 - that comes first
    """Uninstall as the page says."""
    for command in (*UNINSTALL[:REST], REMOVE):
        must(installed.console, command)
    by_helm = inventory(installed.cluster)
    for command in UNINSTALL[REST:]:
        must(installed.console, command)
    return Removed(by_helm, inventory(installed.cluster))


def copy_chart(there: Console) -> None:
    """Have a chart of our own, for any Kubernetes: the API server of the testbed says that it is v0.0.0."""
    (there.folder / "manifests").unlink()
    shutil.copytree(MANIFESTS / "chart", there.folder / "manifests" / "chart")
    file = there.folder / "manifests" / "chart" / "Chart.yaml"
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


def test_stored_objects_equal_the_chart(installed: Installed) -> None:
    assert installed.difference == ""


def test_the_release_fits_into_a_secret_many_times(installed: Installed) -> None:
    releases = items(
        installed.cluster.api, path("secrets", NAMESPACE), fieldSelector="type=helm.sh/release.v1"
    )

    assert {len(each["data"]["release"]) < SECRET / 4 for each in releases} == {True}


def test_the_next_version_runs_its_own_image_and_back_the_one_before(upgraded: Upgraded) -> None:
    first, second, third = upgraded.images

    assert second == {re.sub(r":[^:]+$", f":{NEXT}", image) for image in first}
    assert third == first


def test_the_next_version_makes_nothing_anew(upgraded: Upgraded) -> None:
    assert upgraded.first == upgraded.second


def test_the_next_version_leaves_the_injected_bundle(upgraded: Upgraded) -> None:
    assert upgraded.bundles == {upgraded.injected}


def test_helm_leaves_the_definition_the_namespace_and_the_roles_of_endpoint_pickers(
    installed: Installed, removed: Removed
) -> None:
    left = {name for name in removed.by_helm - installed.before if f"/{NAMESPACE}/" not in name}

    assert left == {DEFINITION, f"Namespace//{NAMESPACE}", *PICKER_ROLES}


def test_nothing_of_ours_is_left(installed: Installed, removed: Removed) -> None:
    assert removed.at_last - installed.before == set()
