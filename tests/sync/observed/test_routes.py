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


def test_a_parent_is_in_the_namespace_of_its_route_or_a_listener_elsewhere() -> None:
    refs = [{"name": "gw"}, {"name": "gw", "namespace": "infra", "sectionName": "https", "port": 443}]

    found = routes.project_http_route(route({"parentRefs": refs})).parents

    assert found == (Parent("team-a", "gw"), Parent("infra", "gw", "https", 443))


@pytest.mark.parametrize(("generation", "status"), [(0, None), (1, None), (2, "True")])
def test_only_an_answer_to_this_generation_of_routes_counts(generation: int, status: str | None) -> None:
    for project in (routes.project_http_route, routes.project_pool):
        accepted = project(route({}, answer(generation))).answers[0].accepted
        assert (accepted and accepted.status) == status


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


def test_a_gateway_has_its_condition_programmed_of_this_generation() -> None:
    found = [routes.project_gateway(programmed(observed)).programmed for observed in (0, 1, 2)]

    assert found == [None, None, ObservedCondition("Programmed", "False", "Invalid", observed=2)]


def condition(kind: str, status: str, message: str = "", **fields: Any) -> Object:
    """Return a condition."""
    return {"type": kind, "status": status, "message": message, **fields}


def picker(*conditions: Object, observed: int = 2, **status: int) -> Object:
    """Return the second generation of a Deployment."""
    told = {"observedGeneration": observed, "conditions": list(conditions), **status}
    labels = {"fusioninfer.io/picker": "gie-1.4"}
    return {"metadata": {"name": "r1-epp", "generation": 2, "labels": labels}, "status": told}


STALLED = condition("Progressing", "False", "has timed out progressing")
READY = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}


@pytest.mark.parametrize(
    ("obj", "available", "replacing", "current"),
    [
        (picker(STALLED, **READY), True, False, True),
        (picker(condition("Available", "True"), replicas=2), False, True, True),
        (picker(**READY | {"updatedReplicas": 1}), True, True, True),
        (picker(observed=1, availableReplicas=1), True, False, False),
    ],
    ids=["one pod of several", "a condition alone", "a pod of an earlier template", "an old status"],
)
def test_a_deployment_is_available_by_its_pods(
    obj: Object, *, available: bool, replacing: bool, current: bool
) -> None:
    row = routes.project_deployment(obj)

    assert (row.available, row.replacing, row.current) == (available, replacing, current)
    assert row.picker == "gie-1.4"


def test_a_refused_pod_comes_before_other_conditions() -> None:
    row = routes.project_deployment(
        picker(
            condition("Available", "False", "Deployment does not have minimum availability."),
            condition("ReplicaFailure", "True", "exceeded quota: compute"),
        )
    )

    assert row.message == "exceeded quota: compute"
