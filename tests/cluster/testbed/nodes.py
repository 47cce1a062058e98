"""Nodes with accelerators and no machine: kwok keeps them and their pods alive."""

from intent import Object
from tests.cluster.testbed.api import create, delete, items, path
from tests.cluster.testbed.cluster import Cluster


def add_gpu_nodes(cluster: Cluster, count: int, gpus: int = 8) -> tuple[str, ...]:
    """Add nodes with accelerators; add them after the pods exist, if it matters who comes first."""
    first = len(items(cluster.api, path("nodes")))
    names = tuple(f"gpu-{first + index}" for index in range(count))
    for name in names:
        create(cluster.api, path("nodes"), gpu_node(name, gpus))
    return names


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
