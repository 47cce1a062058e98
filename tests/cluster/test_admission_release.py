"""A next release with other rules: what nobody changed stays as it is, until its author asks for them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from intent import Object
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import start_webhook, wait_admission
from tests.cluster.testbed.rollouts import Rollout, caught_up, rollout, started
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import (
    CLIENT_SIDE,
    SERVER_SIDE,
    WHOLE,
    Words,
    engines,
    expanded_offline,
    named,
    put,
    read,
    stored,
)

ANNOTATED = read(WHOLE)
NEXT_RELEASE = "tests.cluster.admission.next_release"
WRITTEN: dict[str, Words] = {
    "client": CLIENT_SIDE,
    "server": SERVER_SIDE,
    "replaced": ("create",),
    "offline": CLIENT_SIDE,
    "labelled": CLIENT_SIDE,
    "scaled": CLIENT_SIDE,
    "edited": CLIENT_SIDE,
    "refreshed": CLIENT_SIDE,
}
"""How each object was first written, by name."""
NEW_WORD = "--disable-log-stats"


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A cluster whose objects were written under the release before: their rollouts and specs by name."""

    cluster: Cluster
    namespace: str
    rollouts: dict[str, Rollout]
    specs: dict[str, Object]
    offline: Object
    """A file that the release before expanded offline."""


@pytest.fixture(scope="module")
def upgraded(admission: Cluster) -> Iterator[Upgraded]:
    """Write every object, then have the next release's webhook take over; this one's is back afterwards."""
    namespace = add_namespace(admission)
    (offline,) = expanded_offline("-", stdin=json.dumps(named(ANNOTATED, "offline")))
    for name, words in WRITTEN.items():
        put(admission, namespace, words, offline if name == "offline" else named(ANNOTATED, name))
    before = {name: started(admission, namespace, name) for name in WRITTEN}
    specs = {name: stored(admission, namespace, name) for name in WRITTEN}
    try:
        take_over(admission, NEXT_RELEASE)
        yield Upgraded(admission, namespace, before, specs, offline)
    finally:
        take_over(admission, "fusioninfer")
        empty_namespace(admission, namespace)


def take_over(cluster: Cluster, module: str) -> None:
    """Replace the webhook's process by that of another release."""
    kill_process(cluster, "webhook")
    start_webhook(cluster, module)
    wait_admission(cluster)


def test_the_next_release_expands_what_is_new_in_its_own_way(upgraded: Upgraded) -> None:
    created = put(upgraded.cluster, upgraded.namespace, ("create", "--dry-run=server"), ANNOTATED)

    assert [NEW_WORD in each for each in engine_args(created)] == [True, True]


@pytest.mark.parametrize(
    ("name", "words"),
    [("client", CLIENT_SIDE), ("server", SERVER_SIDE), ("replaced", ("replace",))],
    ids=["client-side", "server-side", "replace"],
)
def test_the_same_file_again_restarts_nothing(upgraded: Upgraded, name: str, words: Words) -> None:
    put(upgraded.cluster, upgraded.namespace, words, named(ANNOTATED, name))
    caught_up(upgraded.cluster, upgraded.namespace)

    assert rollout(upgraded.cluster, upgraded.namespace, name) == upgraded.rollouts[name]


def test_a_file_that_was_expanded_offline_restarts_nothing(upgraded: Upgraded) -> None:
    put(upgraded.cluster, upgraded.namespace, CLIENT_SIDE, upgraded.offline)
    caught_up(upgraded.cluster, upgraded.namespace)

    assert rollout(upgraded.cluster, upgraded.namespace, "offline") == upgraded.rollouts["offline"]


def test_a_label_added_restarts_nothing(upgraded: Upgraded) -> None:
    where = ("leaderworkersets", "labelled", "--namespace", upgraded.namespace)

    kubectl(upgraded.cluster, "label", *where, "another=one")
    caught_up(upgraded.cluster, upgraded.namespace)

    assert rollout(upgraded.cluster, upgraded.namespace, "labelled") == upgraded.rollouts["labelled"]


def test_a_scaled_one_keeps_its_revision_and_its_pods(upgraded: Upgraded) -> None:
    where = ("leaderworkersets", "scaled", "--namespace", upgraded.namespace)
    before = upgraded.rollouts["scaled"]

    kubectl(upgraded.cluster, "scale", *where, "--replicas=2")
    after = started(upgraded.cluster, upgraded.namespace, "scaled")

    assert after.revisions == before.revisions
    assert after.pods.items() > before.pods.items()


def test_a_sidecar_added_keeps_what_was_put_on(upgraded: Upgraded) -> None:
    lws = read(WHOLE)
    sidecar = {"name": "sidecar", "image": "example.com/sidecar:1"}
    lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"].append(sidecar)

    changed = put(upgraded.cluster, upgraded.namespace, CLIENT_SIDE, named(lws, "edited"))

    assert engine_args(changed) == engine_args(upgraded.specs["edited"])


def test_a_refresh_runs_the_new_rules_and_restarts_the_pods(upgraded: Upgraded) -> None:
    before = upgraded.rollouts["refreshed"]

    lws = named(ANNOTATED, "refreshed", refresh="1")
    changed = put(upgraded.cluster, upgraded.namespace, CLIENT_SIDE, lws)

    assert [NEW_WORD in each for each in engine_args(changed)] == [True, True]
    assert until(lambda: restarted(upgraded, "refreshed", before), "another revision, and every pod anew")


def restarted(upgraded: Upgraded, name: str, before: Rollout) -> bool:
    """Whether there is a new revision, and none of the pods there were."""
    after = rollout(upgraded.cluster, upgraded.namespace, name)
    return after.revisions > before.revisions and not after.pods.items() & before.pods.items()


def engine_args(lws: Object) -> list[list[str]]:
    """Return the args of the leader's engine and of the workers'."""
    return [engine["args"] for engine in engines(lws)]
