"""Lists that merge item by item, as Kubernetes' list-map keys say; and when two JSON values are equal."""

from typing import Any, Final

import orjson

from intent import Object

Identity = tuple[Any, ...]

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


def identity(field: str, item: Any) -> Identity | None:
    """Say which item of a keyed list this is; None if it is not one."""
    if not isinstance(item, dict):
        return None
    keys = LIST_KEYS[field]
    if len(keys) == 1:
        return (item.get(keys[0]),)
    return tuple([item.get(key, KEY_DEFAULTS.get(key)) for key in keys])


def index(field: str, items: Any) -> dict[Identity | None, int]:
    """Find items by identity; the first wins, as it does for the API server."""
    if not isinstance(items, list):
        return {}
    if len(keys := LIST_KEYS[field]) > 1:
        return _index(field, items)
    try:
        return {(items[at][keys[0]],): at for at in range(len(items) - 1, -1, -1)}
    except (TypeError, KeyError):  # an item that is no map, or has no key, or a strange one
        return _index(field, items)


def _index(field: str, items: list[Any]) -> dict[Identity | None, int]:
    """Find items one by one, whatever they are."""
    found: dict[Identity | None, int] = {}
    for at, item in enumerate(items):
        key = identity(field, item)
        try:
            found.setdefault(key, at)
        except TypeError:  # a key that is a map or a list: nobody will ask for it
            continue
    return found


def keys_of(field: str, item: Object) -> Object:
    """Take the keys of an item, those that it has."""
    return {key: item[key] for key in LIST_KEYS[field] if key in item}


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; True is not 1."""
    return one == other and (isinstance(one, str | None) or _as_json(one) == _as_json(other))


def _as_json(value: Any) -> bytes:
    return orjson.dumps(value, option=_SORTED)


_SORTED: Final = orjson.OPT_SORT_KEYS


def is_keyed(field: str, value: Any) -> bool:
    """Whether a value is a list that merges by keys."""
    return field in LIST_KEYS and isinstance(value, list)
