"""The parts of an object that a cluster or a client adds to it, and that no manifest has."""

from typing import Final

from importer.account import STORED, OutcomeRule, dropped
from importer.leaves import LeafPath, Tree

BY_SERVER: Final[tuple[LeafPath, ...]] = (
    ("status",),
    *(
        ("metadata", name)
        for name in (
            *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"),
            *("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers"),
        )
    ),
    ("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"),
)
"""The paths of these parts."""
OF_SERVER: Final = tuple(
    OutcomeRule(path, dropped(STORED, "it belongs to the object in the cluster, and to no manifest"))
    for path in BY_SERVER
)
"""The rules for them, in the objects of every system."""


def manifest(tree: Tree) -> Tree:
    """Return the tree of an object without these parts."""
    for path in BY_SERVER:
        tree = _without(tree, path)
    return tree


def _without(tree: Tree, path: LeafPath) -> Tree:
    key, *below = path
    if not isinstance(tree, dict) or key not in tree:
        return tree
    rest = _without(tree[key], tuple(below)) if below else None
    return {
        name: rest if name == key else one
        for name, one in tree.items()
        if name != key or (below and rest != {})
    }
