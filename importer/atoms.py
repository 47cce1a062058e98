"""A tree as the values that a merge of pod templates takes or replaces as a whole, each by its place.

parts(tree)          the atoms of a tree, in its order
chosen(parts, …)     some of them, with the names of the items that they are in
built(parts)         the tree that they make
"""

from collections.abc import Container, Iterator, Mapping
from typing import Any, Final, NamedTuple

from importer.leaves import Leaf, Tree, plain
from intent.merge import MERGE_KEYS, UNIONS, WHOLE, are_items, identity

ROLES: Final = "roles"
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {**MERGE_KEYS, ROLES: ("name",)}
_VOLUMES: Final = "volumes"
"""Its items are replaced, not merged."""


class Item(NamedTuple):
    """The step of a place that leads to an item of a list."""

    keys: tuple[str, ...]
    values: tuple[Any, ...]


AtomPath = tuple[Any, ...]
"""Names of fields, and items."""
Parts = Mapping[AtomPath, Tree]


def parts(tree: Tree) -> dict[AtomPath, Tree]:
    """Return the atoms of a tree."""
    return dict(_atoms(tree, "", ()))


def _atoms(tree: Tree, field: str, place: AtomPath) -> Iterator[tuple[AtomPath, Tree]]:
    if isinstance(tree, dict) and tree and field not in WHOLE:
        members = UNIONS.get(field, frozenset())
        for key, below in tree.items():
            yield from [((*place, key), below)] if key in members else _atoms(below, key, (*place, key))
    elif isinstance(tree, list) and tree and _is_keyed(field, plain(tree)):
        for item in tree:
            step = (*place, _item(field, item))
            yield from [(step, item)] if field == _VOLUMES else _atoms(item, field, step)
    else:
        yield place, tree


def _is_keyed(field: str, items: list[Any]) -> bool:
    if field == ROLES:
        names = [one.get("name") for one in items if isinstance(one, dict)]
        return len({one for one in names if isinstance(one, str)}) == len(items)
    return field in MERGE_KEYS and are_items(field, items)


def _item(field: str, item: dict[str, Tree]) -> Item:
    if field == ROLES:
        return Item(_KEYS[field], (plain(item["name"]),))
    return Item(_KEYS[field], identity(field, plain(item)))


def is_name(place: AtomPath) -> bool:
    """Return whether a place is that of a field by which an item of a list is named."""
    return len(place) > 1 and isinstance(place[-2], Item) and place[-1] in place[-2].keys


def only_names(known: Parts) -> frozenset[AtomPath]:
    """Return the places of items that have nothing but their names."""
    with_more = {place[:n] for place in known if not is_name(place) for n in range(len(place))}
    return frozenset(place for place in known if is_name(place) and place[:-1] not in with_more)


def chosen(known: Parts, wanted: Container[AtomPath]) -> dict[AtomPath, Tree]:
    """Return the parts at the places wanted, and the names of the items that they are in."""
    above = {place[:n] for place in known if place in wanted for n in range(len(place))}
    return {
        place: tree
        for place, tree in known.items()
        if place in wanted or (is_name(place) and place[:-1] in above)
    }


def built(known: Parts) -> Tree:
    """Return the tree of parts; `{}` of none."""
    if () in known:
        return known[()]
    steps: dict[Any, dict[AtomPath, Tree]] = {}
    for place, tree in known.items():
        steps.setdefault(place[0], {})[place[1:]] = tree
    if not steps:
        return Leaf({})
    if all(isinstance(step, Item) for step in steps):
        return [built(below) for below in steps.values()]
    return {step: built(below) for step, below in steps.items()}
