"""Lists that merge item by item, as Kubernetes' list-map keys say; and when two JSON values are equal."""

from typing import Any, Final

import orjson

from intent import Object

Identity = Any
"""A string or a number, or a tuple of them; whatever JSON gave is taken."""

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
"""Lists whose items we add to; an item of any other list is put on whole, or left to its author."""
WHOLE: Final = frozenset({"initContainers", "volumes", "volumeMounts", "startupProbe"})
"""Fields and lists whose items are of no use in parts: edited since, they are the author's as they are."""


def identity(field: str, item: Any) -> Identity:
    """Say which item of a keyed list this is, by the value of its key, or those of its keys."""
    if not isinstance(item, dict):
        return None
    keys = LIST_KEYS[field]
    return item.get(keys[0]) if len(keys) == 1 else _several(keys, item)


def _several(keys: tuple[str, ...], item: Object) -> Identity:
    return tuple([item.get(key, KEY_DEFAULTS.get(key)) for key in keys])


def name_of(field: str, item: Object) -> str:
    """Name an item for people: `vllm`, `8000/TCP`."""
    found = identity(field, item)
    return "/".join(map(str, found)) if isinstance(found, tuple) else str(found)


def index(field: str, items: Any) -> dict[Identity, int]:
    """Find items by identity; the first wins, as it does for the API server."""
    if not isinstance(items, list):
        return {}
    if len(LIST_KEYS[field]) > 1:
        return _index(field, items)
    key = LIST_KEYS[field][0]
    try:
        places = {item[key]: at for at, item in enumerate(items)}
    except (TypeError, KeyError):  # an item that is no map, or has no key, or a strange one
        return _index(field, items)
    return places if len(places) == len(items) else _index(field, items)


def _index(field: str, items: list[Any]) -> dict[Identity, int]:
    """Find items one by one, whatever they are."""
    found: dict[Identity, int] = {}
    for at, item in enumerate(items):
        try:
            if isinstance(item, dict):
                found.setdefault(identity(field, item), at)
        except TypeError:  # a key that is a map or a list: nobody will ask for it
            continue
    return found


def keys_of(field: str, item: Object) -> Object:
    """Take the keys of an item, those that it has."""
    return {key: item[key] for key in LIST_KEYS[field] if key in item}


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; True is not 1."""
    return one == other and (isinstance(one, str) or one is None or _as_json(one) == _as_json(other))


def _as_json(value: Any) -> bytes:
    return orjson.dumps(value, option=_SORTED)


_SORTED: Final = orjson.OPT_SORT_KEYS


def is_keyed(field: str, value: Any) -> bool:
    """Whether a value is a list that merges by keys."""
    return field in LIST_KEYS and isinstance(value, list)
