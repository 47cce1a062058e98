"""Writes objects: only what differs and is ours, tried before, and never in a fight.

Every write goes through `send`, which asks for leave first and counts.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from intent import Object
from intent.annotations import UNANSWERED
from intent.service.member import ServiceKey
from kube.client import NOT_FOUND, ApiError, Client
from kube.request import KEEPER, Request, apply, create, delete, get, patch
from sync.desired.plan import Refusal
from sync.kinds import INFERENCE_SERVICE, LWS, Kind
from sync.observed.cached import applies, digest, is_orphaned, is_ours
from sync.runtime.apply_history import FIGHT, ApplyHistory
from sync.runtime.cache import Cache
from sync.runtime.metrics import ControllerMetrics
from sync.runtime.owners import Proof, behind, owner_stays
from sync.runtime.pause import Pause, PausedError
from sync.status import undated, unworded

log: Final = logging.getLogger(__name__)
T = TypeVar("T")
P = ParamSpec("P")
EVENT_SECONDS: Final = 5.0
"""How long the API server may take for an Event: nothing waits for one."""
INVALID: Final = 422
NO_OWNERS: Final[frozenset[str]] = frozenset()
REFUSED: Final = (400, 403, INVALID)
"""Answers that trying again does not change."""


def unless_paused(method: Callable[P, Awaitable[T | None]]) -> Callable[P, Awaitable[T | None]]:
    """End a method without a result where the write that it comes to is paused: nothing stands in its way."""

    @wraps(method)
    async def quietly(*args: P.args, **named: P.kwargs) -> T | None:
        try:
            return await method(*args, **named)
        except PausedError:
            return None

    return quietly


@dataclass(slots=True)
class Writer:
    """The loop's hand."""

    client: Client
    metrics: ControllerMetrics
    permit: Callable[[], float]
    """Gives the seconds in which this process may write; raises if it may not (any more)."""
    caches: Mapping[str, Cache]
    histories: dict[ServiceKey, dict[tuple[str, str], ApplyHistory]] = field(default_factory=dict)
    observe_only: bool = False
    """Whether this process writes nothing at all."""
    pause: Pause = field(init=False)

    def __post_init__(self) -> None:
        """Ask the caches and the settings what is paused."""
        measured = self.metrics
        measured.observe_only.set(self.observe_only)
        self.pause = Pause(self._is_marked, measured.paused, measured.paused_writes, self.observe_only)

    @unless_paused
    async def apply(
        self, key: ServiceKey, kind: Kind, desired: Object, proof: Proof | None = None
    ) -> Refusal | None:
        """Apply an object server-side, unless that changes nothing or it is not ours (`stored.is_ours`).

        What is stored is changed only as `proof` confirms it.
        """
        metadata = desired["metadata"]
        known = self.caches[kind.kind].rows.get((metadata.get("namespace", ""), metadata["name"]))
        try:
            try:
                return await self._apply(key, kind, desired, proof, known)
            except ApiError as error:
                if known or not error.exists:
                    raise
            live = kind.project(await self.client.call(get(_path(kind, desired))))
            if live and not kind.selector:  # the cache holds all of them, and what is wanted depends on it
                self.caches[kind.kind].put(live)
                raise behind(kind.kind, live.name)
            return await self._apply(key, kind, desired, proof, live) if live else _not_ours(kind, desired)
        except ApiError as error:
            if refusal := _refusal(kind, desired, error):
                return refusal
            raise

    async def _apply(
        self, key: ServiceKey, kind: Kind, desired: Object, proof: Proof | None, stored: Any
    ) -> Refusal | None:
        """Apply an object, by what is stored of it as far as is known (None: nothing)."""
        asked = kind.project(desired)
        history = self._history(key, kind.kind, asked.name)
        if stored and (stored.deleting or history.is_settled(asked.fingerprint, stored.fingerprint)):
            return None
        if stored and is_orphaned(stored, key[1]):
            if not await owner_stays(self.client, desired):
                return None
        elif stored and not is_ours(stored, proof.snapshot.owners if proof else NO_OWNERS):
            return _not_ours(kind, desired)
        if problem := kind.barred(stored, asked):
            return Refusal(kind.codes.barred, problem, kind.kind)
        if stored and history.fights(asked.fingerprint):
            return _fought(kind, desired)
        return await self._written(kind, desired, stored, history, proof)

    @unless_paused
    async def report(self, key: ServiceKey, kind: Kind, row: Any, status: Object) -> float | None:
        """Apply a status, unless the same was said before and stored as it is, or somebody undoes it.

        Gives the seconds after which to ask again, if the status only says the same in other words.
        """
        history, asked = self._history(key, _status_of(kind), row.name), digest(undated(status))
        if history.is_settled(asked, digest(row.status)):
            return None
        if history.fights(asked):
            log.warning("somebody keeps changing it", extra={"kind": kind.kind, "service": key})
            return None
        shape = digest(unworded(status))
        if seconds := history.reword_in(asked, shape):
            return seconds
        history.note(asked)
        history.shape = shape
        metadata = {"namespace": row.namespace, "name": row.name}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "status": status}
        answer = await self.send(kind.kind, apply(f"{kind.path(row.namespace, row.name)}/status", body))
        known = kind.project(answer)
        history.settle(asked, digest(known.status))
        self.caches[kind.kind].put(known)
        return None

    def is_reported(self, key: ServiceKey, kind: Kind, row: Any) -> bool:
        """Whether the status that is stored is the one that we wrote last."""
        return self._history(key, _status_of(kind), row.name).stored == digest(row.status)

    @unless_paused
    async def delete(self, kind: Kind, row: Any) -> None:
        """Delete an object as it was seen; if it is gone already, that is as good.

        It is not deleted again meanwhile. Raises `ApiError` (409) if somebody changed it: it may not be ours.
        """
        try:
            await self.send(kind.kind, delete(kind.path(row.namespace, row.name), row.uid, row.version))
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
        self.caches[kind.kind].drop((row.namespace, row.name))

    async def send(self, kind: str, request: Request, at_most: float = math.inf) -> Object:
        """Send a request that writes, if this process still may, and as long as it may.

        Raises `PausedError` if nothing is to be written for the service, and `LeadershipLostError`.
        """
        self.pause.check(kind, request)
        seconds = min(self.permit(), at_most)
        self.metrics.writes.labels(kind, request.verb).inc()
        log.info("write", extra={"kind": kind, "verb": request.verb, "path": request.path})
        return await self.client.write(request, seconds)

    async def event(self, request: Request) -> Object:
        """Send an Event."""
        return await self.send("Event", request, EVENT_SECONDS)

    def fights(self, key: ServiceKey) -> frozenset[str]:
        """Name the kinds of which a write for a service was left out, to be looked at again."""
        histories = self.histories.get(key, {})
        return frozenset(kind for (kind, _), history in histories.items() if history.fights(history.asked))

    def status_fought(self, key: ServiceKey, kind: Kind) -> tuple[Refusal, ...]:
        """Say that a status of a service was left out, because somebody writes another one each time."""
        status = {"kind": kind.kind, "metadata": {"name": f"{key[1]} (its status)"}}
        return (_fought(kind, status),) if f"{kind.kind}/status" in self.fights(key) else ()

    def forget(self, key: ServiceKey) -> None:
        """Remember nothing of a service that is gone."""
        self.histories.pop(key, None)
        self.pause.forget(key)

    def _is_marked(self, key: ServiceKey) -> bool:
        """Whether the InferenceService, or any LeaderWorkerSet, of a service says that it is paused."""
        kinds = (INFERENCE_SERVICE.kind, LWS.kind)
        return any(row.paused for kind in kinds for row in self.caches[kind].of(key))

    def _history(self, key: ServiceKey, kind: str, name: str) -> ApplyHistory:
        return self.histories.setdefault(key, {}).setdefault((kind, name), ApplyHistory())

    async def _written(
        self, kind: Kind, desired: Object, stored: Any, history: ApplyHistory, proof: Proof | None
    ) -> Refusal | None:
        """Try and write; if somebody wrote in between, again, and over it: status changes often."""
        try:
            return await self._try_and_write(kind, desired, stored, history, proof, of_version=True)
        except ApiError as error:
            if not error.crossed:
                raise
        return await self._try_and_write(kind, desired, stored, history, proof)

    async def _try_and_write(  # noqa: PLR0913 - what `_written` got
        self,
        kind: Kind,
        desired: Object,
        stored: Any,
        history: ApplyHistory,
        proof: Proof | None,
        *,
        of_version: bool = False,
    ) -> Refusal | None:
        """Write what the API server would keep, if it is not what is stored: its defaults are no drift."""
        released = bool(stored) and await self._let_go(kind, desired)
        answer = await self._tried(kind, desired, stored)
        if answer and (problem := kind.guard(desired, answer)):
            return Refusal(kind.codes.unkept, problem, kind.kind)
        asked = kind.project(desired).fingerprint
        first = kind.first(stored, desired, answer is None) if stored else {}
        same = stored and answer and kind.project(answer).fingerprint == stored.fingerprint
        if same and not first and not released:
            history.settle(asked, stored.fingerprint)
            return None
        if stored and proof:
            await proof.confirm(stored, desired)
        metadata = answer["metadata"] if stored and answer and of_version else {}
        written = await self._write(kind, desired, first, str(metadata.get("resourceVersion", "")))
        if stored:
            history.note(asked)
        history.settle(asked, written)
        return None

    async def _tried(self, kind: Kind, desired: Object, stored: Any) -> Object | None:
        """Ask what the API server would store; None if it refuses what can be made valid first."""
        try:
            return await self.client.call(_trial(kind, desired, stored))
        except ApiError as error:
            if not (stored and error.code == INVALID and kind.first(stored, desired, True)):
                raise
            return None

    async def _let_go(self, kind: Kind, desired: Object) -> bool:
        """Keep the live value of fields that we applied and that are not wanted any more; say whether any is.

        Server-side apply removes a field that nobody else owns, and the default takes its place. So another
        field manager applies the live value first, of the version that was read. To do it again is harmless.
        """
        released = [field for field in kind.kept if field not in desired["spec"]]
        live = await self.client.call(get(_path(kind, desired))) if released else {}
        spec = {field: live["spec"][field] for field in released if applies(live, field)}
        if spec:
            naming = {name: desired[name] for name in ("apiVersion", "kind")}
            metadata = {name: live["metadata"][name] for name in ("namespace", "name", "resourceVersion")}
            body = {**naming, "metadata": metadata, "spec": spec}
            await self.send(kind.kind, apply(_path(kind, desired), body, manager=KEEPER))
        return bool(spec)

    async def _write(self, kind: Kind, desired: Object, first: Object, version: str) -> bytes:
        """Merge what goes before, then apply; gives the fingerprint of what is stored now.

        With a `version`, it is refused if the object has another one by now: what comes late does nothing.
        """
        path = _path(kind, desired)
        if first:
            merged = await self.send(kind.kind, patch(path, _of(version, first)))
            version = merged["metadata"]["resourceVersion"]
        answer = kind.project(await self.send(kind.kind, apply(path, _of(version, kind.sealed(desired)))))
        self.caches[kind.kind].put(answer)
        fingerprint: bytes = answer.fingerprint
        return fingerprint


def _status_of(kind: Kind) -> str:
    return f"{kind.kind}/status"


def _of(version: str, body: Object) -> Object:
    """Have a write be of one version of its object."""
    if not version:
        return body
    return {**body, "metadata": {**body.get("metadata", {}), "resourceVersion": version}}


def _trial(kind: Kind, desired: Object, stored: Any) -> Request:
    """Ask what the API server would store. Where we know of nothing, whatever has the name is not ours."""
    if stored:
        return apply(_path(kind, desired), desired, dry_run=True)
    return create(kind.path(desired["metadata"]["namespace"]), desired, dry_run=True)


def _refusal(kind: Kind, desired: Object, error: ApiError) -> Refusal | None:
    """Say what trying again does not change; None if it may."""
    if error.code == INVALID and UNANSWERED in str(error):
        return Refusal(
            kind.codes.unkept, f"admission does not answer for {_called(kind, desired)}", kind.kind
        )
    if error.code == NOT_FOUND and not error.named:
        return _absent(kind, f"this cluster has no {kind.kind} of {kind.api_version}")
    if error.undeclared:
        return _absent(kind, f"this cluster's {kind.kind} lacks fields that are needed")
    if error.code in REFUSED:
        return Refusal(kind.codes.refused, f"{_called(kind, desired)} is refused: {error}", kind.kind)
    return None


def passing(kind: Kind, desired: Object, error: ApiError) -> Refusal:
    """Say what may pass: it is tried again at once, and later each time."""
    return Refusal(kind.codes.refused, f"{_called(kind, desired)} is not written: {error}", kind.kind, True)


def _absent(kind: Kind, message: str) -> Refusal:
    remedy = f"; install the CRDs of {kind.source}" if kind.source else ""
    return Refusal(kind.codes.absent, message + remedy, kind.kind)


def _not_ours(kind: Kind, desired: Object) -> Refusal:
    message = f"{_called(kind, desired)} was not made for this service; it is left alone"
    return Refusal(kind.codes.foreign, message, kind.kind)


def _fought(kind: Kind, desired: Object) -> Refusal:
    message = f"{_called(kind, desired)} was put back {FIGHT} times in a minute, and is changed each time"
    return Refusal(kind.codes.fought, f"{message}; it is left alone for a while", kind.kind)


def _called(kind: Kind, obj: Object) -> str:
    return f"{kind.kind} {obj['metadata']['name']}"


def _path(kind: Kind, obj: Object) -> str:
    return kind.path(obj["metadata"]["namespace"], obj["metadata"]["name"])
