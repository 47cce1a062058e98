"""Run admission and the controller's rendering on files, with the same functions as in a cluster. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from catalog.codes import Severity
from fusioninfer.lint.checked import Checked, CheckedObject, Library, checked, library, parts_of, seen_by
from fusioninfer.lint.documents import Document, UnreadableFileError
from fusioninfer.lint.hints import hints, is_kustomization, links, unchecked
from intent import Object
from intent.annotations import EXPANSION, SERVICE
from intent.errors import FieldError, Subject
from intent.lws import KIND as LWS
from intent.resource import kind_of
from intent.service.member import ServiceKey, member
from intent.settings import Settings
from intent.shapes import annotations, metadata, text
from sync.observed.configuration import is_config_map
from sync.preview import preview
from webhook.expand import expanded

REPEATED: Final = "FI923"


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, and its document."""

    document: Document
    error: FieldError

    @property
    def place(self) -> str:
        """Where its field is, or the nearest parent, as messages show it: `FILE:LINE`."""
        return self.document.place(self.error.path)


@dataclass(frozen=True, slots=True)
class Composition:
    """The objects that files render to, in apply order, and all findings, errors first."""

    documents: tuple[Document, ...] = ()
    """Those of the files, in their namespaces."""
    objects: tuple[Object, ...] = ()
    found: tuple[Found, ...] = ()
    """Without the ignored ones."""
    checked: int = 0
    """The number of objects in the files that were checked: LeaderWorkerSets and the kinds that make them."""
    skipped: tuple[tuple[str, int], ...] = ()
    """The other objects in the files, by kind: the kind, and how many of it; sorted by kind."""
    unread: tuple[UnreadableFileError, ...] = ()
    ignored: int = 0
    """The number of ignored findings."""

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity."""
        return sum(one.error.severity == severity for one in self.found)

    def without(self, codes: frozenset[str], *, errors: bool = True) -> "Composition":
        """Return the same without the findings of some codes: all of them, or only warnings."""
        kept = tuple(
            one
            for one in self.found
            if one.error.code not in codes or (one.error.severity == "error" and not errors)
        )
        return replace(self, found=kept, ignored=self.ignored + len(self.found) - len(kept))


def without_record(obj: Object) -> Object:
    """Return an object without the record of its expansion."""
    if EXPANSION not in annotations(obj):
        return obj
    kept = {key: value for key, value in annotations(obj).items() if key != EXPANSION}
    return obj | {"metadata": metadata(obj) | {"annotations": kept}}


def compose(
    documents: Iterable[Document],
    settings: Settings,
    unread: Iterable[UnreadableFileError] = (),
    *,
    namespace: str = "",
    admission_only: bool = False,
) -> Composition:
    """Expand every document as admission does; then add the objects that the controller would create."""
    documents = [_placed(document, namespace) for document in documents]
    found = [Found(document, error) for document in documents for error in hints(document)]
    objects = [one for one in documents if one.object and not is_kustomization(one)]
    single, repeated = _once(objects)
    found.extend(repeated)
    templates = library(one.object for one in single)
    each = [checked(document, settings, templates) for document in single]
    found.extend(Found(one.document, error) for one in each for error in one.errors)
    found.extend(Found(*one) for one in links(each))
    made, about = _made(each, settings, templates, admission_only=admission_only)
    found.extend(one for one in about if one not in found)
    count = sum(kind_of(one.object) is not None for one in objects)
    if objects and not (count or found):
        found.append(Found(objects[0], unchecked(objects[0].object)))
    found.sort(key=lambda one: one.error.severity != "error")
    return Composition(tuple(documents), made, tuple(found), count, _skipped(documents), tuple(unread))


def _made(
    each: list[Checked], settings: Settings, templates: Library, *, admission_only: bool
) -> tuple[tuple[Object, ...], list[Found]]:
    """Return the expanded objects, and those of the controller; and the findings of the controller.

    An object of a file that the controller creates too is replaced: the controller applies its own.
    """
    parts = [(one.document, part) for one in each for part in one.parts]
    stored = [
        expanded(obj, settings, seen_by(templates, obj)) if is_lws(obj) else obj
        for obj in (part.object for _, part in parts)
    ]
    if admission_only:
        return tuple(stored), []
    members = {at: found for at, obj in enumerate(stored) if is_lws(obj) and (found := member(obj))}
    services = [(one.document, one.service) for one in each if one.service]
    ahead = preview(
        members.values(),
        settings,
        [service for _, service in services],
        [one.document.object for one in each if is_config_map(one.document.object)],
        lambda service: seen_by(templates, {"metadata": {"namespace": service.namespace}}),
    )
    sources: dict[Subject, tuple[Document, CheckedObject, ServiceKey]] = {
        found.subject: (*parts[at], found.key) for at, found in members.items() if not parts[at][1].is_copy
    } | {
        one.subject: (document, CheckedObject(document.object), (one.namespace, one.name))
        for document, one in services
    }
    denied = set(_denied(each))
    waits = {one.subject for one in ahead.all_findings if one.error.code == "FI410"}
    about = [
        Found(document, part.written(finding.error))
        for finding in ahead.all_findings
        if finding.subject in sources
        and not (finding.error.code == "FI808" and finding.subject in waits)  # its routes wait for the same
        for document, part, key in (sources[finding.subject],)
        if key not in denied
    ]
    added = {_identity(obj): obj for obj in ahead.objects}
    there = set(map(_identity, stored))
    kept = (added.get(_identity(obj), obj) if _name(obj) else obj for obj in stored)
    return (*kept, *(obj for name, obj in added.items() if name not in there)), about


def _denied(each: list[Checked]) -> Iterator[ServiceKey]:
    """Yield the services of which an object has an error: what lacks then is not known."""
    denied = (one for one in each if any(error.severity == "error" for error in one.errors))
    for part in (part for one in denied for part in one.parts):
        of = metadata(part.object)
        yield text(of.get("namespace")), text(annotations(part.object).get(SERVICE) or of.get("name"))


def _once(documents: list[Document]) -> tuple[list[Document], list[Found]]:
    """Leave out documents of an object that an earlier one is too, and report them (FI923)."""
    single: dict[object, Document] = {}
    repeated: list[Found] = []
    for at, document in enumerate(documents):
        name = _name(document.object)
        first = single.setdefault(_identity(document.object) if name else at, document)
        if first is not document:
            where = first.place("metadata.name")
            message = f"the files have this {document.object['kind']} twice; the other one is in {where}"
            repeated.append(Found(document, FieldError("metadata.name", name, message, REPEATED)))
    return [*single.values()], repeated


def _identity(obj: Object) -> tuple[str, ...]:
    """Return group, kind, namespace and name of an object."""
    group, slash, _ = text(obj.get("apiVersion")).partition("/")
    namespace = text(metadata(obj).get("namespace"))
    return group if slash else "", text(obj.get("kind")), namespace, _name(obj)


def _name(obj: Object) -> str:
    return text(metadata(obj).get("name")) if text(obj.get("kind")) else ""


def _skipped(documents: Iterable[Document]) -> tuple[tuple[str, int], ...]:
    """Count the objects of other kinds."""
    others = (one.object for one in documents if one.object and kind_of(one.object) is None)
    return tuple(sorted(Counter(text(one.get("kind")) or "no kind" for one in others).items()))


def rendered(documents: Iterable[Document]) -> Iterator[Document]:
    """Replace valid InferenceServices, and DisaggregatedSets, with their LeaderWorkerSets.

    Other documents are yielded unchanged.
    """
    for document in documents:
        for part in parts_of(document.object)[0]:
            name = "" if part.object is document.object else f"LeaderWorkerSet {_name(part.object)}"
            yield replace(document, object=part.object, part=name)


def is_lws(value: Object) -> bool:
    """Return whether an object is a LeaderWorkerSet, of any version."""
    kind = kind_of(value)
    return kind is not None and kind.name == LWS


def _placed(document: Document, namespace: str) -> Document:
    """Set the namespace in which kubectl would create an object."""
    obj, has_place = document.object, kind_of(document.object) or is_config_map(document.object)
    named = obj.get("metadata")
    if not (namespace and has_place and isinstance(named, dict)) or "namespace" in named:
        return document
    return replace(document, object=obj | {"metadata": named | {"namespace": namespace}})
