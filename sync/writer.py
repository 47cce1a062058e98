"""Writes objects: only what differs, tried before, and never in a fight.

Every write goes through `send`, which asks for leave first and counts.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from intent import Object
from intent.service import ServiceKey
from sync.cache import Cache
from sync.client import ApiError, Client
from sync.kinds import Kind
from sync.metrics import Metrics
from sync.plan import Refusal
from sync.request import Request, apply, delete, patch

log: Final = logging.getLogger(__name__)
FIGHT: Final = 5
"""So many repairs a minute are a fight with somebody, not a repair."""
MINUTE: Final = 60.0
NOT_FOUND: Final = 404
REFUSED: Final = (400, 403, 422)
"""Answers that trying again does not change."""


@dataclass(slots=True)
class Trail:
    """What was written of one object lately."""

    answer: tuple[bytes, bytes] | None = None
    """What was asked for last, and what was stored then."""
    repairs: list[float] = field(default_factory=list)
    """When (monotonic) it was written over, in the last minute."""

    def fights(self) -> bool:
        """Whether somebody undoes what we write, again and again."""
        now = time.monotonic()
        self.repairs = [at for at in self.repairs if at > now - MINUTE]
        return len(self.repairs) >= FIGHT

    def repaired(self, answer: tuple[bytes, bytes]) -> None:
        """Remember a write over something that existed."""
        self.answer = answer
        self.repairs.append(time.monotonic())


@dataclass(slots=True)
class Writer:
    """The loop's hand."""

    client: Client
    metrics: Metrics
    permit: Callable[[], None]
    """Raises if this process may not write (any more)."""
    caches: Mapping[str, Cache]
    trails: dict[ServiceKey, dict[tuple[str, str], Trail]] = field(default_factory=dict)

    async def apply(self, key: ServiceKey, kind: Kind, wanted: Object) -> Refusal | None:
        """Apply an object server-side, unless what is stored is equal in all that is ours."""
        asked = kind.project(wanted)
        stored = self.caches[kind.kind].rows.get((asked.namespace, asked.name))
        trail = self.trails.setdefault(key, {}).setdefault((kind.kind, asked.name), Trail())
        if stored and _is_settled(trail, asked.fingerprint, stored.fingerprint):
            return None
        if stored and trail.fights():
            log.warning("somebody keeps changing it", extra={"kind": kind.kind, "service": key})
            return None
        if refusal := await self._try(kind, wanted):
            return refusal
        answer = await self._write(kind, wanted, stored)
        if stored:
            trail.repaired((asked.fingerprint, answer.fingerprint))
        return None

    async def delete(self, kind: Kind, row: Any) -> None:
        """Delete an object; if it is gone already, that is as good."""
        try:
            await self.send(kind.kind, delete(kind.path(row.namespace, row.name), row.uid))
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise

    async def send(self, kind: str, request: Request) -> Object:
        """Send a request that writes, if this process still may."""
        self.permit()
        self.metrics.writes.labels(kind, request.verb).inc()
        log.info("write", extra={"kind": kind, "verb": request.verb, "path": request.path})
        return await self.client.call(request)

    async def event(self, request: Request) -> Object:
        """Send an Event."""
        return await self.send("Event", request)

    def is_fighting(self, key: ServiceKey) -> bool:
        """Whether a write for a service was left out, to be looked at again."""
        return any(trail.fights() for trail in self.trails.get(key, {}).values())

    def forget(self, key: ServiceKey) -> None:
        """Remember nothing of a service that is gone."""
        self.trails.pop(key, None)

    async def _try(self, kind: Kind, wanted: Object) -> Refusal | None:
        """Ask what the API server would store, without storing it."""
        try:
            answer = await self.client.call(apply(_path(kind, wanted), wanted, dry_run=True))
        except ApiError as error:
            if refusal := _refusal(kind, error):
                return refusal
            raise
        problem = kind.guard(wanted, answer)
        return Refusal("FI408", problem) if problem else None

    async def _write(self, kind: Kind, wanted: Object, stored: Any) -> Any:
        """Take out what must not be there, then apply; gives the projection of what is stored now."""
        path = _path(kind, wanted)
        asked = kind.project(wanted)
        if surplus := [field for field in stored.owned if field not in asked.owned] if stored else []:
            await self.send(kind.kind, patch(path, {"spec": dict.fromkeys(surplus)}))
        answer = kind.project(await self.send(kind.kind, apply(path, wanted)))
        self.caches[kind.kind].put(answer)
        return answer


def _is_settled(trail: Trail, asked: bytes, stored: bytes) -> bool:
    """Whether writing would change nothing: it is stored, or the answer last time was what is stored."""
    return asked == stored or trail.answer == (asked, stored)


def _refusal(kind: Kind, error: ApiError) -> Refusal | None:
    if error.code == NOT_FOUND and not error.named:
        return Refusal("FI408", f"this cluster has no {kind.kind} of {kind.api_version}")
    if error.undeclared:
        return Refusal("FI408", f"this cluster's {kind.kind} lacks fields that a gang needs")
    if error.code in REFUSED:
        return Refusal("FI411", f"{kind.kind} is refused: {error}")
    return None


def _path(kind: Kind, obj: Object) -> str:
    return kind.path(obj["metadata"]["namespace"], obj["metadata"]["name"])
