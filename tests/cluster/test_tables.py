"""The capacity tables of the documents through the whole product, and the gate in front of them.

Files are applied with kubectl as their author wrote them; the webhook expands them, the controller makes the
PodGroup, the real scheduler binds.
"""

import json
from typing import Final

import pytest
import yaml

from intent import Object
from intent.annotations import ROLE_NAME
from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, Table, expected
from tests.cluster.conftest import AddNodes
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import controller_down
from tests.cluster.testbed.groups import settled, wait_pods
from tests.cluster.testbed.wait import until

GPUS_OF_A_NODE: Final = 8
PREFILL, DECODE = DISAGGREGATED.files
SECOND_DECODER: Final = "deepseek-r1-disagg-decode-more"
WHOLE: Final = expected(DISAGGREGATED, 80)


@pytest.mark.parametrize("gpus", DISAGGREGATED.tried)
def test_prefill_and_decode_start_together_and_further_replicas_whole(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes, gpus: int
) -> None:
    apply(fusioninfer, namespace, DISAGGREGATED)

    add_nodes(gpus // GPUS_OF_A_NODE)
    outcome = settled(fusioninfer, namespace)

    assert outcome == expected(DISAGGREGATED, gpus)


@pytest.mark.parametrize("gpus", MONOLITHIC.tried)
def test_replicas_of_a_worker_start_whole_one_after_the_other(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes, gpus: int
) -> None:
    apply(fusioninfer, namespace, MONOLITHIC)

    add_nodes(gpus // GPUS_OF_A_NODE)
    outcome = settled(fusioninfer, namespace)

    assert outcome == expected(MONOLITHIC, gpus)


def test_prefill_alone_is_not_bound_on_an_empty_cluster(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes
) -> None:
    add_nodes(80 // GPUS_OF_A_NODE)
    kubectl(fusioninfer, "apply", "-n", namespace, "-f", str(PREFILL))
    wait_pods(fusioninfer, namespace, 2)

    outcome = settled(fusioninfer, namespace, periods=10)

    assert outcome == {"deepseek-r1-disagg-prefill-0": (0, 2)}


def test_prefill_alone_gets_an_event_about_the_missing_role(fusioninfer: Cluster, namespace: str) -> None:
    kubectl(fusioninfer, "apply", "-n", namespace, "-f", str(PREFILL))

    said = until(lambda: waiting(fusioninfer, namespace), "an Event says what it waits for")

    message = (
        "service deepseek-r1-disagg waits for a decoder: "
        "apply a LeaderWorkerSet with fusioninfer.io/component-type: decoder"
    )
    assert said == [("deepseek-r1-disagg-prefill", message)]


def test_when_decode_comes_everything_is_bound(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes
) -> None:
    add_nodes(80 // GPUS_OF_A_NODE)
    kubectl(fusioninfer, "apply", "-n", namespace, "-f", str(PREFILL))
    until(lambda: waiting(fusioninfer, namespace), "the gate is shut")

    apply(fusioninfer, namespace, DISAGGREGATED)
    outcome = settled(fusioninfer, namespace)

    assert outcome == WHOLE


def test_a_decoder_that_joins_while_the_controller_is_down_is_bound_whole_afterwards(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes
) -> None:
    apply(fusioninfer, namespace, DISAGGREGATED)
    add_nodes((80 + 32) // GPUS_OF_A_NODE)
    settled(fusioninfer, namespace)

    with controller_down(fusioninfer):
        kubectl(fusioninfer, "apply", "-n", namespace, "-f", "-", stdin=json.dumps(second_decoder()))
        wait_pods(fusioninfer, namespace, DISAGGREGATED.pods + 4)
        meanwhile = settled(fusioninfer, namespace, periods=10)
    until(lambda: SECOND_DECODER in policies(fusioninfer, namespace), "the controller has placed it")
    afterwards = settled(fusioninfer, namespace)

    joined = f"{SECOND_DECODER}-0"
    assert (meanwhile, afterwards) == ({**WHOLE, joined: (0, 4)}, {**WHOLE, joined: (4, 4)})


def apply(cluster: Cluster, namespace: str, table: Table) -> None:
    """Apply the files of a table; wait for their pods, and for the PodGroup that the controller makes."""
    for file in table.files:
        kubectl(cluster, "apply", "-n", namespace, "-f", str(file))
    wait_pods(cluster, namespace, table.pods)
    until(lambda: items(cluster.api, path("podgroups", namespace)), "the controller makes a PodGroup")


def waiting(cluster: Cluster, namespace: str) -> list[tuple[str, str]]:
    """Return which LeaderWorkerSets are told that they wait, and for what."""
    events = items(cluster.api, path("events", namespace), fieldSelector="reason=WaitingForRole")
    return [(event["involvedObject"]["name"], event["message"].partition(" (")[0]) for event in events]


def second_decoder() -> Object:
    """Return the decode file as another LeaderWorkerSet of the same service, with one group."""
    lws: Object = yaml.safe_load(DECODE.read_text())
    lws["metadata"]["name"] = SECOND_DECODER
    lws["metadata"]["annotations"][ROLE_NAME] = "decode-more"
    lws["spec"]["replicas"] = 1
    return lws


def policies(cluster: Cluster, namespace: str) -> list[str]:
    """Return the names of the policies of the service's PodGroup."""
    pod_group = get(cluster.api, path("podgroups", namespace, DISAGGREGATED.service))
    return [policy["name"] for policy in pod_group["spec"]["subGroupPolicy"]]
