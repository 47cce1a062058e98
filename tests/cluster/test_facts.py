"""Defaults of the API server and of LWS's own webhook: facts that our rules rest on.

Measured on Kubernetes 1.35.4 and LWS 0.9.0. If a new version fails one of these tests, review
`intent/tree.py` and the limits on names.
"""

from pathlib import Path
from typing import Final

import pytest
import yaml

from intent import Object
from tests.cluster.testbed.api import ApiError, create, edit, items, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.differences import ABSENT, Differences, differences
from tests.cluster.testbed.echo import echo
from tests.cluster.testbed.wait import until

SUBMITTED: Final[Object] = yaml.safe_load((Path(__file__).parent / "facts" / "submitted.yaml").read_text())
MUTATE: Final = "/mutate"
BEFORE_LWS: Final = "a-echo"
AFTER_LWS: Final = "z-echo"

LEADER: Final = "spec.leaderWorkerTemplate.leaderTemplate"
CONTAINER: Final = LEADER + ".spec.containers[0]"
WORKER: Final = "spec.leaderWorkerTemplate.workerTemplate"

IN_METADATA: Final[Differences] = {
    "metadata.labels": ({}, ABSENT),
    "metadata.creationTimestamp": (None, ABSENT),
}
BY_SCHEMA: Final[Differences] = {
    "spec.unknownField": (1, ABSENT),
    WORKER + ".spec.unknownField": ({"deep": [1]}, ABSENT),
    LEADER + ".metadata.creationTimestamp": (None, ABSENT),
    LEADER + ".spec.tolerations": (None, ABSENT),
    CONTAINER + ".command": (None, ABSENT),
    CONTAINER + ".env[3].value": (None, ABSENT),
    CONTAINER + ".env[5].valueFrom.secretKeyRef.name": (ABSENT, ""),
    CONTAINER + ".ports[0].protocol": (ABSENT, "TCP"),
    CONTAINER + ".ports[1].protocol": (ABSENT, "TCP"),
    CONTAINER + ".livenessProbe.grpc.service": (ABSENT, ""),
    LEADER + ".spec.volumes[2].configMap.name": (ABSENT, ""),
    "spec.leaderWorkerTemplate.restartPolicy": (ABSENT, "RecreateGroupOnPodRestart"),
    "spec.leaderWorkerTemplate.size": (ABSENT, 1),
    "spec.replicas": (ABSENT, 1),
    "spec.startupPolicy": (ABSENT, "LeaderCreated"),
}
"""Before any webhook: unknown fields and nulls go, defaults of the CRD come. What is empty stays."""
BY_LWS: Final[Differences] = {
    CONTAINER + ".env[4].valueFrom.resourceFieldRef.divisor": (ABSENT, "0"),
    CONTAINER + ".resources.limits.cpu": ("1000m", "1"),
    CONTAINER + ".resources.limits.ephemeral-storage": ("1.5Gi", "1536Mi"),
    CONTAINER + ".resources.limits.memory": ("1024Mi", "1Gi"),
    CONTAINER + ".resources.limits.nvidia.com/gpu": (8, "8"),
    CONTAINER + ".resources.requests.cpu": (0.5, "500m"),
    CONTAINER + ".resources.requests.memory": (1073741824, "1073741824"),
    LEADER + ".spec.initContainers[0].resources": (ABSENT, {}),
    LEADER + ".spec.volumes[0].emptyDir.sizeLimit": ("2048Mi", "2Gi"),
    LEADER + ".spec.volumes[3].ephemeral.volumeClaimTemplate.metadata": (ABSENT, {}),
    LEADER + ".spec.volumes[3].ephemeral.volumeClaimTemplate.spec.resources": (ABSENT, {}),
    WORKER + ".metadata": (ABSENT, {}),
    WORKER + ".spec.containers[0].resources": (ABSENT, {}),
    "spec.networkConfig": (ABSENT, {"subdomainPolicy": "Shared"}),
    "spec.rolloutStrategy": (
        ABSENT,
        {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1, "partition": 0},
        },
    ),
    "status": (ABSENT, {}),
}
"""LWS's webhook writes what its Go types say: canonical quantities, and structs that are never left out."""

LONGEST_NAME: Final = 63
LABEL: Final = 63
HASH: Final = 10
"""The longest hash of a ControllerRevision: a 32-bit number in decimal, encoded digit by digit."""
LONGEST_WITH_LEADERS: Final = LABEL - len("-") - HASH
LONGEST_WITH_WORKERS: Final = LABEL - len("-0") - len("-") - HASH
"""Pods carry `controller-revision-hash: <StatefulSet>-<hash>`, and a label holds 63 bytes. One digit less for
group 10 and after. With a shorter hash (8 or 9 characters happen) a longer name works by luck."""


def test_the_api_server_defaults_and_prunes_before_any_webhook(cluster: Cluster, namespace: str) -> None:
    created = sent(cluster, namespace, BEFORE_LWS, SUBMITTED)

    changes = differences(SUBMITTED, created[0])

    added = {"metadata.namespace", "metadata.managedFields"}
    assert {place: what for place, what in changes.items() if place not in added} == {
        **IN_METADATA,
        **BY_SCHEMA,
    }


def test_lws_rewrites_quantities_and_fills_in_structs(cluster: Cluster, namespace: str) -> None:
    received = sent(cluster, namespace, BEFORE_LWS, SUBMITTED)

    changes = differences(received[0], received[1])

    assert changes == BY_LWS


def test_on_update_the_same_happens_as_on_create(cluster: Cluster, namespace: str) -> None:
    where = path("leaderworkersets", namespace)
    created = create(cluster.api, where, SUBMITTED)

    def same(live: Object) -> Object:
        version = {"resourceVersion": live["metadata"]["resourceVersion"]}
        return {**SUBMITTED, "metadata": SUBMITTED["metadata"] | version}

    updated = edit(cluster.api, where + "/facts", same)
    assert (updated["spec"], updated["metadata"]["generation"]) == (created["spec"], 1)


def test_a_patch_of_metadata_leaves_the_spec_alone(cluster: Cluster, namespace: str) -> None:
    where = path("leaderworkersets", namespace)
    created = create(cluster.api, where, SUBMITTED)

    patched = patch(cluster.api, where + "/facts", {"metadata": {"annotations": {"another": "one"}}})

    assert differences(created["spec"], patched["spec"]) == {}


@pytest.mark.parametrize(("name", "calls"), [(BEFORE_LWS, 2), (AFTER_LWS, 1)])
def test_a_webhook_that_sorts_before_lws_is_called_again_after_it(
    cluster: Cluster, namespace: str, name: str, calls: int
) -> None:
    with echo(cluster, name, namespace) as requests:
        create(cluster.api, path("leaderworkersets", namespace), SUBMITTED)

    assert [request["path"] for request in requests if request["path"].startswith("/mutate")] == [
        MUTATE
    ] * calls


def test_fields_of_a_webhook_are_defaulted_at_once_and_pruned_only_when_stored(
    cluster: Cluster, namespace: str
) -> None:
    container = {"name": "engine", "image": "image", "ports": [{"containerPort": 1}]}
    added = {**container, "unknownField": 1}

    with echo(cluster, AFTER_LWS, namespace, [replace_container(added)]) as requests:
        stored = create(cluster.api, path("leaderworkersets", namespace), SUBMITTED)

    defaulted = {**container, "ports": [{"containerPort": 1, "protocol": "TCP"}]}
    assert worker_container(requests[-1]["object"]) == {**defaulted, "unknownField": 1}
    assert worker_container(stored) == defaulted


def test_a_null_that_a_webhook_adds_is_refused(cluster: Cluster, namespace: str) -> None:
    added = {"name": "engine", "image": "image", "args": None}

    with (
        echo(cluster, AFTER_LWS, namespace, [replace_container(added)]),
        pytest.raises(ApiError, match="args in body must be of type array") as refused,
    ):
        create(cluster.api, path("leaderworkersets", namespace), SUBMITTED)

    assert refused.value.status == 422


def test_a_quantity_that_a_webhook_adds_after_lws_is_stored_as_it_was_written(
    cluster: Cluster, namespace: str
) -> None:
    added = {"name": "engine", "image": "image", "resources": {"limits": {"cpu": "1000m"}}}

    with echo(cluster, AFTER_LWS, namespace, [replace_container(added)]):
        stored = create(cluster.api, path("leaderworkersets", namespace), SUBMITTED)

    assert worker_container(stored) == added


def test_a_name_may_have_63_characters(cluster: Cluster, namespace: str) -> None:
    where = path("leaderworkersets", namespace)
    create(cluster.api, where, named(LONGEST_NAME))

    with pytest.raises(ApiError, match="no more than 63 characters") as refused:
        create(cluster.api, where, named(LONGEST_NAME + 1))

    assert refused.value.status == 403


def test_the_longest_name_with_workers_has_a_whole_group(cluster: Cluster, namespace: str) -> None:
    lws = named(LONGEST_WITH_WORKERS)

    create(cluster.api, path("leaderworkersets", namespace), lws)

    leader = lws["metadata"]["name"] + "-0"
    assert until(lambda: pod_names(cluster, namespace) == {leader, leader + "-1"}, "leader and worker exist")


def test_the_longest_name_with_leaders_has_no_workers(cluster: Cluster, namespace: str) -> None:
    letters = "abc"  # one of these has a hash of more than 8 characters; one alone has not in 1 of 40 cases

    for letter in letters:
        create(cluster.api, path("leaderworkersets", namespace), named(LONGEST_WITH_LEADERS, letter))

    leaders = {named(LONGEST_WITH_LEADERS, letter)["metadata"]["name"] + "-0" for letter in letters}
    assert until(lambda: leaders <= pod_names(cluster, namespace), "the leaders exist")
    assert until(lambda: refused_sets(cluster, namespace) & leaders, "a worker is refused for its label")


def test_a_longer_name_has_no_pods(cluster: Cluster, namespace: str) -> None:
    lws = named(LONGEST_WITH_LEADERS + 1)

    create(cluster.api, path("leaderworkersets", namespace), lws)

    assert until(lambda: refused_sets(cluster, namespace), "the leader is refused") == {
        lws["metadata"]["name"]
    }


def sent(cluster: Cluster, namespace: str, name: str, lws: Object) -> list[Object]:
    """Create an object; return it as our webhooks received it, one call after the other."""
    with echo(cluster, name, namespace) as requests:
        create(cluster.api, path("leaderworkersets", namespace), lws)
    return [request["object"] for request in requests]


def replace_container(container: Object) -> Object:
    """Return the operation of a JSON patch that replaces the worker's container."""
    return {
        "op": "replace",
        "path": "/spec/leaderWorkerTemplate/workerTemplate/spec/containers/0",
        "value": container,
    }


def worker_container(lws: Object) -> Object:
    """Return the only container of the worker template."""
    (container,) = lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
    return dict(container)


def named(length: int, fill: str = "n") -> Object:
    """Return a LeaderWorkerSet of one group of two, with a name of so many characters."""
    template = {**TRIAL_LWS["spec"]["leaderWorkerTemplate"], "size": 2}
    name = str(length).rjust(length, fill)
    return {**TRIAL_LWS, "metadata": {"name": name}, "spec": {"leaderWorkerTemplate": template}}


def pod_names(cluster: Cluster, namespace: str) -> set[str]:
    """Return the names of the pods there are."""
    return {pod["metadata"]["name"] for pod in items(cluster.api, path("pods", namespace))}


def refused_sets(cluster: Cluster, namespace: str) -> set[str]:
    """Return the StatefulSets whose pods were refused because a label is too long."""
    events = items(cluster.api, path("events", namespace), fieldSelector="reason=FailedCreate")
    refused = [event for event in events if "must be no more than 63 bytes" in event["message"]]
    return {event["involvedObject"]["name"] for event in refused}
