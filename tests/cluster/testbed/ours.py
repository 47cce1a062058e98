"""Our own parts as real processes: manifests, the webhook, and the controller with its own identity."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import yaml

from intent import Object
from intent.annotations import EXPANSION, SERVICE
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig, kubectl
from tests.cluster.testbed.components import TRIAL_LWS, http_ok
from tests.cluster.testbed.control_plane import logs, start_again, start_process, wait_ready
from tests.cluster.testbed.install import all_established, on_loopback
from tests.cluster.testbed.processes import alive, tail
from tests.cluster.testbed.service_accounts import kubeconfig_of
from tests.cluster.testbed.wait import until

ROOT: Final = Path(__file__).parents[3]
MANIFESTS: Final = ROOT / "manifests" / "base"
SHARED: Final = "fusioninfer-system"
"""The namespace of ours, whose templates serve all namespaces."""
READS: Final[Mapping[str, object]] = {"--templates-namespace": SHARED, "--templates-any-caller": None}
"""The flags of a webhook that reads templates for an API server without a client certificate."""
LEFT_OUT: Final = frozenset(
    {"Deployment", "Service", "Kustomization", "Component", "Certificate", "Issuer", "ServiceMonitor"}
)
"""What a cluster of processes has no use for, or no definition of."""
CONTROLLERS: Final = ("sync", "sync-other")
PATIENCE: Final = 600.0
"""Seconds until a process is ready: a controller may have to list ten thousand services on a busy machine."""
FIRST: Final = ("Namespace", "CustomResourceDefinition")


def install_manifests(cluster: Cluster, directory: Path = MANIFESTS) -> None:
    """Install the manifests of a folder, and wait until our custom resources are served.

    Webhook configurations point to the webhook's port on loopback.
    """
    wanted = [_placed(cluster, each) for each in _read(directory) if each["kind"] not in LEFT_OUT]
    for early in (True, False):
        batch = [each for each in wanted if (each["kind"] in FIRST) == early]
        _apply(cluster, batch)
        until(lambda: all_established(cluster), "our custom resources are served", seconds=PATIENCE)


def start_webhook(
    cluster: Cluster,
    module: str = "fusioninfer",
    name: str = "webhook",
    flags: Mapping[str, object] | None = None,
    source: Path = ROOT,
) -> None:
    """Start the webhook of a command without any kubeconfig, and wait until it is ready.

    A further one has its own name, and `flags` of its own; `source` holds that of another release.
    """
    usual = {
        "--cert-dir": cluster.directory / "webhook",
        "--host": "127.0.0.1",
        "--port": cluster.ports["webhook"],
        "--metrics-port": cluster.ports["webhook-metrics"],
    }
    _start(cluster, ("webhook", module, name, source), {**usual, **(flags or {})})


def start_templated_webhook(cluster: Cluster) -> None:
    """Switch templates on, as their component does, and start a webhook that reads them as its account."""
    install_manifests(cluster, MANIFESTS.parent / "templates")
    token = kubeconfig_of(cluster, cluster.url, SHARED, "fusioninfer-webhook")
    start_webhook(cluster, flags={**READS, "--kubeconfig": token})


def start_sync(
    cluster: Cluster,
    name: str = "sync",
    flags: Mapping[str, object] | None = None,
    module: str = "fusioninfer",
    source: Path = ROOT,
) -> None:
    """Start the controller as its service account, under a name, and wait until it is ready.

    `flags` are more of them, or others: `--metrics-port` for a further one; a tuple gives a flag several
    times. `source` holds another release.
    """
    usual = {"--kubeconfig": kubeconfig(cluster, "sync"), "--metrics-port": cluster.ports["sync-metrics"]}
    _start(cluster, ("sync", module, name, source), {**usual, **(flags or {})})


def start_controllers(cluster: Cluster, flags: Mapping[str, object]) -> None:
    """Start two controllers, as the manifests do; each has a uid of its own in the audit log."""
    for name in CONTROLLERS:
        own = {"--kubeconfig": kubeconfig(cluster, name), "--metrics-port": cluster.ports[f"{name}-metrics"]}
        start_sync(cluster, name, {**own, **flags})


def restart_deposed(cluster: Cluster) -> None:
    """Start a controller again that lost its Lease, as the kubelet does: it ends then (ADR 10).

    An API server that was killed may be away for longer than the renew deadline.
    """
    for name in CONTROLLERS:
        process = cluster.processes.get(name)
        if process and not alive(process) and "leadership lost" in tail(process):
            start_again(cluster, name)
            port = int(process.command[process.command.index("--metrics-port") + 1])
            _wait_ready(cluster, name, port)


def logs_of_ours(cluster: Cluster) -> str:
    """Return the ends of the logs of our processes, and whether these run."""
    ours = [name for name in ("webhook", *CONTROLLERS) if name in cluster.processes]
    dead = [name for name in ours if not alive(cluster.processes[name])]
    return f"ended: {', '.join(dead) or 'none'}\n{logs(cluster, ours) if ours else ''}"


def wait_admission(cluster: Cluster) -> None:
    """Wait until the API server asks our webhook: a dry run comes back with our record."""
    until(lambda: is_expanded(cluster), "an annotated LeaderWorkerSet is expanded")


def _start(cluster: Cluster, program: tuple[str, str, str, Path], flags: Mapping[str, object]) -> None:
    """Start a verb of a module, under a name, from a source."""
    verb, module, name, source = program
    pairs = ((flag, one) for flag, value in flags.items() for one in _each(value))
    words = [str(word) for pair in pairs for word in pair if word is not None]
    command = [sys.executable, "-P", "-m", module, verb, *words]
    start_process(cluster, name, command, _environment(cluster, source))
    _wait_ready(cluster, name, int(str(flags["--metrics-port"])))


def _each(value: object) -> tuple[object, ...]:
    """Return the values of a flag; one that is a switch has None."""
    return value if isinstance(value, tuple) else (value,)


def _wait_ready(cluster: Cluster, name: str, port: int) -> None:
    wait_ready(cluster, name, lambda _: http_ok(port, "/readyz"), seconds=PATIENCE)


def _environment(cluster: Cluster, source: Path) -> dict[str, str]:
    """Return an environment in which no kubeconfig is found, and a source is, this checkout behind it.

    The authority of the cluster is in place of the system's, which aiohttp would load in a tenth of a second.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    path = os.pathsep.join(map(str, dict.fromkeys((source, ROOT))))
    home, authority = str(cluster.directory), str(cluster.directory / "ca.crt")
    return {**inherited, "HOME": home, "PYTHONPATH": path, "SSL_CERT_FILE": authority}


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
        # test_manifests.py validates them; the OpenAPI document that kubectl reads for that takes long
        kubectl(
            cluster, "apply", "--server-side", "--validate=false", "--filename=-", stdin=json.dumps(listed)
        )


def is_expanded(cluster: Cluster) -> bool:
    """Return whether admission expands an annotated LeaderWorkerSet, by a dry run."""
    trial = {**TRIAL_LWS, "metadata": {"name": "trial", "annotations": {SERVICE: "trial"}}}
    try:
        admitted = create(cluster.api, path("leaderworkersets", "default"), trial, dryRun="All")
    except ApiError:
        return False
    return EXPANSION in admitted["metadata"].get("annotations", {})
