"""Findings about the Ingress of a router."""

import pytest

from catalog.schemas import INGRESS, schemas
from hack.upstream import nodes
from intent import Object
from intent.ingress import OF_INGRESS
from intent.schema import violations
from tests.builders.ingresses import BROKEN_INGRESSES, GOOD_INGRESSES, path


def said(spec: Object) -> list[tuple[str, str]]:
    found = violations(spec, schemas()[INGRESS].root, "s", OF_INGRESS)
    return [(one.path, one.message) for one in found]


def test_every_rule_is_about_a_field() -> None:
    assert OF_INGRESS.keys() <= {where for where, _ in nodes(schemas()[INGRESS].root)}


@pytest.mark.parametrize("spec", GOOD_INGRESSES.values(), ids=GOOD_INGRESSES)
def test_a_valid_spec_is_accepted(spec: Object) -> None:
    assert said(spec) == []


@pytest.mark.parametrize(("spec", "where"), BROKEN_INGRESSES.values(), ids=BROKEN_INGRESSES)
def test_an_invalid_spec_is_reported_at_its_field(spec: Object, where: str) -> None:
    assert [one for one, _ in said(spec)] == [f"s{where}"]


@pytest.mark.parametrize("spec", [{}, {"rules": [{"host": "a.b"}]}, path(backend=None)])
def test_what_has_no_backend_leads_to_the_service(spec: Object) -> None:
    assert said(spec) == []
