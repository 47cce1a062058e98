"""LeaderWorkerSets and DisaggregatedSets with random mistakes."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from intent import Object
from intent.disaggregatedset import KIND as DISAGGREGATED_SET
from intent.lws import KIND as LWS

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
