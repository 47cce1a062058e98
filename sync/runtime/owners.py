"""Live reads of owners: before an object is adopted, and before one is deleted.

What the caches hold may be old, and absence in a cache proves nothing: a list may be answered with 404 by
mistake, a watch may be deaf. The API server itself is asked for the owner, and by its uid.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from intent import Object, lws
from intent.inferenceservice import v1alpha1
from kube.client import NOT_FOUND, ApiError, Client
from kube.request import get
from sync.kinds import INFERENCE_SERVICE, LWS, Kind
from sync.observed.cached import Owner, owners
from sync.observed.snapshot import Snapshot
from sync.runtime.cache import Cache, Name

OWNERS: Final[Mapping[str, Kind]] = {v1alpha1.KIND: INFERENCE_SERVICE, lws.KIND: LWS}
"""The kinds that own what the controller makes."""
CONFLICT: Final = 409


async def owner_stays(client: Client, desired: Object) -> bool:
    """Ask whether the InferenceService that is to control an object is there, and is to stay.

    What is known of it may be old: while it is deleted the garbage collector takes its owner references off,
    and what had one again would go with it. Kubernetes' own controllers ask before they adopt too
    (`pkg/controller/controller_ref_manager.go`, `RecheckDeletionTimestamp`).
    """
    metadata = desired["metadata"]
    owner = next((one for one in owners(metadata) if one.controller), None)
    if owner is None:
        return True
    found = await _read(client, INFERENCE_SERVICE, metadata["namespace"], owner)
    return found is not None and not found["metadata"].get("deletionTimestamp")


@dataclass(slots=True)
class Proof:
    """Whether objects of one service may be changed or deleted: each owner is read once."""

    client: Client
    caches: Mapping[str, Cache]
    snapshot: Snapshot
    """What was seen of the service when it was decided what is wanted; the caches may know more by now."""
    lives: dict[str, bool] = field(default_factory=dict)
    """By uid, whether an owner is there as it was seen."""

    async def confirm(self, stored: Any, desired: Object) -> None:
        """Read the owners of an object before it is changed: what is wanted was decided by what they say.

        Each that it should have must be alive, and each, also those it has now, be what the cache holds: one
        that a cache lacks is no owner that left. Raises `ApiError` (409) where the cache is behind.
        """
        asked = owners(desired["metadata"])
        for owner in dict.fromkeys((*asked, *stored.owners)):
            if owner.kind not in OWNERS or self._is_of_another(owner):
                continue
            if not await self._lives(stored.namespace, owner) and owner in asked:
                raise behind(owner.kind, owner.name)

    async def allows(self, row: Any) -> bool:
        """Say whether an object that is not wanted is for us to delete.

        An owner of it must be alive, and be what the cache holds: then it is known what it wants. What has
        no owner left goes by the garbage collector; what another InferenceService owns is not ours. Raises
        `ApiError` (409) where the cache is behind.
        """
        known = [owner for owner in row.owners if owner.kind in OWNERS]
        if not row.applied or any(self._is_of_another(owner) for owner in known):
            return False
        return any([await self._lives(row.namespace, owner) for owner in known])

    def _is_of_another(self, owner: Owner) -> bool:
        uid = self.snapshot.service.uid if self.snapshot.service else ""
        return owner.kind == v1alpha1.KIND and owner.uid != uid

    async def _lives(self, namespace: str, owner: Owner) -> bool:
        if owner.uid not in self.lives:
            self.lives[owner.uid] = await self._compared(namespace, owner)
        return self.lives[owner.uid]

    async def _compared(self, namespace: str, owner: Owner) -> bool:
        """Read an owner; False if it is gone, or goes.

        Raises `ApiError` if it is not as it was seen; then the cache has learned how it is.
        """
        kind = OWNERS[owner.kind]
        live = await _read(self.client, kind, namespace, owner)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return False
        row = self.caches[kind.kind].project(live)
        if _told(self._of_service(row)) != _told(self._seen(kind, owner)):
            self._learn(kind, row, (namespace, owner.name))
            raise behind(owner.kind, owner.name)
        return True

    def _of_service(self, row: Any) -> Any:
        """Give an owner as far as it concerns the service; None if it does not."""
        return row if row and row.service == self.snapshot.situation.key[1] else None

    def _seen(self, kind: Kind, owner: Owner) -> Any:
        if kind is INFERENCE_SERVICE:
            return self.snapshot.service
        return next((row for row in self.snapshot.rows.get(kind.kind, ()) if row.name == owner.name), None)

    def _learn(self, kind: Kind, row: Any, name: Name) -> None:
        cache = self.caches[kind.kind]
        if row is None or (kind.selector and not row.service):
            cache.drop(name)
        else:
            cache.put(row)


def _told(row: Any) -> tuple[Any, ...] | None:
    """Give what tells two states of an owner apart; its status does not, which changes often."""
    return row and (row.uid, getattr(row, "fingerprint", None), getattr(row, "deleting", None))


def behind(kind: str, name: str) -> ApiError:
    """Say that a cache is behind: what was decided by it is decided again."""
    message = f"{kind} {name} is not as it was last seen; nothing is changed or deleted"
    return ApiError(CONFLICT, {"reason": "Behind", "message": message})


async def _read(client: Client, kind: Kind, namespace: str, owner: Owner) -> Object | None:
    """Read an owner; None if it is gone, or another object has its name."""
    try:
        found = await client.call(get(kind.path(namespace, owner.name)))
    except ApiError as error:
        if error.code != NOT_FOUND or not error.named:
            raise
        return None
    return found if found["metadata"].get("uid") == owner.uid else None
