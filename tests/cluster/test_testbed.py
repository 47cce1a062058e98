"""The testbed itself: what was expanded by hand is scheduled as the documents' capacity tables say.

Rows are those of the core design's "Gang Scheduling Behavior": pods bound, of pods there are, by group.
"""

from contextlib import nullcontext
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.conftest import AddNodes
from tests.cluster.testbed.api import ApiError, create, get, path
from tests.cluster.testbed.cluster import IDENTITIES, Cluster, api_as, kubectl
from tests.cluster.testbed.components import RUNNING, STORE
from tests.cluster.testbed.control_plane import restart_component
from tests.cluster.testbed.controllers import controller_down
from tests.cluster.testbed.groups import settled, wait_pods

EXPANDED: Final = Path(__file__).parent / "expanded"
GPUS: Final = 8


@pytest.mark.parametrize(
    ("gpus", "pods"),
    [(80, (2, 4, 4)), (64, (2, 4, 0)), (48, (2, 4, 0)), (32, (0, 0, 0)), (16, (0, 0, 0)), (0, (0, 0, 0))],
)
def test_prefill_and_decode_start_together_and_further_replicas_whole(
    cluster: Cluster, namespace: str, add_nodes: AddNodes, gpus: int, pods: tuple[int, int, int]
) -> None:
    kubectl(cluster, "create", "-n", namespace, "-f", str(EXPANDED / "disaggregated.yaml"))
    wait_pods(cluster, namespace, 10)

    add_nodes(gpus // GPUS)
    outcome = settled(cluster, namespace)

    assert outcome == {"prefill-0": (pods[0], 2), "decode-0": (pods[1], 4), "decode-1": (pods[2], 4)}


@pytest.mark.parametrize(("gpus", "pods"), [(64, (4, 4)), (48, (4, 0)), (24, (0, 0))])
def test_replicas_of_a_worker_start_whole_one_after_the_other(
    cluster: Cluster, namespace: str, add_nodes: AddNodes, gpus: int, pods: tuple[int, int]
) -> None:
    kubectl(cluster, "create", "-n", namespace, "-f", str(EXPANDED / "monolithic.yaml"))
    wait_pods(cluster, namespace, 8)

    add_nodes(gpus // GPUS)
    outcome = settled(cluster, namespace)

    assert outcome == {"replica-0": (pods[0], 4), "replica-1": (pods[1], 4)}


def test_the_controller_is_its_service_account(cluster: Cluster) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}

    answer = create(api_as(cluster, "sync"), "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)

    user = answer["status"]["userInfo"]
    assert (user["username"], set(user["groups"])) == (
        IDENTITIES["sync"].user,
        set(IDENTITIES["sync"].groups),
    )


def test_the_controller_has_only_granted_rights(cluster: Cluster) -> None:
    with pytest.raises(ApiError, match="cannot list resource") as refused:
        get(api_as(cluster, "sync"), path("nodes"))

    assert refused.value.status == 403


@pytest.mark.parametrize("name", RUNNING)
def test_a_killed_component_restarts_with_its_state(cluster: Cluster, namespace: str, name: str) -> None:
    before = cluster.processes[name].pid

    # our controller, if other tests have started it, would end while it cannot renew its Lease
    with controller_down(cluster) if name in STORE and "sync" in cluster.processes else nullcontext():
        restart_component(cluster, name)

    assert cluster.processes[name].pid != before
    assert get(cluster.api, path("namespaces", "", namespace))["metadata"]["name"] == namespace
