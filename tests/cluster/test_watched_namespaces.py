"""Watched namespaces: the controller serves them with the permissions that the chart grants in them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import decoder, isvc, prefiller
from tests.cluster.testbed.audit import come_to_rest, refused, requests
from tests.cluster.testbed.chart import rendered
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import apply, pod_group
from tests.cluster.testbed.namespaces import add_namespace
from tests.cluster.testbed.ours import start_sync
from tests.cluster.testbed.services import made
from tests.cluster.testbed.wait import until

ACCOUNT: Final = "fusioninfer-sync"
GRANTS: Final = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
NAME: Final = "first"
SETS: Final = {"leaderworkersets", "services", "podgroups"}


@dataclass(frozen=True, slots=True)
class Watched:
    """A cluster whose controller watches two namespaces of three."""

    cluster: Cluster
    homes: tuple[str, str]
    unwatched: str


@pytest.fixture(scope="module")
def watched(admitting: Cluster, helm: Path) -> Watched:
    one, other, unwatched = (add_namespace(admitting) for _ in range(3))
    kubectl(admitting, "delete", "clusterrolebinding", ACCOUNT)
    grants = {"apiVersion": "v1", "kind": "List", "items": granted(helm, (one, other))}
    kubectl(
        admitting, "apply", "--server-side", "--force-conflicts", "--filename=-", stdin=json.dumps(grants)
    )
    for namespace in (one, other, unwatched):
        apply(admitting, namespace, isvc(prefiller(), decoder(), name=NAME))
    start_sync(admitting, flags={"--watch-namespace": (one, other)})
    return Watched(admitting, (one, other), unwatched)


def granted(helm: Path, namespaces: tuple[str, ...]) -> list[Object]:
    """Return what the chart grants to the controller that watches these namespaces."""
    found = [one for one in rendered(helm, {"sync.namespaces": namespaces}) if one["kind"] in GRANTS]
    return [one for one in found if one["metadata"]["name"].startswith(ACCOUNT)]


def has_all(cluster: Cluster, namespace: str) -> bool:
    """Return whether the service has its LeaderWorkerSets, Services and PodGroup."""
    resources = {resource for resource, one in made(cluster, namespace) if one.startswith(NAME)}
    return resources >= SETS and pod_group(cluster, namespace, NAME) is not None


def test_services_of_watched_namespaces_have_their_objects(watched: Watched) -> None:
    for namespace in watched.homes:
        until(lambda at=namespace: has_all(watched.cluster, at), f"{namespace} has its objects")  # type: ignore[misc] # mypy cannot infer a lambda with a default


def test_a_service_of_another_namespace_is_left_alone(watched: Watched) -> None:
    come_to_rest(watched.cluster)

    assert not made(watched.cluster, watched.unwatched)
    asked = {one["objectRef"].get("namespace") for one in requests(watched.cluster)}
    assert watched.unwatched not in asked


def test_nothing_was_forbidden(watched: Watched) -> None:
    assert refused(watched.cluster) == []
