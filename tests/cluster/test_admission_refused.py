"""Messages that users see in kubectl: every cause at once, warnings, and limits where they really are."""

import json
import re

import pytest

from intent import Object
from intent.annotations import EXPANSION
from tests.cluster.testbed.api import ApiError, create, get, path
from tests.cluster.testbed.cluster import Cluster, run_kubectl
from tests.cluster.testbed.written import CLIENT_SIDE, WHOLE, Words, named, put, read

ANNOTATED = read(WHOLE)
NAME = ANNOTATED["metadata"]["name"]
ANNOTATIONS_LIMIT = 256 * 1024
DRY = ("create", "--dry-run=server")
LONGEST_NAMES = pytest.mark.parametrize(("size", "replicas", "length"), [(1, 1, 52), (2, 1, 50), (2, 11, 49)])
"""Pods carry the name with the group and a revision in a label: measured in `test_facts.py`."""


def test_several_errors_are_reported_in_one_message(admission: Cluster, namespace: str) -> None:
    said = told(admission, namespace, CLIENT_SIDE, with_errors())

    assert codes(said) == ["FI201", "FI205", "FI303"]


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


def test_a_refused_object_is_not_stored(admission: Cluster, namespace: str) -> None:
    told(admission, namespace, CLIENT_SIDE, with_errors())

    with pytest.raises(ApiError) as missing:
        get(admission.api, path("leaderworkersets", namespace, NAME))

    assert missing.value.status == 404


def test_a_mistyped_annotation_is_refused_with_the_right_word(admission: Cluster, namespace: str) -> None:
    mistyped = {**ANNOTATED, "metadata": {"name": "mistyped", "annotations": {"fusioninfer.io/servise": "x"}}}

    said = told(admission, namespace, CLIENT_SIDE, mistyped)

    assert (
        "metadata.annotations[fusioninfer.io/servise]: unknown annotation; "
        "did you mean fusioninfer.io/service? (FI102)"
    ) in said


def test_an_object_with_a_warning_is_accepted(admission: Cluster, namespace: str) -> None:
    lws = with_engine(image="vllm/vllm-openai:v0.11.0")

    said = told(admission, namespace, CLIENT_SIDE, lws, accepted=True)

    assert re.findall(r"^Warning: (FI\d+): vllm-openai v0.11.0", said, re.MULTILINE) == ["FI531"]


def forged(put_on: Object) -> Object:
    """Return a record that claims that something was injected."""
    parts = {"launch": {"in": "forged", "set": put_on}}
    return {"v": 2, "in": "forged", "decided": {}, "from": {}, "parts": parts, "was": {}}


@pytest.mark.parametrize(
    "put_on",
    [
        {"spec": {"replicas": 1}},
        {"metadata": {"labels": {"team": "inference"}}},
        {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"serviceAccountName": "root"}}}}},
    ],
    ids=["replicas", "label", "service account"],
)
def test_a_forged_record_that_names_a_foreign_field_is_refused(
    admission: Cluster, namespace: str, put_on: Object
) -> None:
    record = forged(put_on)

    said = told(admission, namespace, CLIENT_SIDE, named(ANNOTATED, NAME, expansion=json.dumps(record)))

    assert f"metadata.annotations[{EXPANSION}]: has a field that fusioninfer never writes" in said


def test_a_record_forged_on_a_stored_object_is_refused(admission: Cluster, namespace: str) -> None:
    put(admission, namespace, CLIENT_SIDE, ANNOTATED)
    record = forged({"spec": {"replicas": 1}}) | {"was": {"spec": {"replicas": 0}}}
    words = (f"{EXPANSION}={json.dumps(record)}", "--overwrite", "--namespace", namespace)

    said = run_kubectl(admission, "annotate", "leaderworkersets", NAME, *words).stderr

    assert codes(said) == ["FI901"]


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


@LONGEST_NAMES
def test_the_longest_name_whose_pods_can_exist_is_accepted(
    admission: Cluster, namespace: str, size: int, replicas: int, length: int
) -> None:
    lws = with_name(length, size, replicas)

    admitted = put(admission, namespace, DRY, lws)

    assert EXPANSION in admitted["metadata"]["annotations"]


@LONGEST_NAMES
def test_a_longer_name_is_refused_with_the_limit(
    admission: Cluster, namespace: str, size: int, replicas: int, length: int
) -> None:
    lws = with_name(length + 1, size, replicas)

    said = told(admission, namespace, DRY, lws)

    assert f"metadata.name: must be at most {length} characters" in said


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


def with_name(length: int, size: int, replicas: int) -> Object:
    """Return groups of a size, with a name of so many characters."""
    engine = {"name": "vllm", "image": "vllm/vllm-openai:v0.17.1", "args": ["--model", "org/M"]}
    limits = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
    template = {"spec": {"containers": [{**engine, **limits}]}}
    return {
        **named(ANNOTATED, "n" * length),
        "spec": {"replicas": replicas, "leaderWorkerTemplate": {"size": size, "workerTemplate": template}},
    }


def filled(cluster: Cluster, namespace: str, more: int) -> Object:
    """Return it with an annotation that leaves exactly the record's room, or takes so many bytes more."""
    admitted = put(cluster, namespace, DRY, named(ANNOTATED, NAME, refresh=""))
    used = sum(len(key) + len(value) for key, value in admitted["metadata"]["annotations"].items())
    return named(ANNOTATED, NAME, refresh="x" * (ANNOTATIONS_LIMIT - used + more))
