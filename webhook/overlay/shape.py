"""The overlays that a record may hold: the paths that mutators write, and nothing else.

A record comes with its object, so its overlays may be forged.
"""

from typing import Any, Final

from intent import Object
from intent.tree import LIST_KEYS

_KEYS: Final = {field: frozenset((*keys, "name")) for field, keys in LIST_KEYS.items()}
"""The fields of items that are keys: strings or numbers."""


def fits(value: Any, paths: Object | None, field: str = "") -> bool:
    """Return whether a value, which is that of a field, is an overlay with these paths alone.

    In `paths` None stands for any value, and an empty map for keys without a value. Any field may be None,
    but not the key of an item. Lists in `LIST_KEYS` have items with keys, wherever they are.

    >>> fits({"labels": {"app": "x"}, "role": None}, {"labels": {"app": None}, "role": None})
    True
    >>> fits({"containers": [{"name": "x", "image": "y"}]}, {"containers": {"name": None, "args": None}})
    False
    """
    if value is None:
        return True
    if isinstance(value, list):
        is_plain = paths is None and field not in LIST_KEYS
        return all(fits(item, None) if is_plain else _is_item(field, item, paths) for item in value)
    if not isinstance(value, dict) or (paths is not None and field in LIST_KEYS):
        return paths is None
    if paths is None:
        return all(fits(item, None, key) for key, item in value.items())
    if not paths:
        return all(item is None for item in value.values())
    return all(key in paths and fits(item, paths[key], key) for key, item in value.items())


def _is_item(field: str, item: Any, paths: Object | None) -> bool:
    """Return whether a value is an item of a list that merges by keys, with proper ones and these paths."""
    if (
        field not in LIST_KEYS
        or not isinstance(item, dict)
        or not (paths is None or item.keys() <= paths.keys())
    ):
        return False
    keys = item.keys() & _KEYS[field]
    rest = {key: value for key, value in item.items() if key not in keys}
    return all(type(item[key]) in (str, int) for key in keys) and fits(rest, paths)
