"""Upstream's schemas: what is left out of them, and what is written."""

import json

import pytest

from catalog.schemas import AUTOSCALER, POD_TEMPLATE, SINCE, schemas, with_later_fields
from hack.upstream import (
    LEFT_OUT,
    LIST_KEYS,
    LIST_TYPE,
    OPAQUE,
    ORIGINS,
    QUANTITY,
    laid_out,
    nodes,
    resolved,
    structural,
)
from intent import Object

NAMED: Object = {"type": "object", "properties": {"name": {"type": "string", "default": ""}}}


def test_every_schema_has_an_origin() -> None:
    assert schemas().keys() == ORIGINS.keys()


@pytest.mark.parametrize("name", ORIGINS)
def test_nothing_is_in_a_schema_that_is_left_out(name: str) -> None:
    assert not any(LEFT_OUT & node.keys() for _, node in nodes(schemas()[name].root))


@pytest.mark.parametrize("name", ORIGINS)
def test_the_keys_of_a_list_are_required(name: str) -> None:
    """Structural schemas demand it of keys without a default."""
    for _, node in nodes(schemas()[name].root):
        assert set(node.get(LIST_KEYS, ())) <= set(node.get("items", {}).get("required", ()))


def test_a_field_may_have_the_name_of_a_keyword() -> None:
    node = {"type": "object", "properties": {"default": {"type": "string", "description": "text"}}}

    assert structural(node) == {"type": "object", "properties": {"default": {"type": "string"}}}


def test_a_list_whose_key_has_a_default_becomes_atomic() -> None:
    node = {"type": "array", "items": NAMED, LIST_TYPE: "map", LIST_KEYS: ["name"]}

    items = {"type": "object", "properties": {"name": {"type": "string"}}}
    assert structural(node) == {"type": "array", "items": items, LIST_TYPE: "atomic"}


def test_what_fits_into_a_line_is_one_line() -> None:
    value = {"b": {"c" * 60: 1, "d" * 60: 2}, "a": [1, 2]}

    written = laid_out(value)

    assert written.splitlines()[1] == ' "a": [1, 2],'
    assert json.loads(written) == value


def test_a_required_field_with_a_default_is_not_required() -> None:
    node = {
        "type": "object",
        "properties": {"type": {"type": "string", "default": "A"}, "name": {"type": "string", "default": ""}},
        "required": ["type", "name"],
    }

    assert structural(node)["required"] == ["name"]


def test_references_of_an_openapi_document_are_resolved() -> None:
    known: dict[str, Object] = {
        "Limit": {"type": "object", "properties": {"most": {"allOf": [{"$ref": f"#/x/{QUANTITY}"}]}}},
        QUANTITY: {"type": "string"},
    }
    node = {"type": "array", "items": {"allOf": [{"$ref": "#/x/Limit"}], "default": {}, "description": "d"}}

    assert resolved(node, known) == {
        "type": "array",
        "items": {"type": "object", "properties": {"most": OPAQUE[QUANTITY]}},
    }


def test_quantities_of_kubernetes_and_of_definitions_have_one_schema() -> None:
    pods = schemas()[POD_TEMPLATE].root["properties"]["spec"]["properties"]["overhead"]

    assert pods["additionalProperties"] == structural(OPAQUE[QUANTITY])


def test_the_target_of_an_autoscaler_is_left_out() -> None:
    root = schemas()[AUTOSCALER].root

    assert set(root["properties"]) == {"minReplicas", "maxReplicas", "metrics", "behavior"}
    assert root["required"] == ["maxReplicas"]


def test_a_field_of_a_later_release_is_none_of_the_generated_schemas() -> None:
    """Once it is, it goes from `later_fields.json`."""
    later = {
        (name, path)
        for name in schemas()
        for path, node in nodes(with_later_fields(name).root)
        if SINCE in node
    }
    known = {(name, path) for name in schemas() for path, _ in nodes(schemas()[name].root)}

    assert later == {
        ("DisaggregatedSetSpec", path) for path in (".slices", ".placementPolicy", ".roles[].scaling")
    }
    assert not later & known
