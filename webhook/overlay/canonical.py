"""One form of a value, whoever wrote it: what the API server and LWS add or rewrite makes no difference.

They add `protocol: TCP`, `resources: {}`, empty names and metadata, and they write quantities their own way
(`1024Mi` becomes `1Gi`). A digest of the canonical form is the same before and after. What exactly they do is
measured in tests/cluster/test_facts.py.
"""

import hashlib
from decimal import Decimal
from typing import Any, Final

import orjson

from intent.quantity import parse

_QUANTITIES: Final = frozenset({"limits", "requests"})
_QUANTITY: Final = frozenset({"sizeLimit", "divisor"})
_DEFAULTS: Final = (("protocol", "TCP"), ("divisor", "0"))


def canonical(value: Any, field: str = "") -> Any:
    """Leave out what is empty, and what a default adds; write quantities as numbers."""
    if isinstance(value, dict):
        kept = {key: canonical(item, key) for key, item in value.items()}
        if field in _QUANTITIES:
            kept = {key: _number(item) for key, item in kept.items()}
        return {key: item for key, item in kept.items() if not _is_default(key, item)}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    return _number(value) if field in _QUANTITY else value


def _is_default(key: str, item: Any) -> bool:
    return item in (None, {}, [], "") or (key, item) in _DEFAULTS


def _number(item: Any) -> Any:
    quantity = parse(item)
    return item if quantity is None else str(quantity.normalize() if quantity else Decimal(0))


def digest(value: Any) -> str:
    """Give 128 bits, in hex, that tell canonical forms apart."""
    text = orjson.dumps(canonical(value), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:32]
