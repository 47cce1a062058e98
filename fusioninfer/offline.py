"""Run admission and the controller's rendering on files, with the same functions as in a cluster. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from fusioninfer.documents import Document
from intent import Object, disaggregatedset
from intent.disaggregatedset import is_disaggregated_set
from intent.errors import FieldError, Subject
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import KIND, InferenceServiceIntent, read
from intent.inferenceservice.v1alpha1 import GROUP
from intent.service.member import Member, member
from intent.settings import Settings
from intent.shapes import text
from sync.desired.preview import preview
from sync.observed.autoscaler import is_autoscaler, watched_autoscaler
from webhook import inferenceservice
from webhook.check import check
from webhook.expand import expanded

LWS_GROUP = "leaderworkerset.x-k8s.io/"


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
    found = [Found(document, error) for document in documents for error in _check(document, settings)]
    parts = list(rendered(documents))
    objects = [_expand(part, settings) for part in parts]
    if not admission_only:
        made, about = _preview(documents, parts, objects, settings)
        objects.extend(made)
        found.extend(one for one in about if one not in found)
    found.sort(key=lambda one: one.error.severity != "error")
    checked = sum(is_checked(document.object) for document in documents)
    return Composition(tuple(objects), tuple(found), checked, _skipped(documents))


def _skipped(documents: Iterable[Document]) -> tuple[tuple[str, int], ...]:
    """Count the objects of other kinds."""
    others = (document.object for document in documents if not is_checked(document.object))
    return tuple(sorted(Counter(text(value.get("kind")) or NO_KIND for value in others).items()))


def rendered(documents: Iterable[Document]) -> Iterator[Document]:
    """Replace valid InferenceServices, and DisaggregatedSets, with their LeaderWorkerSets.

    Other documents are yielded unchanged.
    """
    for document in documents:
        sets = _leader_worker_sets(document)
        if sets is None:
            yield document
            continue
        for lws in sets:
            yield replace(document, object=lws, part=f"LeaderWorkerSet {lws['metadata']['name']}")


def _leader_worker_sets(document: Document) -> tuple[Object, ...] | None:
    """Return what a controller makes of a document; None if none makes LeaderWorkerSets of it."""
    if is_disaggregated_set(document.object):
        return tuple(lws for _, lws in disaggregatedset.leader_worker_sets(document.object))
    service = _inferenceservice(document)
    return leader_worker_sets(service) if service else None


def _inferenceservice(document: Document) -> InferenceServiceIntent | None:
    """Read an InferenceService; None for another kind, or if it has errors."""
    if not is_inferenceservice(document.object):
        return None
    service, errors = read(document.object)
    return None if any(error.severity == "error" for error in errors) else service


def is_lws(value: Object) -> bool:
    """Return whether an object is a LeaderWorkerSet, of any version."""
    return value.get("kind") == "LeaderWorkerSet" and str(value.get("apiVersion", "")).startswith(LWS_GROUP)


def is_inferenceservice(value: Object) -> bool:
    """Return whether an object is our InferenceService, of any version, and not KServe's."""
    return value.get("kind") == KIND and str(value.get("apiVersion", "")).startswith(f"{GROUP}/")


def _check(document: Document, settings: Settings) -> list[FieldError]:
    if is_inferenceservice(document.object):
        return inferenceservice.check(document.object, None, settings)
    if is_disaggregated_set(document.object):
        return list(_check_roles(document.object, settings))
    return check(document.object, None, settings, mutated=False) if is_lws(document.object) else []


def _check_roles(obj: Object, settings: Settings) -> Iterator[FieldError]:
    """Check a DisaggregatedSet as admission checks its LeaderWorkerSets, with the paths of its roles."""
    for index, lws in disaggregatedset.leader_worker_sets(obj):
        yield from (
            disaggregatedset.at_role(error, index) for error in check(lws, None, settings, mutated=False)
        )
    if late := disaggregatedset.late_annotations(obj):
        yield late


def is_checked(value: Object) -> bool:
    """Return whether an object is of a kind that is checked."""
    return any(known(value) for known in CHECKED)


NO_KIND: Final = "no kind"
"""Stands for the kind of objects without one, where kinds are counted."""
CHECKED: Final = (is_lws, is_inferenceservice, is_disaggregated_set)
PLACED: Final = (*CHECKED, is_autoscaler)
"""The kinds of which the namespace matters: objects of one service are in one."""


def _expand(document: Document, settings: Settings) -> Object:
    return expanded(document.object, settings) if is_lws(document.object) else document.object


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
    documents: list[Document], parts: list[Document], objects: list[Object], settings: Settings
) -> tuple[list[Object], list[Found]]:
    """Return the objects that the controller would create for the expanded ones, and its findings."""
    members: list[Member] = []
    sources: dict[Subject, Document] = {}
    for part, value in zip(parts, objects, strict=True):
        one = member(value) if is_lws(value) else None
        if one is not None:
            members.append(one)
            sources[one.subject] = part
    services = [(document, service) for document in documents if (service := _inferenceservice(document))]
    sources |= {service.subject: document for document, service in services}
    autoscalers = [watched_autoscaler(one.object) for one in documents if is_autoscaler(one.object)]
    ahead = preview(members, settings, [service for _, service in services], autoscalers)
    return list(ahead.objects), [Found(sources[one.subject], one.error) for one in ahead.findings]
