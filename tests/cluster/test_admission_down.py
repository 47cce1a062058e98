"""While the webhook is down: writes that concern it are refused, a bypass and deletions are admitted."""

import json
from collections.abc import Iterator

import pytest

from intent import Object
from tests.cluster.testbed.api import create, path
from tests.cluster.testbed.cluster import Cluster, KubectlError, kubectl
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import start_webhook, wait_admission
from tests.cluster.testbed.rollouts import started
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import CLIENT_SIDE, WHOLE, named, put, read

ANNOTATED = read(WHOLE)
HELD = "example.com/held"
OWNER = "owner"
LET_GO = [
    {"op": "test", "path": "/metadata/finalizers/0", "value": HELD},
    {"op": "remove", "path": "/metadata/finalizers/0"},
]


@pytest.fixture(scope="module")
def orphaned(admission: Cluster) -> Iterator[str]:
    """A namespace with annotated sets, one held by a finalizer, one owned; then the webhook is killed."""
    namespace = add_namespace(admission)
    owner = create(admission.api, path("configmaps", namespace), {"metadata": {"name": OWNER}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": OWNER, "uid": owner["metadata"]["uid"]}
    put(admission, namespace, CLIENT_SIDE, with_metadata("held", finalizers=[HELD]))
    put(admission, namespace, CLIENT_SIDE, with_metadata("owned", ownerReferences=[reference]))
    put(admission, namespace, CLIENT_SIDE, named(ANNOTATED, "live"))
    started(admission, namespace, "held")
    kill_process(admission, "webhook")
    try:
        yield namespace
    finally:
        start_webhook(admission)
        wait_admission(admission)
        empty_namespace(admission, namespace)


def test_with_the_annotation_it_is_refused_and_the_dead_webhook_is_named(
    admission: Cluster, orphaned: str
) -> None:
    with pytest.raises(KubectlError) as refused:
        put(admission, orphaned, CLIENT_SIDE, ANNOTATED)

    assert 'failed calling webhook "mutate.fusioninfer.io"' in str(refused.value)


def test_an_annotated_object_can_be_scaled(admission: Cluster, orphaned: str) -> None:
    kubectl(admission, "scale", "leaderworkersets", "live", "--replicas=2", "--namespace", orphaned)

    assert len(started(admission, orphaned, "live").pods) == 4


def test_an_object_that_bypasses_admission_is_stored_as_written(admission: Cluster, orphaned: str) -> None:
    lws = named(ANNOTATED, "bypassing", inject="disabled")

    accepted = put(admission, orphaned, CLIENT_SIDE, lws)

    engine = accepted["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]
    assert engine["command"] == ["vllm", "serve"]


def test_a_foreground_deletion_of_an_annotated_object_is_admitted(admission: Cluster, orphaned: str) -> None:
    where = ("leaderworkersets", "held", "--namespace", orphaned)
    kubectl(admission, "delete", *where, "--cascade=foreground", "--wait=false")

    kubectl(admission, "patch", *where, "--type=json", f"--patch={json.dumps(LET_GO)}")

    assert until(lambda: kubectl(admission, "get", *where, "--ignore-not-found") == "", "it is gone")


def test_an_orphaning_deletion_of_the_owner_of_an_annotated_object_is_admitted(
    admission: Cluster, orphaned: str
) -> None:
    where = ("configmaps", OWNER, "--namespace", orphaned)

    kubectl(admission, "delete", *where, "--cascade=orphan", "--wait=false")

    assert until(lambda: kubectl(admission, "get", *where, "--ignore-not-found") == "", "it is gone")


def with_metadata(name: str, **metadata: object) -> Object:
    lws = named(ANNOTATED, name)
    return {**lws, "metadata": {**lws["metadata"], **metadata}}
