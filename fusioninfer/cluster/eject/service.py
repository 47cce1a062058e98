"""What a cluster holds for a service, and why it cannot be ejected."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from fusioninfer.cluster.reader import Reader
from fusioninfer.cluster.service import Live, find, read_live, require
from fusioninfer.cluster.text import described, name_of
from intent import Object
from intent.annotations import SERVICE
from intent.inferenceservice import v1alpha1
from intent.service.member import ejected, member
from intent.shapes import labels, listed, mapping
from sync.kinds import AUTOSCALER, INFERENCE_SERVICE, LWS, OUTPUTS, POD_GROUP, ROUTE_KINDS, Kind, is_ours

LABELLED: Final[tuple[Kind[Any], ...]] = (AUTOSCALER, *ROUTE_KINDS)
KINDS: Final[tuple[Kind[Any], ...]] = (LWS, INFERENCE_SERVICE, POD_GROUP, *LABELLED)


@dataclass(frozen=True, slots=True)
class LiveService:
    """What the cluster holds for one service, as the API server returns it."""

    namespace: str
    name: str
    inferenceservice: Object | None = None
    members: tuple[Object, ...] = ()
    """The LeaderWorkerSets that admission expanded, those that were ejected since included."""
    others: tuple[Object, ...] = ()
    """The PodGroups that its members name; autoscalers and objects of routes with its label, of any owner."""

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


async def read_service(reader: Reader, word: str, namespace: str) -> LiveService:
    """Read the service of an object, which `word` names: NAME, lws/NAME or isvc/NAME.

    Raises `NotFoundError`; `UnreachableError` unless everything can be read: what is missing would not be
    ejected.
    """
    await reader.reach()
    live = await read_live(reader, namespace)
    require(live.objects, KINDS, namespace)
    obj, service = find(live, word, namespace)
    return live_service(live, namespace, service or name_of(obj))


def live_service(live: Live, namespace: str, name: str) -> LiveService:
    """Return what belongs to a service."""
    members = tuple(one for one in live.of(LWS) if _belongs(one, name))
    gangs = {name, *(one.gang for obj in members if (one := member(obj) or ejected(obj)))}
    groups = (one for one in live.of(POD_GROUP) if name_of(one) in gangs)
    others = (one for kind in LABELLED for one in live.of(kind) if labels(one).get(SERVICE) == name)
    return LiveService(namespace, name, live.named(INFERENCE_SERVICE, name), members, (*groups, *others))


def _belongs(lws: Object, service: str) -> bool:
    """Return whether a LeaderWorkerSet is a member of a service, or was ejected from it."""
    if one := member(lws):
        return one.service == service
    gone = ejected(lws)
    return gone is not None and service in {gone.service, gone.group}


def problems_of(service: LiveService) -> Iterator[str]:
    """Yield why a service cannot be ejected."""
    if not service.members:
        where = f"service {service.namespace}/{service.name}"
        yield f"{where}: no LeaderWorkerSet has a record of an expansion: there is nothing to eject"
    groups = {name_of(one) for one in service.others if one["kind"] == POD_GROUP.kind}
    for lws in service.members:
        metadata, one = lws["metadata"], member(lws) or ejected(lws)
        if metadata.get("deletionTimestamp"):
            yield f"{described(lws)}: is being deleted; wait until it is gone"
            continue
        for owner in map(mapping, listed(metadata.get("ownerReferences"))):
            if owner.get("controller") is True and not is_our_owner(owner):
                named = f"{owner.get('kind')} {owner.get('name')}"
                yield f"{described(lws)}: {named} writes its annotations again; remove them there"
        if one and one.scheduler and one.gang not in groups:
            yield (
                f"{described(lws)}: its pods wait for PodGroup {one.gang}, which does not exist; "
                f"eject it once its Events no longer name a missing role"
            )


def is_our_owner(reference: Object) -> bool:
    """Return whether an owner is one of ours: an InferenceService, or the members of a service."""
    return reference.get("kind") == LWS.kind or reference.get("apiVersion") == v1alpha1.API_VERSION
