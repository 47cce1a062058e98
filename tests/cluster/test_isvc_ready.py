"""A service with routes is ready when its picker runs and its gateway has said yes, and no longer than that.

The gateway's controller is this test: it writes what such a one writes into the status of the objects.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from intent import Object
from tests.cluster.testbed.api import create, get, items, patch, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.loops import apply, pod_group
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes
from tests.cluster.testbed.services import conditions, says
from tests.cluster.testbed.wait import until
from tests.isvc import isvc, router, worker

NAME: Final = "chat"
LISTENER: Final = {"name": "http", "port": 80, "protocol": "HTTP"}
GATEWAY: Final = {"gatewayClassName": "any", "listeners": [LISTENER]}
PARENT: Final = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": f"{NAME}-gateway"}
ACTIVE: Final = ("True", "InferenceServiceAvailable")
READY: Final = ("True", "ServiceReady")
SINCE: Final = "2026-01-01T00:00:00Z"


@pytest.fixture
def running(served: Cluster) -> Iterator[str]:
    """A service whose pods run, its picker too; nobody has answered its route."""
    with new_namespace(served) as namespace:
        apply(served, namespace, isvc(router(gateway=GATEWAY), worker(), name=NAME))
        wait_pods(served, namespace, 2 + 1)
        until(lambda: pod_group(served, namespace, NAME), "the PodGroup")
        node, *_ = add_gpu_nodes(served, 2)
        place_picker(served, namespace, node)
        yield namespace


def test_until_the_gateway_answers_nobody_knows(served: Cluster, running: str) -> None:
    expected = {"RoutesReady": ("Unknown", "WaitingForGateway"), "Active": ACTIVE}

    status = says(served, running, NAME, expected)

    assert conditions(status)["Ready"]["status"] == "Unknown"


def test_with_its_answer_it_is_ready_and_has_a_url(served: Cluster, running: str) -> None:
    answer(served, running, "True", "Accepted")

    status = says(served, running, NAME, {"RoutesReady": ("True", "RoutesAccepted"), "Ready": READY})

    assert status["url"] == "http://10.1.2.3"
    shown = kubectl(served, "get", "isvc", "--namespace", running, "--no-headers").split()
    assert shown[:4] == [NAME, "True", "ServiceReady", "http://10.1.2.3"]


def test_when_it_changes_its_mind_so_does_the_status(served: Cluster, running: str) -> None:
    answer(served, running, "True", "Accepted")
    says(served, running, NAME, {"Ready": READY})

    answer(served, running, "False", "NotAllowedByListeners")

    status = says(served, running, NAME, {"Ready": ("False", "RoutesNotReady")})
    assert "NotAllowedByListeners" in conditions(status)["RoutesReady"]["message"]
    assert "url" not in status


def place_picker(cluster: Cluster, namespace: str, node: str) -> None:
    """Bind the picker's pod, as Kubernetes' own scheduler does."""
    pods = items(cluster.api, path("pods", namespace), labelSelector="app.kubernetes.io/name=endpoint-picker")
    name = pods[0]["metadata"]["name"]
    binding = {"metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
    create(cluster.api, path("pods", namespace, name, "binding"), binding)


def answer(cluster: Cluster, namespace: str, accepted: str, reason: str) -> None:
    """Answer route and pool, and give the gateway an address."""
    addresses = [{"type": "IPAddress", "value": "10.1.2.3"}]
    say(cluster, path("gateways", namespace, f"{NAME}-gateway"), {"addresses": addresses})
    for resource, name, taken in (
        ("inferencepools", f"{NAME}-pool", ("True", "Accepted")),
        ("httproutes", f"{NAME}-httproute", (accepted, reason)),
    ):
        where = path(resource, namespace, name)
        generation = get(cluster.api, where)["metadata"]["generation"]
        resolved = condition("ResolvedRefs", "True", "ResolvedRefs", generation)
        said = [condition("Accepted", *taken, generation), resolved]
        parent = {"parentRef": PARENT, "controllerName": "tests.io/any", "conditions": said}
        say(cluster, where, {"parents": [parent]})


def say(cluster: Cluster, where: str, status: Object) -> None:
    """Write a status."""
    patch(cluster.api, f"{where}/status", {"status": status})


def condition(kind: str, status: str, reason: str, generation: int) -> Object:
    """Make a condition of an object of this generation."""
    said = {"type": kind, "status": status, "reason": reason, "message": ""}
    return {**said, "observedGeneration": generation, "lastTransitionTime": SINCE}
