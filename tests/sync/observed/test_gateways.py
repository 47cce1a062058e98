"""What is kept of HTTPRoutes, InferencePools and Gateways."""

from typing import Any

import pytest

from intent import Object
from sync.observed import gateway, http_route, inference_pool
from sync.observed.condition import ObservedCondition
from sync.observed.gateway import Listener
from sync.observed.parents import Parent


def answer(generation: int = 2, **ref: Any) -> Object:
    """Make what a gateway says of a generation."""
    accepted = {"type": "Accepted", "status": "True", "observedGeneration": generation}
    return {"parentRef": {"name": "gw", **ref}, "conditions": [accepted]}


def route(spec: Object, *parents: Object) -> Object:
    """Make the second generation of an HTTPRoute."""
    metadata = {"namespace": "team-a", "name": "r1-httproute", "generation": 2}
    return {"metadata": metadata, "spec": spec, "status": {"parents": list(parents)}}


def matching(path: Object) -> Object:
    """Make the spec of a route with one match."""
    return {"rules": [{"matches": [{"path": path}]}]}


def test_a_parent_is_in_the_namespace_of_its_route() -> None:
    assert http_route.project(route({"parentRefs": [{"name": "gw"}]})).parents == (Parent("team-a", "gw"),)


def test_a_parent_may_be_a_listener_elsewhere() -> None:
    ref = {"name": "gw", "namespace": "infra", "sectionName": "https", "port": 443}

    assert http_route.project(route({"parentRefs": [ref]})).parents == (Parent("infra", "gw", "https", 443),)


def test_an_answer_to_this_generation_counts() -> None:
    accepted = http_route.project(route({}, answer())).answers[0].accepted

    assert accepted is not None
    assert accepted.status == "True"


@pytest.mark.parametrize("generation", [0, 1])
def test_an_answer_to_an_earlier_generation_does_not(generation: int) -> None:
    assert http_route.project(route({}, answer(generation))).answers[0].accepted is None


def test_a_pool_has_answers_as_a_route_has() -> None:
    assert (
        inference_pool.project(route({}, answer())).answers == http_route.project(route({}, answer())).answers
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
    assert http_route.project(route(matching(path))).prefix == prefix


def test_a_gateway_gives_its_listeners_and_addresses() -> None:
    row = gateway.project(
        {
            "metadata": {"namespace": "team-a", "name": "gw"},
            "spec": {"listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}]},
            "status": {"addresses": [{"type": "IPAddress", "value": "10.0.0.1"}, {}]},
        }
    )

    assert (row.listeners, row.addresses) == ((Listener("web", 80, "HTTP"),), ("10.0.0.1",))


def programmed(observed: int) -> Object:
    """Make the second generation of a Gateway whose controller speaks of one."""
    said = {"type": "Programmed", "status": "False", "reason": "Invalid", "observedGeneration": observed}
    return {"metadata": {"generation": 2}, "status": {"conditions": [said]}}


def test_a_gateway_says_whether_it_is_programmed() -> None:
    assert gateway.project(programmed(2)).programmed == ObservedCondition(
        "Programmed", "False", "Invalid", observed=2
    )


@pytest.mark.parametrize("observed", [0, 1])
def test_what_a_gateway_says_of_an_earlier_generation_does_not_count(observed: int) -> None:
    assert gateway.project(programmed(observed)).programmed is None
