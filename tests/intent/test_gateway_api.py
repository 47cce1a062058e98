"""Findings about specs of HTTPRoutes and Gateways."""

import copy
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from catalog.schemas import GATEWAY, HTTP_ROUTE, schemas
from hack.upstream import nodes
from intent import Object
from intent.gateway_api import OF_GATEWAY, OF_HTTP_ROUTE
from intent.schema import violations
from intent.shapes import without_nulls
from tests.builders.gateway_api import (
    BROKEN_GATEWAYS,
    BROKEN_ROUTES,
    GOOD_GATEWAYS,
    GOOD_ROUTES,
    backed,
    filtered,
    matched,
    route,
)

CORS = {"type": "CORS", "cors": {"allowOrigins": ["https://a.example.com"], "maxAge": 60}}
RULES = {HTTP_ROUTE: OF_HTTP_ROUTE, GATEWAY: OF_GATEWAY}


def said(value: Any, name: str = HTTP_ROUTE) -> list[tuple[str, str]]:
    found = violations(value, schemas()[name].root, "r", RULES[name])
    return [(one.path, one.message) for one in found]


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_about_a_field(name: str) -> None:
    known = {path for path, _ in nodes(schemas()[name].root)}

    assert RULES[name].keys() <= known


@pytest.mark.parametrize("spec", GOOD_ROUTES.values(), ids=GOOD_ROUTES)
def test_a_valid_route_is_accepted(spec: Object) -> None:
    assert said(spec) == []


@pytest.mark.parametrize(("spec", "path"), BROKEN_ROUTES.values(), ids=BROKEN_ROUTES)
def test_an_invalid_route_is_reported_at_its_field(spec: Object, path: str) -> None:
    assert {where for where, _ in said(spec)} == {f"r{path}"}


@pytest.mark.parametrize("spec", GOOD_GATEWAYS.values(), ids=GOOD_GATEWAYS)
def test_a_valid_gateway_is_accepted(spec: Object) -> None:
    assert said(spec, GATEWAY) == []


@pytest.mark.parametrize(("spec", "path"), BROKEN_GATEWAYS.values(), ids=BROKEN_GATEWAYS)
def test_an_invalid_gateway_is_reported_at_its_field(spec: Object, path: str) -> None:
    assert {where for where, _ in said(spec, GATEWAY)} == {f"r{path}"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            matched(path={"type": "Prefix", "value": "/v1"}),
            ("r.rules[0].matches[0].path.type", "must be one of Exact, PathPrefix, RegularExpression"),
        ),
        (
            route(hostnames=["LLM.example.com"]),
            ("r.hostnames[0]", "must be a hostname in lower case, without a port; *. may begin it"),
        ),
        (
            matched(headers=[{"name": "a", "value": "b"}] * 2),
            ("r.rules[0].matches[0].headers[1]", "must differ from [0]: it has the same name"),
        ),
        (
            backed({"name": "models"}),
            ("r.rules[0].backendRefs[0]", "port is required: it refers to a Service"),
        ),
        (
            backed({"kind": "InferencePool", "name": "chat-pool"}),
            (
                "r.rules[0].backendRefs[0]",
                "group must be inference.networking.k8s.io: it refers to an InferencePool",
            ),
        ),
        (
            filtered({"type": "URLRewrite"}),
            ("r.rules[0].filters[0]", "urlRewrite is required where type is URLRewrite"),
        ),
    ],
    ids=["enum", "pattern", "keys", "service", "pool", "filter"],
)
def test_a_message_contains_the_remedy(spec: Object, expected: tuple[str, str]) -> None:
    assert said(spec) == [expected]


def test_fields_of_the_experimental_channel_are_accepted() -> None:
    assert said(filtered(CORS, retry={"attempts": 2, "codes": [503]})) == []


@pytest.mark.parametrize("value", ["text", [], 1, None, True])
def test_a_value_that_is_no_object_is_reported(value: Any) -> None:
    assert said(value) == [("r", "must be an object")]


def with_a_null(value: Any) -> Iterator[Any]:
    """Yield a value once for each field in it, which is null."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield {**value, key: None}
            yield from ({**value, key: one} for one in with_a_null(below))
    elif isinstance(value, list):
        for at, below in enumerate(value):
            yield from ([*value[:at], one, *value[at + 1 :]] for one in with_a_null(below))


SPECS = [
    *((HTTP_ROUTE, spec) for spec in (*GOOD_ROUTES.values(), *(spec for spec, _ in BROKEN_ROUTES.values()))),
    *((GATEWAY, spec) for spec in (*GOOD_GATEWAYS.values(), *(spec for spec, _ in BROKEN_GATEWAYS.values()))),
]


@pytest.mark.slow
def test_a_null_is_an_absent_field_for_rules_too() -> None:
    """Each specification has a null in every seventh place, each time from another one."""
    for at, (name, spec) in enumerate(SPECS):
        for null in islice(with_a_null(spec), at % 7, None, 7):
            known = {one for one in said(null, name) if one[1] != "unknown field"}
            assert not known or known <= set(said(without_nulls(null), name))


def test_a_check_does_not_change_its_input() -> None:
    spec = GOOD_ROUTES["backends"]
    before = copy.deepcopy(spec)

    said(spec)

    assert spec == before
