"""Live reads by name: of owners and autoscalers before an object is adopted, changed or deleted.

The caches may be old, and absence in a cache proves nothing: a list may be answered with 404 by mistake, a
watch may have stalled. So the API server itself is asked for the owner, and the owner is compared by its uid.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from intent import Object, lws
from intent.inferenceservice import v1alpha1
from intent.inferenceservice.read import InferenceServiceIntent
from kube.client import NO_ANSWER, NOT_FOUND, ApiError, Client
from kube.request import get
from sync.kinds import AUTOSCALER, CONFIG_MAP, INFERENCE_SERVICE, LWS, Kind
from sync.observed.cached import AppliedObject, Owner, UnreadableObject, owners
from sync.observed.configuration import Configuration, configuration, reference, unread
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.lws import CachedLeaderWorkerSet
from sync.snapshot import Snapshot
from sync.watch.cache import Caches, cache_of

OwnerRow = CachedInferenceService | CachedLeaderWorkerSet
CONFLICT: Final = 409


class BehindError(ApiError):
    """A write that is not sent, since what was seen is no longer so: it counts as crossed."""

    def __init__(self, kind: str, name: str) -> None:
        message = f"{kind} {name} has changed since it was last seen; nothing is changed or deleted"
        super().__init__(CONFLICT, {"reason": "Conflict", "message": message})


@dataclass(slots=True)
class OwnerCheck:
    """Checks whether objects of one service may be changed or deleted; reads each owner once."""

    client: Client
    caches: Caches
    snapshot: Snapshot
    """The snapshot from which the desired state was computed; the caches may be newer by now."""
    alive: dict[str, bool] = field(default_factory=dict)
    """By uid, whether an owner exists as it is in the snapshot."""

    async def confirm(self, stored: AppliedObject, desired: Object) -> None:
        """Read the owners of an object before it is changed: the desired state was computed from them.

        Each desired owner must exist, and each owner, desired or present, must be as in the snapshot. An
        owner that a cache lacks is not taken for deleted. Raises `ApiError` (409) where the cache is behind.
        """
        desired_owners = owners(desired["metadata"])
        for owner in dict.fromkeys((*desired_owners, *stored.owners)):
            if owner.kind not in OWNER_KINDS or self._is_of_another(owner):
                continue
            if not await self._is_alive(stored.namespace, owner) and owner in desired_owners:
                raise BehindError(owner.kind, owner.name)
        if desired["kind"] == LWS.kind:
            await self._confirm_replicas(stored, desired)

    async def _confirm_replicas(self, stored: AppliedObject, desired: Object) -> None:
        """Read the autoscalers before replicas are applied that one of them may have changed.

        That the cache knows none is no proof. Raises `ApiError` (409) where one is new to the snapshot.
        """
        seen = self.snapshot.reports.get(stored.name)
        if seen is None or not seen.scaler or desired["spec"].get("replicas") in {None, seen.replicas}:
            return
        known = {row.name for row in self.snapshot.of(AUTOSCALER)}
        cache = cache_of(self.caches, AUTOSCALER)
        async for page in self.client.pages(AUTOSCALER.path(stored.namespace)):
            for item in page.items or ():
                row = await cache.read(bytes(item))
                if row is None or row.name in known:
                    continue
                if isinstance(row, UnreadableObject):
                    message = f"{AUTOSCALER.kind} {row.name} may scale it and cannot be read: {row.why}"
                    raise ApiError(CONFLICT, {"reason": "Unreadable", "message": message})
                if row.target == stored.name and not row.deleting:
                    cache.put(row)
                    raise BehindError(AUTOSCALER.kind, row.name)

    async def allows_deletion(self, row: AppliedObject) -> bool:
        """Return whether the controller may delete an object that is not desired.

        One of its owners must exist and be as in the snapshot: only then is the desired state certain. An
        object without an owner is left to the garbage collector. Raises `ApiError` (409) where the cache is
        behind.
        """
        known = [owner for owner in row.owners if owner.kind in OWNER_KINDS]
        return any([await self._is_alive(row.namespace, owner) for owner in known])

    def _is_of_another(self, owner: Owner) -> bool:
        uid = self.snapshot.service.uid if self.snapshot.service else ""
        return owner.kind == v1alpha1.KIND and owner.uid != uid

    async def _is_alive(self, namespace: str, owner: Owner) -> bool:
        if owner.uid not in self.alive:
            self.alive[owner.uid] = await self._is_as_seen(namespace, owner)
        return self.alive[owner.uid]

    async def _is_as_seen(self, namespace: str, owner: Owner) -> bool:
        """Read an owner; return False if it is gone, or none (any more) (`is_owner`).

        Raises `ApiError` if it differs from the snapshot; the cache is updated before.
        """
        kind = OWNER_KINDS[owner.kind]
        live = await read_object(self.client, kind, namespace, owner.name)
        if live is None or live["metadata"].get("uid") != owner.uid:
            return False
        cache = cache_of(self.caches, kind)
        row = cache.project(live)
        if not is_owner(live, row, self.snapshot):
            return False
        seen: OwnerRow | None = self.snapshot.service
        if kind is LWS:
            seen = next((one for one in self.snapshot.of(LWS) if one.name == owner.name), None)
        if _state(row if row and self._concerns(row) else None) != _state(seen):
            if row is None:
                cache.drop((namespace, owner.name))
            else:
                cache.put(row)
            raise BehindError(kind.kind, owner.name)
        return True

    def _concerns(self, row: OwnerRow | UnreadableObject) -> bool:
        """Return whether the service depends on an owner: a member, an ejected one, or an unreadable one."""
        if isinstance(row, UnreadableObject):
            return True
        name = self.snapshot.situation.key[1]
        one = row.ejected if isinstance(row, CachedLeaderWorkerSet) else None
        names = {gang.pod_group for gang in self.snapshot.gangs}
        return row.service == name or (one is not None and (one.service == name or one.group in names))


OWNER_KINDS: Final[dict[str, Kind[Any]]] = {v1alpha1.KIND: INFERENCE_SERVICE, lws.KIND: LWS}
"""The kinds that own what the controller makes."""


def is_owner(live: Object, row: OwnerRow | UnreadableObject | None, snapshot: Snapshot) -> bool:
    """Return whether a live object and its row own what is made for a service.

    It must not be being deleted, nor be a member of another service. But where the service has no members
    left, one that moved away is a proof of that: what it owns is not desired any more. One that an
    InferenceService controls is none: that moves it back.
    """
    if live["metadata"].get("deletionTimestamp"):
        return False
    if not isinstance(row, CachedLeaderWorkerSet) or row.member is None:
        return True
    if row.member.key == snapshot.situation.key:
        return True
    is_of_gang = row.member.gang in {gang.pod_group for gang in snapshot.gangs}
    return not (snapshot.members or row.report or is_of_gang)


def _state(row: OwnerRow | UnreadableObject | None) -> tuple[object, ...] | None:
    """Return what distinguishes two states of an owner; its status, which changes often, does not."""
    if row is None:
        return None
    return (row.uid,) if isinstance(row, UnreadableObject) else (row.uid, row.fingerprint, row.deleting)


async def read_object(client: Client, kind: Kind[Any], namespace: str, name: str) -> Object | None:
    """Read an object; return None if there is none, by an answer that names it. Raises `ApiError`."""
    try:
        return await client.call(get(kind.path(namespace, name)))
    except ApiError as error:
        if error.code != NOT_FOUND or not error.named:
            raise
        return None


async def read_configuration(client: Client, service: InferenceServiceIntent) -> Configuration | None:
    """Read the configuration of a router; None if it refers to none. An error is part of the answer.

    ConfigMaps of users are not watched: the controller would hold those of the whole cluster.
    """
    ref = reference(service)
    if ref is None:
        return None
    try:
        return configuration(ref, await read_object(client, CONFIG_MAP, service.namespace, ref.name))
    except (ApiError, *NO_ANSWER) as error:
        return unread(ref, str(error) or type(error).__name__)
