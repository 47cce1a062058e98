"""Sets of fields, and what server-side apply does with them: merge, compare, remove.

The subset of `sigs.k8s.io/structured-merge-diff` v6.4.2 that objects of one version need. A path is a tuple:
a field's name is a string, an item of a keyed list the tuple of its keys. A set holds the paths of scalars,
atomic values, empty maps, and items of keyed lists (`typed/tofieldset.go`).
"""

from typing import Any, Final

import orjson

from intent import Object
from tests.laws.convergence.schema import ATOMIC_MAPS, is_keyed, keys_of

Element = str | tuple[tuple[str, Any], ...]
Path = tuple[Element, ...]
Fields = frozenset[Path]
NO_FIELDS: Final[Fields] = frozenset()
_ITEM: Final = object()
"""Stands for the value of an item of a keyed list, whose fields have paths of their own."""


def leaves(value: Any, field: str = "", path: Path = ()) -> dict[Path, Any]:
    """Return the paths of the fields of a value, with their values."""
    if isinstance(value, dict) and value and field not in ATOMIC_MAPS:
        return {
            at: leaf for key, item in value.items() for at, leaf in leaves(item, key, (*path, key)).items()
        }
    if is_keyed(field, value):
        found: dict[Path, Any] = {}
        for item in value:
            below = (*path, keys_of(field, item))
            found |= {below: _ITEM, **leaves(item, "", below)}
        return found
    return {path: value} if path else {}


def field_set(value: Any) -> Fields:
    """Return the set of fields of an object."""
    return frozenset(leaves(value))


def compare(old: Object, new: Object) -> tuple[Fields, Fields]:
    """Return the fields that were added or modified, and those that were removed."""
    before, after = leaves(old), leaves(new)
    changed = {at for at, value in after.items() if at not in before or not _same(before[at], value)}
    return frozenset(changed), frozenset(before.keys() - after.keys())


def _same(one: Any, other: Any) -> bool:
    if one is _ITEM or other is _ITEM:
        return one is other
    return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)


def with_named(fields: Fields) -> Fields:
    """Add the named fields above each path (`fieldpath.Set.EnsureNamedFieldsAreMembers`)."""
    above = {path[:end] for path in fields for end in range(1, len(path)) if isinstance(path[end - 1], str)}
    return fields | above


def merge(live: Any, config: Any, field: str = "") -> Any:
    """Merge an applied configuration into a live value (`typed/merge.go`). Other values are shared."""
    if isinstance(live, dict) and isinstance(config, dict) and field not in ATOMIC_MAPS:
        merged = {key: merge(live[key], item, key) if key in live else item for key, item in config.items()}
        return live | merged
    if is_keyed(field, live) and is_keyed(field, config):
        return _merge_items(field, live, config)
    return config


def _merge_items(field: str, live: list[Any], config: list[Any]) -> list[Any]:
    """Merge keyed lists: items of the configuration in its order, others at their place between them."""
    left = {keys_of(field, item): item for item in live}
    right = {keys_of(field, item): item for item in config}
    shared = [key for key in right if key in left]
    merged = {key: merge(left.get(key, {}), item) for key, item in right.items()}
    lefts, rights = list(left), list(right)
    out: list[Any] = []
    done: set[Any] = set()
    while lefts or rights:
        if lefts and rights and lefts[0] == rights[0]:
            key = rights.pop(0)
            del lefts[0]
        elif lefts and lefts[0] not in right:
            out.append(left[lefts.pop(0)])
            continue
        elif lefts and (lefts[0] in done or (rights and shared and shared[0] != lefts[0])):
            del lefts[0]
            continue
        else:
            key = rights.pop(0)
        out.append(merged[key])
        done.add(key)
        if key in shared:
            shared.remove(key)
    return out


def remove(value: Any, gone: Fields, field: str = "") -> Any:
    """Remove fields from a value (`typed/remove.go`); a map or list that becomes empty is None."""
    if not gone:
        return value
    below: dict[Element, set[Path]] = {}
    for path in gone:
        below.setdefault(path[0], set()).add(path[1:])
    if isinstance(value, dict) and field not in ATOMIC_MAPS:
        kept = {key: _removed(item, below.get(key), key) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None} or None
    if is_keyed(field, value):
        items = [_removed(item, below.get(keys_of(field, item)), "") for item in value]
        return [item for item in items if item is not None] or None
    return None


def _removed(value: Any, gone: set[Path] | None, field: str) -> Any:
    if gone is None:
        return value
    return None if () in gone else remove(value, frozenset(gone), field)


# --- the form of managedFields ------------------------------------------------------------------------


def encoded(fields: Fields) -> Object:
    """Return a set as `fieldsV1`."""
    root: Object = {}
    for path in sorted(fields, key=len, reverse=True):
        node = root
        for element in path:
            node = node.setdefault(_name(element), {})
        if node:
            node["."] = {}
    return root


def decoded(fields_v1: Object, path: Path = ()) -> Fields:
    """Return the set of a `fieldsV1`."""
    found: set[Path] = set()
    for name, below in fields_v1.items():
        if name == ".":
            found.add(path)
        elif below:
            found |= decoded(below, (*path, _element(name)))
        else:
            found.add((*path, _element(name)))
    return frozenset(found)


def _name(element: Element) -> str:
    return f"f:{element}" if isinstance(element, str) else f"k:{orjson.dumps(dict(element)).decode()}"


def _element(name: str) -> Element:
    kind, text = name[:2], name[2:]
    return text if kind == "f:" else tuple(orjson.loads(text).items())
