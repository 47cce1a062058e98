"""What the controller of a gateway answers to routes, and what the status of the service says then."""

from collections.abc import Mapping
from typing import Final

from intent import Object
from tests.cluster.testbed.api import await_object, create, get, patch, path
from tests.cluster.testbed.cluster import Cluster

CONTROLLER: Final = {"controllerName": "example.com/gateway"}
"""Whom an HTTPRoute wants named; an InferencePool does not take it in every version."""
SAID: Final = {"lastTransitionTime": "2026-11-21T00:00:00Z", "message": "in words"}
LISTENER: Final = {"name": "http", "port": 80, "protocol": "HTTP"}
TAKES: Final = ("True", "Accepted")


def add_gateway(cluster: Cluster, namespace: str, name: str = "gateway") -> None:
    """Add a Gateway, and set it up as its controller would."""
    gateway = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": name},
        "spec": {"gatewayClassName": "any", "listeners": [LISTENER]},
    }
    create(cluster.api, path("gateways", namespace), gateway)
    program(cluster, namespace, name)


def program(cluster: Cluster, namespace: str, gateway: str) -> None:
    """Write the condition Programmed of a Gateway, once there is one."""
    where = path("gateways", namespace, gateway)
    verdicts = {"Accepted": TAKES, "Programmed": ("True", "Programmed")}
    found = _conditions(await_object(cluster.api, where)["metadata"]["generation"], verdicts)
    patch(cluster.api, f"{where}/status", {"status": {"conditions": found}})


def accept(cluster: Cluster, namespace: str, service: str, gateway: str = "gateway") -> None:
    """Answer for a gateway that it takes the route and the pool of a service."""
    program(cluster, namespace, gateway)
    route, pool = f"{service}-httproute", f"{service}-pool"
    parent = {"parentRef": {"name": gateway}}
    _accept(cluster, path("httproutes", namespace, route), {**parent, **CONTROLLER})
    _accept(cluster, path("inferencepools", namespace, pool), parent)


def conditions(cluster: Cluster, namespace: str, service: str) -> dict[str, tuple[str, str]]:
    """Return status and reason of each condition of an InferenceService."""
    stored = get(cluster.api, path("inferenceservices", namespace, service))
    found = stored.get("status", {}).get("conditions", ())
    return {each["type"]: (each["status"], each["reason"]) for each in found}


def _accept(cluster: Cluster, where: str, more: Object) -> None:
    generation = await_object(cluster.api, where)["metadata"]["generation"]
    verdicts = {"Accepted": TAKES, "ResolvedRefs": ("True", "ResolvedRefs")}
    parent = {**more, "conditions": _conditions(generation, verdicts)}
    patch(cluster.api, f"{where}/status", {"status": {"parents": [parent]}})


def _conditions(generation: int, verdicts: Mapping[str, tuple[str, str]]) -> list[Object]:
    return [
        {**SAID, "type": kind, "status": status, "reason": reason, "observedGeneration": generation}
        for kind, (status, reason) in verdicts.items()
    ]
