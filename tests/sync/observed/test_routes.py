"""Projections of HTTPRoutes, InferencePools, Gateways and the Deployments of endpoint pickers."""

from typing import Any

import pytest

from intent import Object
from sync.observed import routes
from sync.observed.condition import ObservedCondition
from sync.observed.routes import Listener, Parent


def answer(generation: int = 2, **ref: Any) -> Object:
    """Return a gateway's answer for a generation."""
    accepted = {"type": "Accepted", "status": "True", "observedGeneration": generation}
    return {"parentRef": {"name": "gw", **ref}, "conditions": [accepted]}


def route(spec: Object, *parents: Object) -> Object:
    """Return the second generation of an HTTPRoute."""
    metadata = {"namespace": "team-a", "name": "r1-httproute", "generation": 2}
    return {"metadata": metadata, "spec": spec, "status": {"parents": list(parents)}}


def matching(path: Object) -> Object:
    """Return the spec of a route with one match."""
    return {"rules": [{"matches": [{"path": path}]}]}


def test_a_parent_is_in_the_namespace_of_its_route() -> None:
    assert routes.project_http_route(route({"parentRefs": [{"name": "gw"}]})).parents == (
        Parent("team-a", "gw"),
    )


def test_a_parent_may_be_a_listener_elsewhere() -> None:
    ref = {"name": "gw", "namespace": "infra", "sectionName": "https", "port": 443}

    assert routes.project_http_route(route({"parentRefs": [ref]})).parents == (
        Parent("infra", "gw", "https", 443),
    )


def test_an_answer_to_this_generation_counts() -> None:
    accepted = routes.project_http_route(route({}, answer())).answers[0].accepted

    assert accepted is not None
    assert accepted.status == "True"


@pytest.mark.parametrize("generation", [0, 1])
def test_an_answer_to_an_earlier_generation_does_not(generation: int) -> None:
    assert routes.project_http_route(route({}, answer(generation))).answers[0].accepted is None


def test_the_answers_of_a_pool_are_read_as_those_of_a_route() -> None:
    assert (
        routes.project_pool(route({}, answer())).answers
        == routes.project_http_route(route({}, answer())).answers
    )


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ({"type": "PathPrefix", "value": "/r1"}, "/r1"),
        ({"type": "PathPrefix", "value": "/r1/"}, "/r1"),
        ({"type": "PathPrefix", "value": "/"}, ""),
        ({"type": "RegularExpression", "value": "/r.*"}, ""),
        ({}, ""),
    ],
)
def test_the_prefix_is_that_of_the_first_match(path: Object, prefix: str) -> None:
    assert routes.project_http_route(route(matching(path))).prefix == prefix


def test_a_gateway_has_its_listeners_and_addresses() -> None:
    row = routes.project_gateway(
        {
            "metadata": {"namespace": "team-a", "name": "gw"},
            "spec": {"listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}]},
            "status": {"addresses": [{"type": "IPAddress", "value": "10.0.0.1"}, {}]},
        }
    )

    assert (row.listeners, row.addresses) == ((Listener("web", 80, "HTTP"),), ("10.0.0.1",))


def programmed(observed: int) -> Object:
    """Return the second generation of a Gateway, with a condition of some generation."""
    said = {"type": "Programmed", "status": "False", "reason": "Invalid", "observedGeneration": observed}
    return {"metadata": {"generation": 2}, "status": {"conditions": [said]}}


def test_a_gateway_has_its_condition_programmed() -> None:
    assert routes.project_gateway(programmed(2)).programmed == ObservedCondition(
        "Programmed", "False", "Invalid", observed=2
    )


@pytest.mark.parametrize("observed", [0, 1])
def test_a_condition_of_an_earlier_generation_does_not_count(observed: int) -> None:
    assert routes.project_gateway(programmed(observed)).programmed is None


def condition(kind: str, status: str, message: str = "", **fields: Any) -> Object:
    """Return a condition."""
    return {"type": kind, "status": status, "message": message, **fields}


def picker(*conditions: Object, observed: int = 2, **status: int) -> Object:
    """Return the second generation of a Deployment."""
    told = {"observedGeneration": observed, "conditions": list(conditions), **status}
    labels = {"fusioninfer.io/picker": "gie-1.4"}
    return {"metadata": {"name": "r1-epp", "generation": 2, "labels": labels}, "status": told}


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
