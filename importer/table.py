"""The importers of all systems. What none of them reads stays as it is."""

from collections.abc import Callable, Sequence
from typing import Final

from importer import lws
from importer.account import STORED, UNUSED, Account, Outcome, Rules, UntranslatableError, take
from importer.kserve import translate as kserve
from importer.leaves import LeafPath, Tree, at, tagged, value_at, without
from importer.llmd import translate as llmd
from importer.report import ImportResult, result
from intent import Object
from intent.shapes import text


def _as_they_are(trees: dict[int, Tree], account: Account) -> None:
    """Keep objects that belong to no system; refuse what is no object of Kubernetes."""
    for number in take(trees, "kustomize.config.k8s.io", "Kustomization", "Component"):
        account.say(number, {(): Outcome("dropped", "it is for kustomize", UNUSED)})
    for number, tree in trees.items():
        with account.importing(number):
            if not all(text(value_at(tree, *path)) for path in _NAMED):
                raise UntranslatableError("", "apiVersion, kind or metadata.name is missing: write it")
            account.objects.append(tree)


_NAMED: Final[tuple[LeafPath, ...]] = (("apiVersion",), ("kind",), ("metadata", "name"))
IMPORTERS: Final[tuple[Callable[[dict[int, Tree], Account], None], ...]] = (
    *(kserve.translate, llmd.translate, lws.translate),
    _as_they_are,
)
"""Each takes the objects that it reads out of those that are left, by their indexes."""
FOREIGN: Final = frozenset({kserve.SERVICE, kserve.CONFIG, llmd.KIND})
"""The kinds that nothing else of ours reads."""


# --- parts that no manifest has -----------------------------------------------------------------------

_ANNOTATIONS: Final = ("metadata", "annotations")
_BY_SERVER: Final[tuple[LeafPath, ...]] = (
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
"""The paths of what a cluster or a client adds to an object, and no manifest has."""
_STORED: Final[Rules] = dict.fromkeys(
    _BY_SERVER, Outcome("dropped", "it belongs to the object in the cluster, and to no manifest", STORED)
)


def _manifest(tree: Tree) -> Tree:
    """Return the tree of an object without these parts."""
    for path in _BY_SERVER:
        if at(tree, *path) is not None:
            tree = without(tree, path)
    return without(tree, _ANNOTATIONS) if at(tree, *_ANNOTATIONS) == {} else tree


# --- all objects --------------------------------------------------------------------------------------


def import_all(objects: Sequence[Object]) -> ImportResult:
    """Import all objects: the output of each importer in the order of the table, then the others."""
    account = Account()
    trees = {number: _manifest(tagged(number, obj)) for number, obj in enumerate(objects)}
    for number in trees:
        account.say(number, _STORED)
    for translate in IMPORTERS:
        translate(trees, account)
    return result(objects, account)
