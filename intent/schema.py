"""Violations of a structural schema: values that the API server would refuse, and fields it would drop.

Source: `k8s.io/apiextensions-apiserver` `pkg/apiserver/schema` and `k8s.io/kube-openapi` `pkg/validation`.
Below a value of the wrong type nothing is checked. A null in an object is an absent field.

The ranges of formats are checked too, which the API server leaves to Go's types.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from catalog.schemas import SINCE
from intent import Object, shapes
from intent.errors import FieldError, counted, nearest, suggested
from intent.names import DNS_HOSTNAME, DNS_LABEL, DNS_SUBDOMAIN, LABEL_VALUE

Violations = Iterator[FieldError]

UNKNOWN: Final = "FI920"
INVALID: Final = "FI921"
LATER: Final = "FI925"
"""The code of a field that a later release than the schema's has; nothing else is wrong with it."""
MOST: Final = 100
"""The most violations of one object that are reported; it may have any number."""
REQUIRED: Final = "is required"
NO_FIELD: Final = "remove it: there is none of this name here"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
PRESERVED: Final = "x-kubernetes-preserve-unknown-fields"


def violations(value: Any, schema: Object, path: str) -> Violations:
    """Yield the violations by a value at a path (FI920, FI921), and fields of later releases (FI925)."""
    name, fits, below = _kind(schema)
    if not fits(value):
        is_bare = name == "a string" and isinstance(value, int | float)
        yield _wrong(
            path, value, f"must be {name}" + (f'; quote it: "{json.dumps(value)}"' if is_bare else "")
        )
        return
    yield from _limits(value, schema, path)
    yield from below(value, schema, path)


def _wrong(path: str, value: Any, message: str) -> FieldError:
    return FieldError(path, None if isinstance(value, dict | list) else value, message, INVALID)


# --- limits -------------------------------------------------------------------------------------------


def _limits(value: Any, schema: Object, path: str) -> Violations:
    """Report the first violated limit, in the order of the schema: a length precedes its pattern."""
    for key, limit in {**_DEFAULTS.get(schema.get("type", ""), {}), **schema}.items():
        fits, message = LIMITS.get(key, _NO_LIMIT)
        if not fits(value, limit):
            yield _wrong(path, value, message(limit))
            return


def _matches(value: Any, pattern: str) -> bool:
    """Return whether a text matches; a pattern does not apply to an integer."""
    return not isinstance(value, str) or ("\n" not in value and _compiled(pattern).search(value) is not None)


_DEFAULTS: Final = {"integer": {"format": "int64"}}
"""By type: limits that a schema leaves out. Go decodes a larger number as a float."""
_compiled: Final = lru_cache(maxsize=64)(re.compile)


def _fits(value: Any, kind: str) -> bool:
    """Return whether a number has the range of a format, and is exact; other formats are not checked."""
    most = _MOST.get(kind)
    return most is None or (-most <= value < most and (type(value) is int or abs(value) < _EXACT))


_MOST: Final = {"int32": 2**31, "int64": 2**63}
_EXACT: Final = 2**53
"""A larger float may stand for several integers (`go-openapi/swag`)."""


def _said(message: str) -> Callable[[Any], str]:
    return lambda limit: message.format(", ".join(map(str, limit)) if isinstance(limit, list) else limit)


LIMITS: Final[dict[str, tuple[Callable[[Any, Any], bool], Callable[[Any], str]]]] = {
    "enum": (lambda value, known: value in known, _said("must be one of {}")),
    "maxLength": (lambda value, most: len(value) <= most, _said("must be at most {} characters")),
    "minLength": (lambda value, least: len(value) >= least, _said("must not be empty")),
    "pattern": (_matches, lambda pattern: PATTERNS.get(pattern, f"must match {pattern}")),
    "format": (_fits, lambda kind: f"must be a number of type {kind}"),
    "maximum": (lambda value, most: value <= most, _said("must be at most {}")),
    "minimum": (lambda value, least: value >= least, _said("must be at least {}")),
    "maxItems": (lambda value, most: len(value) <= most, _said("must have at most {} items")),
    "minItems": (
        lambda value, least: len(value) >= least,
        lambda least: f"must have at least {counted(least, 'item')}",
    ),
    "maxProperties": (lambda value, most: len(value) <= most, _said("must have at most {} keys")),
}
"""By keyword of the schema: the test of a value of the right type, and the message."""
_NO_LIMIT: Final = (lambda _value, _limit: True, str)

PATTERNS: Final[Mapping[str, str]] = {
    f"^{DNS_LABEL}$": "must be a DNS-1123 label",
    f"^{DNS_SUBDOMAIN}$": "must be a DNS-1123 subdomain",
    f"^$|^{DNS_SUBDOMAIN}$": "must be a DNS-1123 subdomain, or empty",
    f"^{DNS_HOSTNAME}$": "must be a hostname in lower case, without a port; *. may begin it",
    f"^{LABEL_VALUE}$": "must be the value of a label",
    shapes.QUANTITY: "must be a quantity, such as 500m, 4 or 16Gi",
}
"""What common patterns mean; another one is shown."""


# --- nested values ------------------------------------------------------------------------------------


def _in_list(value: list[Any], schema: Object, path: str) -> Violations:
    if len(value) > schema.get("maxItems", len(value)):
        return
    yield from _repeated(value, schema, path)
    for index, item in enumerate(value):
        yield from violations(item, schema["items"], f"{path}[{index}]")


def _repeated(value: list[Any], schema: Object, path: str) -> Violations:
    """Report items that repeat an earlier one, or its keys; an item without a key is reported elsewhere."""
    keys = schema.get(_LIST_KEYS, ())
    if keys:
        named = ((index, item) for index, item in enumerate(value) if isinstance(item, dict))
        identities = ((index, [item.get(key) for key in keys]) for index, item in named)
        texts = ((index, repr(values)) for index, values in identities if None not in values)
        reason = f"the same {' and '.join(keys)}"
    elif schema.get(_LIST_TYPE) == "set":
        texts, reason = ((index, repr(item)) for index, item in enumerate(value)), "the same value"
    else:
        return
    first: dict[str, int] = {}
    for index, identity in texts:
        if first.setdefault(identity, index) != index:
            yield _wrong(f"{path}[{index}]", None, f"must differ from [{first[identity]}]: it has {reason}")


def _in_object(value: Object, schema: Object, path: str) -> Violations:
    beside = schema.get("additionalProperties")
    if beside is None:
        yield from _in_fields(value, schema, path)
        return
    for key, item in value.items():
        if item is not None:
            yield from violations(item, beside, f"{path}[{key}]")


def _in_fields(value: Object, schema: Object, path: str) -> Violations:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if value.get(name) is None:
            yield _wrong(f"{path}.{name}", None, REQUIRED)
    for name, item in value.items():
        if name not in known:
            if schema.get(PRESERVED):
                continue
            hint = suggested(nearest(name, known), NO_FIELD)
            yield FieldError(f"{path}.{name}", None, f"unknown field{hint}", UNKNOWN)
        elif item is not None:
            if since := known[name].get(SINCE):
                message = f"needs {since}: an earlier release refuses or drops the field"
                yield FieldError(f"{path}.{name}", None, message, LATER)
            yield from violations(item, known[name], f"{path}.{name}")


def _is_whole(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _nothing(_value: Any, _schema: Object, _path: str) -> Violations:
    return iter(())


_Kind = tuple[str, Callable[[Any], bool], Callable[[Any, Object, str], Violations]]
_KINDS: Final[Mapping[str, _Kind]] = {
    "object": ("an object", lambda value: isinstance(value, dict), _in_object),
    "array": ("a list", lambda value: isinstance(value, list), _in_list),
    "string": ("a string", lambda value: isinstance(value, str), _nothing),
    "integer": ("a whole number", _is_whole, _nothing),
    "number": ("a number", lambda value: type(value) in {int, float}, _nothing),
    "boolean": ("true or false", lambda value: isinstance(value, bool), _nothing),
    "": ("anything", lambda _value: True, _nothing),
}
"""By type: its name in messages, its test, and the check of nested values."""


def _either(kind: str) -> _Kind:
    return (
        "a whole number or a string",
        lambda value: isinstance(value, str) or (_is_whole(value) and _fits(value, kind)),
        _nothing,
    )


_QUANTITY: Final = _either("int64")
_PORT_OR_NAME: Final = _either("int32")
"""Go's `IntOrString`. A quantity has a pattern."""


def _kind(schema: Object) -> _Kind:
    if schema.get(_INT_OR_STRING):
        return _QUANTITY if "pattern" in schema else _PORT_OR_NAME
    return _KINDS[schema.get("type", "")]
