"""Violations of a schema: its keywords, and unknown fields."""

from typing import Any, Final

import pytest

from catalog.schemas import schemas
from hack.upstream import LIST_KEYS, LIST_TYPE, PRESERVED, nodes
from intent import Object, shapes
from intent.schema import LIMITS, UNKNOWN, violations

TEXT: Final[Object] = {"type": "string"}
NUMBER: Final[Object] = {"type": "integer"}
EITHER: Final[Object] = {"x-kubernetes-int-or-string": True}
QUANTITY: Final[Object] = EITHER | {"pattern": shapes.QUANTITY}
ITEM: Final[Object] = {"type": "object", "properties": {"name": TEXT}, "required": ["name"]}
NAMED: Final[Object] = {"type": "array", "items": ITEM, LIST_TYPE: "map", LIST_KEYS: ["name"]}
SET: Final[Object] = {"type": "array", "items": TEXT, LIST_TYPE: "set"}
NESTED: Final = frozenset({"type", "properties", "required", "items", "additionalProperties"})
SILENT: Final = frozenset({"x-kubernetes-map-type"})
"""Keywords about merging alone."""


def whole(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


def said(value: Any, schema: Object) -> list[tuple[str, str]]:
    return [(one.path, one.message) for one in violations(value, schema, "v")]


def test_every_keyword_of_upstream_is_checked() -> None:
    used = {key for known in schemas().values() for _, node in nodes(known.root) for key in node}

    read = {LIST_KEYS, LIST_TYPE, PRESERVED, "x-kubernetes-int-or-string"}
    assert used == NESTED | SILENT | LIMITS.keys() | read


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (80, NUMBER),
        (80.0, NUMBER),
        (8, EITHER),
        ("8", EITHER),
        (-(2**31), NUMBER | {"format": "int32"}),
        (2**63 - 1, NUMBER | {"format": "int64"}),
        (4, EITHER | {"pattern": "^[a-z]+$"}),
        ("any", TEXT | {"format": "date-time"}),
        ([{"name": "a"}, {"name": "b"}], NAMED),
        ([], NAMED),
        ({"a": "b"}, {"type": "object", "additionalProperties": TEXT}),
        ({"a": None}, whole(a=TEXT)),
        ({"a": None}, {"type": "object", "additionalProperties": TEXT}),
        ({}, whole(a=TEXT)),
        ({"b": 1}, whole(a=TEXT) | {PRESERVED: True}),
    ],
)
def test_a_valid_value_has_no_violation(value: Any, schema: Object) -> None:
    assert said(value, schema) == []


@pytest.mark.parametrize(
    ("value", "schema", "path", "message"),
    [
        ("80", NUMBER, "v", "must be a whole number"),
        (True, NUMBER, "v", "must be a whole number"),
        (1.5, EITHER, "v", "must be a whole number or a string"),
        (2**31, EITHER, "v", "must be a whole number or a string"),
        (2**31, NUMBER | {"format": "int32"}, "v", "must be a number of type int32"),
        (-(2**63) - 1, NUMBER | {"format": "int64"}, "v", "must be a number of type int64"),
        (2**63, NUMBER, "v", "must be a number of type int64"),
        (-(2.0**63), NUMBER, "v", "must be a number of type int64"),
        (2**63, QUANTITY, "v", "must be a whole number or a string"),
        ("1e1.5", QUANTITY, "v", "must be a quantity, such as 500m, 4 or 16Gi"),
        ("1e99999999", QUANTITY, "v", "must be a quantity, such as 500m, 4 or 16Gi"),
        ("ab", TEXT | {"maxLength": 1, "pattern": "^b"}, "v", "must be at most 1 characters"),
        ("a\n", TEXT | {"pattern": "^a$"}, "v", "must match ^a$"),
        ({}, ITEM, "v.name", "is required"),
        ({"name": None}, ITEM, "v.name", "is required"),
        ([{"name": "a"}] * 2, NAMED, "v[1]", "must differ from [0]: it has the same name"),
        (["a", "a"], SET, "v[1]", "must differ from [0]: it has the same value"),
        ([None], SET, "v[0]", "must be a string"),
        (True, TEXT, "v", 'must be a string; quote it: "true"'),
        (
            {"a": 1},
            {"type": "object", "additionalProperties": TEXT},
            "v[a]",
            'must be a string; quote it: "1"',
        ),
    ],
)
def test_a_violation_has_the_path_of_its_value(value: Any, schema: Object, path: str, message: str) -> None:
    assert said(value, schema) == [(path, message)]


def test_two_items_without_their_key_only_lack_it() -> None:
    assert said([{}, {}], NAMED) == [("v[0].name", "is required"), ("v[1].name", "is required")]


@pytest.mark.parametrize(("field", "hint"), [("nmae", "did you mean name?"), ("x", "remove it: ")])
def test_an_unknown_field_has_a_remedy(field: str, hint: str) -> None:
    (found,) = violations({field: "a"}, whole(name=TEXT), "v")

    assert (found.path, found.code) == (f"v.{field}", UNKNOWN)
    assert found.message.startswith(f"unknown field; {hint}")


def test_items_of_a_list_that_is_too_long_are_not_checked() -> None:
    assert said([1, 2], {"type": "array", "items": TEXT, "maxItems": 1}) == [
        ("v", "must have at most 1 items")
    ]
