"""Lists that merge item by item, by Kubernetes' list-map keys; and equality of JSON values."""

from typing import Any, Final

import msgspec
import orjson

from intent import Object

Identity = Any
"""A string or a number, or a tuple of these. Untrusted JSON may give any other type."""

LIST_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
}
"""List-map keys of a pod spec (`k8s.io/api` `core/v1/types.go`, `+listMapKey`)."""

KEY_DEFAULTS: Final = {"protocol": "TCP"}
FIRST: Final = frozenset({"env"})
ENTERED: Final = frozenset({"containers"})
"""Lists whose existing items may get fields. In other lists an item is added, or the author's is kept."""
WHOLE: Final = frozenset({"initContainers", "volumes", "volumeMounts", "startupProbe"})
"""Fields and lists whose values are applied and reverted as a unit. An edited value belongs to the author."""


def identity(field: str, item: Any) -> Identity:
    """Return the value of the item's key, or a tuple of the values of its keys; None if it is no map."""
    if not isinstance(item, dict):
        return None
    keys = LIST_KEYS[field]
    return item.get(keys[0]) if len(keys) == 1 else _several(keys, item)


def _several(keys: tuple[str, ...], item: Object) -> Identity:
    return tuple([item[key] if key in item else KEY_DEFAULTS.get(key) for key in keys])


def name_of(field: str, item: Object) -> str:
    """Return the name of an item for messages: `vllm`, `8000/TCP`."""
    found = identity(field, item)
    return "/".join(map(str, found)) if isinstance(found, tuple) else str(found)


def index(field: str, items: Any) -> dict[Identity, int]:
    """Return the positions of items by identity. The first of duplicates wins, as for the API server."""
    if not isinstance(items, list):
        return {}
    if len(LIST_KEYS[field]) > 1:
        return _index(field, items)
    key = LIST_KEYS[field][0]
    try:
        places = {item[key]: at for at, item in enumerate(items)}
    except (TypeError, KeyError):  # an item is no map, has no key, or an unhashable one
        return _index(field, items)
    return places if len(places) == len(items) and None not in places else _index(field, items)


def _index(field: str, items: list[Any]) -> dict[Identity, int]:
    """Return the positions of items that are maps with all their keys, which can be hashed."""
    found: dict[Identity, int] = {}
    for at, item in enumerate(items):
        try:
            key = identity(field, item)
            if key is not None and not (isinstance(key, tuple) and None in key):
                found.setdefault(key, at)
        except TypeError:  # a key that is a map or a list: it is never looked up
            continue
    return found


def by_identity(field: str, items: Any) -> dict[Identity, Object]:
    """Return items by identity. The first of duplicates wins, as for the API server."""
    keys = LIST_KEYS[field]
    if items and isinstance(items, list) and len(keys) == 1:
        try:
            found = {item[keys[0]]: item for item in items}
        except (TypeError, KeyError):
            found = {}
        if len(found) == len(items) and None not in found:
            return found
    return {key: items[at] for key, at in index(field, items).items()}


def keys_of(field: str, item: Object) -> Object:
    """Return the list-map keys that the item has, with their values."""
    return {key: item[key] for key in LIST_KEYS[field] if key in item}


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal. Unlike in Python, true is not 1."""
    if one is other or one != other:
        return one is other
    if isinstance(one, str):
        return True
    return orjson.dumps(one, _text, _SORTED) == orjson.dumps(other, _text, _SORTED)


def _text(value: msgspec.Raw) -> str:
    """Return JSON that was not decoded."""
    return bytes(value).decode()


_SORTED: Final = orjson.OPT_SORT_KEYS


def is_keyed(field: str, value: Any) -> bool:
    """Return whether a value is a list that merges by keys."""
    return field in LIST_KEYS and isinstance(value, list)


def are_items(field: str, items: list[Any]) -> bool:
    """Return whether all items are maps, with keys that are strings, numbers or absent."""
    keys = LIST_KEYS[field]
    return all(isinstance(item, dict) for item in items) and not any(
        isinstance(item.get(key), dict | list) for item in items for key in keys
    )
