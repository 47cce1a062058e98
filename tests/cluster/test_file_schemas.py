"""The API server refuses the same fields of random objects as the check of files does.

Each object is a valid one with random mistakes. Writes are dry runs: a strict one, as those of kubectl, names
the unknown fields; one that ignores them names the invalid values, of the schema and of LWS's webhooks.
"""

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest

from fusioninfer.paths import steps_of
from intent import Object
from intent.disaggregatedset import KIND as DISAGGREGATED_SET
from intent.lws import KIND as LWS
from intent.resource import kind_of, violations_of
from intent.schema import Violation
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster

ROUNDS: Final = 40
"""Random objects of each kind and seed."""
RESOURCES: Final = {LWS: "leaderworkersets", DISAGGREGATED_SET: "disaggregatedsets"}
KEY: Final = re.compile(r"\[([^]]*[^]0-9][^]]*)\]")
"""The key of a map in a path; the API server writes it like a field."""

TEMPLATE: Final[Object] = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"c/d": "e"}},
    "spec": {
        "schedulerName": "volcano",
        "nodeSelector": {"pool": "gpu"},
        "terminationGracePeriodSeconds": 60,
        "hostNetwork": False,
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "imagePullSecrets": [{"name": "a"}, {"name": "b"}],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
        "initContainers": [{"name": "init", "image": "busybox", "command": ["true"]}],
        "containers": [
            {
                "name": "vllm",
                "image": "vllm/vllm-openai:v0.17.1",
                "args": ["--model", "m"],
                "ports": [{"containerPort": 8000}, {"containerPort": 9000, "protocol": "UDP", "name": "x"}],
                "env": [
                    {"name": "A", "value": "1"},
                    {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                ],
                "resources": {"limits": {"nvidia.com/gpu": 8, "memory": "1Gi"}},
                "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - in the container
                "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 5},
                "securityContext": {"runAsUser": 1000, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    },
}
GROUP: Final[Object] = {
    "replicas": 2,
    "startupPolicy": "LeaderCreated",
    "rolloutStrategy": {
        "type": "RollingUpdate",
        "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": "50%"},
    },
    "networkConfig": {"subdomainPolicy": "Shared"},
    "leaderWorkerTemplate": {
        "size": 4,
        "restartPolicy": "RecreateGroupOnPodRestart",
        "subGroupPolicy": {"subGroupSize": 2, "subGroupPolicyType": "LeaderWorker"},
        "leaderTemplate": TEMPLATE,
        "workerTemplate": TEMPLATE,
    },
}
METADATA: Final[Object] = {"name": "a", "labels": {"a": "b"}, "annotations": {"c/d": "e"}}
BASES: Final[dict[str, Object]] = {
    LWS: {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": LWS, "metadata": METADATA, "spec": GROUP},
    DISAGGREGATED_SET: {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": DISAGGREGATED_SET,
        "metadata": METADATA,
        "spec": {
            "roles": [
                {"name": name, "metadata": {"labels": {"a": "b"}}, "spec": GROUP} for name in ("p", "d")
            ]
        },
    },
}
FIXED: Final = frozenset({"apiVersion", "kind", "namespace"})
VALUES: Final[tuple[Any, ...]] = (
    *(None, True, 0, -1, 3, 2**31, 1.5, "", "x", "1", "1Gi", "Upper Case", "-", "100%", "101%"),
    *([], {}, [1], ["x"], {"x": "y"}, {"name": "vllm"}, [None], [{"name": "shm"}]),
)


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of values with each of its keys or positions."""
    fields = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(fields):
        if key not in FIXED:
            yield node, key
            yield from places(value)


def mistaken(base: Object, random: Random) -> Object:
    """Return an object with one to three random mistakes."""
    made: Object = json.loads(json.dumps(base))
    for _ in range(random.choice([1, 1, 2, 3])):
        node, key = random.choice(list(places(made)))
        kind = random.choice(["misspelt", "other", "other", "removed", "added", "repeated"])
        if kind == "other":
            node[key] = copy.deepcopy(random.choice(VALUES))
        elif kind == "removed":
            del node[key]
        elif kind == "repeated" and isinstance(node, list):
            node.append(copy.deepcopy(node[key]))
        elif kind == "misspelt" and isinstance(node, dict):
            node[key[:1] + key[2:] or "q"] = node.pop(key)
        elif isinstance(node, dict):
            node["added"] = copy.deepcopy(random.choice(VALUES))
    return made


def refusal(cluster: Cluster, namespace: str, obj: Object, validation: str) -> Object | None:
    """Return the Status with which the API server refuses an object; None if it accepts it."""
    try:
        create(
            *(cluster.api, path(RESOURCES[obj["kind"]], namespace), obj),
            dryRun="All",
            fieldValidation=validation,
        )
    except ApiError as error:
        return error.body
    return None


def is_undecoded(status: Object | None) -> bool:
    """Return whether the metadata could not be decoded: then nothing else is checked."""
    return status is not None and "cannot be handled as" in status["message"]


def unknown_to_api(status: Object | None) -> set[str]:
    return set(re.findall(r'unknown field "([^"]*)"', status["message"])) if status else set()


def invalid_to_api(status: Object | None, obj: Object) -> set[str]:
    """Return the invalid fields, without those that LWS's webhook added with an empty value."""
    causes = (status or {}).get("details", {}).get("causes", [])
    return {
        one["field"]
        for one in causes
        if one["field"] != "<nil>" and (one["reason"] == "FieldValueRequired" or steps_of(obj, one["field"]))
    }


def is_refused_later(one: Violation, kind: str) -> bool:
    """Return whether the API server may accept an object that cannot run.

    LWS's webhook applies its rules to the LeaderWorkerSets that are made of a DisaggregatedSet. In a
    LeaderWorkerSet, it writes required fields of the pods that are absent, with an empty value.
    """
    if kind == DISAGGREGATED_SET:
        return RULES.search(one.path) is not None and not one.schema
    return one.message == "is required" and "Template.spec." in one.path


RULES: Final = re.compile(r"(\.subGroupSize|\.size|\.replicas|\.rollingUpdateConfiguration|\.partition)$")


def related(one: str, others: set[str]) -> bool:
    """Return whether a path is at, above or below one of others."""
    return any(one.startswith(other) or other.startswith(one) for other in others)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", BASES)
def test_the_api_server_refuses_the_same_fields(
    cluster: Cluster, namespace: str, kind: str, seed: int
) -> None:
    random = Random(f"{kind} {seed}")  # noqa: S311 - a seeded test
    different = []
    for _ in range(ROUNDS):
        obj = mistaken(BASES[kind], random)
        known = kind_of(obj)
        assert known is not None
        found = [replace(one, path=KEY.sub(r".\1", one.path)) for one in violations_of(obj, known)]
        unknown = {one.path for one in found if one.unknown}
        invalid = {one.path for one in found if not one.unknown}
        certain = {one.path for one in found if not (one.unknown or is_refused_later(one, kind))}
        strict, lenient = (refusal(cluster, namespace, obj, one) for one in ("Strict", "Ignore"))
        theirs = {at for at in unknown_to_api(strict) if not related(at, invalid)}
        unseen = theirs != unknown and not is_undecoded(strict)
        wrong = {at for at in invalid_to_api(lenient, obj) if not related(at, invalid)}
        if unseen or wrong or (certain and not lenient) or (lenient and not invalid):
            message = lenient["message"] if lenient else "accepted"
            different.append(
                f"unknown: {unknown} / {theirs}\ninvalid: {invalid} / {message}\n{json.dumps(obj)}\n"
            )
    assert "\n".join(different) == ""


@pytest.mark.parametrize("kind", BASES)
def test_the_valid_object_is_accepted(cluster: Cluster, namespace: str, kind: str) -> None:
    known = kind_of(BASES[kind])
    assert known is not None
    assert list(violations_of(BASES[kind], known)) == []
    assert refusal(cluster, namespace, BASES[kind], "Strict") is None
