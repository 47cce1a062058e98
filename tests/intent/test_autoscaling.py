"""Findings about the scaling of a role."""

import pytest

from catalog.schemas import AUTOSCALER, schemas
from hack.upstream import nodes
from intent import Object
from intent.autoscaling import OF_AUTOSCALER
from intent.schema import violations
from tests.builders.autoscaling import BROKEN_SCALINGS, GOOD_SCALINGS, external, scaling


def said(spec: Object) -> list[tuple[str, str]]:
    found = violations(spec, schemas()[AUTOSCALER].root, "s", OF_AUTOSCALER)
    return [(one.path, one.message) for one in found]


def test_every_rule_is_about_a_field() -> None:
    assert OF_AUTOSCALER.keys() <= {path for path, _ in nodes(schemas()[AUTOSCALER].root)}


@pytest.mark.parametrize("spec", GOOD_SCALINGS.values(), ids=GOOD_SCALINGS)
def test_a_valid_spec_is_accepted(spec: Object) -> None:
    assert said(spec) == []


@pytest.mark.parametrize(("spec", "path"), BROKEN_SCALINGS.values(), ids=BROKEN_SCALINGS)
def test_an_invalid_spec_is_reported_at_its_field(spec: Object, path: str) -> None:
    assert {where for where, _ in said(spec)} == {f"s{path}"}


def test_a_null_is_an_absent_field() -> None:
    assert said(scaling(external() | {"pods": None}, minReplicas=None)) == []


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (scaling(minReplicas=5), "maxReplicas must be at least minReplicas, which is 1 by default"),
        (
            scaling(minReplicas=0),
            "minReplicas must be at least 1 without a metric of type External or Object",
        ),
        (scaling({"type": "External"}), "external is required where type is External"),
        (
            scaling({"type": "Queue"}),
            "type must be one of Resource, ContainerResource, Pods, Object, External",
        ),
    ],
)
def test_a_message_says_what_would_be_right(spec: Object, message: str) -> None:
    assert message in {text for _, text in said(spec)}
