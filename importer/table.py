"""The importers, by group and kind of the objects that they read. What no importer reads stays as it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from importer import lws, upstream
from importer.kserve import translate as kserve
from importer.leaves import plain, tagged
from importer.llmd import translate as llmd
from importer.report import (
    IGNORED,
    UNREADABLE,
    Imported,
    ImportReport,
    OutcomeRule,
    Problem,
    dropped,
    report,
)
from importer.stored import manifest
from intent import Object
from intent.errors import FieldError
from intent.shapes import mapping, text

GroupKind = tuple[str, str]
Numbered = Mapping[int, Object]
"""Objects of the input by their index there."""


@dataclass(frozen=True, slots=True)
class Importer:
    """How the objects of one system become ours."""

    system: str
    kinds: frozenset[GroupKind]
    """The group and kind of each object that it reads."""
    translate: Callable[[Numbered], Imported]
    """Gets all objects of these kinds at once, since some refer to others."""
    claims: Callable[[Sequence[Object]], frozenset[int]] = lambda _: frozenset()
    """Returns the indexes of objects of other kinds that it reads, since its own refer to them."""


@dataclass(frozen=True, slots=True)
class ImportResult:
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


def _as_they_are(objects: Numbered) -> Imported:
    """Keep objects that belong to no system; refuse what is no object of Kubernetes."""
    skipped = tuple(number for number, one in objects.items() if group_kind(one) in KUSTOMIZE)
    whole = {number: tagged(number, one) for number, one in objects.items() if _is_object(one)}
    error = FieldError("", None, "apiVersion, kind or metadata.name is missing: write it", UNREADABLE)
    return Imported(
        objects=tuple(manifest(tree) for number, tree in whole.items() if number not in skipped),
        rules=dict.fromkeys(skipped, (OutcomeRule((), dropped(IGNORED, "it is for kustomize")),)),
        problems=tuple(Problem(number, error) for number in objects.keys() - whole.keys() - {*skipped}),
        skipped=skipped,
    )


def _kinds(group: str, *names: str) -> frozenset[GroupKind]:
    return frozenset((group, name) for name in names)


def _is_object(obj: Object) -> bool:
    return all(map(text, (obj.get("apiVersion"), obj.get("kind"), mapping(obj.get("metadata")).get("name"))))


IMPORTERS: Final[tuple[Importer, ...]] = (
    Importer("KServe", _kinds(kserve.GROUP, kserve.SERVICE, kserve.CONFIG), kserve.translate),
    Importer("llm-d", _kinds(llmd.GROUP, llmd.KIND), llmd.translate, llmd.bases),
    Importer(
        "LeaderWorkerSet",
        _kinds("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
        | _kinds("disaggregatedset.x-k8s.io", "DisaggregatedSet"),
        lws.translate,
    ),
    Importer("FusionInfer", _kinds(upstream.GROUP, upstream.KIND), upstream.translate),
)
"""One row a system. Of their outputs, the first row's come first."""
OTHERS: Final = Importer("Kubernetes", frozenset(), _as_they_are)
BY_KIND: Final[Mapping[GroupKind, Importer]] = {kind: one for one in IMPORTERS for kind in one.kinds}


def import_all(objects: Sequence[Object]) -> ImportResult:
    """Import all objects: the output of each importer in the order of the table, then the others."""
    claimed = {number: each for each in IMPORTERS for number in each.claims(objects)}
    importers = [BY_KIND.get(group_kind(one), claimed.get(n, OTHERS)) for n, one in enumerate(objects)]
    parts = [
        each.translate({n: one for n, one in enumerate(objects) if importers[n] is each})
        for each in (*IMPORTERS, OTHERS)
        if each in importers
    ]
    whole = Imported(
        tuple(chain.from_iterable(one.objects for one in parts)),
        {number: rules for one in parts for number, rules in one.rules.items()},
        tuple(sorted(chain.from_iterable(one.problems for one in parts), key=lambda one: one.document)),
        tuple(chain.from_iterable(one.by_hand for one in parts)),
        tuple(chain.from_iterable(one.skipped for one in parts)),
    )
    return ImportResult(
        tuple(plain(tree) for tree in whole.objects),
        report(objects, whole),
        whole.problems,
    )
