"""Revisions of a DisaggregatedSet that differ in more than an image, on LWS's own controller."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from intent import Object
from intent.annotations import REVISION, ROLES
from tests.builders.isvc import isvc, worker
from tests.builders.lws import container, template
from tests.builders.patience import PATIENCE
from tests.cluster.conftest import AddNodes
from tests.cluster.test_disaggregatedset import (
    SET,
    disaggregated_set,
    findings,
    groups,
    revisions,
    role,
    set_namespace,
)
from tests.cluster.testbed.api import ApiError, create, delete, items, patch, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig, kubectl
from tests.cluster.testbed.controllers import DECODE, PREFILL, SERVICE, apply, becomes
from tests.cluster.testbed.groups import group_of, pods, settled
from tests.cluster.testbed.services import conditions, says
from tests.cluster.testbed.wait import until

__all__ = ("set_namespace",)

FILES: Final = {"prefill": (PREFILL, 2), "decode": (DECODE, 4), "decode-long": (DECODE, 4)}
"""File and group size of each role."""
PAIR: Final = ("prefill", "decode")
ALL: Final = tuple(FILES)


@pytest.mark.parametrize(("names", "wanted"), [(PAIR, ALL), (ALL, PAIR)], ids=["added", "removed"])
def test_a_role_is_added_or_removed(
    fusioninfer: Cluster,
    set_namespace: str,
    add_nodes: AddNodes,
    names: tuple[str, ...],
    wanted: tuple[str, ...],
) -> None:
    namespace = set_namespace
    add_nodes(size(names))
    create(fusioninfer.api, path("disaggregatedsets", namespace), disaggregated_set() | with_roles(names))
    until(lambda: serving(fusioninfer, namespace, names), "all roles are placed")
    (first,) = revisions(fusioninfer, namespace)
    old = uids(fusioninfer, namespace)

    # without room for one pod
    patch(fusioninfer.api, path("disaggregatedsets", namespace, SET), with_roles(wanted))
    second = until(lambda: revisions(fusioninfer, namespace) - {first}, "the next revision").pop()
    until(lambda: len(pods(fusioninfer, namespace)) == len(old) + size(wanted), "its pods")
    add_nodes(size(wanted) - 1)
    settled(fusioninfer, namespace)
    assert not placed(fusioninfer, namespace, second)
    assert uids(fusioninfer, namespace, first) == old
    assert becomes(lambda: groups(fusioninfer, namespace), gangs(first, second)) == gangs(first, second)

    add_nodes(1)
    with served(fusioninfer, namespace, {first: old}, second, wanted) as is_rolled:
        until(is_rolled, "the first revision is gone", seconds=2 * PATIENCE)
    assert becomes(lambda: groups(fusioninfer, namespace), gangs(second)) == gangs(second)
    until(lambda: len(pods(fusioninfer, namespace)) == size(wanted), "its pods are gone")
    assert not findings(fusioninfer, namespace)


def test_a_rollout_is_rolled_back(fusioninfer: Cluster, set_namespace: str, add_nodes: AddNodes) -> None:
    """In the middle: of two groups a role, the first of the new revision are placed, the last ones wait."""
    namespace, at = set_namespace, path("disaggregatedsets", set_namespace, SET)
    add_nodes(12)
    create(fusioninfer.api, path("disaggregatedsets", namespace), disaggregated_set() | with_roles(PAIR, 2))
    until(lambda: len(placed(fusioninfer, namespace)) == 12, "two groups of each role are placed")
    (first,) = revisions(fusioninfer, namespace)
    old = uids(fusioninfer, namespace)

    # without room: nothing of the new revision was placed, and nothing of the first one restarts
    patch(fusioninfer.api, at, with_roles(PAIR, 2, "-b"))
    second = until(lambda: revisions(fusioninfer, namespace) - {first}, "the next revision").pop()
    until(lambda: len(pods(fusioninfer, namespace)) > 12, "its pods")
    settled(fusioninfer, namespace)
    assert not placed(fusioninfer, namespace, second)
    patch(fusioninfer.api, at, with_roles(PAIR, 2))
    until(lambda: revisions(fusioninfer, namespace) == {first}, "the next revision is gone")
    assert becomes(lambda: groups(fusioninfer, namespace), gangs(first)) == gangs(first)
    until(lambda: len(pods(fusioninfer, namespace)) == 12, "its pods are gone")
    assert uids(fusioninfer, namespace) == old

    # with room for one group of each role
    patch(fusioninfer.api, at, with_roles(PAIR, 2, "-b"))
    until(lambda: second in revisions(fusioninfer, namespace), "the same revision again")
    add_nodes(6)
    until(lambda: len(placed(fusioninfer, namespace, second)) >= 6, "one group of each role")
    patch(fusioninfer.api, at, with_roles(PAIR, 2))
    with served(
        fusioninfer, namespace, {second: uids(fusioninfer, namespace, second)}, first, PAIR
    ) as is_rolled:
        until(is_rolled, "the first revision alone is left", seconds=2 * PATIENCE)
    until(lambda: len(placed(fusioninfer, namespace, first)) == 12, "two groups of each role")
    until(lambda: len(pods(fusioninfer, namespace)) == 12, "the other pods are gone")
    assert becomes(lambda: groups(fusioninfer, namespace), gangs(first)) == gangs(first)
    assert not findings(fusioninfer, namespace)


def test_a_rollout_that_stops_between_two_roles_goes_on_with_the_command_that_is_told(
    fusioninfer: Cluster, set_namespace: str, add_nodes: AddNodes
) -> None:
    """A policy refuses to scale the second role of the new revision, once.

    An InferenceService of the same service fails meanwhile.
    """
    namespace, at = set_namespace, path("disaggregatedsets", set_namespace, SET)
    add_nodes(12)
    create(fusioninfer.api, path("disaggregatedsets", namespace), disaggregated_set() | with_roles(PAIR))
    until(lambda: serving(fusioninfer, namespace, PAIR), "both roles are placed")
    (first,) = revisions(fusioninfer, namespace)
    old = uids(fusioninfer, namespace)

    with refused(fusioninfer, namespace):
        patch(fusioninfer.api, at, with_roles(PAIR, tag="-b"))
        second = until(lambda: revisions(fusioninfer, namespace) - {first}, "the next revision").pop()
        until(lambda: len(uids(fusioninfer, namespace, second)) == FILES["prefill"][1], "its prefiller")
    stuck = f"{SET}-{second}-decode"
    assert not findings(fusioninfer, namespace)
    (told,) = until(lambda: findings(fusioninfer, namespace), "it is told", seconds=2 * PATIENCE)
    cause = why(fusioninfer, namespace)["cause"]

    assert replicas(fusioninfer, namespace, second) == {"prefill": 1, "decode": 0}
    assert uids(fusioninfer, namespace, first) == old
    command = f"kubectl scale leaderworkerset {stuck} --replicas=1 --namespace={namespace}"
    assert ("FI417" in told, command in told) == (True, True)
    assert (cause["reason"], cause["object"]) == ("FI417", f"LeaderWorkerSet {stuck}")
    assert command in cause["message"]

    namesake = isvc(worker(multinode=None, template=template(container(resources=None))), name=SERVICE)
    apply(fusioninfer, namespace, namesake)
    status = says(fusioninfer, namespace, SERVICE, {"Failed": ("True", "InferenceServiceFailed")})
    assert command in conditions(status)["Failed"]["message"]
    kubectl(fusioninfer, *shlex.split(command)[1:])
    with served(fusioninfer, namespace, {first: old}, second, PAIR) as is_rolled:
        until(is_rolled, "the first revision is gone", seconds=2 * PATIENCE)
    says(fusioninfer, namespace, SERVICE, {"Failed": ("False", "NothingFailed")})
    delete(fusioninfer.api, path("inferenceservices", namespace, SERVICE))
    until(lambda: why(fusioninfer, namespace)["cause"] is None, "nothing is wrong")


@contextmanager
def refused(cluster: Cluster, namespace: str) -> Iterator[None]:
    """Have a policy refuse each write that gives a decoder more replicas."""
    rule = {
        "apiGroups": ["leaderworkerset.x-k8s.io"],
        "apiVersions": ["*"],
        "operations": ["UPDATE"],
        "resources": ["leaderworkersets"],
    }
    more = "object.metadata.name.endsWith('-decode') && object.spec.replicas > oldObject.spec.replicas"
    policy = {
        "metadata": {"name": namespace},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": f"!({more})"}],
        },
    }
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    bound_here = {"policyName": namespace, "validationActions": ["Deny"], "matchResources": here}
    create(cluster.api, path("validatingadmissionpolicies"), policy)
    create(
        cluster.api,
        path("validatingadmissionpolicybindings"),
        {"metadata": {"name": namespace}, "spec": bound_here},
    )
    (decoder,) = (f"{SET}-{one}-decode" for one in revisions(cluster, namespace))
    trial = partial(said, cluster, path("leaderworkersets", namespace, decoder), {"spec": {"replicas": 2}})
    try:
        until(lambda: "ValidatingAdmissionPolicy" in trial(), "the policy holds")
        yield
    finally:
        for each in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            delete(cluster.api, path(each, "", namespace))
        until(lambda: not trial(), "the policy is gone")


def said(cluster: Cluster, where: str, change: Object) -> str:
    """Return what the API server says of a change, as a dry run; nothing if it takes it."""
    try:
        patch(cluster.api, where, change, dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


def replicas(cluster: Cluster, namespace: str, revision: str) -> dict[str, int]:
    """Return the replicas of each role of a revision."""
    found = items(cluster.api, path("leaderworkersets", namespace), labelSelector=f"{REVISION}={revision}")
    return {lws["metadata"]["name"].rpartition("-")[2]: lws["spec"]["replicas"] for lws in found}


def why(cluster: Cluster, namespace: str) -> Object:
    """Return what `fusioninfer why` says of the service."""
    words = ["why", SERVICE, "-n", namespace, "--output=json", f"--kubeconfig={kubeconfig(cluster)}"]
    found: Object = json.loads(CliRunner().invoke(main, words).stdout)
    return found


def with_roles(names: tuple[str, ...], replicas: int = 1, tag: str = "") -> Object:
    """Return the spec of a set with these roles, each of which declares all of them."""
    roles: list[Any] = [
        role(name if name in PAIR else "decode", FILES[name][0]) | {"name": name} for name in names
    ]
    for one in roles:
        one["spec"]["replicas"] = replicas
        one["metadata"]["annotations"] |= {ROLES: ",".join(names)}
        one["metadata"]["annotations"]["fusioninfer.io/role-name"] = one["name"]
        for each in one["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]:
            each["image"] += tag
    return {"spec": {"roles": roles}}


def size(names: tuple[str, ...]) -> int:
    """Return the number of pods of one group of each role."""
    return sum(FILES[name][1] for name in names)


def gangs(*found: str) -> set[str]:
    return {f"{SERVICE}-{revision}" for revision in found}


def there(cluster: Cluster, namespace: str, revision: str = "") -> list[Any]:
    """Return the pods of a revision, or of all, that are not about to end."""
    return [
        pod
        for pod in pods(cluster, namespace)
        if revision in {"", pod["metadata"]["labels"].get(REVISION)}
        and "deletionTimestamp" not in pod["metadata"]
    ]


def uids(cluster: Cluster, namespace: str, revision: str = "") -> set[str]:
    return {pod["metadata"]["uid"] for pod in there(cluster, namespace, revision)}


def placed(cluster: Cluster, namespace: str, revision: str = "") -> list[str]:
    """Return the group of each pod that is bound."""
    return [group_of(pod) for pod in there(cluster, namespace, revision) if pod["spec"].get("nodeName")]


def serving(cluster: Cluster, namespace: str, names: tuple[str, ...], revision: str = "") -> bool:
    """Return whether a revision, or any one, has one whole group of each role."""
    groups_placed = placed(cluster, namespace, revision)
    whole = {group for group in groups_placed if groups_placed.count(group) == FILES[_role(group)][1]}
    ready = {(group.split("-")[1], _role(group)) for group in whole}
    return any(all((one, name) in ready for name in names) for one, _ in ready)


def _role(group: str) -> str:
    """Return the role of a group `<set>-<revision>-<role>-<index>`."""
    return group.split("-", 2)[2].rpartition("-")[0]


@contextmanager
def served(
    cluster: Cluster, namespace: str, before: dict[str, set[str]], after: str, names: tuple[str, ...]
) -> Iterator[Any]:
    """Yield a check whether a rollout ended: pods of the earlier revision may go, and none may be made."""

    def is_rolled() -> bool:
        now = {revision: uids(cluster, namespace, revision) for revision in before}
        if any(now[revision] != before[revision] for revision in before):
            assert serving(cluster, namespace, names, after), "old pods serve until new ones do"
        return revisions(cluster, namespace) == {after} and serving(cluster, namespace, names, after)

    yield is_rolled
