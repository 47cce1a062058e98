"""The importers, by group and kind of the objects that they read. What no importer reads stays as it is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from importer import lws
from importer.account import STORED, UNUSED, Account, OutcomeRule, Problem, UntranslatableError, dropped
from importer.kserve import translate as kserve
from importer.leaves import LeafPath, Tree, at, plain, tagged, without
from importer.llmd import translate as llmd
from importer.report import ImportReport, report
from intent import Object
from intent.shapes import metadata, text

GroupKind = tuple[str, str]
Trees = Mapping[int, Tree]
"""Objects of the input by their index there, without what a cluster adds to them."""


class Importer(NamedTuple):
    """How the objects of one system become ours."""

    kinds: frozenset[GroupKind]
    """The group and kind of each object that it reads."""
    translate: Callable[[Trees, Account], None]
    """Gets all objects of these kinds at once, since some refer to others."""
    claims: Callable[[Sequence[Object]], frozenset[int]] = lambda _: frozenset()
    """Returns the indexes of objects of other kinds that it reads, since its own refer to them."""


class ImportResult(NamedTuple):
    """What an import made of all objects."""

    objects: tuple[Object, ...]
    report: ImportReport
    problems: tuple[Problem, ...]


KUSTOMIZE: Final = frozenset(("kustomize.config.k8s.io", kind) for kind in ("Kustomization", "Component"))
"""Files beside manifests that are not for a cluster."""


def group_kind(obj: Object) -> GroupKind:
    """Return the group and the kind of an object."""
    group, slash, _ = text(obj.get("apiVersion")).rpartition("/")
    return group if slash else "", text(obj.get("kind"))


def _as_they_are(trees: Trees, account: Account) -> None:
    """Keep objects that belong to no system; refuse what is no object of Kubernetes."""
    for number, tree in trees.items():
        with account.importing(number):
            obj = plain(tree)
            if group_kind(obj) in KUSTOMIZE:
                account.say(number, OutcomeRule((), dropped(UNUSED, "it is for kustomize")))
            elif all(map(text, (obj.get("apiVersion"), obj.get("kind"), metadata(obj).get("name")))):
                account.objects.append(tree)
            else:
                message = "apiVersion, kind or metadata.name is missing: write it"
                raise UntranslatableError("", message)


def _kinds(group: str, *names: str) -> frozenset[GroupKind]:
    return frozenset((group, name) for name in names)


IMPORTERS: Final[tuple[Importer, ...]] = (
    Importer(_kinds(kserve.GROUP, kserve.SERVICE, kserve.CONFIG), kserve.translate),
    Importer(_kinds(llmd.GROUP, llmd.KIND), llmd.translate, llmd.bases),
    Importer(
        _kinds("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
        | _kinds("disaggregatedset.x-k8s.io", "DisaggregatedSet"),
        lws.translate,
    ),
)
"""One row a system. Of their outputs, the first row's come first."""
OTHERS: Final = Importer(frozenset(), _as_they_are)
BY_KIND: Final[Mapping[GroupKind, Importer]] = {kind: each for each in IMPORTERS for kind in each.kinds}


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
_STORED: Final = tuple(
    OutcomeRule(path, dropped(STORED, "it belongs to the object in the cluster, and to no manifest"))
    for path in _BY_SERVER
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
    claimed = {number: each for each in IMPORTERS for number in each.claims(objects)}
    importers = [BY_KIND.get(group_kind(obj), claimed.get(n, OTHERS)) for n, obj in enumerate(objects)]
    trees = {number: _manifest(tagged(number, obj)) for number, obj in enumerate(objects)}
    for number in trees:
        account.say(number, *_STORED)
    for each in (*IMPORTERS, OTHERS):
        each.translate({n: tree for n, tree in trees.items() if importers[n] is each}, account)
    output = tuple(plain(tree) for tree in account.objects)
    problems = tuple(sorted(account.problems, key=lambda problem: problem.document))
    return ImportResult(output, report(objects, account), problems)
