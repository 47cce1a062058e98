"""Run admission and the controller's rendering on files, with the same functions as in a cluster. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from fusioninfer.lint.checked import Checked, Written, as_it_is, checked
from fusioninfer.lint.claims import claimed_sizes
from fusioninfer.lint.documents import Document
from fusioninfer.lint.hints import hints, is_kustomization, is_of_another_system, unchecked
from fusioninfer.lint.library import Library, is_template, library, seen_by
from fusioninfer.lint.links import links
from intent import Object, disaggregatedset
from intent.annotations import COMPONENT_TYPE, PREFIX, ROLE_NAME, ROLES, SERVICE, path
from intent.disaggregatedset import is_disaggregated_set
from intent.errors import FieldError, Subject
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import KIND, read
from intent.inferenceservice.v1alpha1 import GROUP
from intent.resource import KINDS
from intent.service.member import Member, ServiceKey, member
from intent.settings import Settings
from intent.shapes import annotations, metadata, text
from sync.observed.configuration import is_config_map
from sync.preview import preview
from webhook.expand import expanded, foreseen
from webhook.validate import CONSEQUENCES

LWS_GROUP = "leaderworkerset.x-k8s.io/"
REPEATED: Final = "FI923"


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, and its document."""

    document: Document
    error: FieldError

    @property
    def file(self) -> str:
        """The name of the file, as it can be printed."""
        return self.document.file

    @property
    def line(self) -> int:
        """The line of the field in the file, or of its nearest parent; 0 if it is not known."""
        return self.document.line(self.error.path)

    @property
    def place(self) -> str:
        """The location as messages show it: `FILE:LINE`."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        """Return location, severity and message."""
        return f"{self.place}: {self.error.severity}: {self.error}"


@dataclass(frozen=True, slots=True)
class Composition:
    """The objects that files render to, in apply order, and all findings, errors first."""

    objects: tuple[Object, ...]
    found: tuple[Found, ...]
    checked: int = 0
    """The number of objects in the files that were checked: LeaderWorkerSets and the kinds that make them."""
    skipped: tuple[tuple[str, int], ...] = ()
    """The other objects in the files, by kind: the kind, and how many of it; sorted by kind."""

    @property
    def denied(self) -> bool:
        """Whether admission would deny one of them, or they contradict each other."""
        return any(one.error.severity == "error" for one in self.found)


def compose(
    documents: Iterable[Document], settings: Settings, *, namespace: str = "", admission_only: bool = False
) -> Composition:
    """Expand every document as admission does; then add the objects that the controller would create."""
    documents = [_placed(document, namespace) for document in documents]
    found = [Found(document, error) for document in documents for error in hints(document)]
    objects = [one for one in documents if one.object and not is_kustomization(one)]
    single, copies, repeated = _once(objects)
    found.extend(repeated)
    templates = library(one.object for one in single)
    each = [checked(document, settings, templates) for document in single]
    found.extend(Found(one.document, error) for one in each for error in one.errors)
    found.extend(Found(*one) for one in (*links(each), *claimed_sizes(each, settings, templates)))
    found.extend(Found(one, error) for one in copies for error in checked(one, settings, templates).errors)
    made, about = _made(each, settings, templates, admission_only=admission_only)
    found.extend(one for one in about if one not in found)
    count = sum(is_checked(one.object) for one in objects)
    if objects and not (count or found):
        other = next((one for one in objects if is_of_another_system(one.object)), objects[0])
        found.append(Found(other, unchecked(other.object)))
    found.sort(key=lambda one: one.error.severity != "error")
    return Composition(made, tuple(found), count, _skipped(documents))


def _made(
    each: list[Checked], settings: Settings, templates: Library, *, admission_only: bool
) -> tuple[tuple[Object, ...], list[Found]]:
    """Return the expanded objects, and those of the controller; and the findings of the controller.

    An object of a file that the controller creates too is replaced: the controller applies its own.
    """
    stored = [_expand(part.object, settings, templates) for one in each for part in one.parts]
    if admission_only:
        return tuple(stored), []
    added, about = _preview(each, _compared(each, stored, settings, templates), settings, templates)
    known = {_identity(one): one for one in added}
    left = {_identity(one): one for one in stored}
    kept = (known.get(_identity(one), one) if _name(one) else one for one in stored)
    return (*kept, *(one for one in added if _identity(one) not in left)), about


def _once(documents: list[Document]) -> tuple[list[Document], list[Document], list[Found]]:
    """Separate documents of an object that an earlier one is too, and report them (FI923).

    One with other annotations of ours is meant to be another object, and stays. The others are no part of a
    service; those that differ are returned too, since each is checked by itself.
    """
    single: dict[object, Document] = {}
    copies: list[Document] = []
    repeated: list[Found] = []
    for at, document in enumerate(documents):
        key = _identity(document.object) if _name(document.object) else at
        first = single.setdefault(key, document)
        if first is document:
            continue
        repeated.append(_repeated(document, first))
        if _ours(document.object) != _ours(first.object):
            single[at] = document
        elif document.object != first.object:
            copies.append(document)
    return [*single.values()], copies, repeated


def _repeated(document: Document, first: Document) -> Found:
    line = first.line("metadata.name")
    where = f"{first.file}:{line}" if line else first.file
    message = f"the files have this {document.object['kind']} twice; the other one is in {where}"
    return Found(document, FieldError("metadata.name", _name(document.object), message, REPEATED))


def _ours(obj: Object) -> Object:
    return {key: value for key, value in annotations(obj).items() if key.startswith(PREFIX)}


def _identity(obj: Object) -> tuple[str, ...]:
    """Return group, kind, namespace and name of an object."""
    group, slash, _ = text(obj.get("apiVersion")).partition("/")
    namespace = text(metadata(obj).get("namespace"))
    return group if slash else "", text(obj.get("kind")), namespace, _name(obj)


def _name(obj: Object) -> str:
    return text(metadata(obj).get("name")) if text(obj.get("kind")) else ""


def _skipped(documents: Iterable[Document]) -> tuple[tuple[str, int], ...]:
    """Count the objects of other kinds."""
    others = (one for one in documents if one.object and not is_checked(one.object))
    return tuple(sorted(Counter(map(_kind, others)).items()))


def _kind(document: Document) -> str:
    if is_kustomization(document):
        return "Kustomization"
    kind, group = text(document.object.get("kind")), text(document.object.get("apiVersion")).partition("/")[0]
    return f"{kind}.{group}" if any(one.name == kind for one in KINDS) else kind or NO_KIND


def rendered(documents: Iterable[Document]) -> Iterator[Document]:
    """Replace valid InferenceServices, and DisaggregatedSets, with their LeaderWorkerSets.

    Other documents are yielded unchanged.
    """
    for document in documents:
        sets = _leader_worker_sets(document.object)
        if sets is None:
            yield document
            continue
        for made in sets:
            yield replace(document, object=made, part=f"LeaderWorkerSet {made['metadata']['name']}")


def _leader_worker_sets(obj: Object) -> tuple[Object, ...] | None:
    """Return what a controller makes of an object; None if none makes LeaderWorkerSets of it."""
    if is_disaggregated_set(obj):
        return tuple(made for _, made in disaggregatedset.leader_worker_sets(obj))
    if not is_inferenceservice(obj):
        return None
    service, errors = read(obj)
    invalid = service is None or any(error.severity == "error" for error in errors)
    return None if invalid or service is None else leader_worker_sets(service)


def is_lws(value: Object) -> bool:
    """Return whether an object is a LeaderWorkerSet, of any version."""
    return value.get("kind") == "LeaderWorkerSet" and str(value.get("apiVersion", "")).startswith(LWS_GROUP)


def is_inferenceservice(value: Object) -> bool:
    """Return whether an object is our InferenceService, of any version, and not KServe's."""
    return value.get("kind") == KIND and str(value.get("apiVersion", "")).startswith(f"{GROUP}/")


def is_checked(value: Object) -> bool:
    """Return whether an object is of a kind that is checked."""
    return any(known(value) for known in CHECKED)


NO_KIND: Final = "no kind"
"""Stands for the kind of objects without one, where kinds are counted."""
CHECKED: Final = (is_lws, is_inferenceservice, is_template, is_disaggregated_set)
PLACED: Final = (*CHECKED, is_config_map)
"""The kinds of which the namespace matters: objects of one service are in one."""


def _expand(obj: Object, settings: Settings, templates: Library) -> Object:
    return expanded(obj, settings, seen_by(templates, obj)) if is_lws(obj) else obj


def _compared(
    each: list[Checked], stored: list[Object], settings: Settings, templates: Library
) -> list[Object]:
    """Return the expanded objects; of those with errors, as they would be without refused annotations."""
    parts = [(one, part.object) for one in each for part in one.parts]
    return [
        foreseen(obj, settings, seen_by(templates, obj)) if one.errors and is_lws(obj) else made
        for (one, obj), made in zip(parts, stored, strict=True)
    ]


def _placed(document: Document, namespace: str) -> Document:
    """Set the namespace in which kubectl would create an object."""
    metadata = document.object.get("metadata")
    if (
        not namespace
        or not isinstance(metadata, dict)
        or "namespace" in metadata
        or not any(known(document.object) for known in PLACED)
    ):
        return document
    return replace(document, object=document.object | {"metadata": metadata | {"namespace": namespace}})


def _preview(
    each: list[Checked], stored: list[Object], settings: Settings, templates: Library
) -> tuple[list[Object], list[Found]]:
    """Return the objects that the controller would create for the expanded ones, and its findings."""
    members: list[Member] = []
    sources: dict[Subject, tuple[Document, Written]] = {}
    parts = [(one.document, part) for one in each for part in one.parts]
    for (document, part), value in zip(parts, stored, strict=True):
        one = member(value) if is_lws(value) else None
        if one is not None:
            members.append(one)
            if not part.is_copy:
                sources[one.subject] = document, part.written
    services = [one for one in each if one.service]
    sources |= {one.service.subject: (one.document, as_it_is) for one in services if one.service}
    config_maps = [one.document.object for one in each if is_config_map(one.document.object)]
    named = [one.service for one in services if one.service]
    ahead = preview(
        *(members, settings, named, config_maps),
        lambda service: seen_by(templates, {"metadata": {"namespace": service.namespace}}),
    )
    unclear = _unclear(each, members)
    keys = {one.subject: one.key for one in members}  # an InferenceService has the name of its service
    waits = {one.subject for one in ahead.findings if one.error.code == "FI410"}
    found = [
        _found(*sources[one.subject], one.error)
        for one in ahead.findings
        if one.subject in sources
        and one.error.code
        not in unclear.get(keys.get(one.subject, (one.subject.namespace, one.subject.name)), ())
        and not (one.error.code == "FI808" and one.subject in waits)  # its routes wait for the same
    ]
    return list(ahead.objects), found


PARTS: Final = frozenset(map(path, (COMPONENT_TYPE, ROLE_NAME, ROLES, SERVICE)))
"""Annotations that say which part of which service an object is."""
ABOUT_PARTS: Final = frozenset({"FI401", "FI402", "FI406", "FI410", "FI540", "FI808"})
"""Codes about the parts that a service has, or lacks."""


def _unclear(each: list[Checked], members: list[Member]) -> dict[ServiceKey, frozenset[str]]:
    """Return by service the codes that would only repeat errors of its objects."""
    read = {(one.namespace, one.name) for one in members}
    unclear: dict[ServiceKey, frozenset[str]] = {}
    for one in each:
        for part in one.parts:
            refused = {error.path for error in one.errors if error.severity == "error"}
            name, namespace = _name(part.object), text(metadata(part.object).get("namespace"))
            codes = frozenset[str]().union(*(CONSEQUENCES.get(path, ()) for path in refused))
            if refused & PARTS or (refused and (namespace, name) not in read):
                codes |= ABOUT_PARTS
            key = namespace, text(annotations(part.object).get(SERVICE))
            unclear[key] = unclear.get(key, frozenset()) | codes
    return unclear


def _found(document: Document, written: Written, error: FieldError) -> Found:
    return Found(document, written(error))
