"""Kubernetes and LeaderWorkerSet's webhook accept and refuse the same scaling and rollouts as our rules.

What our schema alone refuses is left out: an API server takes unknown fields as warnings.
"""

import copy
from typing import Final

import pytest

from intent import Object
from intent.inferenceservice.embedded import EMBEDDED
from intent.schema import violations
from tests.builders.autoscaling import BROKEN_ROLLOUTS, BROKEN_SCALINGS, GOOD_ROLLOUTS, GOOD_SCALINGS
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS

TARGET: Final = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "x"}
STRICT: Final = {"dryRun": "All", "fieldValidation": "Strict"}
ZERO: Final = "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"
"""The answer without the feature gate HPAScaleToZero."""


def answer(cluster: Cluster, resource: str, obj: Object) -> str:
    """Return why the API server refuses an object; empty if it accepts it."""
    try:
        create(cluster.api, path(resource, "default"), obj, **STRICT)
    except ApiError as error:
        return str(error)
    return ""


def autoscaler(spec: Object) -> Object:
    whole = {"scaleTargetRef": TARGET, **copy.deepcopy(spec)}
    return {"metadata": {"name": "x"}, "spec": whole}


def leader_worker_set(strategy: Object) -> Object:
    return TRIAL_LWS | {"spec": {**TRIAL_LWS["spec"], "rolloutStrategy": copy.deepcopy(strategy)}}


def said(field: str, value: Object) -> list[str]:
    row = EMBEDDED[field]
    return [one.message for one in violations(value, row.schema.root, "", row.rules)]


@pytest.mark.parametrize("name", GOOD_SCALINGS)
def test_valid_scaling_is_accepted(cluster: Cluster, name: str) -> None:
    spec = GOOD_SCALINGS[name]

    refused = answer(cluster, "horizontalpodautoscalers", autoscaler(spec))

    assert (ZERO in refused) if spec.get("minReplicas") == 0 else (refused == "")


@pytest.mark.parametrize("name", [name for name in BROKEN_SCALINGS if name != "a target"])
def test_invalid_scaling_is_refused(cluster: Cluster, name: str) -> None:
    spec, _ = BROKEN_SCALINGS[name]

    assert said("scaling", spec)
    assert answer(cluster, "horizontalpodautoscalers", autoscaler(spec))


@pytest.mark.parametrize("name", GOOD_ROLLOUTS)
def test_a_valid_rollout_strategy_is_accepted(cluster: Cluster, name: str) -> None:
    assert answer(cluster, "leaderworkersets", leader_worker_set(GOOD_ROLLOUTS[name])) == ""


@pytest.mark.parametrize("name", BROKEN_ROLLOUTS)
def test_an_invalid_rollout_strategy_is_refused(cluster: Cluster, name: str) -> None:
    strategy, _ = BROKEN_ROLLOUTS[name]

    assert said("rolloutStrategy", strategy)
    assert answer(cluster, "leaderworkersets", leader_worker_set(strategy))
