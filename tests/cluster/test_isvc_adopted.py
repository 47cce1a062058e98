"""Applied again after `kubectl delete --cascade=orphan`, an InferenceService takes back what it left."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, router, worker
from tests.cluster.testbed.answers import TAKES, answer
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.namespaces import new_namespace
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


@dataclass(frozen=True, slots=True)
class Returned:
    """A service that was orphaned and applied again: uids before and after, its set, and what was said."""

    before: dict[str, str]
    after: dict[str, str]
    generations: tuple[int, int]
    owners: set[tuple[str, str]]
    uid: str
    events: list[Object]


@pytest.fixture(scope="module")
def returned(served: Cluster) -> Iterator[Returned]:
    with new_namespace(served) as namespace:
        complete(served, namespace)
        before, first = uids(served, namespace), generation(served, namespace, SET)

        kubectl(served, "delete", "-n", namespace, f"inferenceservice/{NAME}", "--cascade=orphan")
        until(lambda: not owners(served, namespace, "leaderworkersets"), "it owns nothing any more")
        apply(served, namespace, SERVICE)
        uid = get(served.api, path("inferenceservices", namespace, NAME))["metadata"]["uid"]
        until(lambda: {each for _, each in everybody(served, namespace)} == {uid}, "it owns all again")
        says(served, namespace, NAME, COMPLETE)

        last = generation(served, namespace, SET)
        yield Returned(
            before,
            uids(served, namespace),
            (first, last),
            everybody(served, namespace),
            uid,
            told(served, namespace, NAME),
        )


def test_no_object_and_no_pod_is_another_one(returned: Returned) -> None:
    assert returned.after == returned.before


def test_the_spec_of_its_set_was_not_changed(returned: Returned) -> None:
    first, last = returned.generations

    assert first == last


def test_it_owns_everything_again(returned: Returned) -> None:
    assert returned.owners == {("InferenceService", returned.uid)}


def test_no_object_is_reported_as_owned_by_another(returned: Returned) -> None:
    assert [each for each in returned.events if "FI871" in each["message"]] == []


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
