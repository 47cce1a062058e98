"""JSON trees whose lists merge by the keys of their items: equality, merge and difference.

An overlay is a partial object, and has the shape of its object:

- maps merge, key by key; scalars and plain lists are set; `None` removes a field;
- lists in `LIST_KEYS` merge item by item; a new item is appended, or prepended in `env`, where later
  variables may refer to it;
- `{"$patch": "delete"}` in an item removes it;
- `{"$copy": FIELD}` in a map that the object lacks starts it as a copy of the sibling field
  (`webhook.overlay.put`).

`merge(base, difference(base, other))` is `other`. Neither the order of lists with keys nor a default that was
filled in is part of a difference. It describes what was edited on the leader's template alone:

    >>> worker = {"containers": [{"name": "vllm", "image": "a"}], "nodeSelector": {"pool": "x"}}
    >>> leader = {"containers": [{"name": "vllm", "image": "b"}]}
    >>> difference(worker, leader)
    {'nodeSelector': None, 'containers': [{'name': 'vllm', 'image': 'b'}]}
"""

import hashlib
from collections.abc import Callable, Collection
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final

import msgspec
import orjson

from intent import Object
from intent.shapes import quantity

Overlay = dict[str, Any]
Identity = Any
"""A string or a number, or a tuple of these. Untrusted JSON may give any other type."""

MERGE_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "ephemeralContainers": ("name",),
    "imagePullSecrets": ("name",),
    "schedulingGates": ("name",),
    "resourceClaims": ("name",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
}
"""Lists of pod templates with the fields that identify an item (`k8s.io/api` `core/v1/types.go`,
`patchMergeKey`). InferenceTemplates merge all of them (`intent.merge`)."""
LIST_KEYS: Final = {
    field: MERGE_KEYS[field]
    for field in ("containers", "initContainers", "env", "ports", "volumes", "volumeMounts")
}
"""Those that admission writes, whose keys are those of the CRD too (`+listMapKey`): of these, items are
merged, compared and patched. Other lists are one value."""
KEY_DEFAULTS: Final = {"protocol": "TCP"}
FIRST: Final = frozenset({"env"})
PATCH: Final = "$patch"
COPY: Final = "$copy"
DIGEST: Final = "$digest"
"""Older releases recorded a digest of the copy."""
DIRECTIVES: Final = frozenset({PATCH, COPY, DIGEST})
NOTHING: Final[Object] = {}


# --- items -------------------------------------------------------------------------------------------


def identity(field: str, item: Any) -> Identity:
    """Return the value of the item's key, or a tuple of the values of its keys; None if it is no map."""
    if not isinstance(item, dict):
        return None
    keys = MERGE_KEYS[field]
    if len(keys) == 1:
        return item.get(keys[0])
    return tuple([item.get(key, KEY_DEFAULTS.get(key)) for key in keys])


def index(field: str, items: Any) -> dict[Identity, int]:
    """Return the positions of items with all keys. The first of duplicates wins, as for the API server."""
    if not isinstance(items, list):
        return {}
    try:  # in most lists each item has keys of its own
        places = dict(zip(map(_KEY[field], items), range(len(items)), strict=True))
    except (KeyError, TypeError):
        places = {}
    if len(places) == len(items) and None not in places:
        return places
    places = {}
    for place, item in enumerate(items):
        key = identity(field, item)
        try:
            if key is not None and not (isinstance(key, tuple) and None in key):
                places.setdefault(key, place)
        except TypeError:  # a key that is a map or a list: it is never looked up
            continue
    return places


_KEY: Final = {field: itemgetter(*keys) for field, keys in MERGE_KEYS.items()}


def by_identity(field: str, items: Any) -> dict[Identity, Object]:
    """Return items by identity. The first of duplicates wins, as for the API server."""
    return {key: items[place] for key, place in index(field, items).items()} if items else {}


def keys_of(field: str, item: Object) -> Object:
    """Return the keys that the item has, with their values."""
    return {key: item[key] for key in MERGE_KEYS[field] if key in item}


def name_of(field: str, item: Object) -> str:
    """Return the name of an item for messages: `vllm`, `8000/TCP`."""
    key = identity(field, item)
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)


def is_keyed(field: str, value: Any) -> bool:
    """Return whether a value is a list of which admission merges the items."""
    return field in LIST_KEYS and isinstance(value, list)


_NESTED: Final = (dict, list)


def are_items(field: str, items: list[Any]) -> bool:
    """Return whether all items are maps, with keys that are strings, numbers or absent."""
    keys = MERGE_KEYS[field]
    return all(isinstance(item, dict) for item in items) and not any(
        isinstance(item.get(key), _NESTED) for item in items for key in keys
    )


# --- equality ----------------------------------------------------------------------------------------


def same(value: Any, other: Any) -> bool:
    """Return whether two JSON values are equal. Unlike in Python, true is not 1."""
    if value is other or value != other:
        return value is other
    if isinstance(value, str):
        return True
    return orjson.dumps(value, _text, _SORTED) == orjson.dumps(other, _text, _SORTED)


def _text(value: msgspec.Raw) -> str:
    """Return JSON that was not decoded."""
    return bytes(value).decode()


_SORTED: Final = orjson.OPT_SORT_KEYS
QUANTITIES: Final = frozenset({"limits", "requests"})
_QUANTITY: Final = frozenset({"sizeLimit", "divisor"})
_FILLED: Final = frozenset({"creationTimestamp", "metadata", "resources"})
_DEFAULTS: Final = (("protocol", "TCP"), ("divisor", "0"))
_NAMES: Final = (("name", ""), ("service", ""))


def is_default(key: str, value: Any) -> bool:
    """Return whether a field means the same with this value as without it."""
    return value in (None, {}, [], "") or (key, value) in _DEFAULTS


def is_filled_in(key: str, value: Any) -> bool:
    """Return whether the API server or LWS adds this field where an author wrote none."""
    return (key in _FILLED and value in ({}, None)) or (key, value) in _DEFAULTS


def is_unwritten(key: str, value: Any) -> bool:
    """Return whether a field is the same before and after defaulting, with this value and without it.

    An empty value that an author wrote means the same as none to Kubernetes. It is a value of its own where
    it wins over templates, or has to be restored.
    """
    return value is None or (key, value) in _NAMES or is_filled_in(key, value)


def canonical(value: Any, field: str = "", is_left_out: Callable[[str, Any], bool] = is_default) -> Any:
    """Return the form of a value that is the same before and after the API server and LWS default it.

    They add `protocol: TCP`, `resources: {}`, empty names and metadata, and they normalize quantities
    (`1024Mi` becomes `1Gi`). tests/cluster/test_facts.py checks these defaults on a real API server.
    """
    if isinstance(value, dict):
        kept = {key: canonical(item, key, is_left_out) for key, item in value.items()}
        if field in QUANTITIES:
            kept = {key: _number(item) for key, item in kept.items()}
        return {key: item for key, item in kept.items() if not is_left_out(key, item)}
    if isinstance(value, list):
        return [canonical(item, "", is_left_out) for item in value]
    return _number(value) if field in _QUANTITY else value


def _number(value: Any) -> Any:
    number = quantity(value)
    return value if number is None else str(number.normalize() if number else Decimal(0))


def equivalent(value: Any, other: Any, field: str = "") -> bool:
    """Return whether two values have the same canonical form. It stops at the first difference."""
    if same(value, other):
        return True
    if isinstance(value, dict) and isinstance(other, dict) and field not in QUANTITIES:
        return all(equivalent(value.get(key), other.get(key), key) for key in value.keys() | other.keys())
    if isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        return all(map(equivalent, value, other))
    now, then = canonical(value, field), canonical(other, field)
    return same(now, then) or (is_default(field, now) and is_default(field, then))


def digest_of_file(value: Any) -> str:
    """Return a digest that differs for an empty value that an author wrote, and for none."""
    value = canonical(value, "", is_unwritten)
    return hashlib.sha256(orjson.dumps(value, option=_SORTED)).hexdigest()[:32]


# --- merge -------------------------------------------------------------------------------------------


def merge(live: Object, overlay: Overlay, first: Collection[str] = FIRST) -> Object:
    """Return the object with an overlay applied. `live` is not changed; other values are shared.

    New items stand before the others in the lists of `first`, and behind them in the rest.
    """
    merged = dict(live)
    for key, value in overlay.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            have = merged.get(key)
            merged[key] = merge(have if isinstance(have, dict) else NOTHING, value, first)
        elif key in LIST_KEYS and isinstance(value, list):
            merged[key] = merged_items(key, merged.get(key), value, first)
        elif key not in DIRECTIVES:
            merged[key] = value
    return merged


def merged_items(field: str, live: Any, overlay: list[Any], first: Collection[str] = FIRST) -> list[Any]:
    """Return the list with the overlay's items applied. A value that is no list counts as an empty one.

    An overlay with other values than items is a plain list, which the API server rejects.
    """
    if not are_items(field, overlay):
        return overlay
    items: list[Any] = list(live) if isinstance(live, list) else []
    places = index(field, items)
    new: list[Any] = []
    gone: set[int] = set()
    for item in overlay:
        place = places.get(identity(field, item))
        if PATCH in item:
            gone.add(-1 if place is None else place)
        elif place is None:
            new.append(merge(NOTHING, item))
        else:
            items[place] = merge(items[place], item, first)
    kept = [item for place, item in enumerate(items) if place not in gone] if gone else items
    return new + kept if field in first else kept + new


# --- difference --------------------------------------------------------------------------------------


def difference(base: Object, other: Object) -> Overlay:
    """Return the overlay that makes `other` from `one`."""
    overlay: Overlay = {
        key: None for key, value in base.items() if key not in other and not is_filled_in(key, value)
    }
    for key, value in other.items():
        if key not in base:
            overlay |= {} if is_filled_in(key, value) else {key: value}
        elif (changed := _difference(key, base[key], value)) is not None:
            overlay[key] = changed
    return overlay


def _difference(field: str, base: Any, other: Any) -> Any:
    """Return the overlay of one field; None if the values are equal."""
    if base is other:
        return None
    if isinstance(base, dict) and isinstance(other, dict):
        return difference(base, other) or None
    if is_keyed(field, base) and is_keyed(field, other) and are_items(field, other):
        return _different_items(field, base, other) or None
    return None if same(base, other) else other


def _different_items(field: str, base: list[Any], other: list[Any]) -> list[Overlay]:
    before, after = by_identity(field, base), by_identity(field, other)
    items = [{**keys_of(field, item), PATCH: "delete"} for key, item in before.items() if key not in after]
    for key, item in after.items():
        if key not in before:
            items.append(item)
        elif changed := difference(before[key], item):
            items.append(keys_of(field, item) | changed)
    return items


def replaced(obj: Object, overlay: Overlay) -> Overlay:
    """Return the values that an overlay replaces in an object, None where it has none.

    >>> replaced({"labels": {"a": "1"}}, {"labels": {"a": "2", "b": "2"}, "annotations": {"a": "1"}})
    {'labels': {'a': '1', 'b': None}, 'annotations': None}
    """
    return {key: _replaced(key, obj.get(key), value) for key, value in overlay.items()}


def _replaced(field: str, have: Any, value: Any) -> Any:
    if isinstance(have, dict) and isinstance(value, dict):
        return replaced(have, value)
    if is_keyed(field, have) and is_keyed(field, value):
        items = by_identity(field, have)
        known = ((items.get(identity(field, item)), item) for item in value)
        return [replaced(old, item) | keys_of(field, item) for old, item in known if old is not None]
    return have
