"""Projections of HTTPRoutes, InferencePools and Gateways."""

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
