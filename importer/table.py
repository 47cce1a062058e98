"""The importers of all systems. What none of them reads stays as it is."""

from collections.abc import Sequence
from typing import Final

from importer import llmd, lws
from importer.account import UNREADABLE, Account, stored, take, unused
from importer.kserve import translate as kserve
from importer.leaves import LeafPath, Tree, at, tagged, value_at
from importer.report import ImportResult, result
from intent import Object
from intent.errors import FieldError
from intent.shapes import text

FOREIGN: Final = frozenset({kserve.SERVICE, kserve.CONFIG, llmd.KIND})
"""The kinds that nothing else of ours reads."""
_ANNOTATIONS: Final = ("metadata", "annotations")
_OF_METADATA: Final = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers"),
)
_BY_SERVER: Final[tuple[LeafPath, ...]] = (
    ("status",),
    *(("metadata", name) for name in _OF_METADATA),
    (*_ANNOTATIONS, "kubectl.kubernetes.io/last-applied-configuration"),
)
"""The paths of what a cluster or a client adds to an object, and no manifest has."""
_STORED: Final = stored("it belongs to the object in the cluster, and to no manifest")
_NO_OBJECT: Final = FieldError("", None, "apiVersion, kind or metadata.name is missing: write it", UNREADABLE)


def import_all(objects: Sequence[Object]) -> ImportResult:
    """Import all objects: each importer takes those that it reads out of those that are left."""
    account = Account()
    trees = {number: _manifest(tagged(number, obj), account) for number, obj in enumerate(objects)}
    for number in take(trees, "kustomize.config.k8s.io", "Kustomization", "Component"):
        account.say(number, {(): unused("it is for kustomize")})
    for number in [number for number, tree in trees.items() if not _is_object(tree)]:
        del trees[number]
        account.problems[number] = _NO_OBJECT
    for translate in (kserve.translate, llmd.translate, lws.translate):
        translate(trees, account)
    account.objects += trees.values()
    return result(objects, account)


def _manifest(tree: Tree, account: Account) -> Tree:
    """Return the tree of an object without the parts that no manifest has."""
    for path in _BY_SERVER:
        tree = account.without(tree, path, _STORED)
    return account.without(tree, _ANNOTATIONS, _STORED) if at(tree, *_ANNOTATIONS) == {} else tree


def _is_object(tree: Tree) -> bool:
    return all(text(value_at(tree, *path)) for path in (("apiVersion",), ("kind",), ("metadata", "name")))
