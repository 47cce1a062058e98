"""Findings about specs of HTTPRoutes and Gateways."""

import copy
from typing import Any

import pytest

from intent import Object
from intent.gateway_api.check import MOST, check
from intent.gateway_api.types import GATEWAY_SPEC, HTTP_ROUTE_SPEC
from tests.gateway_api import (
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


def said(value: Any, schema: Object = HTTP_ROUTE_SPEC) -> list[tuple[str, str, str]]:
    return [(one.code, one.path, one.message) for one in check(value, schema, "r")]


@pytest.mark.parametrize("spec", GOOD_ROUTES.values(), ids=GOOD_ROUTES)
def test_a_valid_route_is_accepted(spec: Object) -> None:
    assert said(spec) == []


@pytest.mark.parametrize(("spec", "path"), BROKEN_ROUTES.values(), ids=BROKEN_ROUTES)
def test_an_invalid_route_is_reported_at_its_field(spec: Object, path: str) -> None:
    assert {where for _, where, _ in said(spec)} == {f"r{path}"}


@pytest.mark.parametrize("spec", GOOD_GATEWAYS.values(), ids=GOOD_GATEWAYS)
def test_a_valid_gateway_is_accepted(spec: Object) -> None:
    assert said(spec, GATEWAY_SPEC) == []


@pytest.mark.parametrize(("spec", "path"), BROKEN_GATEWAYS.values(), ids=BROKEN_GATEWAYS)
def test_an_invalid_gateway_is_reported_at_its_field(spec: Object, path: str) -> None:
    assert {where for _, where, _ in said(spec, GATEWAY_SPEC)} == {f"r{path}"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (route(hostname=["a"]), ("FI711", "r.hostname", "unknown field; did you mean hostnames?")),
        (
            route(mirrors=[]),
            ("FI751", "r.mirrors", "unknown to the Gateway API v1.4; passed on as it is"),
        ),
        (
            matched(path={"type": "Prefix", "value": "/v1"}),
            (
                "FI710",
                "r.rules[0].matches[0].path.type",
                "must be one of Exact, PathPrefix, RegularExpression",
            ),
        ),
        (
            backed({"name": "models"}),
            ("FI710", "r.rules[0].backendRefs[0]", "port is required: it refers to a Service"),
        ),
        (
            filtered({"type": "URLRewrite"}),
            ("FI710", "r.rules[0].filters[0]", "urlRewrite is required where type is URLRewrite"),
        ),
    ],
    ids=["misspelt", "unknown", "enum", "service", "filter"],
)
def test_a_message_contains_the_remedy(spec: Object, expected: tuple[str, str, str]) -> None:
    assert said(spec) == [expected]


def test_fields_of_the_experimental_channel_are_accepted() -> None:
    assert said(filtered(CORS, retry={"attempts": 2, "codes": [503]})) == []


def test_a_pool_needs_its_group() -> None:
    (found,) = said(backed({"kind": "InferencePool", "name": "chat-pool"}))

    assert found == (
        "FI710",
        "r.rules[0].backendRefs[0]",
        "group must be inference.networking.k8s.io: it refers to an InferencePool",
    )


@pytest.mark.parametrize("value", ["text", [], 1, None, True])
def test_a_value_that_is_no_object_is_reported(value: Any) -> None:
    assert said(value) == [("FI710", "r", "must be an object")]


def test_the_number_of_findings_is_bounded() -> None:
    assert len(said({f"nothing{at}": at for at in range(1000)})) == MOST


def test_a_check_does_not_change_its_input() -> None:
    spec = GOOD_ROUTES["backends"]
    before = copy.deepcopy(spec)

    said(spec)

    assert spec == before
