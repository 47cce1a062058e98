"""Projections of LeaderWorkerSets, Deployments and PodGroups."""

from typing import Any

import pytest

from intent import Object
from sync.observed import lws, routes
from sync.observed.pod_group import pod_group


def leader_worker_set(spec: Object, **status: Any) -> Object:
    """Return the third generation of a LeaderWorkerSet."""
    return {"metadata": {"name": "r1-decode", "generation": 3}, "spec": spec, "status": status}


def picker(*conditions: Object, observed: int = 2, **status: int) -> Object:
    """Return the second generation of a Deployment."""
    told = {"observedGeneration": observed, "conditions": list(conditions), **status}
    labels = {"fusioninfer.io/picker": "gie-1.4"}
    return {"metadata": {"name": "r1-epp", "generation": 2, "labels": labels}, "status": told}


def condition(kind: str, status: str, message: str = "", **fields: Any) -> Object:
    """Return a condition."""
    return {"type": kind, "status": status, "message": message, **fields}


def test_replicas_are_those_of_the_spec() -> None:
    assert lws.project(leader_worker_set({"replicas": 4})).replicas == 4


def test_replicas_default_to_one() -> None:
    assert lws.project(leader_worker_set({})).replicas == 1


def test_a_status_of_this_generation_is_current() -> None:
    assert lws.project(leader_worker_set({}, observedGeneration=3)).current


def test_a_status_of_an_earlier_generation_is_not() -> None:
    assert not lws.project(leader_worker_set({}, observedGeneration=2)).current


def test_no_status_is_not_current() -> None:
    assert not lws.project(leader_worker_set({})).current


def test_conditions_have_the_generation_where_the_status_lacks_it() -> None:
    said = condition("Available", "True", observedGeneration=2)

    assert lws.project(leader_worker_set({}, conditions=[said])).observed == 2


def test_a_status_without_a_generation_counts_as_current() -> None:
    assert lws.project(leader_worker_set({}, replicas=1)).current


@pytest.mark.parametrize(("status", "updating"), [("True", True), ("False", False)])
def test_a_rolling_update_is_seen(status: str, updating: bool) -> None:  # noqa: FBT001 - a table
    said = condition("UpdateInProgress", status)

    assert lws.project(leader_worker_set({}, conditions=[said])).updating == updating


def test_a_deployment_is_available_by_one_pod_of_several() -> None:
    said = condition("Progressing", "False", "has timed out progressing")

    row = routes.project_deployment(picker(said, replicas=2, updatedReplicas=2, availableReplicas=1))

    assert (row.available, row.replacing) == (True, False)


def test_a_deployment_without_pods_is_not_available_by_its_condition() -> None:
    assert not routes.project_deployment(picker(condition("Available", "True"), replicas=2)).available


def test_a_deployment_with_a_pod_of_an_earlier_template_is_being_replaced() -> None:
    assert routes.project_deployment(picker(replicas=2, updatedReplicas=1, availableReplicas=1)).replacing


def test_a_deployment_names_its_generation_of_endpoint_pickers() -> None:
    assert routes.project_deployment(picker()).picker == "gie-1.4"


def test_a_deployment_with_an_old_status_is_not_current() -> None:
    assert not routes.project_deployment(picker(observed=1, availableReplicas=1)).current


def test_a_refused_pod_comes_before_other_conditions() -> None:
    row = routes.project_deployment(
        picker(
            condition("Available", "False", "Deployment does not have minimum availability."),
            condition("ReplicaFailure", "True", "exceeded quota: compute"),
        )
    )

    assert row.message == "exceeded quota: compute"


def test_volcanos_message_is_kept_while_the_gang_is_unschedulable() -> None:
    said = condition("Unschedulable", "True", "6/6 tasks in gang unschedulable")

    assert pod_group({"status": {"conditions": [said]}}).message == "6/6 tasks in gang unschedulable"


def test_volcanos_message_is_dropped_when_it_is_schedulable() -> None:
    said = condition("Unschedulable", "False", "6/6 tasks in gang unschedulable")

    assert pod_group({"status": {"conditions": [said]}}).message == ""
