"""A service with routes is ready when its picker runs and its gateway has said yes, and no longer than that.

The gateway's controller is this test: it writes what such a one writes into the status of the objects.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.builders.isvc import isvc, router, worker
from tests.cluster.testbed.answers import LISTENER, REFUSES, TAKES, answer, give_address
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import apply, pod_group
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes, place_picker
from tests.cluster.testbed.services import conditions, says
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
GATEWAY: Final = {"gatewayClassName": "any", "listeners": [LISTENER]}
OWN_GATEWAY: Final = f"{NAME}-gateway"
ACTIVE: Final = ("True", "InferenceServiceAvailable")
READY: Final = ("True", "ServiceReady")


@pytest.fixture
def running(served: Cluster) -> Iterator[str]:
    """A service whose pods run, its endpoint picker too; its route has no status."""
    with new_namespace(served) as namespace:
        apply(served, namespace, isvc(router(gateway=GATEWAY), worker(), name=NAME))
        wait_pods(served, namespace, 2 + 1)
        until(lambda: pod_group(served, namespace, NAME), "the PodGroup")
        node, *_ = add_gpu_nodes(served, 2)
        place_picker(served, namespace, node)
        yield namespace


def test_with_its_answer_it_is_ready_and_has_a_url(served: Cluster, running: str) -> None:
    """Before the answer that is unknown, and when the gateway changes its mind so does the status."""
    expected = {"RoutesReady": ("Unknown", "WaitingForGateway"), "Active": ACTIVE}
    before = says(served, running, NAME, expected)
    assert conditions(before)["Ready"]["status"] == "Unknown"

    give_address(served, running, OWN_GATEWAY, "10.1.2.3")
    answer(served, running, NAME, TAKES, OWN_GATEWAY)
    taken = says(served, running, NAME, {"RoutesReady": ("True", "RoutesAccepted"), "Ready": READY})

    assert taken["url"] == "http://10.1.2.3"
    assert {one["url"] for one in taken["addresses"]} >= {"http://10.1.2.3"}
    shown = kubectl(served, "get", "isvc", "--namespace", running, "--no-headers").split()
    assert shown[:5] == [NAME, "True", "1/1", "ServiceReady", "http://10.1.2.3"]

    answer(served, running, NAME, REFUSES, OWN_GATEWAY)
    refused = says(served, running, NAME, {"Ready": ("False", "RoutesNotReady")})

    assert "NotAllowedByListeners" in conditions(refused)["RoutesReady"]["message"]
    assert "url" not in refused
