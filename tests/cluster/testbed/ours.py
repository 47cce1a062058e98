"""Our own parts as real processes: manifests, the webhook, and the loop with its own identity."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import yaml
from prometheus_client.parser import text_string_to_metric_families

from intent import Object
from intent.annotations import EXPANSION, SERVICE
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig, kubectl
from tests.cluster.testbed.components import TRIAL_LWS, http_body, http_ok
from tests.cluster.testbed.control_plane import start_process, wait_ready
from tests.cluster.testbed.install import on_loopback
from tests.cluster.testbed.wait import until

ROOT: Final = Path(__file__).parents[3]
MANIFESTS: Final = ROOT / "manifests" / "base"
LEFT_OUT: Final = frozenset(
    {"Deployment", "Service", "Kustomization", "Certificate", "Issuer", "ServiceMonitor"}
)
"""What a cluster of processes has no use for, or no definition of."""
CALLS: Final = "fusioninfer_admission_requests_total"
FIRST: Final = ("Namespace", "CustomResourceDefinition")


def install_manifests(cluster: Cluster, directory: Path = MANIFESTS) -> None:
    """Install the manifests of a folder; webhook configurations point to the webhook's port on loopback."""
    wanted = [_placed(cluster, each) for each in _read(directory) if each["kind"] not in LEFT_OUT]
    for early in (True, False):
        batch = [each for each in wanted if (each["kind"] in FIRST) == early]
        _apply(cluster, batch)


def start_webhook(cluster: Cluster, module: str = "fusioninfer") -> None:
    """Start the webhook of a command without any kubeconfig, and wait until it is ready."""
    flags = {
        "--cert-dir": cluster.directory / "webhook",
        "--host": "127.0.0.1",
        "--port": cluster.ports["webhook"],
        "--metrics-port": cluster.ports["webhook-metrics"],
    }
    _start(cluster, "webhook", flags, module)


def start_sync(cluster: Cluster) -> None:
    """Start the loop as its service account, and wait until it is ready."""
    flags = {
        "--kubeconfig": kubeconfig(cluster, "sync"),
        "--metrics-port": cluster.ports["sync-metrics"],
    }
    _start(cluster, "sync", flags)


def wait_admission(cluster: Cluster) -> None:
    """Wait until the API server asks our webhook: a dry run comes back with our record."""
    until(lambda: _expanded(cluster), "an annotated LeaderWorkerSet is expanded")


def admission_calls(cluster: Cluster, where: str) -> int:
    """Return how often our webhook was called on a path, from its own metrics."""
    page = http_body(cluster.ports["webhook-metrics"], "/metrics")
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    calls = [each.value for each in samples if each.name == CALLS and each.labels["path"] == where]
    return round(sum(calls))


def _start(cluster: Cluster, verb: str, flags: Mapping[str, object], module: str = "fusioninfer") -> None:
    words = [str(word) for flag in flags.items() for word in flag]
    command = [sys.executable, "-m", module, verb, *words]
    start_process(cluster, verb, command, _environment(cluster))
    wait_ready(cluster, verb, lambda there: http_ok(there.ports[f"{verb}-metrics"], "/readyz"))


def _environment(cluster: Cluster) -> dict[str, str]:
    """Return an environment in which no kubeconfig is found, and this checkout is."""
    inherited = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return {**inherited, "HOME": str(cluster.directory), "PYTHONPATH": str(ROOT)}


def _read(directory: Path) -> Iterable[Object]:
    for file in sorted(directory.rglob("*.yaml")):
        yield from (each for each in yaml.safe_load_all(file.read_text()) if each and "kind" in each)


def _placed(cluster: Cluster, manifest: Object) -> Object:
    if not manifest["kind"].endswith("WebhookConfiguration"):
        return manifest
    return on_loopback(manifest, cluster.ports["webhook"], cluster.authority_pem)


def _apply(cluster: Cluster, batch: list[Object]) -> None:
    if batch:
        listed = {"apiVersion": "v1", "kind": "List", "items": batch}
        kubectl(cluster, "apply", "--server-side", "--filename=-", stdin=json.dumps(listed))


def _expanded(cluster: Cluster) -> bool:
    trial = {**TRIAL_LWS, "metadata": {"name": "trial", "annotations": {SERVICE: "trial"}}}
    try:
        admitted = create(cluster.api, path("leaderworkersets", "default"), trial, dryRun="All")
    except ApiError:
        return False
    return EXPANSION in admitted["metadata"].get("annotations", {})
