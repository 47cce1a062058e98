"""Our own Deployments as they are stored: the container of each pod, run with exactly its words."""

import http.client
import json
import ssl
from dataclasses import dataclass
from typing import Final

from intent import Object
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.cluster import kubectl
from tests.cluster.testbed.containers import name_of, port_number, run_container
from tests.cluster.testbed.images import Program
from tests.cluster.testbed.network import Network, add_pod, ask, connect, listens
from tests.cluster.testbed.processes import Process
from tests.cluster.testbed.service_accounts import kubeconfig_of
from tests.cluster.testbed.wait import until

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
