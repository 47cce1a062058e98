"""Overlays, which are partial objects: their syntax, and how to combine and merge them.

`webhook.overlay.put` decides which part of an overlay may be applied. An overlay has the shape of its object:

- maps merge, key by key; scalars and plain lists are set; `None` removes a field;
- lists in `LIST_KEYS` merge item by item, by Kubernetes' list-map keys; a new item is appended, or prepended
  in `env`, where later variables may refer to it;
- `{"$patch": "delete"}` in an item removes it;
- `{"$copy": FIELD}` in a map that the object lacks starts it as a copy of the sibling field.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

from intent import Object
from webhook.overlay.keyed import (
    FIRST,
    LIST_KEYS,
    Identity,
    are_items,
    by_identity,
    identity,
    index,
    keys_of,
    same,
)

Overlay = dict[str, Any]

PATCH: Final = "$patch"
COPY: Final = "$copy"
DIGEST: Final = "$digest"
"""Older releases recorded a digest of the copy."""
DIRECTIVES: Final = frozenset({PATCH, COPY, DIGEST})
NOTHING: Final[Object] = {}


# --- combine: overlays of several mutators become one ------------------------------------------------


class Contradiction(Exception):  # noqa: N818 - it is a bug in a mutator, not an error in the input
    """Two mutators set one field to different values."""


def combine(overlays: Iterable[Overlay]) -> Overlay:
    """Combine overlays of several mutators. Values that only one of them has are shared, not copied.

    Raises:
        Contradiction: two overlays set a field to different values.
    """
    found: dict[str, list[Any]] = {}
    for overlay in overlays:
        for key, value in overlay.items():
            if key in found:
                found[key].append(value)
            else:
                found[key] = [value]
    return {key: values[0] if len(values) == 1 else _joined(key, values) for key, values in found.items()}


def _joined(key: str, values: list[Any]) -> Any:
    kinds = set(map(type, values))
    if kinds == {dict}:
        return combine(values)
    if kinds == {list} and key in LIST_KEYS:
        return _joined_items(key, values)
    for value in values:
        if not same(values[0], value):
            raise Contradiction(f"{key}: {values[0]!r} and {value!r}")
    return values[0]


def _joined_items(field: str, lists: list[list[Overlay]]) -> list[Overlay]:
    found: dict[Identity, list[Overlay]] = {}
    for items in lists:
        for item in items:
            found.setdefault(identity(field, item), []).append(item)
    return [items[0] if len(items) == 1 else combine(items) for items in found.values()]


# --- merge: an overlay applied to an object ----------------------------------------------------------


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
        at = places.get(identity(field, item))
        if PATCH in item:
            gone.add(-1 if at is None else at)
        elif at is None:
            new.append(merge(NOTHING, item))
        else:
            items[at] = merge(items[at], item, first)
    kept = [item for at, item in enumerate(items) if at not in gone] if gone else items
    return new + kept if field in first else kept + new


# --- remainder: an overlay without a part of it ------------------------------------------------------


def remainder(overlay: Overlay, part: Overlay) -> Overlay:
    """Return the fields of an overlay that another one, which has a part of them, lacks."""
    left: Overlay = {}
    for key, value in overlay.items():
        if key not in part:
            left[key] = value
        elif value == part[key]:
            continue
        elif isinstance(value, dict) and isinstance(part[key], dict):
            if below := remainder(value, part[key]):
                left[key] = below
        elif key in LIST_KEYS and isinstance(value, list) and (items := _left_items(key, value, part[key])):
            left[key] = items
    return left


def _left_items(field: str, items: list[Overlay], part: list[Overlay]) -> list[Overlay]:
    places, left = index(field, part), []
    for item in items:
        at = places.get(identity(field, item))
        below = item if at is None else remainder(item, part[at])
        if below:
            left.append(below if at is None else keys_of(field, item) | below)
    return left


def overlaps(overlay: Overlay, other: Overlay) -> bool:
    """Return whether two overlays may set one field; False if certainly none. `other` is the smaller one."""
    for key, value in other.items():
        if key not in overlay:
            continue
        mine = overlay[key]
        if isinstance(value, dict) and isinstance(mine, dict):
            if overlaps(mine, value):
                return True
        elif key not in LIST_KEYS or not isinstance(value, list) or _overlapping_items(key, mine, value):
            return True
    return False


def _overlapping_items(field: str, items: list[Overlay], others: list[Overlay]) -> bool:
    mine = by_identity(field, items)
    for key, other in by_identity(field, others).items():
        if key in mine:
            fields, others_fields = (one.keys() - LIST_KEYS[field] for one in (mine[key], other))
            if not fields or not others_fields or fields & others_fields:
                return True
    return False
