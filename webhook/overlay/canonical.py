"""The canonical form of a value, which is the same before and after the API server and LWS default it.

They add `protocol: TCP`, `resources: {}`, empty names and metadata, and they normalize quantities (`1024Mi`
becomes `1Gi`). tests/cluster/test_facts.py checks these defaults on a real API server.

An empty value that an author wrote means the same as none to Kubernetes. It is a value of its own where it
wins over templates, or has to be restored (`digest_of_file`).
"""

import hashlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import orjson

from intent.quantity import parse
from webhook.overlay.keyed import same

QUANTITIES: Final = frozenset({"limits", "requests"})
_QUANTITY: Final = frozenset({"sizeLimit", "divisor"})
_FILLED: Final = frozenset({"creationTimestamp", "metadata", "resources"})
_DEFAULTS: Final = (("protocol", "TCP"), ("divisor", "0"))
_NAMES: Final = (("name", ""), ("service", ""))


def is_default(key: str, item: Any) -> bool:
    """Return whether a field means the same with this value as without it."""
    return item in (None, {}, [], "") or (key, item) in _DEFAULTS


def canonical(value: Any, field: str = "", is_left_out: Callable[[str, Any], bool] = is_default) -> Any:
    """Return `value` without empty and default fields, and with quantities as decimal numbers."""
    if isinstance(value, dict):
        kept = {key: canonical(item, key, is_left_out) for key, item in value.items()}
        if field in QUANTITIES:
            kept = {key: _number(item) for key, item in kept.items()}
        return {key: item for key, item in kept.items() if not is_left_out(key, item)}
    if isinstance(value, list):
        return [canonical(item, "", is_left_out) for item in value]
    return _number(value) if field in _QUANTITY else value


def equivalent(one: Any, other: Any, field: str = "") -> bool:
    """Return whether two values have the same canonical form. It stops at the first difference."""
    if one is other:
        return True
    if isinstance(one, dict) and isinstance(other, dict) and field not in QUANTITIES:
        return all(equivalent(one.get(key), other.get(key), key) for key in one.keys() | other.keys())
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return all(map(equivalent, one, other))
    now, then = canonical(one, field), canonical(other, field)
    return same(now, then) or (is_default(field, now) and is_default(field, then))


def is_filled_in(key: str, item: Any) -> bool:
    """Return whether the API server or LWS adds this field where an author wrote none."""
    return (key in _FILLED and item in ({}, None)) or (key, item) in _DEFAULTS


def is_unwritten(key: str, item: Any) -> bool:
    """Return whether a field is the same before and after defaulting, with this value and without it."""
    return item is None or (key, item) in _NAMES or is_filled_in(key, item)


def _number(item: Any) -> Any:
    quantity = parse(item)
    return item if quantity is None else str(quantity.normalize() if quantity else Decimal(0))


def digest_of_file(value: Any) -> str:
    """Return a digest that differs for an empty value that an author wrote, and for none."""
    value = canonical(value, "", is_unwritten)
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]
