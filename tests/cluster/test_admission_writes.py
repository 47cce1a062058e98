"""The same file written again, with everything kubectl offers: nothing restarts, nothing changes twice."""

import pytest

from intent import Object
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.cluster import Cluster, KubectlError
from tests.cluster.testbed.controllers import metric
from tests.cluster.testbed.rollouts import caught_up, generation, rollout, started
from tests.cluster.testbed.written import (
    CLIENT_SIDE,
    SERVER_SIDE,
    WHOLE,
    Words,
    expanded_offline,
    named,
    put,
    read,
    stored,
    unannotated,
    written_part,
)

ANNOTATED = read(WHOLE)
NAME = ANNOTATED["metadata"]["name"]
TWIN = named(unannotated(ANNOTATED), "twin")
FORCED = (*SERVER_SIDE, "--force-conflicts")
TEMPLATES = ".spec.leaderWorkerTemplate."
BY_EVERY_WRITE = pytest.mark.parametrize(
    ("first", "again"),
    [(CLIENT_SIDE, CLIENT_SIDE), (SERVER_SIDE, SERVER_SIDE), (("create",), ("replace",))],
    ids=["client-side", "server-side", "replace"],
)


@BY_EVERY_WRITE
def test_the_same_file_three_times_again_makes_no_revision_and_restarts_no_pod(
    admission: Cluster, namespace: str, first: Words, again: Words
) -> None:
    """Nor more generations than the same file without annotation."""
    put(admission, namespace, first, ANNOTATED)
    put(admission, namespace, first, TWIN)
    before = started(admission, namespace, NAME)

    for lws in (ANNOTATED, TWIN) * 3:
        put(admission, namespace, again, lws)
    caught_up(admission, namespace)

    assert rollout(admission, namespace, NAME) == before
    assert generation(admission, namespace, NAME) == generation(admission, namespace, "twin")


@pytest.mark.parametrize("words", [CLIENT_SIDE, SERVER_SIDE], ids=["client-side", "server-side"])
def test_the_file_expanded_offline_restarts_nothing(admission: Cluster, namespace: str, words: Words) -> None:
    put(admission, namespace, words, ANNOTATED)
    before = started(admission, namespace, NAME)

    put(admission, namespace, words, *expanded_offline(WHOLE))
    caught_up(admission, namespace)

    assert rollout(admission, namespace, NAME) == before


def test_server_side_after_client_side_conflicts_also_on_what_was_rewritten(
    admission: Cluster, namespace: str
) -> None:
    ours, without = (conflicts(admission, namespace, lws) for lws in (ANNOTATED, TWIN))

    rewritten = {field.removeprefix(TEMPLATES) for field in ours - without}

    engine = 'Template.spec.containers[name="vllm"]'
    assert rewritten == {
        f"{who}{engine}.{field}" for who in ("leader", "worker") for field in ("command", "args")
    }


def test_a_forced_conflict_is_settled_once_and_restarts_nothing(admission: Cluster, namespace: str) -> None:
    put(admission, namespace, CLIENT_SIDE, ANNOTATED)
    before = started(admission, namespace, NAME)

    for words in (FORCED, SERVER_SIDE, SERVER_SIDE):
        put(admission, namespace, words, ANNOTATED)
    caught_up(admission, namespace)

    assert rollout(admission, namespace, NAME) == before


def test_a_server_side_dry_run_shows_the_expanded_object(admission: Cluster, namespace: str) -> None:
    shown = put(admission, namespace, (*CLIENT_SIDE, "--dry-run=server"), ANNOTATED)
    left = items(admission.api, path("leaderworkersets", namespace))

    put(admission, namespace, CLIENT_SIDE, ANNOTATED)

    assert (left, written_part(shown)) == ([], stored(admission, namespace, NAME))


def test_a_create_calls_mutate_once_and_objects_without_annotation_are_never_sent(
    admission: Cluster, namespace: str
) -> None:
    before = mutations(admission)
    put(admission, namespace, ("create",), TWIN)
    without = mutations(admission)

    put(admission, namespace, ("create",), ANNOTATED)

    assert (without - before, mutations(admission) - without) == (0, 1)


def mutations(cluster: Cluster) -> float:
    """Return how often /mutate was called, as our webhook counts it."""
    port = cluster.ports["webhook-metrics"]
    return metric(port, "fusioninfer_admission_requests_total", path="/mutate")


def conflicts(cluster: Cluster, namespace: str, lws: Object) -> set[str]:
    """Apply client-side, then server-side; return the fields for which that is refused."""
    put(cluster, namespace, CLIENT_SIDE, lws)
    with pytest.raises(KubectlError) as refused:
        put(cluster, namespace, SERVER_SIDE, lws)
    return {word for word in str(refused.value).split() if word.startswith(TEMPLATES)}
