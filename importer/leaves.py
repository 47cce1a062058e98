"""The leaves of an object, each with the place that it comes from, while its value moves to another object.

A tree is an object whose leaves are `Leaf`: scalars, and empty maps and lists. What a translation puts into
its output carries its origins along, so the report finds each leaf of the input by itself.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from intent.shapes import listed, mapping

LeafPath = tuple[str | int, ...]
Tree = Any
"""Maps and lists of trees, down to `Leaf`."""
_PLAIN: Final = re.compile(r"[\w-]+\Z")
"""A key that a path shows without brackets."""


class Origin(NamedTuple):
    """The place of a leaf of the input."""

    document: int
    """The index of the object in the input."""
    path: LeafPath


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without parts, and the leaves of the input that it was made from; none: it is ours."""

    value: Any
    origins: tuple[Origin, ...] = ()

    def having(self, value: Any) -> "Leaf":
        """Return another value that was made from the same leaves."""
        return Leaf(value, self.origins)


def leaves(value: Any, path: LeafPath = ()) -> Iterator[tuple[LeafPath, Any]]:
    """Yield each leaf of an object once, with its path, in the order of the object."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from leaves(below, (*path, key))
    elif isinstance(value, list) and value:
        for at, below in enumerate(value):
            yield from leaves(below, (*path, at))
    else:
        yield path, value


def mapped(tree: Any, change: Callable[[LeafPath, Any], Tree], path: LeafPath = ()) -> Tree:
    """Return an object, or a tree, with what `change` makes of the path and the value of each leaf."""
    if isinstance(tree, dict) and tree:
        return {key: mapped(below, change, (*path, key)) for key, below in tree.items()}
    if isinstance(tree, list) and tree:
        return [mapped(below, change, (*path, at)) for at, below in enumerate(tree)]
    return change(path, tree)


def tagged(document: int, value: Any) -> Tree:
    """Return the tree of an object of the input."""
    return mapped(value, lambda path, leaf: Leaf(leaf, (Origin(document, path),)))


def at(tree: Tree, *path: str | int) -> Tree:
    """Return the part of a tree at a path; None if there is none."""
    for step in path:
        if isinstance(tree, dict):
            tree = tree.get(step)
        else:
            is_item = isinstance(tree, list) and isinstance(step, int) and step < len(tree)
            tree = tree[step] if is_item else None
    return tree


def value_at(tree: Tree, *path: str | int) -> Any:
    """Return the value of the leaf at a path; None if there is none."""
    leaf = at(tree, *path)
    return leaf.value if isinstance(leaf, Leaf) else None


def items_at(tree: Tree, *path: str | int) -> list[Tree]:
    """Return the items of the list at a path; none if there is no list, whatever else is there."""
    return listed(at(tree, *path))


def fields_at(tree: Tree, *path: str | int) -> dict[str, Tree]:
    """Return the fields of the object at a path; none if there is no object, whatever else is there."""
    return mapping(at(tree, *path))


def picked(tree: Tree, *names: str) -> dict[str, Tree]:
    """Return the fields of an object with these names, in their order, as far as it has them."""
    fields = fields_at(tree)
    return {name: fields[name] for name in names if name in fields}


def put(tree: Tree, path: LeafPath, value: Tree) -> Tree:
    """Return a tree with another value at a path; parents that are no objects become objects."""
    if not path:
        return value
    step, *below = path
    if isinstance(tree, list):
        return [put(item, tuple(below), value) if n == step else item for n, item in enumerate(tree)]
    return {**fields_at(tree), step: put(at(tree, step), tuple(below), value)}


def manifest(api_version: str, kind: str, metadata: Tree, spec: Tree) -> Tree:
    """Return an object of the output."""
    return {"apiVersion": Leaf(api_version), "kind": Leaf(kind), "metadata": metadata, "spec": spec}


def plain(tree: Tree) -> Any:
    """Return what a tree is without its origins. Values that are not leaves of a tree stay."""
    return mapped(tree, lambda _, leaf: leaf.value if isinstance(leaf, Leaf) else leaf)


def origins(tree: Tree) -> Iterator[Origin]:
    """Yield the origins of all leaves of a tree."""
    return (origin for _, leaf in leaves(tree) if isinstance(leaf, Leaf) for origin in leaf.origins)


def written(path: LeafPath) -> str:
    """Format a path as findings have it: `spec.roles[0].name`, `metadata.annotations[a.b/c]`."""
    steps = (f".{step}" if isinstance(step, str) and _PLAIN.match(step) else f"[{step}]" for step in path)
    return "".join(steps).removeprefix(".")
