"""Two releases at once, as while a Deployment is replaced: what one expands the other takes.

The next release gives other digests, so neither can tell by a digest what the other made a record from.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.testbed.admissions import CONFIGURATIONS, bursts, call_at
from tests.cluster.testbed.api import create, patch, path, refusal
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process, stop_process
from tests.cluster.testbed.controllers import metric
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import ROOT, wait_admission
from tests.cluster.testbed.releases import OTHER_RECORDS, OTHER_RULES, release
from tests.cluster.testbed.replicas import SHORT_DRAIN, Replica, Replicas, balanced, start_replica
from tests.cluster.testbed.rollouts import caught_up, rollout, started
from tests.cluster.testbed.upgrades import ANNOTATED, spec_of, with_words
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import CLIENT_SIDE, engines, named, put

IN_BOTH_ORDERS: Final = pytest.mark.parametrize("mixed", [("this", "next"), ("next", "this")], indirect=True)
SEEDS: Final = itertools.count()
REVIEWS: Final = "fusioninfer_admission_requests_total"
SIDE_BY_SIDE: Final = 10
"""Reviews that both releases answer at least at the same time, by path."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hold the source of the next release: the same checks, other digests and rules."""
    return release(tmp_path_factory.mktemp("release"), (*OTHER_RECORDS, *OTHER_RULES))


@pytest.fixture(scope="module")
def both(certified: Cluster, pair: Path, source: Path) -> Iterator[dict[str, Replica]]:
    """Run a webhook of each release."""
    there = {
        name: start_replica(certified, name, pair, SHORT_DRAIN, at)
        for name, at in {"this": ROOT, "next": source}.items()
    }
    yield there
    for name in there.keys() & certified.processes.keys():
        kill_process(certified, name)


@pytest.fixture
def mixed(certified: Cluster, both: dict[str, Replica], request: pytest.FixtureRequest) -> Cluster:
    """The cluster where one release mutates and the other validates."""
    for where, name in zip(CONFIGURATIONS, request.param, strict=True):
        call_at(certified, both[name].port, [where])
    wait_admission(certified)
    return certified


@pytest.fixture
def space(certified: Cluster) -> Iterator[str]:
    """A new namespace in that cluster."""
    name = add_namespace(certified)
    yield name
    empty_namespace(certified, name)


@IN_BOTH_ORDERS
@pytest.mark.parametrize("words", [CLIENT_SIDE, ("replace",)], ids=["client-side", "replace"])
def test_a_change_of_the_author_is_expanded(mixed: Cluster, space: str, words: tuple[str, ...]) -> None:
    put(mixed, space, CLIENT_SIDE, ANNOTATED)

    changed = put(mixed, space, words, with_words(ANNOTATED, "--seed", "1"))

    assert all(engine["args"][:1] == ["symmetric-run"] for engine in engines(changed))


@IN_BOTH_ORDERS
def test_the_same_file_again_restarts_nothing(mixed: Cluster, space: str) -> None:
    put(mixed, space, CLIENT_SIDE, ANNOTATED)
    name = ANNOTATED["metadata"]["name"]
    before, spec = started(mixed, space, name), spec_of(mixed, space, name)

    put(mixed, space, CLIENT_SIDE, ANNOTATED)
    caught_up(mixed, space)

    assert (rollout(mixed, space, name), spec_of(mixed, space, name)) == (before, spec)


def test_no_write_fails_in_upgrade_and_rollback(
    certified: Cluster, pair: Path, source: Path, space: str
) -> None:
    replicas = Replicas([start_replica(certified, "old", pair, SHORT_DRAIN)])
    with balanced(replicas) as line:
        call_at(certified, line.port)
        wait_admission(certified)
        put(certified, space, CLIENT_SIDE, ANNOTATED)
        with bursts(certified, line, lambda cluster: sent_or_refused(cluster, space)) as sent:
            for there in (source, ROOT):
                for old in tuple(replicas.running):
                    replaced(certified, replicas, old, pair, there)
    for each in replicas.running:
        kill_process(certified, each.name)

    assert sent.failures == []


def replaced(cluster: Cluster, replicas: Replicas, old: Replica, pair: Path, source: Path) -> None:
    """Replace a process by one of another release, once both have answered reviews at the same time."""
    new = start_replica(cluster, f"{old.name}-", pair, SHORT_DRAIN, source)
    replicas.running.append(new)
    before = reviews(old, new)
    until(
        lambda: all(now > then + SIDE_BY_SIDE for now, then in zip(reviews(old, new), before, strict=True)),
        "both releases answer",
    )
    stop_process(cluster, old.name)
    replicas.running.remove(old)


def reviews(*replicas: Replica) -> list[float]:
    """Return how many reviews replicas answered, by path."""
    return [
        metric(each.metrics_port, REVIEWS, path=where)
        for each in replicas
        for where in ("/mutate", "/validate")
    ]


def sent_or_refused(cluster: Cluster, namespace: str) -> str:
    """Send a new object, or a change of the one there is, as dry runs; say why it failed, or nothing."""
    seed = next(SEEDS)
    lws = with_words(ANNOTATED, "--seed", str(seed))
    where, change = path("leaderworkersets", namespace), {"spec": lws["spec"]}
    if seed % 2:
        return refusal(lambda: create(cluster.api, where, named(lws, f"new-{seed}"), dryRun="All"))
    return refusal(lambda: patch(cluster.api, f"{where}/{lws['metadata']['name']}", change, dryRun="All"))
