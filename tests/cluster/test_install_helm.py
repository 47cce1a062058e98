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

from hack.manifests.objects import DOCS, MANIFESTS
from intent import Object
from tests.cluster.testbed.admissions import bundles, call_on_loopback, trust
from tests.cluster.testbed.api import create, delete, get, get_or_none, items, patch, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig, kubeconfig_for, kubectl
from tests.cluster.testbed.console import Console, console, must, run
from tests.cluster.testbed.control_plane import kill_process, restart_component
from tests.cluster.testbed.controllers import pod_group
from tests.cluster.testbed.inventory import inventory
from tests.cluster.testbed.lives import lives, reconciled_throughout, start_services
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
INSTALL: Final = [each for each in commands(DOCS / "install.md")["Install FusionInfer"] if " -k " not in each]
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
TEST_POD: Final = path("pods", NAMESPACE, "fusioninfer-test")
LEAF: Final = path("secrets", NAMESPACE, "fusioninfer-webhook-tls")
PICKER_ROLES: Final = (
    "ClusterRole//fusioninfer-endpoint-picker",
    "ClusterRole//fusioninfer-endpoint-picker-election",
)
USER: Final = {"runAsUser": 1_000_680_000, "fsGroup": 1_000_680_000}
KINDS: Final = "deployments,services,networkpolicies,serviceaccounts,poddisruptionbudgets"
DIFFERENCE: Final = f"helm get manifest fusioninfer -n {NAMESPACE} | kubectl diff -f -"


@dataclass(frozen=True, slots=True)
class Old:
    """A shell in which the old chart was installed, what was in the cluster before, and what it made."""

    cluster: Cluster
    console: Console
    before: frozenset[str]
    uids: dict[str, str]


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
def working(old: Old) -> Old:
    """Install the chart anew as the page says, with certificates of the controller; two services run.

    Its pods get a user as of a platform, in the namespace that the page has labelled.
    Webhook and controller run beside it; the API server calls the webhook on loopback.
    """
    cluster = old.cluster
    must(old.console, REMOVE)
    delete(cluster.api, LEAF)
    must(old.console, next(each for each in INSTALL if "kubectl label" in each))
    must(old.console, f"{install_command()} --set-json 'podSecurityContext={json.dumps(USER)}'")
    assert difference(old.console) == ""
    restart_component(cluster, "kube-controller-manager")
    start_webhook(cluster)
    call_on_loopback(cluster)
    start_sync(cluster)
    wait_admission(cluster)
    start_services(cluster)
    return old


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


def write_test_kubeconfig(cluster: Cluster) -> str:
    """Write a kubeconfig with the token of the test pod's ServiceAccount; return its identity."""
    token = kubectl(cluster, "create", "token", "fusioninfer-test", "--namespace", NAMESPACE).strip()
    config = kubeconfig_for(cluster, cluster.url, "fusioninfer-test", token)
    kubeconfig(cluster, "fusioninfer-test").write_text(json.dumps(config))
    return "fusioninfer-test"


def checked(cluster: Cluster, pod: Object, identity: str) -> dict[str, str]:
    """Run the container of the test pod as a process; return the state of each check."""
    (container,) = pod["spec"]["containers"]
    options = ("--output=json", f"--kubeconfig={kubeconfig(cluster, identity)}")
    command = [sys.executable, "-m", "fusioninfer", *container["args"], *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return {each["name"]: each["state"] for each in json.loads(done.stdout)}


# --- in the order of the pages ----------------------------------------------------------------------


def test_an_upgrade_from_the_chart_without_labels_makes_nothing_anew_and_keeps_values_and_bundles(
    old: Old,
) -> None:
    cluster, there = old.cluster, old.console
    trust(cluster, cluster.authority_pem)
    injected = bundles(cluster)
    create(cluster.api, path("secrets", NAMESPACE), of_cert_manager())

    refused = run(there, UPGRADE).stderr
    must(there, f"{UPGRADE} --set certificates.mode=cert-manager")

    assert "certificates.mode: the Secret fusioninfer-webhook-tls" in refused
    assert difference(there) == ""
    assert uids(cluster) == old.uids
    webhook = get(cluster.api, path("deployments", NAMESPACE, "fusioninfer-webhook"))
    assert webhook["spec"]["replicas"] == 3
    assert "" not in injected.values()
    assert bundles(cluster).items() >= injected.items()


def test_the_next_version_runs_its_own_image_and_makes_nothing_anew_there_and_back(old: Old) -> None:
    """It has the values in use alone."""
    cluster, there = old.cluster, old.console
    first = images(cluster)

    must(there, f"helm upgrade fusioninfer {next_chart(there)} --namespace {NAMESPACE} --reuse-values")
    second = images(cluster)
    must(there, f"helm rollback fusioninfer --namespace {NAMESPACE}")

    assert second == {re.sub(r":[^:]+$", f":{NEXT}", image) for image in first}
    assert (images(cluster), uids(cluster)) == (first, old.uids)


def test_the_release_fits_into_a_secret_many_times(working: Old) -> None:
    releases = items(working.cluster.api, path("secrets", NAMESPACE), fieldSelector="type=helm.sh/release.v1")

    assert [size for each in releases if (size := len(each["data"]["release"])) >= SECRET / 3] == []


def test_pods_of_any_uid_are_made_where_pod_security_is_enforced(working: Old) -> None:
    def accounts() -> set[str]:
        pods = (each["spec"] for each in items(working.cluster.api, path("pods", NAMESPACE)))
        return {pod["serviceAccountName"] for pod in pods if USER.items() <= pod["securityContext"].items()}

    until(lambda: len(accounts()) == 2, "pods of both Deployments with that user")


def test_helm_test_checks_the_installation_and_leaves_none_of_its_rights(working: Old) -> None:
    """Its pod's container is a process, and its phase is reported as the kubelet would."""
    cluster, there = working.cluster, working.console
    before = inventory(cluster)
    with subprocess.Popen(
        ["bash", "-c", TEST], cwd=there.folder, env=there.variables, stdout=subprocess.PIPE, text=True
    ) as helm_test:
        pod = until(lambda: get_or_none(cluster.api, TEST_POD), "the test pod is created")
        assert pod
        states = checked(cluster, pod, write_test_kubeconfig(cluster))
        succeeded = {"status": {"phase": "Succeeded"}}
        patch(cluster.api, f"{TEST_POD}/status", succeeded)
        said, _ = helm_test.communicate()
    of_operator = checked(cluster, pod, "admin")

    differ = {name for name, state in states.items() if of_operator[name] != state}
    assert differ == {"lws-gang-scheduling"}
    assert "Phase:          Succeeded" in said
    assert {name for name in inventory(cluster) - before if "fusioninfer-test" in name} == set()


def test_uninstalling_restarts_nothing_though_the_controller_goes_on_and_leaves_what_users_need(
    working: Old,
) -> None:
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

    assert (after, gang) == (before, True)
    left = {name for name in ours(by_helm - working.before) if f"/{NAMESPACE}/" not in name}
    assert left == {*DEFINITIONS, f"Namespace//{NAMESPACE}", *PICKER_ROLES}
    assert ours(inventory(cluster) - working.before) == set()


def difference(there: Console) -> str:
    """Return what differs between the release and the cluster."""
    said = run(there, DIFFERENCE)
    return said.stdout + said.stderr


def ours(found: frozenset[str]) -> set[str]:
    """Leave out the services, and the addresses of deleted Services, which the API server frees later."""
    return {name for name in found if "/default/" not in name and not name.startswith("IPAddress/")}
