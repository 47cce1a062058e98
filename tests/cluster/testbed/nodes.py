"""Nodes with accelerators and no machine: kwok keeps them and their pods alive."""

from intent import Object
from tests.cluster.testbed.api import create, delete, get, items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.wait import until


def add_gpu_nodes(cluster: Cluster, count: int, gpus: int = 8) -> tuple[str, ...]:
    """Add nodes with accelerators; add them after the pods exist, if it matters who comes first."""
    taken = {node["metadata"]["name"] for node in items(cluster.api, path("nodes"))}
    names = (f"gpu-{index}" for index in range(count + len(taken)))
    added = tuple(name for name in names if name not in taken)[:count]
    for name in added:
        create(cluster.api, path("nodes"), gpu_node(name, gpus))
    return added


def place_picker(cluster: Cluster, namespace: str, node: str) -> None:
    """Bind the endpoint picker's pod to a node, once there is one, as Kubernetes' own scheduler does."""
    of_pickers = {"labelSelector": "app.kubernetes.io/name=endpoint-picker"}
    pod, *_ = until(lambda: items(cluster.api, path("pods", namespace), **of_pickers), "the picker's pod")
    bind(cluster, namespace, pod["metadata"]["name"], node)


def bind(cluster: Cluster, namespace: str, name: str, node: str) -> None:
    """Bind a pod to a node, as Kubernetes' own scheduler does."""
    binding = {"metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
    create(cluster.api, path("pods", namespace, name, "binding"), binding)


def lose_node_of(cluster: Cluster, namespace: str, pod: str) -> None:
    """Remove the node of a pod, and the pod, as the pod garbage collector does."""
    where = path("pods", namespace, pod)
    node = get(cluster.api, where)["spec"]["nodeName"]
    delete(cluster.api, path("nodes", "", node))
    delete(cluster.api, where, gracePeriodSeconds="0")


def remove_nodes(cluster: Cluster) -> None:
    """Remove every node. Pods that are still on one are then never ended: remove those first."""
    delete(cluster.api, path("nodes"))


def gpu_node(name: str, gpus: int) -> Object:
    """Return a node that is Ready from the start."""
    room = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    ready = {"type": "Ready", "status": "True", "reason": "Testbed", "message": "no machine behind it"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }
