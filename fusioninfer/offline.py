"""The webhook and the loop on files: the same functions, the same words, no cluster. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from fusioninfer.documents import Document
from intent import Object
from intent.errors import FieldError, Subject
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import KIND, InferenceServiceIntent, read
from intent.inferenceservice.v1alpha1 import GROUP
from intent.service.member import Member, member
from intent.settings import Settings
from sync.desired.preview import preview
from webhook import inferenceservice
from webhook.check import check
from webhook.expand import expanded

LWS_GROUP = "leaderworkerset.x-k8s.io/"


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, and the document that it is about."""

    document: Document
    error: FieldError

    def __str__(self) -> str:
        """Say where, how bad, and what."""
        return f"{self.document}: {self.error.severity}: {self.error}"


@dataclass(frozen=True, slots=True)
class Composition:
    """What files become: every object in apply order, and every finding, errors first."""

    objects: tuple[Object, ...]
    found: tuple[Found, ...]

    @property
    def refused(self) -> bool:
        """Whether the cluster would refuse one of them, or they contradict each other."""
        return any(one.error.severity == "error" for one in self.found)


def compose(
    documents: Iterable[Document], settings: Settings, *, namespace: str = "", admission_only: bool = False
) -> Composition:
    """Expand every document as admission does; then add what the loop would create."""
    documents = [_placed(document, namespace) for document in documents]
    found = [Found(document, error) for document in documents for error in _check(document, settings)]
    parts = list(rendered(documents))
    objects = [_expand(part, settings) for part in parts]
    if not admission_only:
        made, about = _loop(documents, parts, objects, settings)
        objects.extend(made)
        found.extend(one for one in about if one not in found)
    return Composition(tuple(objects), tuple(sorted(found, key=lambda one: one.error.severity != "error")))


def rendered(documents: Iterable[Document]) -> Iterator[Document]:
    """Put the LeaderWorkerSets of a good InferenceService into its place; leave all else."""
    for document in documents:
        service = _requested(document)
        if service is None:
            yield document
        else:
            for lws in leader_worker_sets(service):
                yield replace(document, object=lws, part=f"LeaderWorkerSet {lws['metadata']['name']}")


def _requested(document: Document) -> InferenceServiceIntent | None:
    """Read an InferenceService; None if it is something else, or is not good."""
    if not is_inferenceservice(document.object):
        return None
    service, errors = read(document.object)
    return None if any(error.severity == "error" for error in errors) else service


def is_lws(value: Object) -> bool:
    """Whether a document is a LeaderWorkerSet, of any version."""
    return value.get("kind") == "LeaderWorkerSet" and str(value.get("apiVersion", "")).startswith(LWS_GROUP)


def is_inferenceservice(value: Object) -> bool:
    """Whether a document is an InferenceService of ours, of any version; KServe has another one."""
    return value.get("kind") == KIND and str(value.get("apiVersion", "")).startswith(f"{GROUP}/")


def _check(document: Document, settings: Settings) -> list[FieldError]:
    if is_inferenceservice(document.object):
        return inferenceservice.check(document.object, None, settings)
    return check(document.object, None, settings, mutated=False) if is_lws(document.object) else []


def _expand(document: Document, settings: Settings) -> Object:
    return expanded(document.object, settings) if is_lws(document.object) else document.object


def _placed(document: Document, namespace: str) -> Document:
    """Put a document into the namespace that kubectl would create it in."""
    metadata = document.object.get("metadata")
    if (
        not namespace
        or not isinstance(metadata, dict)
        or "namespace" in metadata
        or not (is_lws(document.object) or is_inferenceservice(document.object))
    ):
        return document
    return replace(document, object=document.object | {"metadata": metadata | {"namespace": namespace}})


def _loop(
    documents: list[Document], parts: list[Document], objects: list[Object], settings: Settings
) -> tuple[list[Object], list[Found]]:
    """Give what the loop makes of the expanded objects, and what it says about them."""
    members: list[Member] = []
    places: dict[Subject, Document] = {}
    for part, value in zip(parts, objects, strict=True):
        one = member(value) if is_lws(value) else None
        if one is not None:
            members.append(one)
            places[one.subject] = part
    asked = [(document, service) for document in documents if (service := _requested(document))]
    places |= {service.subject: document for document, service in asked}
    ahead = preview(members, settings, [service for _, service in asked])
    return list(ahead.objects), [Found(places[one.subject], one.error) for one in ahead.findings]
