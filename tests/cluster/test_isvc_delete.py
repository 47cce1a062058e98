"""An InferenceService that is deleted takes along what was made for it; unless it is asked to leave it."""

from typing import Final

from intent.annotations import PAUSED
from tests.builders.isvc import isvc, router, worker
from tests.cluster.testbed.api import get, get_or_none, items, path
from tests.cluster.testbed.audit import words, writes
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.control_plane import kill_process, start_component
from tests.cluster.testbed.controllers import apply, becomes
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.rollouts import caught_up, rollout
from tests.cluster.testbed.services import MADE, Objects, is_ours, labelled, made, says, told, uids
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
ROUTED: Final = isvc(
    router(httproute={"parentRefs": [{"name": "inference-gateway"}]}), worker(replicas=2), name=NAME
)
PARTS: Final = 10
"""A LeaderWorkerSet, a PodGroup, a Service on the leaders, and seven parts of routes."""


def test_every_dependent_is_deleted_with_it(served: Cluster, routed_namespace: str) -> None:
    """It is drained first: paused, it keeps its pods, and the route that was deleted stays away."""
    completed(served, routed_namespace)
    pods = rollout(served, routed_namespace, f"{NAME}-inference")

    kubectl(served, "annotate", "-n", routed_namespace, f"inferenceservice/{NAME}", f"{PAUSED}=true")
    kubectl(served, "delete", "-n", routed_namespace, f"httproute/{NAME}-httproute")
    caught_up(served, routed_namespace)
    left = {resource for resource, _ in made(served, routed_namespace)}
    drained = rollout(served, routed_namespace, f"{NAME}-inference")
    kubectl(served, "delete", "-n", routed_namespace, f"inferenceservice/{NAME}")

    until(lambda: not labelled(served, routed_namespace), "nothing has our label")
    until(lambda: not made(served, routed_namespace), "nothing of ours is left")
    assert ("httproutes" in left, drained) == (False, pods)


def test_an_orphan_is_its_authors_own_until_its_service_is_applied_again(
    served: Cluster, routed_namespace: str
) -> None:
    completed(served, routed_namespace)
    kept = uids(served, routed_namespace)

    kubectl(served, "delete", "-n", routed_namespace, f"inferenceservice/{NAME}", "--cascade=orphan")
    until(lambda: re_owned(served, routed_namespace), "the controller has seen that it is gone")
    before, there = len(writes(served)), uids(served, routed_namespace)
    kubectl(served, "scale", "-n", routed_namespace, f"leaderworkersets/{NAME}-inference", "--replicas=3")
    wait_pods(served, routed_namespace, 6 + 1)

    since = [
        each for each in writes(served)[before:] if each["objectRef"].get("namespace") == routed_namespace
    ]
    wrote = [words(request) for request in since]
    assert there == kept
    assert ("patch", "leaderworkersets") not in wrote

    apply(served, routed_namespace, ROUTED)
    uid = get(served.api, path("inferenceservices", routed_namespace, NAME))["metadata"]["uid"]
    adopted = becomes(lambda: owners(served, routed_namespace), {("InferenceService", uid)})
    wait_pods(served, routed_namespace, 4 + 1)
    assert adopted == {("InferenceService", uid)}
    assert uids(served, routed_namespace) == kept
    assert [each for each in told(served, routed_namespace, NAME) if "FI871" in each["message"]] == []


def test_a_recreated_service_does_not_own_the_old_objects(served: Cluster, routed_namespace: str) -> None:
    """Deleted and made again while the garbage collector is away, it has no LeaderWorkerSet of its own."""
    initialized = {"Initialized": ("True", "InferenceServiceCreating")}
    apply(served, routed_namespace, ROUTED)
    says(served, routed_namespace, NAME, initialized)

    kill_process(served, "kube-controller-manager")
    try:
        kubectl(served, "delete", "--namespace", routed_namespace, f"inferenceservice/{NAME}")
        apply(served, routed_namespace, ROUTED)
        says(served, routed_namespace, NAME, {"Initialized": ("False", "LeaderWorkerSetMissing")})
    finally:
        start_component(served, "kube-controller-manager")

    says(served, routed_namespace, NAME, initialized)


def owners(cluster: Cluster, namespace: str) -> set[tuple[str, str]]:
    """Return kind and uid of the owners of every object but the PodGroup, which LeaderWorkerSets own."""
    references = (
        obj["metadata"].get("ownerReferences", [{"kind": "nobody", "uid": ""}])
        for resource in MADE
        if resource != "podgroups"
        for obj in items(cluster.api, path(resource, namespace))
        if is_ours(obj)
    )
    return {(each["kind"], each["uid"]) for one in references for each in one}


def completed(cluster: Cluster, namespace: str) -> Objects:
    """Apply one with routes; wait until all of it is there, and its pods."""
    apply(cluster, namespace, ROUTED)
    until(lambda: len(made(cluster, namespace)) == PARTS, "the controller has made everything")
    wait_pods(cluster, namespace, 4 + 1)
    return made(cluster, namespace)


def re_owned(cluster: Cluster, namespace: str) -> bool:
    """Return whether the picker goes with the LeaderWorkerSet now: its annotations ask for one too."""
    picker = get_or_none(cluster.api, path("deployments", namespace, f"{NAME}-epp")) or {"metadata": {}}
    return [owner["kind"] for owner in picker["metadata"].get("ownerReferences", ())] == ["LeaderWorkerSet"]
