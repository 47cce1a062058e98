"""The capacity tables of the documents through the whole product, and the gate in front of them.

Files are applied with kubectl as their author wrote them: LeaderWorkerSets, and the InferenceService of
story 4. The webhook expands them, the controller makes the PodGroup, the real scheduler binds.
"""

import json
from dataclasses import replace
from io import StringIO
from typing import Final

import pytest
import yaml
from rich.console import Console

from intent import Object
from intent.annotations import ROLE_NAME
from tests.cluster import demo
from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, Table, expected
from tests.cluster.conftest import AddNodes
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import apply, controller_down, pod_group
from tests.cluster.testbed.groups import settled, wait_pods
from tests.cluster.testbed.services import story
from tests.cluster.testbed.wait import until

GPUS_OF_A_NODE: Final = 8
PREFILL, DECODE = DISAGGREGATED.files
SECOND_DECODER: Final = "deepseek-r1-disagg-decode-more"
WHOLE: Final = expected(DISAGGREGATED, 80)
TABLES: Final = {"monolithic": MONOLITHIC, "story 4": replace(DISAGGREGATED, files=(story("story-4"),))}
"""One of LeaderWorkerSets, and one of an InferenceService; the demo has the second as LeaderWorkerSets."""


@pytest.mark.parametrize(("name", "gpus"), [(name, gpus) for name in TABLES for gpus in TABLES[name].tried])
def test_groups_start_together_and_whole_as_in_the_table(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes, name: str, gpus: int
) -> None:
    applied(fusioninfer, namespace, TABLES[name])

    add_nodes(gpus // GPUS_OF_A_NODE)

    assert settled(fusioninfer, namespace) == expected(TABLES[name], gpus)


@pytest.mark.usefixtures("add_nodes")
def test_the_demo_shows_every_row_of_the_second_table(fusioninfer: Cluster, namespace: str) -> None:
    stream = StringIO()

    code = demo.run(fusioninfer, namespace, Console(file=stream))

    shown = stream.getvalue()
    assert set(demo.STEPS) == set(DISAGGREGATED.rows)
    assert (code, shown.count(": right;")) == (0, len(demo.STEPS)), shown
    assert f"$ kubectl get podgroup -n {namespace}\nNAME " in shown


def test_prefill_alone_waits_with_an_event_until_decode_comes(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes
) -> None:
    add_nodes(80 // GPUS_OF_A_NODE)
    apply(fusioninfer, namespace, PREFILL)
    wait_pods(fusioninfer, namespace, 2)

    alone = settled(fusioninfer, namespace, periods=10)
    said = until(lambda: waiting(fusioninfer, namespace), "an Event says what it waits for")
    applied(fusioninfer, namespace, DISAGGREGATED)

    message = (
        "service deepseek-r1-disagg waits for a decoder: "
        "apply a LeaderWorkerSet with fusioninfer.io/component-type: decoder"
    )
    assert (alone, said) == (
        {"deepseek-r1-disagg-prefill-0": (0, 2)},
        [("deepseek-r1-disagg-prefill", message)],
    )
    assert settled(fusioninfer, namespace) == WHOLE


def test_a_decoder_that_joins_while_the_controller_is_down_is_bound_whole_afterwards(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes
) -> None:
    applied(fusioninfer, namespace, DISAGGREGATED)
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


def applied(cluster: Cluster, namespace: str, table: Table) -> None:
    """Apply the files of a table; wait for their pods, and for the PodGroup that the controller makes."""
    apply(cluster, namespace, *table.files)
    wait_pods(cluster, namespace, table.pods)
    until(lambda: pod_group(cluster, namespace, table.service), "the controller makes a PodGroup")


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
    found = get(cluster.api, path("podgroups", namespace, DISAGGREGATED.service))
    return [policy["name"] for policy in found["spec"]["subGroupPolicy"]]
