"""A paused service: whatever is deleted or changed, the controller writes nothing for it until it is resumed.

The API server's own log says what the controller wrote.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from intent.annotations import PAUSED
from tests.builders.isvc import decoder, isvc, prefiller
from tests.cluster.testbed.api import delete, get, items, patch, path
from tests.cluster.testbed.audit import come_to_rest, stored
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import (
    DECODE,
    PREFILL,
    SERVICE,
    apply,
    becomes,
    controller_down,
    metric,
    pod_group,
    pod_group_and_owners,
)
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.ours import start_sync
from tests.cluster.testbed.ports import free_ports
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


def test_a_paused_member_keeps_its_pod_group_from_being_made_again(
    fusioninfer: Cluster, namespace: str
) -> None:
    apply(fusioninfer, namespace, PREFILL, DECODE)
    before = until(lambda: pod_group_and_owners(fusioninfer, namespace), "the PodGroup")
    wait_pods(fusioninfer, namespace, asked(fusioninfer, namespace))
    where, pods = path("leaderworkersets", namespace, f"{SERVICE}-decode"), uids(fusioninfer, namespace)

    pause(fusioninfer, where, "true")
    until(lambda: paused(fusioninfer) == 1, "the controller knows it")
    come_to_rest(fusioninfer, namespace)
    written = wrote(fusioninfer, namespace)
    delete(fusioninfer.api, path("podgroups", namespace, SERVICE))
    time.sleep(SECONDS)

    assert (pod_group(fusioninfer, namespace), wrote(fusioninfer, namespace)) == (None, written)
    assert uids(fusioninfer, namespace) == pods

    pause(fusioninfer, where, None)

    resumed = becomes(lambda: pod_group_and_owners(fusioninfer, namespace), before)
    assert (resumed, uids(fusioninfer, namespace)) == (before, pods)
    until(lambda: paused(fusioninfer) == 0, "the controller knows it")


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


def test_a_process_that_only_observes_writes_nothing_beside_one_that_works(
    fusioninfer: Cluster, namespace: str
) -> None:
    leases = items(fusioninfer.api, path("leases", "fusioninfer-system"))
    with observer(fusioninfer) as port:
        apply(fusioninfer, namespace, PREFILL, DECODE)
        until(lambda: pod_group(fusioninfer, namespace), "the PodGroup")
        leads = metric(port, "fusioninfer_sync_is_leader")
        writes = metric(port, "fusioninfer_sync_writes_total")

    assert (leads, writes) == (0, 0)
    assert len(items(fusioninfer.api, path("leases", "fusioninfer-system"))) == len(leases)


def test_where_all_only_observe_nothing_is_made(fusioninfer: Cluster, namespace: str) -> None:
    with controller_down(fusioninfer), observer(fusioninfer) as port:
        written = wrote(fusioninfer, namespace)
        apply(fusioninfer, namespace, PREFILL, DECODE)
        would = until(
            lambda: metric(port, "fusioninfer_sync_paused_writes_total", kind="PodGroup"),
            "it reports what it would write",
        )
        time.sleep(SECONDS)
        assert (pod_group(fusioninfer, namespace), wrote(fusioninfer, namespace)) == (None, written)
        assert would == metric(port, "fusioninfer_sync_paused_writes_total", kind="PodGroup")
    until(lambda: pod_group(fusioninfer, namespace), "the PodGroup")


@contextmanager
def observer(cluster: Cluster) -> Iterator[int]:
    """Run a further process that only observes; yields its port of metrics."""
    name = "sync-observer"
    port = free_ports([name])[name]
    file = cluster.directory / "observe.yaml"
    file.write_text("observeOnly: true\n")
    start_sync(cluster, name, {"--metrics-port": port, "--config": file})
    try:
        yield port
    finally:
        kill_process(cluster, name)


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
