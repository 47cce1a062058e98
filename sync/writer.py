"""Writes objects: only differences, only what the controller owns, after a dry run, and never in a conflict.

Every write goes through `Writer.send`, which checks that this process may write, and counts.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, TypeVar, cast

import structlog

from intent import Object
from intent.service.member import ServiceKey
from kube.client import NOT_FOUND, ApiError, Client
from kube.request import KEEPER, Request, apply, create, delete, get, patch
from sync import refusals
from sync.changes import Change, ChangeVerb
from sync.desired.gang import Refusal
from sync.kinds import APPLIED, INFERENCE_SERVICE, LWS, Kind, is_ours, part_of
from sync.observed.cached import AppliedObject, applies, digest, is_orphaned
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.managed_fields import UNKNOWN, Takeover, taken_over
from sync.runtime.apply_history import ApplyHistory
from sync.runtime.cache import Caches, cache_of
from sync.runtime.metrics import ControllerMetrics
from sync.runtime.owners import BehindError, OwnerCheck, owner_stays
from sync.runtime.pause import Pause, PausedError
from sync.status import merged, surplus, without_messages, without_times

log: Final = structlog.stdlib.get_logger(__name__)
A = TypeVar("A", bound=AppliedObject)
M = TypeVar("M", bound=Callable[..., Awaitable[Any]])
UNTYPED: Final = 500
"""The answer to server-side apply if the stored object has a value of the wrong type."""
EVENT_SECONDS: Final = 5.0
"""Seconds that the API server may take for an Event: nothing waits for one."""
NO_OWNERS: Final[frozenset[str]] = frozenset()
VERBS: Final[dict[tuple[bool, bool], ChangeVerb]] = {
    (False, False): "created",
    (False, True): "recreated",
    (True, False): "changed",
    (True, True): "restored",
}
"""What a write does, by whether the object is stored and whether the same was applied before."""
STATUS: Final = f"{INFERENCE_SERVICE.kind}/status"
"""The key of a status in `Writer.histories`."""


def unless_paused(method: M) -> M:
    """Return None from a method whose write is paused: a paused write is no error."""

    @wraps(method)
    async def quietly(*args: Any, **named: Any) -> Any:
        try:
            return await method(*args, **named)
        except PausedError:
            return None

    return cast("M", quietly)


@dataclass(slots=True)
class Writer:
    """Applies, deletes and reports for the controller."""

    client: Client
    metrics: ControllerMetrics
    permit: Callable[[], float]
    """Returns the seconds for which this process may write; raises if it may not (any more)."""
    caches: Caches
    histories: dict[ServiceKey, dict[tuple[str, str], ApplyHistory]] = field(default_factory=dict)
    """By service, and by kind and name of an object."""
    changes: dict[ServiceKey, list[Change]] = field(default_factory=dict)
    """The writes to a service's objects that took effect and are not recorded as Events yet."""
    observe_only: bool = False
    """Whether this process writes nothing at all."""
    pause: Pause = field(init=False)

    def __post_init__(self) -> None:
        """Read from the caches and the settings what is paused."""
        measured = self.metrics
        measured.observe_only.set(self.observe_only)
        for kind in APPLIED:
            measured.repairs.labels(kind.kind)
        self.pause = Pause(self._is_marked, measured.paused, measured.paused_writes, self.observe_only)

    # --- apply --------------------------------------------------------------------------------------

    @unless_paused
    async def apply(
        self, key: ServiceKey, kind: Kind[A], desired: Object, check: OwnerCheck | None = None
    ) -> Refusal | None:
        """Apply an object server-side, unless that changes nothing or it is not ours (`kinds.is_ours`).

        A stored object is changed only after `check` confirmed its owners. Returns why it is not written, if
        another try does not help. Raises `ApiError` if another try may help.
        """
        metadata = desired["metadata"]
        cache = cache_of(self.caches, kind)
        known = cache.rows.get((metadata.get("namespace", ""), metadata["name"]))
        try:
            try:
                return await self._apply(key, kind, desired, check, known)
            except ApiError as error:
                if known or not error.exists:
                    raise
            live = kind.project(await self.client.call(get(kind.path_of(desired))))
            if live and not kind.resource.selector:  # the cache holds all of them, so the plan depends on it
                cache.put(live)
                raise BehindError(kind.kind, live.name)
            if not live:
                return refusals.foreign(kind, desired)
            return await self._apply(key, kind, desired, check, live)
        except ApiError as error:
            if refusal := refusals.lasting(kind, desired, error):
                return refusal
            raise

    async def _apply(
        self, key: ServiceKey, kind: Kind[A], desired: Object, check: OwnerCheck | None, stored: A | None
    ) -> Refusal | None:
        """Apply an object; `stored` is the row of the stored object, None if none is known."""
        row = kind.projected(desired)
        history = self._history(key, kind.kind, row.name)
        if stored and (stored.deleting or history.is_settled(row.fingerprint, stored.fingerprint)):
            return None
        if stored and is_orphaned(stored, key[1]) and not await owner_stays(self.client, desired):
            return None
        if refusal := self._obstacle(key, kind, desired, check, stored):
            return refusal
        try:
            return await self._write_once(key, kind, desired, stored, history, check, of_version=True)
        except ApiError as error:
            if not error.crossed:
                raise
        # Another writer came between the dry run and the apply; a status often does.
        return await self._write_once(key, kind, desired, stored, history, check)

    def _obstacle(
        self, key: ServiceKey, kind: Kind[A], desired: Object, check: OwnerCheck | None, stored: A | None
    ) -> Refusal | None:
        """Return why an object may not be written: it is not ours, a rule forbids it, or it is contested."""
        row, codes = kind.projected(desired), kind.ownership.codes
        owners = check.snapshot.owners if check else NO_OWNERS
        if stored and not is_ours(kind, stored, key[1], owners):
            return refusals.foreign(kind, desired)
        if problem := kind.ownership.blocked(stored, row):
            return Refusal(codes.blocked, problem, kind.kind, name=row.name)
        if stored and self._history(key, kind.kind, row.name).is_contested(row.fingerprint):
            return refusals.contested(kind, refusals.described(kind, desired), row.name)
        return None

    async def _write_once(  # noqa: PLR0913, PLR0917 - one step of `_apply`, with what it knows
        self,
        key: ServiceKey,
        kind: Kind[A],
        desired: Object,
        stored: A | None,
        history: ApplyHistory,
        check: OwnerCheck | None,
        *,
        of_version: bool = False,
    ) -> Refusal | None:
        """Apply an object if a dry run shows a difference; defaults of the API server are no difference.

        `of_version`: apply only to the version that the dry run saw. Raises `ApiError`.
        """
        released = bool(stored) and await self._keep_live_values(kind, desired)
        answer = await self._dry_run(kind, desired, stored)
        if answer and (problem := kind.ownership.verify(desired, answer)):
            name = desired["metadata"]["name"]
            return Refusal(kind.ownership.codes.altered, problem, kind.kind, name=name)
        fingerprint = kind.projected(desired).fingerprint
        premerge = kind.ownership.premerge(stored, desired, answer is None) if stored else {}
        if stored and answer and not premerge and not released:
            result = kind.projected(answer).fingerprint
            if stored.fingerprint == result or await self._is_of_admission(kind, desired, result):
                history.settle(fingerprint, stored.fingerprint)
                return None
        if stored and check:
            await check.confirm(stored, desired)
        is_known = history.desired == fingerprint
        before = await self._as_it_is(kind, desired) if stored and is_known else {}
        metadata = answer["metadata"] if stored and answer and of_version else {}
        written = await self._write(kind, desired, premerge, str(metadata.get("resourceVersion", "")))
        if stored and history.note(fingerprint):
            self.metrics.repairs.labels(kind.kind).inc()
        row = kind.projected(written)
        history.settle(fingerprint, row.fingerprint)
        verb = VERBS[stored is not None, is_known]
        self._note(key, verb, kind.kind, row, taken_over(before, written) if before else UNKNOWN)
        return None

    async def _as_it_is(self, kind: Kind[A], desired: Object) -> Object:
        """Read an object that another client changed, for the Event about it; empty if that is refused."""
        try:
            return await self.client.call(get(kind.path_of(desired)))
        except ApiError:
            return {}

    def _note(
        self, key: ServiceKey, verb: ChangeVerb, kind: str, row: AppliedObject, takeover: Takeover = UNKNOWN
    ) -> None:
        """Note a write that took effect; the controller records it as an Event."""
        change = Change(verb, kind, row.namespace, row.name, row.uid, row.owners, takeover)
        self.changes.setdefault(key, []).append(change)

    def take_changes(self, key: ServiceKey) -> tuple[Change, ...]:
        """Return the writes to a service's objects since the last call."""
        return tuple(self.changes.pop(key, ()))

    async def _dry_run(self, kind: Kind[A], desired: Object, stored: A | None) -> Object | None:
        """Return what the API server would store; None if it rejects what a premerge can make valid.

        Where no object is known a create is tried: an object of that name is not ours.
        """
        if not stored:
            path = kind.path(desired["metadata"]["namespace"])
            return await self.client.call(create(path, desired, dry_run=True))
        try:
            return await self.client.call(apply(kind.path_of(desired), desired, dry_run=True))
        except ApiError as error:
            if error.code != refusals.INVALID or not kind.ownership.premerge(stored, desired, True):
                raise
            return None

    async def _is_of_admission(self, kind: Kind[A], desired: Object, result: bytes) -> bool:
        """Return whether a write of nothing has the same result as the apply, by a dry run.

        Then the rules of a webhook have changed. To apply them would restart pods that nobody changed;
        they take effect with the next change of the author.
        """
        if not kind.ownership.restarts:
            return False
        answer = await self.client.call(patch(kind.path_of(desired), {}, dry_run=True))
        return kind.projected(answer).fingerprint == result

    async def _keep_live_values(self, kind: Kind[A], desired: Object) -> bool:
        """Keep the live value of fields that were applied and are no longer desired; return whether any is.

        Server-side apply removes a field that no other manager owns, and the default replaces it. So a second
        field manager applies the live value first, to the version that was read. A repetition is harmless.
        """
        released = [field for field in kind.ownership.kept_fields if field not in desired["spec"]]
        live = await self.client.call(get(kind.path_of(desired))) if released else {}
        spec = {field: live["spec"][field] for field in released if applies(live, field)}
        if spec:
            identity = {name: desired[name] for name in ("apiVersion", "kind")}
            metadata = {name: live["metadata"][name] for name in ("namespace", "name", "resourceVersion")}
            body = {**identity, "metadata": metadata, "spec": spec}
            await self.send(kind.kind, apply(kind.path_of(desired), body, manager=KEEPER))
        return bool(spec)

    async def _write(self, kind: Kind[A], desired: Object, premerge: Object, version: str) -> Object:
        """Send the premerge, if any, and the apply; return the stored object.

        With a `version` the API server refuses the write if the object has another version by now.
        """
        path = kind.path_of(desired)
        if premerge:
            merged = await self.send(kind.kind, patch(path, _of_version(version, premerge)))
            version = merged["metadata"]["resourceVersion"]
        body = _of_version(version, kind.ownership.seal(desired))
        stored = await self.send(kind.kind, apply(path, body))
        cache_of(self.caches, kind).put(kind.projected(stored))
        return stored

    # --- status -------------------------------------------------------------------------------------

    @unless_paused
    async def report(self, key: ServiceKey, row: CachedInferenceService, status: Object) -> float | None:
        """Apply a status, unless its result is stored already, or another writer reverts it.

        Returns the seconds after which to try again, if only its messages changed and that must wait.
        """
        kind, history = INFERENCE_SERVICE, self._history(key, STATUS, row.name)
        desired = digest(without_times(status))
        if history.is_settled(desired, digest(row.status)):
            return None
        if history.is_contested(desired):
            log.warning("status not written: another writer keeps changing it", service=key)
            return None
        shape = digest(without_messages(status))
        if seconds := history.reword_in(desired, shape):
            return seconds
        history.note(desired)
        history.shape = shape
        body = {
            "apiVersion": kind.resource.api_version,
            "kind": kind.kind,
            "metadata": {"namespace": row.namespace, "name": row.name},
            "status": status,
        }
        known = await self._write_status(f"{kind.path_of(body)}/status", body, row)
        history.settle(desired, digest(known.status))
        cache_of(self.caches, kind).put(known)
        return None

    async def _write_status(
        self, path: str, body: Object, row: CachedInferenceService
    ) -> CachedInferenceService:
        """Apply a status, and remove what an earlier merge patch left in; return the stored object.

        Server-side apply cannot read an object with a value of the wrong type, which was stored before the
        definition had schemas. A merge patch can.
        """
        kind, desired = INFERENCE_SERVICE, body["status"]
        try:
            answer = await self.send(kind.kind, apply(path, body))
        except ApiError as error:
            if error.code != UNTYPED:
                raise
            answer = await self.send(kind.kind, patch(path, {"status": merged(desired, row.status)}))
        if left := surplus(desired, answer.get("status", {})):
            answer = await self.send(kind.kind, patch(path, {"status": left}))
        return kind.projected(answer)

    def is_reported(self, key: ServiceKey, row: CachedInferenceService) -> bool:
        """Return whether the stored status is the one that this process wrote last."""
        return self._history(key, STATUS, row.name).stored == digest(row.status)

    # --- delete, send -------------------------------------------------------------------------------

    @unless_paused
    async def delete(self, key: ServiceKey, kind: Kind[A], row: A) -> None:
        """Delete an object in the version of its row; an object that is gone already is no error.

        The cache drops the row, so that it is not deleted twice. Raises `ApiError` (409) if the object was
        changed: it may no longer be ours.
        """
        path = kind.path(row.namespace, row.name)
        try:
            await self.send(kind.kind, delete(path, row.uid, row.resource_version))
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
        self.histories.get(key, {}).pop((kind.kind, row.name), None)
        self._note(key, "deleted", kind.kind, row)
        cache_of(self.caches, kind).drop((row.namespace, row.name))

    async def send(self, kind: str, request: Request, at_most: float = math.inf) -> Object:
        """Send a write request, limited to the time for which this process may write.

        Raises `PausedError` if the service is paused, and `LeadershipLostError`.
        """
        self.pause.check(kind, request)
        await self.client.limit.wait()
        seconds = min(self.permit(), at_most)
        self.metrics.writes.labels(kind, request.verb).inc()
        log.info("write", kind=kind, verb=request.verb, path=request.path)
        return await self.client.write(request, seconds)

    async def event(self, request: Request) -> Object:
        """Send an Event."""
        return await self.send("Event", request, EVENT_SECONDS)

    # --- history -----------------------------------------------------------------------------------

    def contested(self, key: ServiceKey) -> frozenset[str]:
        """Return the kinds of which a write for a service was left out because another writer reverts it.

        They are named as `kinds.part_of` names them.
        """
        histories = self.histories.get(key, {})
        return frozenset(
            part_of(kind, name)
            for (kind, name), history in histories.items()
            if history.is_contested(history.desired)
        )

    def status_refusal(self, key: ServiceKey) -> Refusal | None:
        """Return why a service's status is not written: another writer reverts it; None if it is."""
        if STATUS not in self.contested(key):
            return None
        return refusals.contested(
            INFERENCE_SERVICE, f"{INFERENCE_SERVICE.kind} {key[1]} (its status)", key[1]
        )

    def forget(self, key: ServiceKey) -> None:
        """Drop the histories of a service that is gone."""
        self.histories.pop(key, None)
        self.changes.pop(key, None)
        self.pause.forget(key)

    def _history(self, key: ServiceKey, kind: str, name: str) -> ApplyHistory:
        return self.histories.setdefault(key, {}).setdefault((kind, name), ApplyHistory())

    def _is_marked(self, key: ServiceKey) -> bool:
        """Return whether an annotation of the InferenceService or of a LeaderWorkerSet pauses the service."""
        services, sets = cache_of(self.caches, INFERENCE_SERVICE), cache_of(self.caches, LWS)
        return any(row.paused for row in services.of(key)) or any(row.paused for row in sets.of(key))


def _of_version(version: str, body: Object) -> Object:
    """Limit a write to one version of its object; an empty version is no limit."""
    if not version:
        return body
    return {**body, "metadata": {**body.get("metadata", {}), "resourceVersion": version}}
