"""cert-manager as processes: its controller and its cainjector, and what asks them for certificates."""

import base64
from datetime import UTC, datetime
from typing import Final

import yaml

from intent import Object
from tests.cluster.testbed.api import apply, get, patch, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig
from tests.cluster.testbed.components import http_ok
from tests.cluster.testbed.control_plane import start_process, stop_process, wait_ready
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.wait import until

CERTIFICATES: Final = ROOT / "manifests" / "cert-manager" / "certificates.yaml"
NAMESPACE: Final = "fusioninfer-system"
AUTHORITY: Final = "fusioninfer-ca"
LEAF: Final = "fusioninfer-webhook"
CONTROLLER: Final = "cert-manager-controller"
CAINJECTOR: Final = "cert-manager-cainjector"
ISSUING: Final[Object] = {
    "type": "Issuing",
    "status": "True",
    "reason": "ManuallyTriggered",
    "message": "renewed by a test",
}


def start_cert_manager(cluster: Cluster) -> None:
    """Start both, and wait until the controller answers."""
    ports = free_ports(("metrics", "health"))
    usual = ("--kubeconfig", str(kubeconfig(cluster)), "--leader-elect=false", "-v=1")
    controller = (
        *("--cluster-resource-namespace=cert-manager", "--kube-api-qps=100", "--kube-api-burst=200"),
        f"--metrics-listen-address=127.0.0.1:{ports['metrics']}",
    )
    start_process(cluster, CONTROLLER, [str(cluster.built.binary(CONTROLLER)), *usual, *controller])
    start_process(cluster, CAINJECTOR, [str(cluster.built.binary(CAINJECTOR)), *usual])
    wait_ready(cluster, CONTROLLER, lambda _: http_ok(ports["metrics"], "/metrics"))


def stop_cert_manager(cluster: Cluster) -> None:
    """End both."""
    for name in (CONTROLLER, CAINJECTOR):
        stop_process(cluster, name)


def ask_for_certificates(cluster: Cluster) -> None:
    """Apply what the manifests ask for, with a leaf for loopback too, and wait until it is issued."""
    for wanted in yaml.safe_load_all(CERTIFICATES.read_text()):
        if wanted["metadata"]["name"] == LEAF:
            wanted["spec"]["ipAddresses"] = ["127.0.0.1"]
        apply(cluster.api, _path(wanted["kind"], wanted["metadata"]["name"]), wanted)
    until(lambda: all(_is_ready(cluster, name) for name in (AUTHORITY, LEAF)), "certificates are issued")


def renew(cluster: Cluster, name: str) -> None:
    """Have a certificate issued again, as `cmctl renew` does, and wait until it is."""
    before = stored(cluster, _secret(cluster, name), "tls.crt")
    until(lambda: _is_issued_again(cluster, name, before), f"{name} is renewed", every=0.2)


def stored(cluster: Cluster, secret: str, key: str) -> bytes:
    """Return what a Secret holds under a key."""
    return base64.b64decode(get(cluster.api, path("secrets", NAMESPACE, secret))["data"][key])


def _is_issued_again(cluster: Cluster, name: str, before: bytes) -> bool:
    """Return whether it is; ask for it, unless that is asked for: one wish may be taken for another."""
    if stored(cluster, _secret(cluster, name), "tls.crt") != before:
        return True
    where = path("certificates", NAMESPACE, name, "status")
    conditions = get(cluster.api, where)["status"]["conditions"]
    if all(each["type"] != "Issuing" for each in conditions):
        patch(
            cluster.api,
            where,
            {"status": {"conditions": [*conditions, {**ISSUING, "lastTransitionTime": _now()}]}},
        )
    return False


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _secret(cluster: Cluster, name: str) -> str:
    return str(get(cluster.api, path("certificates", NAMESPACE, name))["spec"]["secretName"])


def _is_ready(cluster: Cluster, name: str) -> bool:
    status = get(cluster.api, path("certificates", NAMESPACE, name)).get("status", {})
    conditions = status.get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _path(kind: str, name: str) -> str:
    return f"/apis/cert-manager.io/v1/namespaces/{NAMESPACE}/{kind.lower()}s/{name}"
