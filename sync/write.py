"""Writes objects: only differences, only what the controller owns, after a dry run, and never in a conflict.

Every write goes through `Writer.send`, which checks that this process may write, and counts.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from intent import Object
from kube.client import NOT_FOUND, ApiError, Client
from kube.request import KEEPER, Request, apply, create, delete, get, patch
from sync.changes import Change
from sync.decide import INVALID, LASTING, Attempt, Skip, Write, before_dry_run, decide, foreign, lasting
from sync.kinds import APPLIED, INFERENCE_SERVICE, LWS, Kind
from sync.live import BehindError, OwnerCheck, read_object
from sync.metrics import ControllerMetrics
from sync.observed.cached import AppliedObject, applies, digest
from sync.observed.inferenceservice import CachedInferenceService
from sync.parts.desired import Refusal
from sync.state import STATUS, ServiceState
from sync.status import without_messages, without_times
from sync.watch.cache import Caches, cache_of

log: Final = structlog.stdlib.get_logger(__name__)
A = TypeVar("A", bound=AppliedObject)


@dataclass(slots=True)
class Writer:
    """Applies, deletes and reports for the controller."""

    client: Client
    metrics: ControllerMetrics
    permit: Callable[[], float]
    """Returns the seconds for which this process may write; raises if it may not (any more)."""
    caches: Caches
    observe_only: bool = False
    """Whether this process writes nothing at all."""

    def __post_init__(self) -> None:
        """Set the metrics that are known from the start."""
        for kind in APPLIED:
            self.metrics.repairs.labels(kind.kind)

    # --- apply --------------------------------------------------------------------------------------

    async def apply(
        self, state: ServiceState, kind: Kind[A], desired: Object, check: OwnerCheck
    ) -> Refusal | None:
        """Apply an object server-side, unless that changes nothing or it is not ours (`decide`).

        A stored object is changed only after `check` confirmed its owners. Returns why it is not written, if
        another try does not help. Raises `ApiError` if another try may help.
        """
        try:
            return await self._apply_or_find(state, kind, desired, check)
        except ApiError as error:
            if refusal := lasting(kind, desired["metadata"]["name"], error):
                return refusal
            raise

    async def _apply_or_find(
        self, state: ServiceState, kind: Kind[A], desired: Object, check: OwnerCheck
    ) -> Refusal | None:
        """Apply an object; if its create is refused, look for one that the cache lacks.

        A refusal does not tell: the API server asks admission and quotas before its storage. Raises
        `BehindError` where the cache holds all objects of the kind, since the plan depends on it.
        """
        namespace, name = desired["metadata"].get("namespace", ""), desired["metadata"]["name"]
        cache = cache_of(self.caches, kind)
        stored = cache.rows.get((namespace, name))
        try:
            return await self._apply(state, kind, desired, stored, check)
        except ApiError as error:
            if stored or not (error.exists or error.code in LASTING):
                raise
            live = await read_object(self.client, kind, namespace, name)
            if live is None and not error.exists:
                raise
        row = kind.project(live) if live else None
        if live and row is None:
            return foreign(kind, name)
        if row and kind.resource.selector:
            return await self._apply(state, kind, desired, row, check)
        if row:
            cache.put(row)
        raise BehindError(kind.kind, name)

    async def _apply(
        self, state: ServiceState, kind: Kind[A], desired: Object, stored: A | None, check: OwnerCheck
    ) -> Refusal | None:
        """Apply an object of which this is stored, as far as it is known: a dry run, a decision, a write.

        Raises `ApiError`, also where the stored object is no longer as the dry run saw it.
        """
        fingerprint, history = digest(desired), state.history(kind.kind, desired["metadata"]["name"])
        if stored and history.is_settled(fingerprint, stored.fingerprint):
            return None
        attempt = Attempt(kind, desired, fingerprint, kind.projected(desired), stored, history)
        if known := before_dry_run(attempt, state.key[1], check.snapshot.owners, time.monotonic()):
            return known if isinstance(known, Refusal) else None
        is_released = stored is not None and await self._keep_live_values(state, kind, desired)
        answer = await self._dry_run(kind, desired, stored)
        decided = decide(attempt, answer, is_released=is_released)
        if isinstance(decided, Refusal):
            return decided
        if isinstance(decided, Skip) or await self._is_of_admission(attempt, decided, answer):
            history.settle(fingerprint, stored.fingerprint if stored else b"")
            return None
        if stored:
            await check.confirm(stored, desired)
        written = await self._write(state, kind, desired, decided.premerge, decided.version)
        if written is None:
            return None
        if stored and history.note(fingerprint, time.monotonic()):
            self.metrics.repairs.labels(kind.kind).inc()
        row = kind.projected(written)
        history.settle(fingerprint, row.fingerprint)
        state.changes.append(Change(decided.verb, kind.kind, row))
        return None

    async def _dry_run(self, kind: Kind[A], desired: Object, stored: A | None) -> Object | None:
        """Return what the API server would store; None if it rejects what a premerge can make valid.

        Where no object is known a create is tried: its answer tells whether there is one.
        """
        if not stored:
            path = kind.path(desired["metadata"]["namespace"])
            return await self.client.call(create(path, desired, dry_run=True))
        try:
            return await self.client.call(apply(kind.path_of(desired), desired, dry_run=True))
        except ApiError as error:
            if error.code != INVALID or not kind.premerge(stored, desired, True):
                raise
            return None

    async def _is_of_admission(self, attempt: Attempt[A], decided: Write, answer: Object | None) -> bool:
        """Return whether a write of nothing has the same result as the apply, by a dry run.

        Then the rules of a webhook have changed. To apply them would restart pods that nobody changed;
        they take effect with the next change of the author.
        """
        kind = attempt.kind
        if answer is None or not (kind.restarts and decided.is_plain):
            return False
        nothing = await self.client.call(patch(kind.path_of(attempt.desired), {}, dry_run=True))
        return kind.projected(nothing).fingerprint == kind.projected(answer).fingerprint

    async def _keep_live_values(self, state: ServiceState, kind: Kind[A], desired: Object) -> bool:
        """Keep the live value of fields that were applied and are no longer desired.

        Returns whether there are such fields.

        Server-side apply removes a field that no other manager owns, and the default replaces it. So a second
        field manager applies the live value first, to the version that was read. A repetition is harmless.
        """
        released = [field for field in kind.kept_fields if field not in desired["spec"]]
        live = await self.client.call(get(kind.path_of(desired))) if released else {}
        spec = {field: live["spec"][field] for field in released if applies(live, field)}
        if spec:
            identity = {name: desired[name] for name in ("apiVersion", "kind")}
            metadata = {name: live["metadata"][name] for name in ("namespace", "name", "resourceVersion")}
            body = {**identity, "metadata": metadata, "spec": spec}
            await self.send(state, kind.kind, apply(kind.path_of(desired), body, manager=KEEPER))
        return bool(spec)

    async def _write(
        self, state: ServiceState, kind: Kind[A], desired: Object, premerge: Object, version: str
    ) -> Object | None:
        """Send the premerge, if any, and the apply; return the stored object, None if that is withheld.

        With a `version` the API server refuses the write if the object has another version by now.
        """
        path = kind.path_of(desired)
        if premerge:
            merged = await self.send(state, kind.kind, patch(path, _of_version(version, premerge)))
            version = merged["metadata"]["resourceVersion"] if merged else ""
        body = _of_version(version, kind.seal(desired))
        stored = await self.send(state, kind.kind, apply(path, body))
        if stored is not None:
            cache_of(self.caches, kind).put(kind.projected(stored))
        return stored

    # --- status -------------------------------------------------------------------------------------

    async def report(self, state: ServiceState, row: CachedInferenceService, status: Object) -> float | None:
        """Apply a status, unless its result is stored already.

        Returns the seconds after which to try again, if only its messages changed and that must wait.
        """
        kind, history = INFERENCE_SERVICE, state.history(STATUS, row.name)
        desired = digest(without_times(status))
        if history.is_settled(desired, digest(row.status)):
            return None
        shape = digest(without_messages(status))
        if seconds := history.reword_in(desired, shape, time.monotonic()):
            return seconds
        history.shape = shape
        body = {
            "apiVersion": kind.resource.api_version,
            "kind": kind.kind,
            "metadata": {"namespace": row.namespace, "name": row.name},
            "status": status,
        }
        if answer := await self.send(state, kind.kind, apply(f"{kind.path_of(body)}/status", body)):
            known = kind.projected(answer)
            history.settle(desired, digest(known.status))
            cache_of(self.caches, kind).put(known)
        return None

    # --- delete, send -------------------------------------------------------------------------------

    async def delete(self, state: ServiceState, kind: Kind[A], row: A) -> None:
        """Delete an object in the version of its row; an object that is gone already is no error.

        The cache drops the row, so that it is not deleted twice. Raises `ApiError` (409) if the object was
        changed: it may no longer be ours.
        """
        path = kind.path(row.namespace, row.name)
        try:
            answer = await self.send(state, kind.kind, delete(path, row.uid, row.resource_version))
        except ApiError as error:
            if error.code != NOT_FOUND or error.denied:
                raise
            answer = {}
        if answer is not None:
            state.histories.pop((kind.kind, row.name), None)
            state.changes.append(Change("deleted", kind.kind, row))
            cache_of(self.caches, kind).drop((row.namespace, row.name))

    async def send(
        self, state: ServiceState, kind: str, request: Request, at_most: float = math.inf
    ) -> Object | None:
        """Send a write request, limited to the time for which this process may write.

        Returns None if the service is paused: a withheld write is no error. Raises `LeadershipLostError`.
        """
        if self.is_paused(state):
            state.is_withheld = True
            log.info("would write", service=state.key, kind=kind, verb=request.verb, path=request.path)
            return None
        seconds = min(self.permit(), at_most)
        self.metrics.writes.labels(kind, request.verb).inc()
        log.info("write", kind=kind, verb=request.verb, path=request.path)
        return await self.client.write(request, seconds)

    def is_paused(self, state: ServiceState) -> bool:
        """Return whether a service is paused, or has an object whose annotation pauses it.

        A reconcile with one withheld write sends no further write: it would delete what should have been
        replaced.
        """
        rows = (row for kind in (INFERENCE_SERVICE, LWS) for row in self.caches[kind.kind].of(state.key))
        return self.observe_only or state.is_withheld or any(row.paused for row in rows)


def _of_version(version: str, body: Object) -> Object:
    """Limit a write to one version of its object; an empty version is no limit."""
    if not version:
        return body
    return {**body, "metadata": {**body.get("metadata", {}), "resourceVersion": version}}
