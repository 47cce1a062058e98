"""The capacity tables of the documents, from the InferenceServices of stories 3 and 4."""

from dataclasses import replace
from typing import Final

import pytest

from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, Table, expected
from tests.cluster.conftest import AddNodes
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, pod_group
from tests.cluster.testbed.groups import Bound, settled, wait_pods
from tests.cluster.testbed.services import story
from tests.cluster.testbed.wait import until

GPUS_OF_A_NODE: Final = 8
ROLE: Final = "deepseek-r1-inference-inference"
STORY_3: Final = replace(
    MONOLITHIC, files=(story("story-3"),), groups={f"{ROLE}-{index}": 4 for index in range(2)}
)
STORY_4: Final = replace(DISAGGREGATED, files=(story("story-4"),))


@pytest.mark.parametrize("gpus", STORY_4.tried)
def test_prefill_and_decode_start_together_and_further_replicas_whole(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes, gpus: int
) -> None:
    outcome = with_gpus(fusioninfer, namespace, add_nodes, STORY_4, gpus)

    assert outcome == expected(STORY_4, gpus)


@pytest.mark.parametrize("gpus", STORY_3.tried)
def test_replicas_of_a_worker_start_whole_one_after_the_other(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes, gpus: int
) -> None:
    outcome = with_gpus(fusioninfer, namespace, add_nodes, STORY_3, gpus)

    assert outcome == expected(STORY_3, gpus)


def with_gpus(cluster: Cluster, namespace: str, add_nodes: AddNodes, table: Table, gpus: int) -> Bound:
    """Apply the file of a table; once its pods and its PodGroup are there, add nodes, and wait."""
    apply(cluster, namespace, *table.files)
    wait_pods(cluster, namespace, table.pods)
    until(lambda: pod_group(cluster, namespace, table.service), "the controller makes a PodGroup")
    add_nodes(gpus // GPUS_OF_A_NODE)
    return settled(cluster, namespace)
