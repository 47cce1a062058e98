"""Sets of fields, and what server-side apply does with them: merge, compare, remove.

The subset of `sigs.k8s.io/structured-merge-diff` v6.4.2 that objects of one version need; `oracle` compares
it with the library. A path is a tuple: a field's name is a string, an item of a keyed list the tuple of its
keys. A set holds the paths of scalars, atomic values, empty maps, and items of keyed lists
(`typed/tofieldset.go`).
"""

from collections.abc import Collection
from typing import Any, Final

import orjson

from intent import Object
from tests.laws.convergence.schema import ATOMIC_MAPS, is_keyed, keys_of

Element = str | tuple[tuple[str, Any], ...]
Path = tuple[Element, ...]
Fields = frozenset[Path]
NO_FIELDS: Final[Fields] = frozenset()
_NODE: Final = object()
"""Stands for the value of a map, a keyed list or an item, whose fields have paths of their own."""


def leaves(
    value: Any,
    field: str = "",
    path: Path = (),
    *,
    nodes: bool = False,
    atomic: Collection[str] = ATOMIC_MAPS,
) -> dict[Path, Any]:
    """Return the paths of the fields of a value, with their values; `nodes` adds maps and keyed lists.

    A map in `atomic` is one value.
    """
    found: dict[Path, Any] = {path: _NODE} if nodes and path else {}
    if isinstance(value, dict) and value and field not in atomic:
        for key, item in value.items():
            found |= leaves(item, key, (*path, key), nodes=nodes, atomic=atomic)
    elif is_keyed(field, value):
        for item in value:
            below = (*path, keys_of(field, item))
            found |= {**leaves(item, "", below, nodes=nodes, atomic=atomic), below: _NODE}
    elif path:
        found[path] = value
    return found


def field_set(value: Any) -> Fields:
    """Return the set of fields of an object."""
    return frozenset(leaves(value))


def compare(old: Object, new: Object, atomic: Collection[str] = ATOMIC_MAPS) -> tuple[Fields, Fields]:
    """Return the fields that were added or modified, and those that were removed (`typed/compare.go`).

    Unlike a set of fields, they have the maps and keyed lists that were added or removed as well.
    """
    before, after = (leaves(value, nodes=True, atomic=atomic) for value in (old, new))
    changed = {at for at, value in after.items() if at not in before or not same(before[at], value)}
    return frozenset(changed), frozenset(before.keys() - after.keys())


def same(one: Any, other: Any) -> bool:
    """Return whether two values of `leaves` are equal."""
    if one is _NODE or other is _NODE:  # an empty map or list is a leaf only beside another empty one
        return one is other or one in ({}, []) or other in ({}, [])
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
    """Remove fields from a value (`typed/remove.go`).

    A map or list without items left is None. As in the library, that None stays in the map above.
    """
    below: dict[Element, set[Path]] = {}
    for path in gone:
        below.setdefault(path[0], set()).add(path[1:])
    if isinstance(value, dict) and field not in ATOMIC_MAPS:
        return {
            key: _without(item, below.get(key), key)
            for key, item in value.items()
            if () not in below.get(key, ())
        } or None
    if is_keyed(field, value):
        kept = [(item, below.get(keys_of(field, item))) for item in value]
        return [_without(item, paths, "") for item, paths in kept if () not in (paths or ())] or None
    return None


def _without(value: Any, gone: set[Path] | None, field: str) -> Any:
    return remove(value, frozenset(gone), field) if gone else value


def without_nulls(value: Any) -> Any:
    """Return a value without fields that are null: the API server drops them."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


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
