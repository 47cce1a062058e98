"""Checks of a value against a schema: what the API server would refuse, with path and remedy.

Below a value of the wrong type nothing is checked.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, Final

from intent import Object
from intent.errors import FieldError, nearest, suggested
from intent.gateway_api.words import CHECKS, LIST_TYPE, MAP_KEYS, SAID

WRONG: Final = "FI710"
MISSPELT: Final = "FI711"
UNKNOWN: Final = "FI751"
LIKE: Final = 0.75
"""The least similarity (`difflib`) of a misspelt field; a less similar one may be of a later release."""

MOST: Final = 20
"""The most findings reported of one value."""

Findings = Iterator[FieldError]


def check(value: Any, schema: Object, path: str) -> Findings:
    """Report violations of a schema by a value, up to a number of findings."""
    return islice(_checked(value, schema, path), MOST)


def _checked(value: Any, schema: Object, path: str) -> Findings:
    """Report violations of the types; only without any, violations of the rules."""
    name, fits, below = _KINDS[schema["type"]]
    if not fits(value):
        yield _wrong(path, value, f"must be {name}")
        return
    wrong = False
    for one in chain(_limits(value, schema, path), below(value, schema, path)):
        wrong = wrong or one.code == WRONG
        yield one
    said = (rule(value) for rule in schema.get(CHECKS, ()) if not wrong)
    yield from (_wrong(path, None, message) for message in said if message)


def _wrong(path: str, value: Any, message: str) -> FieldError:
    return FieldError(path, None if isinstance(value, dict | list) else value, message, WRONG)


# --- limits -------------------------------------------------------------------------------------------


def _limits(value: Any, schema: Object, path: str) -> Findings:
    for key in schema:
        limit = LIMITS.get(key)
        if limit and not limit[0](value, schema[key]):
            yield _wrong(path, value, limit[1].format(_listed(schema[key])) or schema[SAID])
            return


def _matches(value: str, pattern: str) -> bool:
    return "\n" not in value and re.search(pattern, value) is not None


def _unshared(items: list[Any], keys: list[str]) -> bool:
    """Return whether the keys of items are unique; an item without a key is reported elsewhere."""
    named = [tuple(item.get(key) for key in keys) for item in items if isinstance(item, dict)]
    return all(named.count(name) == 1 for name in named)


LIMITS: Final[dict[str, tuple[Callable[[Any, Any], bool], str]]] = {
    "enum": (lambda value, known: value in known, "must be one of {}"),
    "maxLength": (lambda value, most: len(value) <= most, "must be at most {} characters"),
    "minLength": (lambda value, least: len(value) >= least, "must not be empty"),
    "pattern": (_matches, ""),
    "maximum": (lambda value, most: value <= most, "must be at most {}"),
    "minimum": (lambda value, least: value >= least, "must be at least {}"),
    "maxItems": (lambda value, most: len(value) <= most, "must have at most {} items"),
    "minItems": (lambda value, least: len(value) >= least, "must have at least {} item"),
    "maxProperties": (lambda value, most: len(value) <= most, "must have at most {} keys"),
    MAP_KEYS: (_unshared, "two items must not have the same {}"),
    LIST_TYPE: (lambda value, _kind: len(set(map(repr, value))) == len(value), "must have no item twice"),
}
"""By keyword of the schema: the test of a value of the right type, and the message.

The first violation is reported, in the order of the schema: the length of a text precedes its pattern, which
has its own message.
"""


def _listed(limit: Any) -> str:
    return ", ".join(map(str, limit)) if isinstance(limit, list) else str(limit)


# --- nested values ------------------------------------------------------------------------------------


def _in_list(value: list[Any], schema: Object, path: str) -> Findings:
    if len(value) <= schema.get("maxItems", len(value)):
        for at, item in enumerate(value):
            yield from _checked(item, schema["items"], f"{path}[{at}]")


def _in_object(value: Object, schema: Object, path: str) -> Findings:
    return (_in_fields if "properties" in schema else _in_pairs)(value, schema, path)


def _in_pairs(value: Object, schema: Object, path: str) -> Findings:
    for key, item in value.items():
        yield from _checked(item, schema["additionalProperties"], f"{path}[{key}]")


def _in_fields(value: Object, schema: Object, path: str) -> Findings:
    known = schema["properties"]
    for name in schema.get("required", ()):
        if name not in value:
            yield _wrong(f"{path}.{name}", None, "is required")
    for name, item in value.items():
        if name not in known:
            yield _unknown(f"{path}.{name}", name, known)
        else:
            yield from _checked(item, known[name], f"{path}.{name}")


def _unknown(path: str, name: str, known: Object) -> FieldError:
    if meant := nearest(name, known, LIKE):
        return FieldError(path, None, f"unknown field{suggested(meant)}", MISSPELT)
    return FieldError(path, None, "unknown to the Gateway API v1.4; passed on as it is", UNKNOWN)


def _is_whole(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _nothing(_value: Any, _schema: Object, _path: str) -> Findings:
    return iter(())


_KINDS: Final[dict[str, tuple[str, Callable[[Any], bool], Callable[[Any, Object, str], Findings]]]] = {
    "object": ("an object", lambda value: isinstance(value, dict), _in_object),
    "array": ("a list", lambda value: isinstance(value, list), _in_list),
    "string": ("a string", lambda value: isinstance(value, str), _nothing),
    "integer": ("a whole number", _is_whole, _nothing),
    "boolean": ("true or false", lambda value: isinstance(value, bool), _nothing),
}
"""By type: its name in messages, its test, and the check of nested values."""
