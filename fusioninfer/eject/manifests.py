"""Eject services: turn what the cluster holds into plain manifests that work without FusionInfer. Pure.

A LeaderWorkerSet stays as it is stored, without our annotations and the record. What the controller made for
it stays without our marks of ownership. Nothing of a pod template changes, so nothing restarts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from fusioninfer.eject.service import LiveService, described
from fusioninfer.eject.steps import EjectNote, Instruction, notes, steps
from intent import Object
from intent.annotations import PREFIX
from intent.inferenceservice import v1alpha1
from intent.lws import KIND as LWS_KIND
from intent.service.member import ejected, member
from intent.shapes import listed, mapping
from sync.kinds import INFERENCE_SERVICE, POD_GROUP
from sync.observed.cached import SET_BY_SERVER

OF_STORED: Final = SET_BY_SERVER | {"generateName"}
"""Fields of the metadata that belong to one stored object."""
SET_BY_CLIENTS: Final = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"}
)
"""Annotations that belong to one stored object."""
ALLOCATED: Final = {"Service": frozenset({"clusterIP", "clusterIPs"})}
"""Fields of the spec that the API server allocates, by kind."""


@dataclass(frozen=True, slots=True)
class Ejection:
    """Plain manifests in the order in which they are applied, notes, and the steps that restart nothing."""

    objects: tuple[Object, ...]
    notes: tuple[EjectNote, ...]
    steps: tuple[Instruction, ...]


def eject(services: Iterable[LiveService]) -> Ejection:
    """Eject services for which `problems` returns none."""
    services = tuple(services)
    objects = (one for service in services for one in (*service.made, *service.members))
    return Ejection(
        tuple(plain(one) for one in objects),
        tuple(note for service in services for note in notes(service)),
        tuple(steps(services)),
    )


# --- manifests ----------------------------------------------------------------------------------------


def plain(obj: Object) -> Object:
    """Return a stored object as a manifest: without status, what a server sets, and our marks."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in OF_STORED}
    references = [one for one in listed(metadata.get("ownerReferences")) if not _is_ours(mapping(one))]
    cleaned = {
        "annotations": _without_marks(metadata.get("annotations")),
        "labels": mapping(metadata.get("labels"))
        if obj["kind"] == LWS_KIND
        else _without_marks(metadata.get("labels")),
        "ownerReferences": references,
    }
    metadata = {key: cleaned.get(key, value) for key, value in metadata.items() if cleaned.get(key, value)}
    found = {key: value for key, value in obj.items() if key != "status"} | {"metadata": metadata}
    if allocated := ALLOCATED.get(obj["kind"]):
        found["spec"] = {key: value for key, value in obj["spec"].items() if key not in allocated}
    return found


def _without_marks(values: Any) -> Object:
    return {
        key: value
        for key, value in mapping(values).items()
        if not key.startswith(PREFIX) and key not in SET_BY_CLIENTS
    }


def _is_ours(reference: Object) -> bool:
    """Return whether an owner is one of ours: an InferenceService, or the members of a service."""
    return reference.get("kind") == LWS_KIND or reference.get("apiVersion") == v1alpha1.API_VERSION


# --- problems -----------------------------------------------------------------------------------------


def problems(service: LiveService, named: frozenset[tuple[str, str]]) -> Iterator[str]:
    """Yield why a service cannot be ejected; `named` has kind and name of the objects that were named."""
    this = service.inferenceservice
    whole = (INFERENCE_SERVICE.kind, service.name) in named
    if this and not whole:
        yield f"{described(this)}: it would expand its LeaderWorkerSets again; name it instead of them"
        return
    if not service.members:
        yield from _plain_already(service, named)
        return
    for lws in service.members:
        if not whole and (LWS_KIND, lws["metadata"]["name"]) not in named:
            yield f"{described(lws)}: belongs to service {service.name} too, and shares its objects; name it"
        yield from _of_one(service, lws)
    for kind, name in sorted(named):
        if kind == LWS_KIND and name not in {lws["metadata"]["name"] for lws in service.members}:
            yield f"{kind} {service.namespace}/{name}: {NOT_EXPANDED}"


NOT_EXPANDED: Final = "has no record of an expansion; it is plain already, leave it out"


def _plain_already(service: LiveService, named: frozenset[tuple[str, str]]) -> Iterator[str]:
    for kind, name in sorted(named):
        why = "has no LeaderWorkerSet yet; delete it instead" if kind != LWS_KIND else NOT_EXPANDED
        yield f"{kind} {service.namespace}/{name}: {why}"


def _of_one(service: LiveService, lws: Object) -> Iterator[str]:
    """Yield what keeps one LeaderWorkerSet from being ejected."""
    metadata, found = lws["metadata"], member(lws) or ejected(lws)
    if metadata.get("deletionTimestamp"):
        yield f"{described(lws)}: is being deleted; leave it out"
        return
    for one in map(mapping, listed(metadata.get("ownerReferences"))):
        if one.get("controller") is True and not _is_ours(one):
            owner = f"{one.get('kind')} {one.get('name')}"
            yield f"{described(lws)}: {owner} writes its annotations again; remove them there"
    groups = [one["metadata"]["name"] for one in service.others if one["kind"] == POD_GROUP.kind]
    if found and found.scheduler and found.gang not in groups:
        yield (
            f"{described(lws)}: its pods wait for PodGroup {found.gang}, which does not exist; "
            f"eject it once its Events no longer name a missing role"
        )
