"""An InferenceService that breaks a rule, and was stored while nobody checked it, runs and can be scaled."""

import json
from collections.abc import Iterator
from typing import Final

import pytest

from tests.builders.isvc import isvc, worker
from tests.builders.lws import changed
from tests.cluster.testbed.api import get, path
from tests.cluster.testbed.cluster import Cluster, run_kubectl
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.rollouts import Rollout, rollout, started
from tests.cluster.testbed.services import conditions, says
from tests.cluster.testbed.unchecked import unchecked
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
SET: Final = f"{NAME}-inference"
MISTAKEN: Final = isvc(worker(replicas=1), name=NAME, annotations={"fusioninfer.io/strategy": "queue-size"})
"""It has an annotation for which there is a field (FI709)."""


@pytest.fixture(scope="module")
def mistaken(served: Cluster) -> Iterator[str]:
    """The namespace in which it is, with its pods."""
    with new_namespace(served) as namespace:
        with unchecked(served, namespace, MISTAKEN):
            apply(served, namespace, MISTAKEN)
        started(served, namespace, SET)
        yield namespace


@pytest.fixture(scope="module")
def scaled(served: Cluster, mistaken: str) -> tuple[Rollout, str]:
    """The pods before the scale, and the warnings."""
    before = rollout(served, mistaken, SET)
    more = json.dumps(changed(MISTAKEN, "spec.roles.0.replicas", 2))
    told = run_kubectl(served, "apply", "--namespace", mistaken, "--filename=-", stdin=more).stderr
    until(lambda: replicas(served, mistaken) == 2, "its set is scaled")
    return before, told


def test_it_runs_and_its_status_reports_the_error(served: Cluster, mistaken: str) -> None:
    expected = {
        "Initialized": ("True", "InferenceServiceCreating"),
        "Failed": ("True", "InferenceServiceFailed"),
    }

    status = says(served, mistaken, NAME, expected)

    assert "(FI709)" in conditions(status)["Failed"]["message"]


def test_who_scales_it_is_warned(scaled: tuple[Rollout, str]) -> None:
    assert "Warning: FI709" in scaled[1]


def test_scaling_restarts_nothing(served: Cluster, mistaken: str, scaled: tuple[Rollout, str]) -> None:
    after = started(served, mistaken, SET)

    assert scaled[0].pods.items() <= after.pods.items()


def replicas(cluster: Cluster, namespace: str) -> int:
    """Read how many groups its LeaderWorkerSet should have."""
    found: int = get(cluster.api, path("leaderworkersets", namespace, SET))["spec"]["replicas"]
    return found
