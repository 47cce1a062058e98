"""Objects of other owners are never changed, even under a name that the controller would use."""

from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, router, worker
from tests.cluster.testbed.api import create, get, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.rollouts import rollout, started
from tests.cluster.testbed.services import conditions, says, told
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
REFUSED: Final = ("True", "InferenceServiceFailed")
FOREIGN_SERVICE: Final[Object] = {
    "metadata": {"name": f"{NAME}-epp", "labels": {"fusioninfer.io/service": NAME}},
    "spec": {"ports": [{"port": 80}]},
}
FOREIGN_LWS: Final = {**TRIAL_LWS, "metadata": {"name": f"{NAME}-inference"}}


@pytest.mark.parametrize(
    ("resource", "foreign", "kind"),
    [("services", FOREIGN_SERVICE, "Service"), ("leaderworkersets", FOREIGN_LWS, "LeaderWorkerSet")],
    ids=["service", "lws"],
)
def test_an_object_of_another_owner_is_left_alone(
    served: Cluster, routed_namespace: str, resource: str, foreign: Object, kind: str
) -> None:
    theirs = create(served.api, path(resource, routed_namespace), foreign)["metadata"]

    apply(served, routed_namespace, isvc(router(), worker(), name=NAME))
    says(served, routed_namespace, NAME, {"Failed": REFUSED})
    event = until(lambda: told(served, routed_namespace, NAME), "an Event says so")[0]

    now = get(served.api, path(resource, routed_namespace, theirs["name"]))["metadata"]
    assert f"{kind} {theirs['name']} was not made for this service; it is left alone" in event["message"]
    assert theirs["uid"] == now["uid"]
    assert "fusioninfer" not in [each["manager"] for each in now["managedFields"]]


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
