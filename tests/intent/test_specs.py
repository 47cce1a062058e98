"""Findings about specs of other APIs: HTTPRoutes, Gateways, Ingresses, autoscalers, rollout strategies."""

import copy
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import pytest

from catalog.schemas import AUTOSCALER, GATEWAY, HTTP_ROUTE, INGRESS, ROLLOUT, schemas
from hack.upstream import nodes
from intent import Object
from intent.inferenceservice.embedded import EMBEDDED
from intent.rollout import least_unavailable
from intent.schema import violations
from intent.shapes import without_nulls
from tests.builders.autoscaling import (
    BROKEN_ROLLOUTS,
    BROKEN_SCALINGS,
    GOOD_ROLLOUTS,
    GOOD_SCALINGS,
    external,
    rolling,
    scaling,
)
from tests.builders.gateway_api import (
    BROKEN_GATEWAYS,
    BROKEN_ROUTES,
    GOOD_GATEWAYS,
    GOOD_ROUTES,
    filtered,
    matched,
    route,
)
from tests.builders.ingresses import BROKEN_INGRESSES, GOOD_INGRESSES, path

CORS: Final = {"type": "CORS", "cors": {"allowOrigins": ["https://a.example.com"], "maxAge": 60}}


class Row(NamedTuple):
    """Valid specs, and others with the fields that are reported."""

    good: Mapping[str, Object]
    broken: Mapping[str, tuple[Object, str]]


ROWS: Final = {
    HTTP_ROUTE: Row(GOOD_ROUTES, BROKEN_ROUTES),
    GATEWAY: Row(GOOD_GATEWAYS, BROKEN_GATEWAYS),
    INGRESS: Row(GOOD_INGRESSES, BROKEN_INGRESSES),
    AUTOSCALER: Row(GOOD_SCALINGS, BROKEN_SCALINGS),
    ROLLOUT: Row(GOOD_ROLLOUTS, BROKEN_ROLLOUTS),
}
RULES: Final = {row.name: row.rules for row in EMBEDDED.values()}


def said(spec: Any, name: str = HTTP_ROUTE) -> list[tuple[str, str]]:
    """Return field and message of each violation."""
    return [(one.path, one.message) for one in violations(spec, schemas()[name].root, "r", RULES[name])]


@pytest.mark.parametrize("name", ROWS)
def test_every_rule_is_about_a_field(name: str) -> None:
    assert RULES[name].keys() <= {path for path, _ in nodes(schemas()[name].root)}


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        *(pytest.param(name, spec, id=at) for name, row in ROWS.items() for at, spec in row.good.items()),
        pytest.param(HTTP_ROUTE, filtered(CORS, retry={"attempts": 2, "codes": [503]}), id="experimental"),
        pytest.param(AUTOSCALER, scaling(external() | {"pods": None}, minReplicas=None), id="nulls"),
        *((INGRESS, spec) for spec in ({}, {"rules": [{"host": "a.b"}]}, path(backend=None))),
    ],
)
def test_a_valid_spec_is_accepted(name: str, spec: Object) -> None:
    assert said(spec, name) == []


@pytest.mark.parametrize(
    ("name", "spec", "where"),
    [pytest.param(name, *broken, id=at) for name, row in ROWS.items() for at, broken in row.broken.items()],
)
def test_an_invalid_spec_is_reported_at_its_field(name: str, spec: Object, where: str) -> None:
    assert {one for one, _ in said(spec, name)} == {f"r{where}"}


@pytest.mark.parametrize(
    ("spec", "where", "message"),
    [
        (
            matched(path={"type": "Prefix", "value": "/v1"}),
            "r.rules[0].matches[0].path.type",
            "must be one of Exact, PathPrefix, RegularExpression",
        ),
        (
            route(hostnames=["LLM.example.com"]),
            "r.hostnames[0]",
            "must be a hostname in lower case, without a port; *. may begin it",
        ),
        (
            matched(headers=[{"name": "a", "value": "b"}] * 2),
            "r.rules[0].matches[0].headers[1]",
            "must differ from [0]: it has the same name",
        ),
    ],
)
def test_a_message_contains_the_remedy(spec: Object, where: str, message: str) -> None:
    """Those of the other fields are in the golden cases isvc-broken-route and isvc-scaling-wrong."""
    assert said(spec) == [(where, message)]


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


SPECS: Final = [
    (name, spec)
    for name in (HTTP_ROUTE, ROLLOUT)
    for spec in (*ROWS[name].good.values(), *(spec for spec, _ in ROWS[name].broken.values()))
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


@pytest.mark.parametrize(
    ("strategy", "replicas", "expected"),
    [
        (rolling(maxUnavailable="25%"), 2, 0),
        (rolling(maxUnavailable="25%"), 4, 1),
        (rolling(maxUnavailable="25%", maxSurge=0), 3, 0),
        (rolling(maxUnavailable="25%", maxSurge=1), 2, None),
        (rolling(maxUnavailable=0), 2, None),
        (rolling(maxUnavailable="0%"), 2, None),
        (rolling(maxUnavailable="many"), 2, None),
        (rolling(), 2, None),
        ({}, 2, None),
    ],
)
def test_a_share_is_rounded_down(strategy: Object, replicas: int, expected: int | None) -> None:
    assert least_unavailable(strategy, replicas) == expected
