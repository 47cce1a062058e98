"""The canonical form of a value, which is the same before and after the API server and LWS default it.

They add `protocol: TCP`, `resources: {}`, empty names and metadata, and they normalize quantities (`1024Mi`
becomes `1Gi`). tests/cluster/test_facts.py checks these defaults on a real API server.
"""

import hashlib
from decimal import Decimal
from typing import Any, Final

import orjson

from intent.quantity import parse

QUANTITIES: Final = frozenset({"limits", "requests"})
_QUANTITY: Final = frozenset({"sizeLimit", "divisor"})
_FILLED: Final = frozenset({"creationTimestamp", "metadata", "resources"})
_DEFAULTS: Final = (("protocol", "TCP"), ("divisor", "0"))


def canonical(value: Any, field: str = "") -> Any:
    """Return `value` without empty and default fields, and with quantities as decimal numbers."""
    if isinstance(value, dict):
        kept = {key: canonical(item, key) for key, item in value.items()}
        if field in QUANTITIES:
            kept = {key: _number(item) for key, item in kept.items()}
        return {key: item for key, item in kept.items() if not is_default(key, item)}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    return _number(value) if field in _QUANTITY else value


def is_default(key: str, item: Any) -> bool:
    """Return whether a field means the same with this value as without it."""
    return item in (None, {}, [], "") or (key, item) in _DEFAULTS


def is_filled_in(key: str, item: Any) -> bool:
    """Return whether the API server or LWS adds this field where an author wrote none."""
    return (key in _FILLED and item in ({}, None)) or (key, item) in _DEFAULTS


def _number(item: Any) -> Any:
    quantity = parse(item)
    return item if quantity is None else str(quantity.normalize() if quantity else Decimal(0))


def digest(value: Any) -> str:
    """Return a digest of the canonical form: 128 bits, in hex."""
    text = orjson.dumps(canonical(value), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:32]
