"""The parts of an object that a cluster or a client adds to it, and that no manifest has."""

from typing import Final

from importer.account import STORED, OutcomeRule, dropped
from importer.leaves import LeafPath, Tree, at, without

_ANNOTATIONS: Final = ("metadata", "annotations")
BY_SERVER: Final[tuple[LeafPath, ...]] = (
    ("status",),
    *(
        ("metadata", name)
        for name in (
            *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"),
            *("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers"),
        )
    ),
    (*_ANNOTATIONS, "kubectl.kubernetes.io/last-applied-configuration"),
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
        if at(tree, *path) is not None:
            tree = without(tree, path)
    return without(tree, _ANNOTATIONS) if at(tree, *_ANNOTATIONS) == {} else tree
