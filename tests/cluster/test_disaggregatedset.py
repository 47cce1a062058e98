"""A DisaggregatedSet on LWS's own controller: created, rolled to a new image, rolled back, and stuck."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from intent import Object, yaml
from intent.annotations import GROUP_NAME, REVISION
from intent.disaggregatedset import leader_worker_sets
from tests.builders.patience import PATIENCE
from tests.cluster.conftest import AddNodes
from tests.cluster.testbed.api import create, delete, get, items, patch, path, refusal
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import DECODE, PREFILL, SERVICE, becomes, controller_down
from tests.cluster.testbed.groups import Bound, bound, pods, settled
from tests.cluster.testbed.wait import until

SET = "ds"
SIZES = {"prefill": 2, "decode": 4}


@pytest.fixture
def set_namespace(fusioninfer: Cluster, namespace: str) -> Iterator[str]:
    """A namespace whose DisaggregatedSet goes first: it would make its LeaderWorkerSets again."""
    yield namespace
    delete(fusioninfer.api, path("disaggregatedsets", namespace, SET))


def test_no_pod_of_a_revision_is_bound_before_a_whole_group_of_each_role_can_be(
    fusioninfer: Cluster, set_namespace: str, add_nodes: AddNodes
) -> None:
    namespace = set_namespace
    add_nodes(5)
    create(fusioninfer.api, path("disaggregatedsets", namespace), disaggregated_set())
    until(lambda: len(pods(fusioninfer, namespace)) == 6, "the pods of both roles")
    (first,) = until(lambda: revisions(fusioninfer, namespace), "the revision")
    assert not any(placed for placed, _ in settled(fusioninfer, namespace, watch=whole).values())

    add_nodes(1)
    until(lambda: is_placed(fusioninfer, namespace, first), "both groups are placed")
    assert groups(fusioninfer, namespace) == {f"{SERVICE}-{first}"}
    old = uids(fusioninfer, namespace, first)
    assert offline_names() == names(fusioninfer, namespace)

    # without room: the old pods stay, and no pod of the new revision takes part of a group's place
    patch(fusioninfer.api, path("disaggregatedsets", namespace, SET), of_image("-next"))
    second = until(lambda: revisions(fusioninfer, namespace) - {first}, "the next revision").pop()
    until(lambda: len(pods(fusioninfer, namespace)) == 12, "the pods of the new revision")
    settled(fusioninfer, namespace, watch=whole)
    assert uids(fusioninfer, namespace, first) == old
    assert not any(placed for group, (placed, _) in bound(fusioninfer, namespace).items() if second in group)
    gangs = {f"{SERVICE}-{first}", f"{SERVICE}-{second}"}
    assert becomes(lambda: groups(fusioninfer, namespace), gangs) == gangs

    # a crash in the middle: the old group is placed again, while the controller is down
    with controller_down(fusioninfer):
        crashed = f"{SET}-{first}-decode-0"
        uid = get(fusioninfer.api, path("pods", namespace, crashed))["metadata"]["uid"]
        delete(fusioninfer.api, path("pods", namespace, crashed), gracePeriodSeconds="0")
        until(lambda: is_new(fusioninfer, namespace, crashed, uid), "the group is made again")
        until(lambda: is_placed(fusioninfer, namespace, first), "it is placed again")

    # with room: the new revision is placed, then the old one goes, with its PodGroup
    add_nodes(6)
    rolled(fusioninfer, namespace, first, second)
    until(lambda: groups(fusioninfer, namespace) == {f"{SERVICE}-{second}"}, "its PodGroup, too")
    assert is_placed(fusioninfer, namespace, second)

    # scaled: the same revision, and the same gang
    patch(fusioninfer.api, path("disaggregatedsets", namespace, SET), of_image("-next", replicas=2))
    until(lambda: bound(fusioninfer, namespace) == placed(second, 2), "the second groups are placed")
    assert groups(fusioninfer, namespace) == {f"{SERVICE}-{second}"}
    assert not findings(fusioninfer, namespace)


def test_a_rollout_is_rolled_back(fusioninfer: Cluster, set_namespace: str, add_nodes: AddNodes) -> None:
    """In the middle: of two groups a role, the first of the new revision are placed, the last ones wait."""
    namespace, at = set_namespace, path("disaggregatedsets", set_namespace, SET)
    add_nodes(12)
    create(fusioninfer.api, path("disaggregatedsets", namespace), disaggregated_set() | of_image(replicas=2))
    (first,) = until(lambda: revisions(fusioninfer, namespace), "the revision")
    until(lambda: bound(fusioninfer, namespace) == placed(first, 2), "two groups of each role")

    add_nodes(6)
    patch(fusioninfer.api, at, of_image("-next", replicas=2))
    second = until(lambda: revisions(fusioninfer, namespace) - {first}, "the next revision").pop()
    until(lambda: is_placed(fusioninfer, namespace, second), "one group of each role")
    patch(fusioninfer.api, at, of_image(replicas=2))
    rolled(fusioninfer, namespace, second, first)
    until(lambda: bound(fusioninfer, namespace) == placed(first, 2), "two groups of each role again")
    until(lambda: groups(fusioninfer, namespace) == {f"{SERVICE}-{first}"}, "the other PodGroup is gone")
    assert not findings(fusioninfer, namespace)


def test_a_rollout_that_stops_between_two_roles_goes_on_when_the_second_one_is_scaled(
    fusioninfer: Cluster, set_namespace: str, add_nodes: AddNodes
) -> None:
    """A policy refuses to scale the second role of the new revision, once. FI417 tells this remedy."""
    namespace = set_namespace
    add_nodes(12)
    create(fusioninfer.api, path("disaggregatedsets", namespace), disaggregated_set())
    (first,) = until(lambda: revisions(fusioninfer, namespace), "the revision")
    until(lambda: is_placed(fusioninfer, namespace, first), "both groups are placed")
    old = uids(fusioninfer, namespace, first)

    with refused(fusioninfer, namespace, f"{SET}-{first}-decode"):
        patch(fusioninfer.api, path("disaggregatedsets", namespace, SET), of_image("-next"))
        second = until(lambda: revisions(fusioninfer, namespace) - {first}, "the next revision").pop()
        prefill = f"{SET}-{second}-prefill-0"
        until(lambda: prefill in bound(fusioninfer, namespace), "its prefiller")
    settled(fusioninfer, namespace, periods=10)
    assert bound(fusioninfer, namespace) == placed(first) | {prefill: (0, SIZES["prefill"])}
    assert uids(fusioninfer, namespace, first) == old

    stuck = f"leaderworkerset/{SET}-{second}-decode"
    kubectl(fusioninfer, "scale", stuck, "--replicas=1", f"--namespace={namespace}")
    rolled(fusioninfer, namespace, first, second)


@contextmanager
def refused(cluster: Cluster, namespace: str, decoder: str) -> Iterator[None]:
    """Have a policy refuse each write that gives a decoder more replicas."""
    rule = {
        "apiGroups": ["leaderworkerset.x-k8s.io"],
        "apiVersions": ["*"],
        "operations": ["UPDATE"],
        "resources": ["leaderworkersets"],
    }
    more = "object.metadata.name.endsWith('-decode') && object.spec.replicas > oldObject.spec.replicas"
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": f"!({more})"}]}
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    bound_here = {"policyName": namespace, "validationActions": ["Deny"], "matchResources": here}
    metadata = {"metadata": {"name": namespace}}
    create(cluster.api, path("validatingadmissionpolicies"), metadata | {"spec": spec})
    create(cluster.api, path("validatingadmissionpolicybindings"), metadata | {"spec": bound_here})

    def is_refused() -> bool:
        where, two = path("leaderworkersets", namespace, decoder), {"spec": {"replicas": 2}}
        return "ValidatingAdmissionPolicy" in refusal(lambda: patch(cluster.api, where, two, dryRun="All"))

    try:
        until(is_refused, "the policy holds")
        yield
    finally:
        for each in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            delete(cluster.api, path(each, "", namespace))
        until(lambda: not is_refused(), "the policy is gone")


def rolled(cluster: Cluster, namespace: str, old: str, new: str) -> None:
    """Wait until a revision alone is left; one of both serves at any time."""

    def is_rolled() -> bool:
        found = bound(cluster, namespace)
        assert is_whole(found, old) or is_whole(found, new), "one revision serves at any time"
        return revisions(cluster, namespace) == {new}

    until(is_rolled, "the old revision is gone", seconds=2 * PATIENCE)


def placed(revision: str, replicas: int = 1) -> Bound:
    """Return the groups of a revision, each with all of its pods on nodes."""
    return {
        f"{SET}-{revision}-{name}-{at}": (size, size)
        for name, size in SIZES.items()
        for at in range(replicas)
    }


def disaggregated_set() -> Object:
    """Return the prefiller and the decoder of the examples as roles, one group each, with surge."""
    roles = [role("prefill", PREFILL), role("decode", DECODE)]
    return {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "metadata": {"name": SET},
        "spec": {"roles": roles},
    }


def role(name: str, file: Path) -> Object:
    lws: Any = next(yaml.load(file.read_text()))
    annotations = {**lws["metadata"]["annotations"]}
    assert lws["spec"]["leaderWorkerTemplate"]["size"] == SIZES[name]
    surge = {"maxSurge": 1, "maxUnavailable": 0}
    rollout = {"type": "RollingUpdate", "rollingUpdateConfiguration": surge}
    spec = {**lws["spec"], "replicas": 1, "rolloutStrategy": rollout}
    return {"name": name, "metadata": {"annotations": annotations}, "spec": spec}


def of_image(tag: str = "", replicas: int = 1) -> Object:
    """Return the spec with another image of both roles, and so many groups."""
    roles = copy.deepcopy(disaggregated_set()["spec"]["roles"])
    for one in roles:
        one["spec"]["replicas"] = replicas
        for container in one["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]:
            container["image"] += tag
    return {"spec": {"roles": roles}}


def revisions(cluster: Cluster, namespace: str) -> set[str]:
    """Return the revisions whose LeaderWorkerSets exist, each of which names its own PodGroup."""
    found = items(cluster.api, path("leaderworkersets", namespace), labelSelector=REVISION)
    for lws in found:
        template = lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]
        assert template["annotations"][GROUP_NAME] == f"{SERVICE}-{lws['metadata']['labels'][REVISION]}"
    return {lws["metadata"]["labels"][REVISION] for lws in found}


def is_placed(cluster: Cluster, namespace: str, revision: str) -> bool:
    return is_whole(bound(cluster, namespace), revision)


def is_whole(found: Bound, revision: str) -> bool:
    """Return whether one group of each role is bound."""
    return all(
        any(found.get(f"{SET}-{revision}-{name}-{at}") == (size, size) for at in (0, 1))
        for name, size in SIZES.items()
    )


def names(cluster: Cluster, namespace: str) -> list[Object]:
    """Return the labels of LWS's controller on the LeaderWorkerSets, without the revision."""
    found = items(cluster.api, path("leaderworkersets", namespace))
    return sorted((_labels(lws) for lws in found), key=str)


def offline_names() -> list[Object]:
    """Return the same of what the command makes of the DisaggregatedSet."""
    return sorted((_labels(lws) for _, lws in leader_worker_sets(disaggregated_set())), key=str)


def _labels(lws: Object) -> Object:
    labels = lws["metadata"]["labels"]
    name = lws["metadata"]["name"].replace(labels[REVISION], "REVISION")
    kept = {
        key: value for key, value in labels.items() if key.startswith("disaggregatedset.") or key == "app"
    }
    return kept | {"name": name, REVISION: len(labels[REVISION])}


def whole(found: Bound) -> None:
    """Check that no group is placed in part: each poll sees all pods of a group, or none."""
    for group, (placed, there) in found.items():
        size = next((size for name, size in SIZES.items() if f"-{name}-" in group), there)
        assert placed in {0, size}, found


def uids(cluster: Cluster, namespace: str, revision: str) -> set[str]:
    found = pods(cluster, namespace)
    return {pod["metadata"]["uid"] for pod in found if pod["metadata"]["labels"][REVISION] == revision}


def is_new(cluster: Cluster, namespace: str, name: str, uid: str) -> bool:
    """Return whether a leader was replaced, and its group has all pods."""
    there = [pod for pod in pods(cluster, namespace) if "deletionTimestamp" not in pod["metadata"]]
    leaders = [pod["metadata"]["uid"] for pod in there if pod["metadata"]["name"] == name]
    return bool(leaders) and leaders != [uid]


def groups(cluster: Cluster, namespace: str) -> set[str]:
    return {obj["metadata"]["name"] for obj in items(cluster.api, path("podgroups", namespace))}


def findings(cluster: Cluster, namespace: str) -> list[str]:
    """Return the messages of the controller's Events."""
    found = items(cluster.api, path("events", namespace))
    return [
        one["message"] for one in found if "(FI" in one.get("message", "") and "FI410" not in one["message"]
    ]
