"""A namespace for one test, and what it leaves behind removed."""

import http.client
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.cluster.testbed.api import ApiError, create, delete, items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.nodes import remove_nodes
from tests.cluster.testbed.wait import until

CLEANED: Final = (
    *("inferenceservices", "disaggregatedsets", "leaderworkersets"),
    *("statefulsets", "deployments", "podgroups"),
)
"""What makes pods, makers first."""


def add_namespace(cluster: Cluster) -> str:
    """Add a namespace with a new name."""
    name = f"test-{secrets.token_hex(3)}"
    create(cluster.api, path("namespaces"), {"metadata": {"name": name}})
    return name


def empty_namespace(cluster: Cluster, namespace: str) -> None:
    """Remove what a test left: our resources, sets, PodGroups and pods. The empty namespace stays."""
    until(lambda: _emptied(cluster, namespace), f"{namespace} is empty", every=0.1)


@contextmanager
def new_namespace(cluster: Cluster) -> Iterator[str]:
    """Add a namespace; at the end remove what is in it, and every node."""
    name = add_namespace(cluster)
    try:
        yield name
    finally:
        empty_namespace(cluster, name)
        remove_nodes(cluster)


def _emptied(cluster: Cluster, namespace: str) -> bool:
    try:
        return _delete_all(cluster, namespace)
    except ApiError as error:
        if error.status == http.client.TOO_MANY_REQUESTS:  # the answer to the first request for a kind
            return False
        raise


def _delete_all(cluster: Cluster, namespace: str) -> bool:
    """Delete what is left; whether there was nothing."""
    left = [kind for kind in (*CLEANED, "pods") if items(cluster.api, path(kind, namespace))]
    for kind in left:
        grace = {"gracePeriodSeconds": "0"} if kind == "pods" else {}
        delete(cluster.api, path(kind, namespace), propagationPolicy="Background", **grace)
    return not left
