"""The same file written again, with everything kubectl offers: nothing restarts, nothing changes twice."""

import pytest

from intent import Object
from tests.cluster.testbed.api import items, patch, path
from tests.cluster.testbed.cluster import Cluster, KubectlError
from tests.cluster.testbed.controllers import metric
from tests.cluster.testbed.echo import echo
from tests.cluster.testbed.rollouts import Rollout, caught_up, generation, rollout, started
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import (
    CLIENT_SIDE,
    EXAMPLES,
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
GRACE = {
    "op": "add",
    "path": "/spec/leaderWorkerTemplate/workerTemplate/spec/terminationGracePeriodSeconds",
    "value": 60,
}
"""The addition of the webhook after ours."""
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
    put(admission, namespace, first, ANNOTATED)
    before = started(admission, namespace, NAME)

    for _ in range(3):
        put(admission, namespace, again, ANNOTATED)
    caught_up(admission, namespace)

    assert rollout(admission, namespace, NAME) == before


@BY_EVERY_WRITE
def test_the_same_file_three_times_again_makes_as_many_generations_as_without_annotation(
    admission: Cluster, namespace: str, first: Words, again: Words
) -> None:
    for words in (first, again, again, again):
        put(admission, namespace, words, ANNOTATED)
        put(admission, namespace, words, TWIN)

    generations = [generation(admission, namespace, name) for name in (NAME, "twin")]

    assert generations[0] == generations[1]


@pytest.mark.parametrize("example", ["monolithic", "prefill", "decode"])
def test_an_example_applied_again_restarts_nothing(admission: Cluster, namespace: str, example: str) -> None:
    lws = read(EXAMPLES / f"{example}.yaml")
    name = put(admission, namespace, CLIENT_SIDE, lws)["metadata"]["name"]
    before = started(admission, namespace, name)

    put(admission, namespace, CLIENT_SIDE, lws)
    caught_up(admission, namespace)

    assert rollout(admission, namespace, name) == before


@pytest.mark.parametrize("words", [CLIENT_SIDE, SERVER_SIDE], ids=["client-side", "server-side"])
def test_the_file_expanded_offline_restarts_nothing(admission: Cluster, namespace: str, words: Words) -> None:
    put(admission, namespace, words, ANNOTATED)
    before = started(admission, namespace, NAME)

    put(admission, namespace, words, *expanded_offline(WHOLE))
    caught_up(admission, namespace)

    assert rollout(admission, namespace, NAME) == before


def test_a_change_of_the_image_is_seen_where_the_controllers_caught_up(
    admission: Cluster, namespace: str
) -> None:
    put(admission, namespace, CLIENT_SIDE, ANNOTATED)
    before = started(admission, namespace, NAME)

    patch(admission.api, path("leaderworkersets", namespace, NAME), with_other_workers("image:2"))
    caught_up(admission, namespace)

    assert rollout(admission, namespace, NAME).revisions > before.revisions
    until(lambda: replaced(admission, namespace, before), "every pod is replaced")


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

    put(admission, namespace, CLIENT_SIDE, ANNOTATED)

    assert written_part(shown) == stored(admission, namespace, NAME)


def test_a_server_side_dry_run_stores_nothing(admission: Cluster, namespace: str) -> None:
    shown = put(admission, namespace, (*CLIENT_SIDE, "--dry-run=server"), ANNOTATED)

    left = items(admission.api, path("leaderworkersets", namespace))

    assert (shown["metadata"]["name"], left) == (NAME, [])


def test_a_create_calls_mutate_once(admission: Cluster, namespace: str) -> None:
    before = mutations(admission)

    put(admission, namespace, ("create",), ANNOTATED)

    assert mutations(admission) - before == 1


def test_objects_without_annotation_are_never_sent_to_the_webhook(admission: Cluster, namespace: str) -> None:
    before = mutations(admission)

    put(admission, namespace, ("create",), TWIN)

    assert mutations(admission) - before == 0


def test_a_webhook_that_sorts_after_ours_has_us_called_twice(admission: Cluster, namespace: str) -> None:
    before = mutations(admission)

    with echo(admission, "z-echo", namespace, [GRACE]):
        put(admission, namespace, ("create",), ANNOTATED)

    assert mutations(admission) - before == 2


def test_a_second_call_changes_nothing(admission: Cluster, namespace: str) -> None:
    once = put(admission, namespace, ("create",), named(ANNOTATED, "once"))

    with echo(admission, "z-echo", namespace, [GRACE]):
        twice = put(admission, namespace, ("create",), ANNOTATED)

    grace = twice["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"].pop(
        "terminationGracePeriodSeconds"
    )
    assert (grace, written_part(twice)) == (60, written_part(once))


def replaced(cluster: Cluster, namespace: str, before: Rollout) -> bool:
    """Return whether none of the pods there were is left."""
    return not rollout(cluster, namespace, NAME).pods.items() & before.pods.items()


def mutations(cluster: Cluster) -> float:
    """Return how often /mutate was called, as our webhook counts it."""
    port = cluster.ports["webhook-metrics"]
    return metric(port, "fusioninfer_admission_requests_total", path="/mutate")


def with_other_workers(image: str) -> dict[str, object]:
    """Return a merge patch that gives the workers one plain container."""
    containers = [{"name": "c", "image": image}]
    return {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": containers}}}}}


def conflicts(cluster: Cluster, namespace: str, lws: Object) -> set[str]:
    """Apply client-side, then server-side; return the fields for which that is refused."""
    put(cluster, namespace, CLIENT_SIDE, lws)
    with pytest.raises(KubectlError) as refused:
        put(cluster, namespace, SERVER_SIDE, lws)
    return {word for word in str(refused.value).split() if word.startswith(TEMPLATES)}
