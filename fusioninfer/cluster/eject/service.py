"""What a cluster holds for the services that a user named, and why some cannot be ejected."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from fusioninfer.cluster.reader import Reader
from fusioninfer.cluster.service import complete, require
from fusioninfer.cluster.text import described, name_of
from intent import Object
from intent.annotations import SERVICE
from intent.inferenceservice import v1alpha1
from intent.service.member import ServiceKey, ejected, member
from intent.shapes import labels, listed, mapping
from sync.kinds import AUTOSCALER, INFERENCE_SERVICE, LWS, OUTPUTS, POD_GROUP, ROUTE_KINDS, Kind, is_ours

LABELLED: Final[tuple[Kind[Any], ...]] = (AUTOSCALER, *ROUTE_KINDS)
KINDS: Final[tuple[Kind[Any], ...]] = (LWS, INFERENCE_SERVICE, POD_GROUP, *LABELLED)
NOT_EXPANDED: Final = "has no record of an expansion; it is plain already, leave it out"


class Target(NamedTuple):
    """An object that a user named."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """Return kind, namespace and name, as messages show them."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class LiveService:
    """What the cluster holds for one service, as the API server returns it."""

    namespace: str
    name: str
    inferenceservice: Object | None = None
    sets: tuple[Object, ...] = ()
    """The LeaderWorkerSets of the service, annotated or ejected."""
    others: tuple[Object, ...] = ()
    """The PodGroups that its members name; autoscalers and objects of routes with its label, of any owner."""

    @property
    def members(self) -> tuple[Object, ...]:
        """The LeaderWorkerSets that admission expanded, and that need what the controller made for them."""
        return tuple(lws for lws in self.sets if belongs(lws, self.name))

    @property
    def made(self) -> tuple[Object, ...]:
        """The objects that the controller made for this service, by its own rule of ownership."""
        owners = (*self.members, *([self.inferenceservice] if self.inferenceservice else ()))
        uids = frozenset(one["metadata"].get("uid", "") for one in owners)
        rows = ((obj, OUTPUTS[obj["kind"]]) for obj in self.others)
        return tuple(
            obj
            for obj, kind in rows
            if (row := kind.project(obj)) is not None and is_ours(kind, row, self.name, uids)
        )


def belongs(lws: Object, service: str) -> bool:
    """Return whether a LeaderWorkerSet is a member of a service, or was ejected from it."""
    if one := member(lws):
        return one.service == service
    gone = ejected(lws)
    return gone is not None and service in {gone.service, gone.group}


# --- reading ----------------------------------------------------------------------------------------

Objects = Mapping[str, tuple[Object, ...]]
"""The objects of a namespace, by kind."""


async def read_services(
    reader: Reader, wanted: Iterable[Target]
) -> tuple[tuple[LiveService, ...], list[str]]:
    """Read the services of the wanted objects, and return why some cannot be ejected.

    Raises `UnreachableError` unless everything can be read: what is missing would not be ejected.
    """
    await reader.reach()
    named: dict[ServiceKey, set[Target]] = defaultdict(set)
    problems: list[str] = []
    objects: dict[str, Objects] = {}
    for one in dict.fromkeys(wanted):
        there = objects[one.namespace] = objects.get(one.namespace) or await _read(reader, one.namespace)
        found = next((obj for obj in there[one.kind] if name_of(obj) == one.name), None)
        known = found and (member(found) or ejected(found))
        service = (known.service or known.group) if known else ""
        if found is None:
            problems.append(f"{one}: not found; check the name, -n and --context")
        elif service or one.kind == INFERENCE_SERVICE.kind:
            named[one.namespace, service or one.name].add(one)
        else:
            problems.append(f"{one}: {NOT_EXPANDED}")
    services = {key: live_service(key, objects[key[0]]) for key in named}
    problems += [why for key, one in services.items() for why in problems_of(one, named[key])]
    return tuple(services.values()), problems


async def _read(reader: Reader, namespace: str) -> Objects:
    answers = await asyncio.gather(
        *(reader.every(kind.path(namespace), kind.resource.selector) for kind in KINDS)
    )
    found = {kind.kind: complete(answer, kind) for kind, answer in zip(KINDS, answers, strict=True)}
    require(found, KINDS, namespace)
    return {kind: tuple(sorted(answer.objects, key=name_of)) for kind, answer in found.items()}


def live_service(key: ServiceKey, objects: Objects) -> LiveService:
    """Return what belongs to a service."""
    namespace, name = key
    sets = tuple(one for one in objects[LWS.kind] if belongs(one, name))
    gangs = {name, *(one.gang for obj in sets if (one := member(obj) or ejected(obj)))}
    groups = (one for one in objects[POD_GROUP.kind] if name_of(one) in gangs)
    others = (one for kind in LABELLED for one in objects[kind.kind] if labels(one).get(SERVICE) == name)
    itself = next((one for one in objects[INFERENCE_SERVICE.kind] if name_of(one) == name), None)
    return LiveService(namespace, name, itself, sets, (*groups, *others))


# --- problems ---------------------------------------------------------------------------------------


def problems_of(service: LiveService, named: Iterable[Target]) -> Iterator[str]:
    """Yield why a service cannot be ejected; `named`: its objects that were named."""
    this, known = service.inferenceservice, {(one.kind, one.name) for one in named}
    whole = (INFERENCE_SERVICE.kind, service.name) in known
    if this and not whole:
        yield f"{described(this)}: it would expand its LeaderWorkerSets again; name it instead of them"
        return
    names = {name_of(lws) for lws in service.members}
    for lws in service.members:
        if not whole and (LWS.kind, name_of(lws)) not in known:
            yield f"{described(lws)}: belongs to service {service.name} too, and shares its objects; name it"
        yield from _of_one(service, lws)
    for kind, name in sorted(known):
        if kind == LWS.kind and name not in names:
            yield f"{kind} {service.namespace}/{name}: {NOT_EXPANDED}"
        elif not names:
            yield f"{kind} {service.namespace}/{name}: has no LeaderWorkerSet yet; delete it instead"


def _of_one(service: LiveService, lws: Object) -> Iterator[str]:
    """Yield what keeps one LeaderWorkerSet from being ejected."""
    metadata, found = lws["metadata"], member(lws) or ejected(lws)
    if metadata.get("deletionTimestamp"):
        yield f"{described(lws)}: is being deleted; leave it out"
        return
    for one in map(mapping, listed(metadata.get("ownerReferences"))):
        if one.get("controller") is True and not is_our_owner(one):
            owner = f"{one.get('kind')} {one.get('name')}"
            yield f"{described(lws)}: {owner} writes its annotations again; remove them there"
    groups = [name_of(one) for one in service.others if one["kind"] == POD_GROUP.kind]
    if found and found.scheduler and found.gang not in groups:
        yield (
            f"{described(lws)}: its pods wait for PodGroup {found.gang}, which does not exist; "
            f"eject it once its Events no longer name a missing role"
        )


def is_our_owner(reference: Object) -> bool:
    """Return whether an owner is one of ours: an InferenceService, or the members of a service."""
    return reference.get("kind") == LWS.kind or reference.get("apiVersion") == v1alpha1.API_VERSION
