"""Whose the replicas of a role are: its author's until they are let go, then an autoscaler's."""

from collections.abc import Iterator
from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, worker
from tests.cluster.testbed.api import MERGE_PATCH, call, get, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, becomes
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.rollouts import caught_up, rollout, started
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
SET: Final = f"{NAME}-inference"
KEEPER: Final = "fusioninfer-let-go"


@pytest.fixture
def three(served: Cluster) -> Iterator[str]:
    """A namespace with a service of three replicas."""
    with new_namespace(served) as namespace:
        apply(served, namespace, asking(3))
        started(served, namespace, SET)
        yield namespace


def test_replicas_that_are_let_go_keep_every_pod(served: Cluster, three: str) -> None:
    before = rollout(served, three, SET)

    apply(served, three, asking(None))
    until(lambda: owners(served, three) == {KEEPER}, "they are nobody's but the keeper's")
    caught_up(served, three)

    assert rollout(served, three, SET) == before


def test_after_that_an_autoscaler_scales_it_and_replicas_take_over_again(served: Cluster, three: str) -> None:
    apply(served, three, asking(None))
    until(lambda: owners(served, three) == {KEEPER}, "they are let go")
    scale(served, three, 4, "autoscaler")
    caught_up(served, three)
    scaled = replicas(served, three)

    apply(served, three, asking(2))

    assert (scaled, becomes(lambda: replicas(served, three), 2)) == (4, 2)


def asking(count: int | None) -> Object:
    """Make the service with so many replicas, or with none written."""
    return isvc(worker(replicas=count), name=NAME)


def stored(cluster: Cluster, namespace: str) -> Object:
    return get(cluster.api, path("leaderworkersets", namespace, SET))


def replicas(cluster: Cluster, namespace: str) -> int:
    return int(stored(cluster, namespace)["spec"]["replicas"])


def owners(cluster: Cluster, namespace: str) -> set[str]:
    """Return the field managers that own `spec.replicas`."""
    entries = stored(cluster, namespace)["metadata"]["managedFields"]
    return {each["manager"] for each in entries if "f:replicas" in each["fieldsV1"].get("f:spec", {})}


def scale(cluster: Cluster, namespace: str, count: int, manager: str) -> None:
    """Scale as an autoscaler does."""
    target = f"{path('leaderworkersets', namespace, SET, 'scale')}?fieldManager={manager}"
    call(cluster.api, "PATCH", target, {"spec": {"replicas": count}}, MERGE_PATCH)
