"""Objects of other owners are never changed, even under a name that the controller would use."""

from typing import Final

from tests.builders.isvc import isvc, worker
from tests.cluster.testbed.api import get, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.rollouts import rollout, started
from tests.cluster.testbed.services import conditions, says, told
from tests.cluster.testbed.wait import until

REFUSED: Final = ("True", "InferenceServiceFailed")


def test_of_two_services_that_want_one_set_the_first_keeps_it(served: Cluster, routed_namespace: str) -> None:
    apply(served, routed_namespace, isvc(worker(name="b-c"), name="a"))
    before = started(served, routed_namespace, "a-b-c")
    owner = get(served.api, path("leaderworkersets", routed_namespace, "a-b-c"))["metadata"]

    apply(served, routed_namespace, isvc(worker(name="c"), name="a-b"))
    status = says(served, routed_namespace, "a-b", {"Failed": REFUSED})
    until(lambda: told(served, routed_namespace, "a-b"), "an Event says so")

    after = get(served.api, path("leaderworkersets", routed_namespace, "a-b-c"))["metadata"]
    assert "(FI871)" in conditions(status)["Failed"]["message"]
    assert told(served, routed_namespace, "a") == []
    assert (owner["ownerReferences"], before) == (
        after["ownerReferences"],
        rollout(served, routed_namespace, "a-b-c"),
    )
