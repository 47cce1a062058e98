"""A role that is resized while its new size does not fit: the replica of the previous size serves on."""

from typing import Final

from intent import Object
from tests.builders.isvc import isvc, worker
from tests.builders.lws import container, template
from tests.cluster.conftest import AddNodes
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, becomes
from tests.cluster.testbed.groups import bound
from tests.cluster.testbed.services import conditions, says, status
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
SET: Final = f"{NAME}-inference"
SERVES: Final = {"Ready": ("True", "ServiceReady"), "Scheduled": ("True", "AllScheduled")}
STILL_SERVES: Final = {"Ready": ("True", "ServiceReady"), "Scheduled": ("True", "PartlyScheduled")}


def test_a_replica_of_the_previous_size_keeps_the_service_ready(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes
) -> None:
    add_nodes(4)
    apply(fusioninfer, namespace, service(nodes=2))
    says(fusioninfer, namespace, NAME, SERVES)

    apply(fusioninfer, namespace, service(nodes=5))
    until(lambda: bound(fusioninfer, namespace).get(f"{SET}-1") == (0, 5), "the new group waits")
    says(fusioninfer, namespace, NAME, STILL_SERVES)

    assert bound(fusioninfer, namespace) == {f"{SET}-0": (2, 2), f"{SET}-1": (0, 5)}
    waits = "role inference has 1 of 2 replicas on nodes, waits for 40 more nvidia.com/gpu (5 pods)"
    message = becomes(lambda: conditions(status(fusioninfer, namespace, NAME))["Scheduled"]["message"], waits)
    assert message == waits


def service(nodes: int) -> Object:
    """Return a service of two replicas of this many nodes."""
    args = ["org/M", "--tensor-parallel-size", "8", "--pipeline-parallel-size", str(nodes)]
    role = worker(replicas=2, multinode={"nodeCount": nodes}, template=template(container(args=args)))
    return isvc(role, name=NAME)
