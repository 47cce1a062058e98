"""A role with an autoscaler, or with a rollout strategy: how it is read and rendered, and its findings."""

import copy
from typing import Any

import pytest

from intent import Object
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import RoleIntent, read
from tests.builders.autoscaling import pods, rolling, scaling
from tests.builders.isvc import isvc, worker

ROLE = "spec.roles[0]"
QUEUE = scaling(pods())


def scaled(**fields: Any) -> Object:
    return isvc(worker(**{"scaling": QUEUE, **fields}))


def found(obj: Object) -> list[tuple[str, str]]:
    return [(one.path, one.code) for one in read(obj)[1]]


def role_of(obj: Object) -> RoleIntent:
    service, _ = read(obj)
    assert service is not None
    return service.roles[0]


def rendered(obj: Object) -> Object:
    service, _ = read(obj)
    assert service is not None
    spec: Object = leader_worker_sets(service)[0]["spec"]
    return spec


def test_a_scaled_role_has_no_findings_and_no_replicas() -> None:
    obj = scaled()

    assert (found(obj), role_of(obj).scaling, role_of(obj).replicas) == ([], QUEUE, None)
    assert "replicas" not in rendered(obj)
    assert role_of(scaled(scaling=QUEUE | {"minReplicas": None})).scaling == QUEUE
    assert role_of(isvc(worker(replicas=2))).scaling is None


@pytest.mark.parametrize("field", ["replicas", "roleReplicas"])
def test_replicas_beside_scaling_are_refused_and_the_autoscaler_wins(field: str) -> None:
    obj = scaled(**{field: 3})

    (error,) = [one for one in read(obj)[1] if one.code == "FI732"]
    assert str(error) == (
        f"{ROLE}.{field}: Invalid value: 3: must be absent: scaling decides the number of replicas; "
        "remove one of the two (FI732)"
    )
    assert (role_of(obj).replicas, "replicas" in rendered(obj)) == (None, False)


def test_scaling_without_metrics_is_a_warning() -> None:
    assert found(scaled(scaling=scaling())) == [(f"{ROLE}.scaling", "FI755")]


def test_the_maximum_of_replicas_limits_the_length_of_names() -> None:
    fits = isvc(worker(name="w", scaling=scaling(pods(), maxReplicas=10)), name="s" * 48)
    long = isvc(worker(name="w", scaling=scaling(pods(), maxReplicas=11)), name="s" * 48)

    assert (found(fits), found(long)) == ([], [(f"{ROLE}.name", "FI109")])


def test_a_rollout_strategy_is_that_of_the_leader_worker_set() -> None:
    strategy = rolling(maxSurge=1, partition=2)
    obj = isvc(worker(rolloutStrategy=copy.deepcopy(strategy)))

    assert (found(obj), rendered(obj)["rolloutStrategy"]) == ([], strategy)
    assert "rolloutStrategy" not in rendered(isvc())
