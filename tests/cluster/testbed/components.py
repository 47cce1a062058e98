"""How each component is started, and how one sees that it works. Rows stand in the order of starting.

Flags and their reasons: the garbage collector is needed, since LWS deletes leaders in the foreground;
node lifecycle and taint eviction are left out, since the nodes have no kubelet.
"""

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from intent import Object
from tests.cluster.testbed.api import GROUPS, ApiError, create, get, items, patch, path
from tests.cluster.testbed.audit import audit_args
from tests.cluster.testbed.cluster import Cluster, kubeconfig

SCHEDULE_PERIOD: Final = 0.2
"""Seconds between two cycles of the Volcano scheduler."""

SCHEDULER_CONF: Final = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: overcommit}, {name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""

CONTROLLERS: Final = (
    *("statefulset-controller", "garbage-collector-controller", "namespace-controller"),
    *("deployment-controller", "replicaset-controller", "endpointslice-controller"),
    *("disruption-controller", "clusterrole-aggregation-controller"),
)

TRIAL_LWS: Final[Object] = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "metadata": {"name": "trial"},
    "spec": {
        "leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    },
}
"""The least that LWS accepts; sent as a dry run to see whether webhooks answer."""


@dataclass(frozen=True, slots=True)
class Component:
    """One process: its binary, its arguments, and whether it does its work."""

    binary: str
    args: Callable[[Cluster], list[str]]
    ready: Callable[[Cluster], bool]


def http_ok(port: int, where: str) -> bool:
    """Return whether a plain HTTP endpoint on loopback answers 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
    try:
        connection.request("GET", where)
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def http_body(port: int, where: str) -> str:
    """Return what a plain HTTP endpoint on loopback answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
    try:
        connection.request("GET", where)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def _etcd_args(cluster: Cluster) -> list[str]:
    client, peer = (f"http://127.0.0.1:{cluster.ports[name]}" for name in ("etcd", "etcd-peer"))
    return [
        *("--data-dir", str(cluster.directory / "etcd")),
        *("--listen-client-urls", client, "--advertise-client-urls", client),
        *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
        *("--initial-cluster", f"default={peer}", "--log-level", "warn", "--unsafe-no-fsync"),
    ]


def _apiserver_args(cluster: Cluster) -> list[str]:
    certificates = cluster.directory / "kube-apiserver"
    key = str(certificates / "tls.key")
    return [
        *("--etcd-servers", f"http://127.0.0.1:{cluster.ports['etcd']}"),
        *("--bind-address", "127.0.0.1", "--secure-port", str(cluster.ports["kube-apiserver"])),
        *("--tls-cert-file", str(certificates / "tls.crt"), "--tls-private-key-file", key),
        *("--cert-dir", str(certificates), "--service-cluster-ip-range", "10.0.0.0/16"),
        *("--service-account-issuer", "https://kubernetes.default.svc"),
        *("--service-account-key-file", key, "--service-account-signing-key-file", key),
        *("--token-auth-file", str(cluster.directory / "tokens.csv"), "--authorization-mode", "RBAC"),
        *("--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition"),
        *("--admission-control-config-file", _presented(cluster)),
        *audit_args(cluster.directory),
    ]


def _presented(cluster: Cluster) -> str:
    """Write which webhook the API server presents its certificate to."""
    own = cluster.directory / "kube-apiserver"
    user = {"client-certificate": str(own / "tls.crt"), "client-key": str(own / "tls.key")}
    named = {"name": f"127.0.0.1:{cluster.ports['webhook-known']}", "user": user}
    config = {"apiVersion": "v1", "kind": "Config", "users": [named]}
    file = _written(cluster.directory / "presented.kubeconfig", json.dumps(config))
    version = "apiserver.config.k8s.io/v1"
    each = {"apiVersion": version, "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": file}
    names = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    plugins = [{"name": name, "configuration": each} for name in names]
    whole = {"apiVersion": version, "kind": "AdmissionConfiguration", "plugins": plugins}
    return _written(cluster.directory / "admission.json", json.dumps(whole))


def _controllers_args(cluster: Cluster) -> list[str]:
    own = str(kubeconfig(cluster, "kube-controller-manager"))
    return [
        *("--kubeconfig", own, "--leader-elect=false", "--secure-port=0"),
        *("--controllers", ",".join(CONTROLLERS), "--use-service-account-credentials=false"),
        *("--kube-api-qps=200", "--kube-api-burst=300"),
    ]


def _lws_args(cluster: Cluster) -> list[str]:
    configuration = {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {
            "host": "127.0.0.1",
            "port": cluster.ports["lws-webhook"],
            "certDir": str(cluster.directory / "lws-webhook"),
        },
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{cluster.ports['lws-health']}"},
    }
    file = _written(cluster.directory / "lws.yaml", json.dumps(configuration))
    return ["--kubeconfig", str(kubeconfig(cluster)), "--config", file]


def _scheduler_args(cluster: Cluster) -> list[str]:
    file = _written(cluster.directory / "scheduler.conf", SCHEDULER_CONF)
    return [
        *("--kubeconfig", str(kubeconfig(cluster)), "--scheduler-conf", file, "--leader-elect=false"),
        *(f"--schedule-period={SCHEDULE_PERIOD}s", "--enable-healthz=false", "--cache-dumper=false", "-v=1"),
    ]


def _kube_scheduler_args(cluster: Cluster) -> list[str]:
    """Its metrics may be read by all: they say which pods it has still to try."""
    port, folder = cluster.ports["kube-scheduler"], cluster.directory / "kube-scheduler"
    return [
        *("--kubeconfig", str(kubeconfig(cluster)), "--leader-elect=false", "--authentication-skip-lookup"),
        *("--bind-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={folder}"),
        *(
            "--authorization-always-allow-paths=/healthz,/metrics",
            "--kube-api-qps=200",
            "--kube-api-burst=300",
        ),
    ]


def _kwok_args(cluster: Cluster) -> list[str]:
    folder = cluster.built.source("kwok", "kustomize/stage")
    stages = "\n---\n".join(file.read_text() for file in sorted(folder.rglob("*.yaml")))
    file = _written(cluster.directory / "stages.yaml", stages)
    return ["--kubeconfig", str(kubeconfig(cluster)), "--manage-all-nodes=true", "--config", file]


def _written(file: Path, text: str) -> str:
    file.write_text(text)
    return str(file)


def _apiserver_ready(cluster: Cluster) -> bool:
    """Return whether every resource can be listed: after etcd was away, each cache recovers on its own."""
    try:
        ready = get(cluster.api, "/readyz") == {"message": "ok"}
        return ready and all(items(cluster.api, path(resource)) is not None for resource in GROUPS)
    except (ApiError, OSError, http.client.HTTPException):
        return False


def _etcd_ready(cluster: Cluster) -> bool:
    healthy = http_ok(cluster.ports["etcd"], "/health")
    return healthy and ("kube-apiserver" not in cluster.processes or _apiserver_ready(cluster))


def _lws_admits(cluster: Cluster) -> bool:
    """Return whether the API server reaches LWS's webhook: only that one sets networkConfig."""
    try:
        admitted = create(cluster.api, path("leaderworkersets", "default"), TRIAL_LWS, dryRun="All")
    except ApiError:
        return False
    return "networkConfig" in admitted["spec"]


def _open_queues(cluster: Cluster) -> bool:
    """Say, as Volcano's controllers would, that the queues are open; False while there are none."""
    try:
        for queue in ("root", "default"):
            patch(cluster.api, path("queues", "", queue, "status"), {"status": {"state": "Open"}})
    except ApiError:
        return False
    return True


def _at_once(_cluster: Cluster) -> bool:
    return True


COMPONENTS: Final = {
    "etcd": Component("etcd", _etcd_args, _etcd_ready),
    "kube-apiserver": Component("kube-apiserver", _apiserver_args, _apiserver_ready),
    "kube-controller-manager": Component("kube-controller-manager", _controllers_args, _at_once),
    "lws": Component("lws-manager", _lws_args, _lws_admits),
    "vc-scheduler": Component("vc-scheduler", _scheduler_args, _open_queues),
    "kwok": Component("kwok", _kwok_args, _at_once),
    "kube-scheduler": Component("kube-scheduler", _kube_scheduler_args, _at_once),
}
STORE: Final = ("etcd", "kube-apiserver")
"""What must answer before anything can be installed."""
EXTRA: Final = ("kube-scheduler",)
"""Started by the tests that need them."""
CONTROL: Final = tuple(name for name in COMPONENTS if name not in {*STORE, *EXTRA})
"""Started once the custom resources exist: the garbage collector looks for new ones only every 30 s."""
