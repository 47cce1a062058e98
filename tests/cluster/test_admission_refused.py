"""Messages that users see in kubectl: every cause at once, warnings, and limits where they really are."""

import json
import re

import pytest

from intent import Object
from intent.annotations import EXPANSION
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster, run_kubectl
from tests.cluster.testbed.written import CLIENT_SIDE, WHOLE, Words, named, put, read

ANNOTATED = read(WHOLE)
NAME = ANNOTATED["metadata"]["name"]
ANNOTATIONS_LIMIT = 256 * 1024
DRY = ("create", "--dry-run=server")


def test_every_error_is_a_cause_with_its_field(admission: Cluster, namespace: str) -> None:
    with pytest.raises(ApiError) as refused:
        create(admission.api, path("leaderworkersets", namespace), with_errors())

    fields = [cause["field"] for cause in refused.value.body["details"]["causes"]]
    assert (refused.value.status, refused.value.body["reason"], fields) == (
        422,
        "Invalid",
        [
            "spec.startupPolicy",
            "spec.leaderWorkerTemplate.workerTemplate.spec.schedulerName",
            "spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].resources.limits",
        ],
    )


def test_an_object_with_a_warning_is_accepted(admission: Cluster, namespace: str) -> None:
    lws = with_engine(image="corp/llm:1")

    said = told(admission, namespace, CLIENT_SIDE, lws, accepted=True)

    assert re.findall(r"^Warning: (FI\d+): .*left as it is", said, re.MULTILINE) == ["FI532"]


def test_annotations_may_fill_the_space_beside_the_record(admission: Cluster, namespace: str) -> None:
    full = filled(admission, namespace, 0)

    admitted = put(admission, namespace, DRY, full)

    annotations = admitted["metadata"]["annotations"]
    size = sum(len(key) + len(value) for key, value in annotations.items())
    assert (EXPANSION in annotations, size) == (True, ANNOTATIONS_LIMIT)


def test_one_byte_more_is_refused_with_the_bytes_that_are_needed(admission: Cluster, namespace: str) -> None:
    overfull = filled(admission, namespace, 1)

    said = told(admission, namespace, DRY, overfull)

    need, left = map(
        int, re.findall(r"needs (\d+) bytes, and the other annotations leave (\d+) of 262144", said)[0]
    )
    assert (need - left, codes(said)) == (1, ["FI903"])


def told(cluster: Cluster, namespace: str, words: Words, lws: Object, *, accepted: bool = False) -> str:
    """Have kubectl write it; return what it says on standard error."""
    done = run_kubectl(cluster, *words, "--namespace", namespace, "--filename=-", stdin=json.dumps(lws))
    assert (done.returncode == 0) == accepted, done.stderr
    return done.stderr


def codes(said: str) -> list[str]:
    """Return the codes of the errors that are told."""
    return re.findall(r"\((FI\d+)\)$", said, re.MULTILINE)


def with_errors() -> Object:
    """Return one that waits for its leader, has another scheduler, and asks for no accelerator."""
    lws = with_engine(resources={})
    lws["spec"]["startupPolicy"] = "LeaderReady"
    lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["schedulerName"] = "another"
    return lws


def with_engine(**fields: object) -> Object:
    """Return the annotated one with other fields of the workers' engine."""
    lws = read(WHOLE)
    lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0].update(fields)
    return lws


def filled(cluster: Cluster, namespace: str, more: int) -> Object:
    """Return it with an annotation that leaves exactly the record's room, or takes so many bytes more."""
    admitted = put(cluster, namespace, DRY, named(ANNOTATED, NAME, refresh=""))
    used = sum(len(key) + len(value) for key, value in admitted["metadata"]["annotations"].items())
    return named(ANNOTATED, NAME, refresh="x" * (ANNOTATIONS_LIMIT - used + more))
