"""Builders of schemas: the keywords of a structural schema, and checks beyond them."""

from collections.abc import Callable
from typing import Any, Final

from intent import Object

ValueCheck = Callable[[Any], str]
"""Returns the violation by a value of the right type; empty for none."""

MAP_KEYS: Final = "x-kubernetes-list-map-keys"
LIST_TYPE: Final = "x-kubernetes-list-type"
CHECKS: Final = "checks"
SAID: Final = "description"


def fields(*required: str, checks: tuple[ValueCheck, ...] = (), **known: Any) -> Object:
    """Describe an object by its required fields and all fields."""
    return _with({"type": "object", "properties": known}, required=sorted(required), checks=checks)


def pairs(value: Object, most: int = 0) -> Object:
    """Describe an object with arbitrary keys."""
    return _with({"type": "object", "additionalProperties": value}, maxProperties=most)


def items(
    item: Object, most: int = 0, least: int = 0, *, key: str = "", checks: tuple[ValueCheck, ...] = ()
) -> Object:
    """Describe a list; `key` is the field that must be unique."""
    keys = {MAP_KEYS: [key] if key else []}
    return _with({"type": "array", "items": item}, maxItems=most, minItems=least, checks=checks, **keys)


def distinct(item: Object, most: int = 0, *, checks: tuple[ValueCheck, ...] = ()) -> Object:
    """Describe a list of unique items."""
    return items(item, most, checks=checks) | {LIST_TYPE: "set"}


def text(most: int = 0, least: int = 0) -> Object:
    """Describe a text by its length."""
    return _with({"type": "string"}, maxLength=most, minLength=least)


def like(pattern: str, said: str, most: int = 0, least: int = 0) -> Object:
    """Describe a text by a pattern and its message."""
    return text(most, least) | {"pattern": pattern, SAID: said}


def choice(*values: str) -> Object:
    """Describe one of several texts."""
    return {"type": "string", "enum": list(values)}


def whole(least: int, most: int = 0) -> Object:
    """Describe a whole number."""
    return _with({"type": "integer", "minimum": least}, maximum=most)


def _with(schema: Object, **limits: Any) -> Object:
    """Add the given limits."""
    return schema | {key: limit for key, limit in limits.items() if limit}


FLAG: Final[Object] = {"type": "boolean"}
NUMBER: Final[Object] = {"type": "integer"}
TEXT: Final[Object] = text()
