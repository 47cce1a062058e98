"""Specs of HorizontalPodAutoscalers without their target, and rollout strategies: valid ones and others.

They are checked here, and compared with a real API server and LeaderWorkerSet's webhook
(`tests/cluster/test_rules.py`).
"""

from typing import Any, Final

from intent import Object

AVERAGE: Final[Object] = {"type": "AverageValue", "averageValue": "5"}


def external(target: Object = AVERAGE, **metric: Any) -> Object:
    """Return an external metric."""
    return {"type": "External", "external": {"metric": {"name": "queue", **metric}, "target": target}}


def resource(target: Object) -> Object:
    """Return a metric of the CPU."""
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def container(**source: Any) -> Object:
    """Return a metric of the CPU of one container."""
    target = {"type": "Utilization", "averageUtilization": 80}
    known = {"name": "cpu", "container": "vllm", "target": target}
    return {"type": "ContainerResource", "containerResource": known | source}


def pods(target: Object = AVERAGE, **metric: Any) -> Object:
    """Return a metric of the pods."""
    return {"type": "Pods", "pods": {"metric": {"name": "waiting", **metric}, "target": target}}


def of_object(target: Object, **described: Any) -> Object:
    """Return a metric of another object."""
    known = {"apiVersion": "v1", "kind": "Service", "name": "s"}
    source = {"metric": {"name": "hits"}, "describedObject": known | described, "target": target}
    return {"type": "Object", "object": source}


def scaling(*metrics: Object, **fields: Any) -> Object:
    """Return a spec with a maximum of four replicas."""
    return {"maxReplicas": 4, **({"metrics": list(metrics)} if metrics else {}), **fields}


def down(**rules: Any) -> Object:
    """Return a spec with rules about scaling down."""
    return scaling(behavior={"scaleDown": rules})


def policy(**fields: Any) -> Object:
    """Return a spec with one policy about scaling down."""
    return down(policies=[{"type": "Pods", "value": 1, "periodSeconds": 60, **fields}])


UTILIZATION: Final[Object] = {"type": "Utilization", "averageUtilization": 80}
GOOD_SCALINGS: Final[dict[str, Object]] = {
    "a maximum": scaling(),
    "both limits": scaling(minReplicas=4),
    "zero replicas": scaling(external(), minReplicas=0),
    "zero replicas by an object": scaling(of_object({"type": "Value", "value": 3}), minReplicas=0),
    "an external metric": scaling(external(selector={"matchLabels": {"service": "chat"}})),
    "the value of an external metric": scaling(external({"type": "Value", "value": "1500m"})),
    "a metric of pods": scaling(pods()),
    "a metric with a colon": scaling(pods(name="vllm:num_requests_waiting")),
    "a metric of a container": scaling(container()),
    "utilization": scaling(resource(UTILIZATION)),
    "an average": scaling(resource({"type": "AverageValue", "averageValue": "500m"})),
    "both values of an object": scaling(of_object({"type": "Value", "value": 3, "averageValue": 1})),
    "several metrics": scaling(external(), pods(), resource(UTILIZATION)),
    "a window": down(stabilizationWindowSeconds=3600),
    "no scaling down": down(selectPolicy="Disabled"),
    "a tolerance": down(tolerance="0.05"),
    "policies": policy(),
    "a share": policy(type="Percent", value=100, periodSeconds=1800),
    "nothing about a direction": scaling(behavior={"scaleUp": {}}),
}
BROKEN_SCALINGS: Final[dict[str, tuple[Object, str]]] = {
    "no maximum": ({"minReplicas": 1}, ".maxReplicas"),
    "a target": (scaling(scaleTargetRef={"kind": "Deployment", "name": "d"}), ".scaleTargetRef"),
    "a tolerance with a fraction as its exponent": (
        scaling(external(), behavior={"scaleUp": {"tolerance": "1e1.5"}}),
        ".behavior.scaleUp.tolerance",
    ),
}
"""With the path at which the finding is."""


def rolling(**configuration: Any) -> Object:
    """Return a rollout strategy."""
    return {"rollingUpdateConfiguration": configuration}


CONFIGURATION: Final = ".rollingUpdateConfiguration"
GOOD_ROLLOUTS: Final[dict[str, Object]] = {
    "nothing": {},
    "its type": {"type": "RollingUpdate"},
    "a surge": rolling(maxSurge=1, maxUnavailable=0),
    "a share of the surge": rolling(maxSurge="25%", maxUnavailable=0),
    "a share": rolling(maxUnavailable="50%", maxSurge=1),
    "all at once": rolling(maxUnavailable="100%"),
    "a partition": rolling(partition=3),
}
BROKEN_ROLLOUTS: Final[dict[str, tuple[Object, str]]] = {
    "an unknown type": ({"type": "Recreate"}, ".type"),
    "a misspelt field": (rolling(maxSurges=1), f"{CONFIGURATION}.maxSurges"),
    "a partition as a share": (rolling(partition="50%"), f"{CONFIGURATION}.partition"),
}
"""With the path at which the finding is."""
