"""The type of the overlays that a record may hold: the paths that mutators write, and nothing else.

A record comes with its object, so its overlays may be forged. msgspec holds them against the type.
"""

from typing import Any, Final

import msgspec

from intent import Object
from intent.tree import LIST_KEYS


class AnyValue:
    """A JSON value of any type, except that lists in `LIST_KEYS` have items with keys."""


_VALUE: Final = AnyValue()
_KEY: Final = str | int
"""The type of the keys by which the items of a list merge."""
_NESTED: Final = (dict, list)
_KEYS: Final = {field: frozenset((*keys, "name")) for field, keys in LIST_KEYS.items()}
"""The fields of items that have the type of a key."""


def fits(overlay: Object, shape: type) -> bool:
    """Return whether an overlay is of a type of `shape_of`."""
    try:
        msgspec.convert(overlay, shape, dec_hook=_checked)
    except msgspec.ValidationError:
        return False
    return True


def shape_of(paths: Object) -> type:
    """Return the type of the overlays with these paths.

    In `paths` None stands for any value, and an empty map for keys without a value.
    """
    return _type(paths, frozenset())


def _type(paths: Object, keys: frozenset[str]) -> type:
    """Return the type of a map, or of the items of a list with these keys."""
    fields = [(f"field{at}", *_field(key, paths[key], keys)) for at, key in enumerate(paths)]
    names = {field: key for (field, *_), key in zip(fields, paths, strict=True)}
    return msgspec.defstruct("Overlay", fields, rename=names, forbid_unknown_fields=True)


def _field(key: str, below: Object | None, keys: frozenset[str]) -> tuple[Any, Any]:
    """Return the type of one field, and its default. Any field may be removed, but not the key of an item."""
    if key in keys:
        return _KEY, ""
    if key in LIST_KEYS:
        return list[_type(below or {}, _KEYS[key])] | None, None  # type: ignore[misc] # made here
    if below == {}:
        return dict[str, None] | None, None
    return (AnyValue if below is None else _type(below, frozenset())) | None, None


def _checked(_: type, value: Any) -> AnyValue:
    """Return a `AnyValue`, which msgspec wants in place of one that is allowed.

    Raises:
        ValueError: a list in `LIST_KEYS` has an item that is no map, or without proper keys.
    """
    if type(value) in _NESTED and not _is_keyed("", value):
        raise ValueError
    return _VALUE


def _is_keyed(key: str, value: Any) -> bool:
    """Return whether all lists in a value have the keys by which such lists merge."""
    if type(value) is dict:
        return all(_is_keyed(name, item) for name, item in value.items() if type(item) in _NESTED)
    if key in LIST_KEYS and not all(_has_keys(key, item) for item in value):
        return False
    return all(_is_keyed("", item) for item in value if type(item) in _NESTED)


def _has_keys(field: str, item: Any) -> bool:
    return isinstance(item, dict) and all(isinstance(item.get(key, ""), _KEY) for key in _KEYS[field])
