"""One document, checked as admission checks it, and the LeaderWorkerSets that a controller makes of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from fusioninfer.lint.documents import Document
from fusioninfer.lint.library import NONE, Library, seen_by
from fusioninfer.lint.paths import is_at_or_below
from fusioninfer.lint.shape import INVALID, REQUIRED, UNKNOWN, CheckedShape, errors, read_shape, value_hint
from intent import Object, disaggregatedset, lws
from intent.errors import FieldError
from intent.inferenceservice.members import authored, leader_worker_sets
from intent.inferenceservice.read import InferenceServiceIntent, read
from intent.inferenceservice.v1alpha1 import KIND as INFERENCE_SERVICE
from intent.inferencetemplate.v1alpha1 import KIND as INFERENCE_TEMPLATE
from intent.resource import FileKind, kind_of
from intent.settings import Settings
from intent.shapes import labels
from webhook import inferenceservice, inferencetemplate
from webhook.check import check

VERSION: Final = "FI922"
WRONG_TYPE: Final = "FI701"
"""Of a field of an InferenceService."""
OF_SERVICES: Final = {UNKNOWN: "FI702", INVALID: WRONG_TYPE}
"""The codes of InferenceServices."""
Written = Callable[[FieldError], FieldError]
"""Returns a finding with the path that the author of the document wrote."""


def as_it_is(error: FieldError) -> FieldError:
    """Return a finding whose path is the author's already."""
    return error


@dataclass(frozen=True, slots=True)
class CheckedObject:
    """A LeaderWorkerSet that a document becomes, or another object as it is."""

    object: Object
    written: Written = as_it_is
    is_copy: bool = False
    """Whether it is in a slice after the first one: what is found about the first is true of all."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A document with its findings and its parts."""

    document: Document
    errors: tuple[FieldError, ...]
    parts: tuple[CheckedObject, ...]
    service: InferenceServiceIntent | None = None
    """The InferenceService, if it can be read."""


def checked(document: Document, settings: Settings, templates: Library = NONE) -> Checked:
    """Check a document. Objects of other kinds have no findings."""
    kind = kind_of(document.object)
    if kind is None:
        return Checked(document, (), (CheckedObject(document.object),))
    shape = read_shape(document.object, kind)
    parts, service = _parts(shape, kind)
    found = [*_version(document.object, kind), *_findings(document.object, shape, kind, settings, templates)]
    return Checked(document, tuple(_distinct(found)), parts, service)


def _distinct(found: list[FieldError]) -> Iterator[FieldError]:
    """Leave out what is said twice, and what is below an absent field."""
    absent = tuple(one.path for one in found if one.message == REQUIRED)
    for at, one in enumerate(found):
        is_below = any(one.path != path and is_at_or_below(one.path, path) for path in absent)
        if not is_below and one not in found[:at]:
            yield one


def _version(obj: Object, kind: FileKind) -> Iterator[FieldError]:
    """FI922: the version is the one that is served. An InferenceService is checked by its schema."""
    if obj["apiVersion"] != kind.api_version and kind.name != INFERENCE_SERVICE:
        yield FieldError(
            "apiVersion", obj["apiVersion"], f"must be {kind.api_version}: there is no other version", VERSION
        )


def _findings(
    obj: Object, shape: CheckedShape, kind: FileKind, settings: Settings, templates: Library
) -> Iterator[FieldError]:
    """Yield the findings about the shape, and those of admission; about one path only one error."""
    admitted = [
        replace(one, path=shape.as_written(one.path)) for one in _admitted(shape.meant, settings, templates)
    ]
    about_shape = list(errors(shape, kind))
    if kind.name == INFERENCE_SERVICE:
        about_shape = list(_unread(about_shape, shape))
        supplied = {meant for meant, _ in shape.renamed}
        first = [one for one in _admitted(obj, settings, templates) if one.path not in supplied]
        known = {one.path for one in first if one.severity == "error"}
        admitted = [*first, *(one for one in admitted if one not in first and one.path not in known)]
    hints = {one.path: value_hint(one) for one in shape.violations if one.is_wrong}
    reported = {one.path for one in admitted if one.severity == "error"}
    yield from (one for one in about_shape if one.path not in reported)
    for one in admitted:
        if one.code == WRONG_TYPE:
            yield replace(one, message=one.message + hints.get(one.path, ""))
        elif one.severity == "error" or one.path not in hints:
            yield one


def _unread(found: list[FieldError], shape: CheckedShape) -> Iterator[FieldError]:
    """Yield the findings about what the reader of InferenceServices does not look into.

    That is the metadata, and what is in a misspelt field.
    """
    for one in found:
        if is_at_or_below(one.path, "metadata"):
            yield one
        elif any(is_at_or_below(one.path, written) for _, written in shape.renamed):
            yield replace(one, code=OF_SERVICES[one.code])


def _admitted(obj: Object, settings: Settings, templates: Library) -> Iterator[FieldError]:
    """Yield the findings of admission about an object, and about what a controller makes of it."""
    seen = seen_by(templates, obj)
    if obj["kind"] == INFERENCE_SERVICE:
        yield from inferenceservice.check(obj, None, settings, templates=seen)
    elif obj["kind"] == lws.KIND:
        yield from check(obj, None, settings, mutated=False, templates=seen)
    elif obj["kind"] == INFERENCE_TEMPLATE:
        yield from inferencetemplate.check(obj)
    else:
        last = dict(disaggregatedset.leader_worker_sets(obj))  # of each role: that with the longest name
        for index, made in last.items():
            found = check(made, None, settings, mutated=False, templates=seen)
            yield from (disaggregatedset.at_role(error, index) for error in found)
        if late := disaggregatedset.late_annotations(obj):
            yield late


def _written(shape: CheckedShape) -> Written:
    return lambda error: replace(error, path=shape.as_written(error.path))


def _parts(
    shape: CheckedShape, kind: FileKind
) -> tuple[tuple[CheckedObject, ...], InferenceServiceIntent | None]:
    """Return the LeaderWorkerSets that a document becomes, and the InferenceService that can be read."""
    written = _written(shape)
    if kind.name == lws.KIND:
        return (CheckedObject(shape.meant, written),), None
    if kind.name == disaggregatedset.KIND:
        return tuple(_of_roles(shape.meant, written)), None
    if kind.name == INFERENCE_TEMPLATE:
        return (CheckedObject(shape.meant, written),), None
    service, found = read(shape.meant)
    if service is None or any(error.severity == "error" for error in found):
        return (CheckedObject(shape.meant, written),), None
    return tuple(_of_service(service, written)), service


def _of_roles(obj: Object, written: Written) -> Iterator[CheckedObject]:
    for index, made in disaggregatedset.leader_worker_sets(obj):
        part = CheckedObject(made, lambda error, at=index: written(disaggregatedset.at_role(error, at)))  # type: ignore[misc] # bound
        yield replace(part, is_copy="." in lws.read_revision(labels(made)))


def _of_service(service: InferenceServiceIntent, written: Written) -> Iterator[CheckedObject]:
    for role, made in zip(service.roles, leader_worker_sets(service), strict=True):
        yield CheckedObject(made, lambda error, of=role: written(authored(error, service, of)))  # type: ignore[misc] # bound
