"""Overlays of several concerns: how they become one, and what of one another one has (`intent.tree`)."""

from collections.abc import Iterable
from typing import Any, Final

from intent.tree import LIST_KEYS, Identity, Overlay, identity, index, keys_of, same

ENTERED: Final = frozenset({"containers"})
"""Lists whose existing items may get fields. In other lists an item is added, or the author's is kept."""
WHOLE: Final = frozenset({"initContainers", "volumes", "volumeMounts", "startupProbe"})
"""Fields and lists whose values are applied and reverted as a unit. An edited value belongs to the author."""


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
