"""Applied again after `kubectl delete --cascade=orphan`, an InferenceService takes back what it left."""

from typing import Final

from tests.builders.isvc import isvc, router, worker
from tests.cluster.testbed.answers import TAKES, answer
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.nodes import add_gpu_nodes, place_picker
from tests.cluster.testbed.rollouts import generation
from tests.cluster.testbed.services import MADE, is_ours, says, told, uids
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
SET: Final = f"{NAME}-inference"
GATEWAY: Final = {
    "gatewayClassName": "any",
    "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
}
SERVICE: Final = isvc(router(gateway=GATEWAY), worker(replicas=2), name=NAME)
COMPLETE: Final = {"Ready": ("True", "ServiceReady"), "Active": ("True", "InferenceServiceAvailable")}


def test_no_object_and_no_pod_is_another_one_and_it_owns_all_again(
    served: Cluster, routed_namespace: str
) -> None:
    namespace = routed_namespace
    complete(served, namespace)
    before, first = uids(served, namespace), generation(served, namespace, SET)

    kubectl(served, "delete", "-n", namespace, f"inferenceservice/{NAME}", "--cascade=orphan")
    until(lambda: not owners(served, namespace, "leaderworkersets"), "it owns nothing any more")
    apply(served, namespace, SERVICE)
    uid = get(served.api, path("inferenceservices", namespace, NAME))["metadata"]["uid"]
    until(lambda: {each for _, each in everybody(served, namespace)} == {uid}, "it owns all again")
    says(served, namespace, NAME, COMPLETE)

    assert uids(served, namespace) == before
    assert generation(served, namespace, SET) == first
    assert everybody(served, namespace) == {("InferenceService", uid)}
    assert [each for each in told(served, namespace, NAME) if "FI871" in each["message"]] == []


def complete(cluster: Cluster, namespace: str) -> None:
    """Apply it, give it nodes and a gateway that takes its route, and wait until it is complete."""
    apply(cluster, namespace, SERVICE)
    wait_pods(cluster, namespace, 4 + 1)
    node, *_ = add_gpu_nodes(cluster, 4)
    place_picker(cluster, namespace, node)
    until(lambda: items(cluster.api, path("httproutes", namespace)), "its route is made")
    answer(cluster, namespace, NAME, TAKES, f"{NAME}-gateway")
    says(cluster, namespace, NAME, COMPLETE)


def owners(cluster: Cluster, namespace: str, resource: str) -> set[tuple[str, str]]:
    """Return who owns what the controller made of a resource: kind and uid."""
    made = (obj for obj in items(cluster.api, path(resource, namespace)) if is_ours(obj))
    references = (obj["metadata"].get("ownerReferences", [{"kind": "", "uid": ""}]) for obj in made)
    return {(each["kind"], each["uid"]) for one in references for each in one if each["kind"]}


def everybody(cluster: Cluster, namespace: str) -> set[tuple[str, str]]:
    """Return the owners of every created object but the PodGroup, which the LeaderWorkerSets own."""
    return {
        owner
        for resource in MADE
        if resource != "podgroups"
        for owner in owners(cluster, namespace, resource)
    }
