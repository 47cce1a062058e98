"""A paused service: whatever is deleted or changed, the controller writes nothing for it until it is resumed.

The API server's own log says what the controller wrote.
"""

import time
from typing import Final

from intent.annotations import PAUSED
from tests.builders.isvc import decoder, isvc, prefiller
from tests.cluster.testbed.api import delete, get, items, patch, path
from tests.cluster.testbed.audit import come_to_rest, stored
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import (
    apply,
    metric,
    pod_group,
)
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.wait import until

SECONDS: Final = 4.0
"""Longer than the controller takes for a repair (2 s) or an Event (2 s)."""
NAME: Final = "chat"


def pause(cluster: Cluster, where: str, value: str | None) -> None:
    """Set or remove the annotation."""
    patch(cluster.api, where, {"metadata": {"annotations": {PAUSED: value}}})


def paused(cluster: Cluster) -> float:
    """Return how many services are paused, as the controller counts them."""
    return metric(cluster.ports["sync-metrics"], "fusioninfer_sync_paused")


def wrote(cluster: Cluster, namespace: str) -> list[str]:
    """Return what the controller has stored in a namespace."""
    return [
        each["requestURI"] for each in stored(cluster) if f"/namespaces/{namespace}/" in each["requestURI"]
    ]


def uids(cluster: Cluster, namespace: str) -> dict[str, str]:
    """Return the uids of all pods, by name."""
    pods = items(cluster.api, path("pods", namespace))
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}


def test_a_paused_inference_service_may_change_and_nothing_follows(
    fusioninfer: Cluster, namespace: str
) -> None:
    apply(fusioninfer, namespace, isvc(prefiller(), decoder(), name=NAME))
    until(lambda: pod_group(fusioninfer, namespace, NAME), "the PodGroup")
    wait_pods(fusioninfer, namespace, asked(fusioninfer, namespace))
    where = path("inferenceservices", namespace, NAME)

    pause(fusioninfer, where, "true")
    until(lambda: paused(fusioninfer) == 1, "the controller knows it")
    come_to_rest(fusioninfer, namespace)
    written, pods = wrote(fusioninfer, namespace), uids(fusioninfer, namespace)
    before = sets(fusioninfer, namespace)
    roles = get(fusioninfer.api, where)["spec"]["roles"]
    patch(fusioninfer.api, where, {"spec": {"roles": [roles[0] | {"replicas": 2}, *roles[1:]]}})
    delete(fusioninfer.api, path("podgroups", namespace, NAME))
    time.sleep(SECONDS)

    assert wrote(fusioninfer, namespace) == written
    assert (sets(fusioninfer, namespace), uids(fusioninfer, namespace)) == (before, pods)

    pause(fusioninfer, where, "false")

    until(lambda: pod_group(fusioninfer, namespace, NAME), "the PodGroup is there again")
    until(lambda: 2 in sets(fusioninfer, namespace).values(), "the change is carried out")
    assert pods.items() <= uids(fusioninfer, namespace).items()


def asked(cluster: Cluster, namespace: str) -> int:
    """Return how many pods the LeaderWorkerSets ask for."""
    specs = [each["spec"] for each in items(cluster.api, path("leaderworkersets", namespace))]
    return sum(spec["replicas"] * spec["leaderWorkerTemplate"]["size"] for spec in specs)


def sets(cluster: Cluster, namespace: str) -> dict[str, int]:
    """Return the replicas of each LeaderWorkerSet."""
    return {
        each["metadata"]["name"]: each["spec"]["replicas"]
        for each in items(cluster.api, path("leaderworkersets", namespace))
    }
