"""Whatever happens on the connection to the API server, the controller is up to date afterwards."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.control_plane import log_of, restart_component
from tests.cluster.testbed.controllers import (
    DECODE,
    MONOLITHIC,
    PREFILL,
    SERVICE,
    apply,
    becomes,
    kubeconfig_through,
    metric,
    other_controllers,
    required,
)
from tests.cluster.testbed.etcd import compact
from tests.cluster.testbed.processes import alive
from tests.cluster.testbed.relay import Relay, cut, mend, relay
from tests.cluster.testbed.wait import until

PATIENT = {"--lease-duration": 60, "--renew-deadline": 45, "--retry-period": 4}
"""It does not give up while the API server is away."""
NAME = "sync-relayed"
SECONDS = 150.0
"""More than its longest waits one after another, and what a busy machine adds."""


@dataclass(frozen=True, slots=True)
class Relayed:
    """The controller behind a relay, and its port of metrics."""

    line: Relay
    port: int


@pytest.fixture(scope="module")
def relayed(fusioninfer: Cluster) -> Iterator[Relayed]:
    with relay(fusioninfer.ports["kube-apiserver"]) as line:
        flags = {**PATIENT, "--kubeconfig": kubeconfig_through(fusioninfer, line)}
        with other_controllers(fusioninfer, {NAME: flags}) as ports:
            until(lambda: metric(ports[NAME], "fusioninfer_sync_is_leader"), "it leads")
            yield Relayed(line, ports[NAME])


def test_objects_are_listed_again_after_the_api_server_lost_its_history(
    fusioninfer: Cluster, namespace: str, relayed: Relayed
) -> None:
    apply(fusioninfer, namespace, PREFILL, DECODE, MONOLITHIC)
    until(lambda: known(relayed) == {"LeaderWorkerSet": 3, "PodGroup": 2}, "the controller knows all")

    before = listed_again(fusioninfer)

    cut(relayed.line)
    kubectl(fusioninfer, "delete", "-n", namespace, "leaderworkersets", f"{SERVICE}-decode")
    compact(fusioninfer)
    restart_component(fusioninfer, "kube-apiserver")
    mend(relayed.line)

    left = (2, {f"{SERVICE}-prefill": (1, 2)})
    assert left == becomes(lambda: required(fusioninfer, namespace), left, SECONDS), said(fusioninfer)
    until(lambda: known(relayed) == there(fusioninfer), "the controller knows what there is")
    assert (listed_again(fusioninfer) > before, alive(fusioninfer.processes[NAME])) == (True, True)


def known(controller: Relayed) -> dict[str, float]:
    """Return how many objects of each kind the controller knows."""
    kinds = ("LeaderWorkerSet", "PodGroup")
    return {kind: metric(controller.port, "fusioninfer_sync_objects", kind=kind) for kind in kinds}


def there(cluster: Cluster) -> dict[str, float]:
    """Return how many the API server has."""
    kinds = {"LeaderWorkerSet": "leaderworkersets", "PodGroup": "podgroups"}
    return {kind: len(items(cluster.api, path(resource))) for kind, resource in kinds.items()}


def listed_again(cluster: Cluster) -> int:
    """Return how often the controller was told that a version is gone (410), by its log."""
    return log_of(cluster, NAME).read_text().count("listing again")


def said(cluster: Cluster) -> str:
    """Return the end of the controller's log, for the message of a failure."""
    return log_of(cluster, NAME).read_text(encoding="utf-8")[-6000:]
