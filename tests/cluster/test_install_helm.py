"""docs/install.md and docs/operations.md with Helm: install, a next version, uninstall, on a new cluster."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.testbed.api import items, path
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
(REMOVE,) = re.findall(r"`(helm uninstall [^`]+)`", chapters(OPERATIONS)["Uninstall"])
NEXT: Final = "0.2.0"
KINDS: Final = "deployments,services,networkpolicies,serviceaccounts,poddisruptionbudgets"


@dataclass(frozen=True, slots=True)
class Story:
    """What was there before; uids and images after each step; what Helm left, and what the page did."""

    before: frozenset[str]
    installed: dict[str, str]
    upgraded: dict[str, str]
    images: tuple[frozenset[str], frozenset[str], frozenset[str]]
    repeated: str
    removed: frozenset[str]
    left: frozenset[str]


@pytest.fixture(scope="module")
def story(bare: Cluster, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Do what the pages say, and between it upgrade to a next version, and go back."""
    there, before = console(bare, tmp_path_factory.mktemp("helm"), helm), inventory(bare)
    copy_chart(there)
    for command in INSTALL:
        must(there, command)
    installed, first = uids(bare), images(bare)
    repeated = run(there, f"helm get manifest fusioninfer -n {NAMESPACE} | kubectl diff -f -")
    must(there, f"helm upgrade fusioninfer {next_chart(there)} --namespace {NAMESPACE} --reuse-values")
    upgraded, second = uids(bare), images(bare)
    must(there, f"helm rollback fusioninfer --namespace {NAMESPACE}")
    third = images(bare)
    for command in UNINSTALL[:4]:
        must(there, command)
    must(there, REMOVE)
    removed = inventory(bare)
    for command in UNINSTALL[4:]:
        must(there, command)
    diff = repeated.stdout + repeated.stderr
    return Story(before, installed, upgraded, (first, second, third), diff, removed, inventory(bare))


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
    """Give the uid of every object of ours in the namespace."""
    found = json.loads(kubectl(cluster, "get", KINDS, "--namespace", NAMESPACE, "--output=json"))["items"]
    return {f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["uid"] for each in found}


def images(cluster: Cluster) -> frozenset[str]:
    """Give the images of the Deployments."""
    found = items(cluster.api, path("deployments", NAMESPACE))
    return frozenset(each["spec"]["template"]["spec"]["containers"][0]["image"] for each in found)


def test_the_next_version_runs_its_own_image_and_back_the_one_before(story: Story) -> None:
    first, second, third = story.images

    assert second == {re.sub(r":[^:]+$", f":{NEXT}", image) for image in first}
    assert third == first


def test_the_next_version_makes_nothing_anew(story: Story) -> None:
    assert story.installed == story.upgraded


def test_what_helm_stored_is_what_the_chart_says(story: Story) -> None:
    assert story.repeated == ""


def test_helm_leaves_the_definition_and_the_namespace(story: Story) -> None:
    ours = {name for name in story.removed - story.before if f"/{NAMESPACE}/" not in name}

    assert ours == {DEFINITION, f"Namespace//{NAMESPACE}"}


def test_nothing_of_ours_is_left(story: Story) -> None:
    assert story.left - story.before == set()
