"""Nothing that runs is started anew while admission does not answer for a rendered LeaderWorkerSet."""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import pytest

from intent import Object
from intent.annotations import UNANSWERED
from tests.builders.isvc import isvc, worker
from tests.cluster.testbed.api import create, delete, get, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import LEASE, apply, other_controllers
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.ours import start_sync, wait_admission
from tests.cluster.testbed.rollouts import caught_up, rollout, started
from tests.cluster.testbed.services import told
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
SET: Final = f"{NAME}-inference"
HURRIED: Final = "sync-hurried"
SHORT_RETRY: Final = "tests.cluster.testbed.short_retry"
GROUP: Final = 2
"""Pods of a replica."""
CONFIGURATIONS: Final = (
    ("mutatingwebhookconfigurations", "mutate.fusioninfer.io"),
    ("validatingwebhookconfigurations", "validate.fusioninfer.io"),
)
COUNTED: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")


@pytest.fixture
def running(served: Cluster) -> Iterator[str]:
    """A namespace with a service of two pods, which the webhook expanded."""
    with new_namespace(served) as namespace:
        apply(served, namespace, isvc(worker(replicas=1), name=NAME))
        started(served, namespace, SET)
        yield namespace


def test_without_webhooks_a_new_leader_keeps_every_pod_and_looks_again(served: Cluster, running: str) -> None:
    before = rollout(served, running, SET)

    with other_controllers(served, {HURRIED: {}}, SHORT_RETRY) as ports:
        with without_webhooks(served):
            kill_process(served, HURRIED)
            delete(served.api, LEASE)
            start_sync(served, HURRIED, {"--metrics-port": ports[HURRIED]}, SHORT_RETRY)
            until(lambda: codes(served, running, "FI873"), "an Event says so")
            apply(served, running, isvc(worker(replicas=2), name=NAME))
            caught_up(served, running)
            held = rollout(served, running, SET)
            label = get(served.api, path("leaderworkersets", running, SET))["metadata"]["labels"]

        assert held == before
        assert UNANSWERED not in label.values()
        assert more(served, running) == before.pods.items()


def more(cluster: Cluster, namespace: str) -> object:
    """Wait until it has two groups; return the pods that it had with one."""

    def grown() -> Mapping[str, str]:
        pods = rollout(cluster, namespace, SET).pods
        return pods if len(pods) == 2 * GROUP else {}

    pods = until(grown, "what was asked for meanwhile is done")
    return {name: uid for name, uid in pods.items() if name.startswith(f"{SET}-0")}.items()


def codes(cluster: Cluster, namespace: str, code: str) -> list[str]:
    """Return the messages of Events about the service that carry a code."""
    return [each["message"] for each in told(cluster, namespace, NAME) if code in each["message"]]


@contextmanager
def without_webhooks(cluster: Cluster) -> Iterator[None]:
    """Delete our webhook configurations for a while."""
    kept = {at: get(cluster.api, path(at[0], "", at[1])) for at in CONFIGURATIONS}
    for resource, name in kept:
        delete(cluster.api, path(resource, "", name))
    try:
        yield
    finally:
        for (resource, _), configuration in kept.items():
            create(cluster.api, path(resource), bare(configuration))
        wait_admission(cluster)


def bare(obj: Object) -> Object:
    """Copy what its author wrote."""
    copied = copy.deepcopy(obj)
    copied["metadata"] = {key: value for key, value in obj["metadata"].items() if key not in COUNTED}
    return copied
