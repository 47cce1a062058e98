"""Changes of an InferenceService: only what a change concerns is recreated, all else keeps its pods."""

from collections.abc import Mapping
from typing import Any, Final

from intent import Object
from tests.builders.isvc import decoder, isvc, prefiller, router
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import apply, becomes, pod_group, required
from tests.cluster.testbed.rollouts import caught_up, generation, rollout, started
from tests.cluster.testbed.services import labelled, made
from tests.cluster.testbed.wait import until

UNROUTED: Final = {"leaderworkersets", "podgroups", "services"}
NAME: Final = "chat"
PREFILL: Final = f"{NAME}-prefill"
DECODE: Final = f"{NAME}-decode"
ROUTE: Final = {"parentRefs": [{"name": "inference-gateway"}]}
ROUTER: Final = router(strategy="pd-disaggregation", httproute=ROUTE)
ROLES: Final = (ROUTER, prefiller(replicas=1), decoder(replicas=2))


def test_a_role_that_is_removed_leaves_the_others_alone(served: Cluster, routed_namespace: str) -> None:
    completed(served, routed_namespace, *ROLES, decoder(replicas=1, name="more"))
    before = versions(served, routed_namespace)

    apply(served, routed_namespace, service(*ROLES))
    until(lambda: "more" not in str(labelled(served, routed_namespace)), "it is gone")
    sets = {PREFILL: (1, 2), DECODE: (1, 2)}
    assert becomes(lambda: required(served, routed_namespace, NAME), (4, sets)) == (4, sets)
    assert versions(served, routed_namespace)[DECODE][1] == before[DECODE][1]

    before = versions(served, routed_namespace)
    apply(served, routed_namespace, service(*ROLES))
    kubectl(served, "annotate", "-n", routed_namespace, f"inferenceservice/{NAME}", "a=b")
    caught_up(served, routed_namespace)
    assert before == versions(served, routed_namespace)  # the same file again, and a note, write nothing

    apply(served, routed_namespace, service(*ROLES[:2], decoder(replicas=2, name="answer")))
    sets = {PREFILL: (1, 2), f"{NAME}-answer": (0, 2)}  # it joins a gang whose gate is open
    assert becomes(lambda: required(served, routed_namespace, NAME), (2, sets)) == (2, sets)
    started(served, routed_namespace, f"{NAME}-answer")
    assert rollout(served, routed_namespace, PREFILL) == before[PREFILL][1]
    until(lambda: DECODE not in str(labelled(served, routed_namespace)), "the old one is gone")


def test_without_disaggregation_only_decoders_start_anew(served: Cluster, routed_namespace: str) -> None:
    completed(served, routed_namespace, *ROLES)
    before = rollout(served, routed_namespace, PREFILL)

    apply(served, routed_namespace, service(*ROLES[1:]))
    until(lambda: resources(served, routed_namespace) == UNROUTED, "routes go")
    until(lambda: len(rollout(served, routed_namespace, DECODE).revisions) == 2, "decoders get a revision")
    caught_up(served, routed_namespace)
    assert before == rollout(served, routed_namespace, PREFILL)


def test_without_a_gang_the_pod_group_goes(served: Cluster, routed_namespace: str) -> None:
    completed(served, routed_namespace, *ROLES)

    apply(served, routed_namespace, service(*ROLES, schedulerName="default-scheduler"))

    until(lambda: not pod_group(served, routed_namespace, NAME), "the PodGroup goes")
    assert becomes(lambda: schedulers(served, routed_namespace), {None}) == {None}

    apply(served, routed_namespace, service(*ROLES))

    sets = {PREFILL: (1, 2), DECODE: (1, 2)}
    assert (4, sets) == becomes(lambda: required(served, routed_namespace, NAME), (4, sets))
    assert becomes(lambda: schedulers(served, routed_namespace), {"volcano"}) == {"volcano"}


def service(*roles: Object, **strategy: str) -> Object:
    """Make the service with some roles."""
    return isvc(*roles, name=NAME, **({"schedulingStrategy": strategy} if strategy else {}))


def completed(cluster: Cluster, namespace: str, *roles: Object, **strategy: str) -> None:
    """Apply it; wait until its routes are there, and every pod."""
    apply(cluster, namespace, service(*roles, **strategy))
    until(lambda: "httproutes" in resources(cluster, namespace), "the routes are made")
    for role in (role for role in roles if "template" in role):
        started(cluster, namespace, f"{NAME}-{role['name']}")


def resources(cluster: Cluster, namespace: str) -> set[str]:
    """Return what sorts of objects the controller made."""
    return {resource for resource, _ in made(cluster, namespace)}


def versions(cluster: Cluster, namespace: str) -> Mapping[str, Any]:
    """Return the generation of each LeaderWorkerSet, its revisions and pods."""
    return {
        name: (generation(cluster, namespace, name), rollout(cluster, namespace, name))
        for name in (PREFILL, DECODE)
    }


def schedulers(cluster: Cluster, namespace: str) -> set[str | None]:
    """Return who the LeaderWorkerSets say should schedule their pods; None is Kubernetes' own."""
    sets = items(cluster.api, path("leaderworkersets", namespace))
    templates = [each["spec"]["leaderWorkerTemplate"]["workerTemplate"] for each in sets]
    return {template["spec"].get("schedulerName") for template in templates}
