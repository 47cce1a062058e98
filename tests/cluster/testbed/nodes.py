"""Nodes with accelerators and no machine: kwok keeps them and their pods alive."""

from intent import Object
from tests.cluster.testbed.api import create, delete, items, path
from tests.cluster.testbed.cluster import Cluster


def add_gpu_nodes(cluster: Cluster, count: int, gpus: int = 8) -> tuple[str, ...]:
    """Add nodes with accelerators; add them after the pods exist, if it matters who comes first."""
    taken = {node["metadata"]["name"] for node in items(cluster.api, path("nodes"))}
    names = (f"gpu-{index}" for index in range(count + len(taken)))
    added = tuple(name for name in names if name not in taken)[:count]
    for name in added:
        create(cluster.api, path("nodes"), gpu_node(name, gpus))
    return added


def bind(cluster: Cluster, namespace: str, name: str, node: str) -> None:
    """Bind a pod to a node, as Kubernetes' own scheduler does."""
    binding = {"metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
    create(cluster.api, path("pods", namespace, name, "binding"), binding)


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
