"""One document, checked as the API server and admission do, and the LeaderWorkerSets that it becomes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from fusioninfer.lint.documents import Document
from intent import Object, disaggregatedset, lws
from intent.errors import FieldError
from intent.inferenceservice.members import authored, leader_worker_sets
from intent.inferenceservice.read import InferenceServiceIntent, read
from intent.inferenceservice.v1alpha1 import KIND as INFERENCE_SERVICE
from intent.inferencetemplate.v1alpha1 import KIND as INFERENCE_TEMPLATE
from intent.names import SYSTEM_NAMESPACE
from intent.resource import FileKind, kind_of, violations_of
from intent.schema import INVALID, MOST
from intent.settings import Settings
from intent.shapes import labels, metadata, text
from intent.template import Templates
from webhook import inferenceservice, inferencetemplate
from webhook.check import check

VERSION: Final = "FI922"
Written = Callable[[FieldError], FieldError]
"""Returns a finding with the path that the author of the document wrote."""

Library = Mapping[str, Mapping[str, Object]]
"""The templates by namespace, and by name; those of objects that name no namespace under the empty name."""

NONE: Final[Library] = {}


@dataclass(frozen=True, slots=True)
class CheckedObject:
    """A LeaderWorkerSet that a document becomes, or another object as it is."""

    object: Object
    written: Written = lambda error: error
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
    parts, service = parts_of(document.object)
    if kind is None:
        return Checked(document, (), parts)
    found = tuple(_findings(document.object, kind, settings, templates))
    return Checked(document, found, parts, service)


def _findings(obj: Object, kind: FileKind, settings: Settings, templates: Library) -> Iterator[FieldError]:
    """Yield the findings about the shape; then those of admission, which sees no value that is refused.

    Of an InferenceService it reports the rest, so that all mistakes are said at once.
    """
    shape = [*islice(violations_of(obj, kind), MOST)]
    if (version := obj["apiVersion"]) != kind.api_version:
        message = f"must be {kind.api_version}: there is no other version"
        shape.insert(0, FieldError("apiVersion", version, message, VERSION))
    yield from shape
    if kind.name == INFERENCE_SERVICE or not any(one.code == INVALID for one in shape):
        known = {one.path for one in shape}
        yield from (one for one in _admitted(obj, settings, templates) if one.path not in known)


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


def parts_of(obj: Object) -> tuple[tuple[CheckedObject, ...], InferenceServiceIntent | None]:
    """Return the LeaderWorkerSets that an object becomes, and the InferenceService that can be read.

    An object of another kind, and an InferenceService that cannot be read, is returned as it is.
    """
    kind = kind_of(obj)
    if kind is not None and kind.name == disaggregatedset.KIND:
        return tuple(
            CheckedObject(
                part, partial(disaggregatedset.at_role, index=index), "." in lws.read_revision(labels(part))
            )
            for index, part in disaggregatedset.leader_worker_sets(obj)
        ), None
    if kind is not None and kind.name == INFERENCE_SERVICE:
        service, found = read(obj)
        if service is not None and all(error.severity != "error" for error in found):
            sets = zip(service.roles, leader_worker_sets(service), strict=True)
            wrote = partial(authored, service=service)
            return tuple(CheckedObject(part, partial(wrote, role=role)) for role, part in sets), service
    return (CheckedObject(obj),), None


# --- the InferenceTemplates of files ----------------------------------------------------------------


def library(objects: Iterable[Object]) -> Library:
    """Collect the templates among objects; the first of a name counts."""
    found: dict[str, dict[str, Object]] = {}
    for one in objects:
        if (kind := kind_of(one)) and kind.name == INFERENCE_TEMPLATE:
            of = metadata(one)
            found.setdefault(text(of.get("namespace")), {}).setdefault(text(of.get("name")), one)
    return found


def seen_by(templates: Library, lws: Object) -> Templates:
    """Return the templates that an object may name: those of its namespace, then FusionInfer's.

    A file that names no namespace is applied to the same one as the others.
    """
    namespace = text(metadata(lws).get("namespace"))
    near: dict[str, Object] = {}
    for name in (SYSTEM_NAMESPACE, "", namespace) if namespace else (SYSTEM_NAMESPACE, *templates):
        near |= templates.get(name, {})
    return near
