"""Certificates by the real cert-manager: rotated while admissions go on, and none of them fails."""

import base64
import json
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
import trustme
import yaml

from intent import Object
from tests.cluster.testbed.admissions import CONFIGURATIONS, TOGETHER, bursts, call_at, trusted
from tests.cluster.testbed.api import apply, delete, get, patch, path
from tests.cluster.testbed.chart import rendered
from tests.cluster.testbed.cluster import Cluster, kubeconfig, kubectl
from tests.cluster.testbed.components import http_ok
from tests.cluster.testbed.control_plane import kill_process, start_process, stop_process, wait_ready
from tests.cluster.testbed.mounts import mounted
from tests.cluster.testbed.ours import ROOT, wait_admission
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.relay import Relay, relay
from tests.cluster.testbed.replicas import Replica, served, start_replica
from tests.cluster.testbed.wait import until

# --- cert-manager as processes ------------------------------------------------------------------------

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


SECRET: Final = "fusioninfer-webhook-tls"
INJECT: Final = "cert-manager.io/inject-ca-from"
OWN: Final = "own-issuer"


@pytest.fixture(scope="module")
def issued(certified: Cluster) -> Iterator[Cluster]:
    """The cluster with cert-manager, what our manifests ask of it, and its bundle injected."""
    start_cert_manager(certified)
    ask_for_certificates(certified)
    annotate(certified, f"{NAMESPACE}/{LEAF}")
    until(lambda: trusted(certified) == {stored(certified, SECRET, "ca.crt")}, "the bundle is injected")
    yield certified
    annotate(certified, None)
    stop_cert_manager(certified)
    for name in (AUTHORITY, LEAF):
        delete(certified.api, path("certificates", NAMESPACE, name))
    for name in (AUTHORITY, SECRET):
        delete(certified.api, path("secrets", NAMESPACE, name))


@pytest.fixture(scope="module")
def serving(
    issued: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Replica, Relay, Path]]:
    """A webhook that mounts the Secret, and the line on which the API server calls it."""
    with mounted(issued, NAMESPACE, SECRET, tmp_path_factory.mktemp("mounts") / "tls") as directory:
        until((directory / "tls.crt").exists, "the Secret is mounted")
        replica = start_replica(issued, "webhook", directory)
        with relay(replica.port) as line:
            call_at(issued, line.port)
            wait_admission(issued)
            yield replica, line, directory
            kill_process(issued, "webhook")


def test_every_webhook_trusts_the_authority_of_the_leaf(issued: Cluster) -> None:
    assert trusted(issued) == {stored(issued, AUTHORITY, "tls.crt")}


def test_no_call_fails_while_the_leaf_is_renewed_again_and_again(
    issued: Cluster, serving: tuple[Replica, Relay, Path]
) -> None:
    replica, line, _ = serving
    before = line.accepted

    with bursts(issued, line) as sent:
        for _ in range(3):
            renew(issued, LEAF)
            wait_served(issued, replica)

    assert sent.failures == []
    assert line.accepted - before > sent.count / TOGETHER, "each burst began on new connections"


def test_no_call_fails_while_the_ca_is_renewed(issued: Cluster, serving: tuple[Replica, Relay, Path]) -> None:
    replica, line, _ = serving
    before = trusted(issued)

    with bursts(issued, line) as sent:
        renew(issued, AUTHORITY)
        renew(issued, LEAF)
        until(lambda: trusted(issued) == {stored(issued, AUTHORITY, "tls.crt")}, "the new one is trusted")
        wait_served(issued, replica)

    assert sent.failures == []
    assert not before & trusted(issued)


def test_a_renewed_authority_keeps_its_key(issued: Cluster) -> None:
    key = stored(issued, AUTHORITY, "tls.key")

    renew(issued, AUTHORITY)

    assert stored(issued, AUTHORITY, "tls.key") == key


def test_an_issuer_of_ones_own_signs_what_the_chart_asks_for(issued: Cluster, helm: Path) -> None:
    """The last test: the Certificate is then that of the chart, and the CA is another."""
    own = trustme.CA()
    pair = {"tls.crt": own.cert_pem.bytes(), "tls.key": own.private_key_pem.bytes()}
    data = {name: b64encode(value).decode() for name, value in pair.items()}
    issuer = {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Issuer",
        "metadata": {"name": OWN, "namespace": NAMESPACE},
    }
    values = {"certificates.mode": "cert-manager", "certificates.issuerRef.name": OWN}
    listed = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": OWN, "namespace": NAMESPACE},
            "data": data,
        },
        {**issuer, "spec": {"ca": {"secretName": OWN}}},
        *rendered(helm, values, "--show-only=templates/certificates.yaml"),
    ]
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": listed})

    words = ("--server-side", "--force-conflicts", "--filename=-")
    kubectl(issued, "apply", *words, stdin=manifest)

    until(lambda: stored(issued, SECRET, "ca.crt") == pair["tls.crt"], "the issuer signs")
    until(lambda: trusted(issued) == {pair["tls.crt"]}, "cainjector has it trusted")
    kubectl(issued, "delete", "--filename=-", stdin=manifest)


def annotate(cluster: Cluster, certificate: str | None) -> None:
    """Have cainjector inject the authority of a certificate into our configurations."""
    for where in CONFIGURATIONS:
        patch(cluster.api, where, {"metadata": {"annotations": {INJECT: certificate}}})


def wait_served(cluster: Cluster, replica: Replica) -> None:
    """Wait until handshakes show what the Secret holds now."""
    until(lambda: served(replica) == stored(cluster, SECRET, "tls.crt"), "the new leaf is served")
