"""What `kubectl apply -k` stores is run: the pods of our Deployments, with exactly their words and ports.

With `--image` they are run from the image, as containers are; else from this checkout.
"""

import http.client
import json
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest
import yaml

from hack.manifests.objects import MANIFESTS
from intent import Object
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.containers import name_of, port_number, run_container
from tests.cluster.testbed.images import Program
from tests.cluster.testbed.namespaces import empty_namespace
from tests.cluster.testbed.network import Answer, Network, add_pod, ask, connect, listens
from tests.cluster.testbed.processes import Process, stop
from tests.cluster.testbed.service_accounts import kubeconfig_of
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import WHOLE, read

# --- our Deployments as they are stored ---------------------------------------------------------------
# The container of each pod is run with exactly its words.

NAMESPACE: Final = "fusioninfer-system"
REVIEWS: Final = 10250
SERVER: Final = "fusioninfer-webhook.fusioninfer-system.svc"
TLS: Final = "fusioninfer-webhook-tls"


@dataclass(frozen=True, slots=True)
class Deployed:
    """A pod of ours that runs: its object, its address and its process."""

    pod: Object
    address: str
    process: Process


def put_certificate(there: Network) -> None:
    """Put the webhook's certificate into the Secret that its pods mount."""
    folder = there.cluster.directory / "webhook"
    files = (f"--cert={folder / 'tls.crt'}", f"--key={folder / 'tls.key'}")
    words = ("create", "secret", "tls", TLS, "--namespace", NAMESPACE, *files)
    made = kubectl(there.cluster, *words, "--dry-run=client", "--output=json")
    kubectl(there.cluster, "apply", "--filename=-", stdin=made)


def start_deployed(there: Network, deployment: str, own: Program) -> list[Deployed]:
    """Run every pod of a Deployment, and wait until its own probe says that it is ready."""
    running = [
        _start(there, pod, own) for pod in until(lambda: _pods(there, deployment), f"pods of {deployment}")
    ]
    for each in running:
        _wait_ready(there, each)
    return running


def _wait_ready(there: Network, one: Deployed) -> None:
    until(lambda: answers(there, one, "readinessProbe"), f"{name_of(one.pod)} is ready")


def answers(there: Network, one: Deployed, probe: str) -> bool:
    """Return whether a probe of its container would succeed now."""
    (container,) = one.pod["spec"]["containers"]
    asked = container[probe]["httpGet"]
    port = port_number(container, asked["port"])
    return (
        listens(there, one.address, port) and ask(there, f"{one.address}:{port}", asked["path"]).status == 200
    )


def mutated(there: Network, one: Deployed, lws: Object) -> Object:
    """Have a pod of the webhook review an object, as the API server would; return its response."""
    trust = ssl.create_default_context(cafile=str(there.cluster.directory / "ca.crt"))
    line = trust.wrap_socket(connect(there, one.address, REVIEWS), server_hostname=SERVER)
    connection = http.client.HTTPConnection(one.address)
    connection.sock = line
    request = {"uid": "trial", "operation": "CREATE", "object": lws}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    try:
        connection.request("POST", "/mutate", json.dumps(review), {"Content-Type": "application/json"})
        return dict(json.loads(connection.getresponse().read())["response"])
    finally:
        connection.close()


def _start(there: Network, pod: Object, own: Program) -> Deployed:
    """Run a pod; it has a service account only if it mounts the token."""
    address = add_pod(there, name_of(pod))
    spec = pod["spec"]
    (container,) = spec["containers"]
    more = _account(there, spec) if spec.get("automountServiceAccountToken", True) else {}
    return Deployed(pod, address, run_container(there, pod, container, more, own))


def _account(there: Network, spec: Object) -> dict[str, str]:
    file = kubeconfig_of(there.cluster, there.api, NAMESPACE, spec["serviceAccountName"])
    return {"KUBECONFIG": str(file)}


def _pods(there: Network, deployment: str) -> list[Object]:
    """Find its pods, once as many as it wants are there."""
    stored = next(
        each
        for each in items(there.cluster.api, path("deployments", NAMESPACE))
        if each["metadata"]["name"] == deployment
    )
    labels = ",".join(f"{key}={value}" for key, value in stored["spec"]["selector"]["matchLabels"].items())
    found = items(there.cluster.api, path("pods", NAMESPACE), labelSelector=labels)
    return found if len(found) == stored["spec"]["replicas"] else []


STORED: Final = ("ConfigMap", "Deployment", "Service")
"""The kinds that the testbed leaves out of the manifests otherwise."""
WEBHOOK: Final = "fusioninfer-webhook"
SYNC: Final = "fusioninfer-sync"


@pytest.fixture(scope="module")
def deployed(admission: Cluster, own_network: Network, runs: Program) -> Iterator[dict[str, list[Deployed]]]:
    """All pods of the base, by Deployment."""
    made = yaml.safe_load_all(kubectl(admission, "kustomize", str(MANIFESTS / "base")))
    wanted = {"apiVersion": "v1", "kind": "List", "items": [each for each in made if each["kind"] in STORED]}
    put_certificate(own_network)
    kubectl(admission, "apply", "--server-side", "--filename=-", stdin=json.dumps(wanted))
    yield {name: start_deployed(own_network, name, runs) for name in (WEBHOOK, SYNC)}
    empty_namespace(admission, NAMESPACE)


@pytest.mark.parametrize("name", [WEBHOOK, SYNC])
def test_two_replicas_are_ready_and_show_their_metrics(
    own_network: Network, deployed: dict[str, list[Deployed]], name: str
) -> None:
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    assert [[answers(own_network, one, each) for each in probes] for one in deployed[name]] == [
        [True] * 3
    ] * 2
    shown = [ask(own_network, f"{one.address}:8080", "/metrics") for one in deployed[name]]
    assert [each.status for each in shown] == [200 if name == WEBHOOK else 404] * 2


def test_the_controller_shows_its_metrics_to_tokens_that_may_read_them(
    admission: Cluster, own_network: Network, deployed: dict[str, list[Deployed]]
) -> None:
    one, *_ = deployed[SYNC]
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE

    def scraped(token: str) -> Answer:
        headers = {"Authorization": f"Bearer {token}"}
        return ask(own_network, f"{one.address}:8443", "/metrics", headers=headers, tls=unverified)

    kubectl(admission, "create", "serviceaccount", "prometheus", "--namespace=default")
    token = kubectl(admission, "create", "token", "prometheus", "--namespace=default").strip()
    before = scraped(token)
    kubectl(
        *(admission, "create", "clusterrolebinding", "prometheus"),
        *("--clusterrole=fusioninfer-metrics-reader", "--serviceaccount=default:prometheus"),
    )
    until(lambda: scraped(token).status == 200, "the token may read the metrics")

    assert (before.status, "prometheus may not get the path /metrics" in before.body) == (403, True)
    assert "does not know this token" in scraped(f"{token}x").body
    assert "fusioninfer_sync_is_leader" in scraped(token).body


def test_a_review_is_answered_with_a_patch(own_network: Network, deployed: dict[str, list[Deployed]]) -> None:
    answers = [mutated(own_network, one, read(WHOLE)) for one in deployed[WEBHOOK]]

    assert [(answer["allowed"], answer["patchType"]) for answer in answers] == [(True, "JSONPatch")] * 2


def test_one_of_the_pods_holds_the_lease_in_its_own_namespace(
    admission: Cluster, deployed: dict[str, list[Deployed]]
) -> None:
    assert deployed[SYNC]

    def holders() -> list[str]:
        found = items(admission.api, path("leases", NAMESPACE), fieldSelector=f"metadata.name={SYNC}")
        return [one["spec"]["holderIdentity"] for one in found if one["spec"].get("holderIdentity")]

    until(holders, "a replica leads")


@pytest.mark.parametrize("name", [SYNC, WEBHOOK])
def test_a_terminated_pod_ends_in_its_grace_period(deployed: dict[str, list[Deployed]], name: str) -> None:
    one = deployed[name].pop()
    grace = one.pod["spec"]["terminationGracePeriodSeconds"]

    began = time.monotonic()
    assert stop(one.process, grace) == 0
    assert time.monotonic() - began < grace
