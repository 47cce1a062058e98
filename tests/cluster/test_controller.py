"""The PodGroup follows the LeaderWorkerSets, also through changes while the controller is down.

Files are applied with kubectl as their author wrote them.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.cluster.conftest import AddNodes
from tests.cluster.testbed.api import items, patch, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import (
    DECODE,
    MONOLITHIC,
    PREFILL,
    SERVICE,
    Meanwhile,
    apply,
    becomes,
    controller_down,
    controller_up,
    offline,
    pod_group,
    required,
)
from tests.cluster.testbed.groups import settled, wait_pods
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named, read

PREFILLER: Final = f"{SERVICE}-prefill"
DECODER: Final = f"{SERVICE}-decode"
JOINED: Final = f"{SERVICE}-decode-more"
BOTH: Final = {PREFILLER: (1, 2), DECODER: (1, 4)}
CONTROLLER: Final = pytest.mark.parametrize(
    "meanwhile", [controller_up, controller_down], ids=["controller-up", "controller-down"]
)
EDIT: Final = {
    "minMember": 1,
    "minTaskMember": {"decode": 8},
    "minResources": {"nvidia.com/gpu": "80"},
    "subGroupPolicy": [],
}


def test_further_groups_are_bound_whole_after_a_scale(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes
) -> None:
    add_nodes(10 + 2)
    served(fusioninfer, namespace)
    wait_pods(fusioninfer, namespace, 10)
    settled(fusioninfer, namespace)

    kubectl(fusioninfer, "scale", "-n", namespace, f"leaderworkersets/{DECODER}", "--replicas=3")
    wait_pods(fusioninfer, namespace, 14)
    with_half = settled(fusioninfer, namespace, periods=5)
    add_nodes(2)
    with_all = settled(fusioninfer, namespace)

    assert (with_half[f"{DECODER}-2"], with_all[f"{DECODER}-2"]) == ((0, 4), (4, 4))


@CONTROLLER
def test_a_deleted_member_loses_its_policy(
    fusioninfer: Cluster, namespace: str, meanwhile: Meanwhile
) -> None:
    served(fusioninfer, namespace)

    with meanwhile(fusioninfer):
        remove(fusioninfer, namespace, DECODER)

    left = (2, {PREFILLER: (1, 2)})
    assert left == becomes(lambda: required(fusioninfer, namespace), left)


@CONTROLLER
def test_the_last_deleted_member_deletes_the_pod_group(
    fusioninfer: Cluster, namespace: str, meanwhile: Meanwhile
) -> None:
    served(fusioninfer, namespace)

    with meanwhile(fusioninfer):
        remove(fusioninfer, namespace, DECODER, PREFILLER)

    assert becomes(lambda: items(fusioninfer.api, path("podgroups", namespace)), []) == []


@CONTROLLER
def test_a_resize_is_followed(
    fusioninfer: Cluster, namespace: str, tmp_path: Path, meanwhile: Meanwhile
) -> None:
    served(fusioninfer, namespace)
    changed = tmp_path / "prefill.yaml"
    changed.write_text(PREFILL.read_text().replace("size: 2", "size: 4"))

    with meanwhile(fusioninfer):
        apply(fusioninfer, namespace, changed)

    now = offline(namespace, changed, DECODE)
    assert (8, now) == (now["spec"]["minMember"], becomes(lambda: pod_group(fusioninfer, namespace), now))


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


def remove(cluster: Cluster, namespace: str, *names: str) -> None:
    """Delete LeaderWorkerSets, and wait until they are gone."""
    kubectl(cluster, "delete", "-n", namespace, "leaderworkersets", *names)
