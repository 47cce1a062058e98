"""A controller that is killed while its gang changes converges to what the command prints.

Files are applied with kubectl as their author wrote them.
"""

from typing import Final

from tests.cluster.testbed.api import patch, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import (
    DECODE,
    MONOLITHIC,
    PREFILL,
    SERVICE,
    apply,
    becomes,
    controller_down,
    offline,
    pod_group,
    required,
)
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named, read

PREFILLER: Final = f"{SERVICE}-prefill"
DECODER: Final = f"{SERVICE}-decode"
JOINED: Final = f"{SERVICE}-decode-more"
BOTH: Final = {PREFILLER: (1, 2), DECODER: (1, 4)}
EDIT: Final = {
    "minMember": 1,
    "minTaskMember": {"decode": 8},
    "minResources": {"nvidia.com/gpu": "80"},
    "subGroupPolicy": [],
}


def test_a_controller_killed_before_the_pod_group_converges_to_the_command(
    fusioninfer: Cluster, namespace: str
) -> None:
    apply(fusioninfer, namespace, PREFILL, MONOLITHIC)

    with controller_down(fusioninfer):
        apply(fusioninfer, namespace, DECODE)

    now = offline(namespace, PREFILL, DECODE)
    assert now == becomes(lambda: pod_group(fusioninfer, namespace), now)


def test_a_controller_killed_while_a_role_is_deleted_converges_to_the_command(
    fusioninfer: Cluster, namespace: str
) -> None:
    served(fusioninfer, namespace)
    apply(fusioninfer, namespace, named(read(DECODE), JOINED, role_name="decode-more"))
    until(lambda: JOINED in required(fusioninfer, namespace)[1], "the joined role has a policy")

    kubectl(fusioninfer, "delete", "-n", namespace, f"leaderworkersets/{JOINED}", "--wait=false")
    with controller_down(fusioninfer):
        pass

    now = offline(namespace, PREFILL, DECODE)
    assert now == becomes(lambda: pod_group(fusioninfer, namespace), now)


def test_a_controller_killed_while_its_pod_group_is_edited_converges_to_the_command(
    fusioninfer: Cluster, namespace: str
) -> None:
    served(fusioninfer, namespace)

    with controller_down(fusioninfer):
        patch(fusioninfer.api, path("podgroups", namespace, SERVICE), {"spec": EDIT})

    now = offline(namespace, PREFILL, DECODE)
    assert now == becomes(lambda: pod_group(fusioninfer, namespace), now)


def served(cluster: Cluster, namespace: str) -> None:
    """Apply prefill and decode; wait for their PodGroup."""
    apply(cluster, namespace, PREFILL, DECODE)
    until(lambda: required(cluster, namespace) == (6, BOTH), "the PodGroup of prefill and decode")
