"""The loop: look at one service, make the cluster have what it should have, say what stands in the way.

`kinds.py` names the objects that it reads and writes; `desired/service.py` computes what it writes.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from intent import Object
from intent.errors import Finding
from intent.service.member import ServiceKey
from intent.settings import Settings
from kube.client import NO_ANSWER, ApiError
from kube.request import get
from sync.desired.plan import Refusal, refusal_said
from sync.desired.service import ALL, UNAVAILABLE, Desired, desired_state, unavailable
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS, POD_GROUP, Kind
from sync.observed import volcano
from sync.observed.index_keys import service_keys
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.snapshot import Snapshot
from sync.runtime.cache import Cache
from sync.runtime.clock import now
from sync.runtime.events import EventRecorder
from sync.runtime.lease import LeadershipLostError
from sync.runtime.metrics import ControllerMetrics
from sync.runtime.observe import ServiceMemory, observe
from sync.runtime.owners import Proof
from sync.runtime.queue import Queue
from sync.status.report import report
from sync.writer import Writer, passing

log: Final = logging.getLogger(__name__)
WORKERS: Final = 4
ASK_AGAIN: Final = 30.0
"""Seconds after which something that was refused is tried again."""
RESTATE: Final = 1.0
"""Seconds after which a status that somebody else wrote over is looked at; so often at most."""
Trouble = Exception
"""What went wrong with a service and may work when it is tried again: `ApiError` or one of `NO_ANSWER`."""
LISTED_WITHIN: Final = 60.0
"""Seconds after which the loop starts without a kind that gives no answer."""
VERSION_AGAIN: Final = 300.0
"""Seconds after which the version of Volcano is read again."""


@dataclass(slots=True)
class Unapplied:
    """What of one service could not be done."""

    refusals: tuple[Refusal, ...] = ()
    errors: tuple[ApiError, ...] = ()
    """What may work when it is tried again."""
    kinds: frozenset[str] = frozenset()
    """Kinds of which an object is missing now."""

    @property
    def is_refused(self) -> bool:
        """Whether anything is to be asked again; of a kind that is unavailable `Cache.recovered` tells."""
        return any(refusal.code != UNAVAILABLE for refusal in self.refusals)

    def without(
        self, kind: Kind, refusals: tuple[Refusal, ...] = (), errors: tuple[ApiError, ...] = ()
    ) -> "Unapplied":
        """Add a kind, and why."""
        return Unapplied(self.refusals + refusals, self.errors + errors, self.kinds | {kind.kind})


@dataclass(slots=True)
class Controller:
    """One cluster, looked at service by service."""

    settings: Settings
    metrics: ControllerMetrics
    caches: dict[str, Cache]
    writer: Writer
    recorder: EventRecorder
    queue: Queue = field(default_factory=Queue)
    memories: dict[ServiceKey, ServiceMemory] = field(default_factory=dict)
    too_old: str = ""
    """Why the Volcano that runs schedules no gang."""

    # --- one service --------------------------------------------------------------------------------

    async def reconcile(self, key: ServiceKey) -> tuple[Trouble, ...]:
        """Bring about what one service should have, and say what stands in the way.

        Gives what went wrong and may work when it is tried again.
        """
        self.writer.pause.begin(key)
        snapshot = self.observe(key)
        desired = desired_state(snapshot, self.settings)
        unapplied = await self.apply_all(key, snapshot, desired)
        if unapplied.refusals:
            desired = desired_state(snapshot, self.settings, unapplied.refusals)
        errors: list[Trouble] = [*unapplied.errors, *await self.prune(key, snapshot, desired, unapplied)]
        reported = None
        try:
            reported = await self.report(
                key, snapshot, desired, unapplied.kinds | self.writer.fights(key) & ALL
            )
        except ApiError as error:
            errors.append(error)
        waits = (
            desired.requeue_after,
            reported,
            await self.recorder.say(self.writer.event, key, (*desired.said, *self._of_status(key, snapshot))),
            ASK_AGAIN if unapplied.is_refused or self.writer.fights(key) else None,
        )
        self.queue.add_later(key, min((seconds for seconds in waits if seconds is not None), default=None))
        self.forget_if_gone(key)
        return tuple(errors)

    def observe(self, key: ServiceKey) -> Snapshot:
        """Look at one service."""
        return observe(key, self.caches, self.memories.setdefault(key, ServiceMemory()), self.too_old)

    async def apply_all(self, key: ServiceKey, snapshot: Snapshot, desired: Desired) -> Unapplied:
        """Apply everything that is wanted, but what is of no use without something that is not there."""
        unapplied, proof = Unapplied(), Proof(self.writer.client, self.caches, snapshot)
        for obj in desired.objects:
            kind = OUTPUTS[obj["kind"]]
            if why := snapshot.unknown.get(kind.kind):
                unapplied = unapplied.without(kind, (unavailable(kind.kind, why),))
                continue
            if kind.needs & unapplied.kinds:
                unapplied = unapplied.without(kind)
                continue
            try:
                if refusal := await self.writer.apply(key, kind, obj, proof):
                    unapplied = unapplied.without(kind, (refusal,))
            except ApiError as error:
                unapplied = unapplied.without(kind, (passing(kind, obj, error),), (error,))
        return unapplied

    async def prune(
        self, key: ServiceKey, snapshot: Snapshot, desired: Desired, unapplied: Unapplied
    ) -> tuple[ApiError, ...]:
        """Delete what was made for a service and is not wanted any more, last made first; give what fails.

        Where an object is missing, others of its kind stay: a role that is renamed keeps its pods until
        the new ones can be made. Nothing is deleted before its owners were read (`owners.Proof`).
        """
        errors = []
        proof = Proof(self.writer.client, self.caches, snapshot)
        names = {(obj["kind"], obj["metadata"]["name"]) for obj in desired.objects}
        kept = desired.held | unapplied.kinds & {kind for kind, _ in names}
        for kind in reversed([kind for kind in OUTPUTS.values() if kind.kind not in kept]):
            for row in self.caches[kind.kind].of(key):
                if (kind.kind, row.name) in names or row.deleting:
                    continue
                try:
                    if await proof.allows(row):
                        await self.writer.delete(kind, row)
                except ApiError as error:
                    errors.append(error)
        return tuple(errors)

    async def report(
        self, key: ServiceKey, before: Snapshot, desired: Desired, unapplied: frozenset[str]
    ) -> float | None:
        """Write the status of the InferenceService, from how things are now.

        Of one that was changed since it was looked at nothing is known yet; the next look is due.
        Gives the seconds after which to write it, if that must wait.
        """
        snapshot = replace(self.observe(key), unapplied=unapplied)
        if (
            snapshot.service is None
            or snapshot.service.deleting
            or not _is_same(snapshot.service, before.service)
        ):
            return None
        if status := report(snapshot, desired, now()):
            return await self.writer.report(key, INFERENCE_SERVICE, snapshot.service, status)
        return None

    def _of_status(self, key: ServiceKey, snapshot: Snapshot) -> Iterator[Finding]:
        """Say that something else keeps writing the status: in Events alone, as the status cannot say it."""
        for refusal in self.writer.status_fought(key, INFERENCE_SERVICE):
            yield from (refusal_said(subject, "status", refusal) for subject in snapshot.subjects)

    def forget_if_gone(self, key: ServiceKey) -> None:
        """Remember nothing of a service that has no members and no InferenceService any more."""
        caches = [self.caches[kind.kind] for kind in (LWS, INFERENCE_SERVICE)]
        if not any(cache.of(key) or cache.unreadable_of(key) for cache in caches):
            self.recorder.forget(key)
            self.writer.forget(key)
            self.memories.pop(key, None)

    # --- all of them --------------------------------------------------------------------------------

    def changed(self, key: ServiceKey) -> None:
        """Want a look at the services that a changed object concerns."""
        for service in service_keys(key, self._rows_of):
            self.queue.add(service)

    def restated(self, key: ServiceKey) -> None:
        """Want a look in a second where somebody else wrote over the status; our own status is no news.

        In a second, since the news of our own write may come before its answer.
        """
        if self._is_restated(key):
            self.queue.look_within(key, RESTATE, partial(self._is_restated, key))

    def _is_restated(self, key: ServiceKey) -> bool:
        row = self.caches[INFERENCE_SERVICE.kind].rows.get(key)
        return row is not None and not self.writer.is_reported(key, INFERENCE_SERVICE, row)

    def _rows_of(self, key: ServiceKey) -> Iterator[Any]:
        return (row for cache in self.caches.values() for row in cache.of(key))

    async def run(self) -> None:
        """Work until cancelled: every service once, then those that change."""
        await self._wait_for_caches()
        await self._learn_version()
        for cache in self.caches.values():
            cache.changed, cache.restated = self.changed, self.restated
            cache.recovered = self._want_all
        self._want_all()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_learning())
            for _ in range(WORKERS):
                tasks.create_task(self._work())

    async def _wait_for_caches(self) -> None:
        """Wait until every kind is known, or will not be for some time: that costs what needs it, no more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LISTED_WITHIN):
                for cache in self.caches.values():
                    await cache.settled.wait()

    def _want_all(self) -> None:
        """Want a look at every service, after those in which something changes meanwhile."""
        keys = {key for cache in self.caches.values() for key in cache.keys}
        services = {service for key in keys for service in service_keys(key, self._rows_of)}
        self.queue.sweep(sorted(services, key=self._turn))

    def _turn(self, key: ServiceKey) -> tuple[bool, int]:
        """Sort the services without a PodGroup first, and then those that were written last."""
        rows = (row for kind in (LWS, INFERENCE_SERVICE) for row in self.caches[kind.kind].of(key))
        newest = max((row.version for row in rows), default=0)
        return bool(self.caches[POD_GROUP.kind].of(key)), -newest

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self._reconcile_safely(key)
            finally:
                self.queue.done(key)
            # A look that writes nothing waits for nothing; thousands of them must not keep the Lease waiting.
            await asyncio.sleep(0)

    async def _reconcile_safely(self, key: ServiceKey) -> None:
        """Reconcile one service; whatever goes wrong with it stops no other one."""
        try:
            with self.metrics.seconds.time():
                errors = await self.reconcile(key)
        except LeadershipLostError:
            raise
        except (ApiError, *NO_ANSWER) as error:
            self._retry(key, (error,))
        except Exception:  # the loop's door: a bug met in one service is logged, the others go on
            self.metrics.reconciles.labels("bug").inc()
            log.exception("bug", extra={"service": key})
            self.queue.retry(key, ASK_AGAIN)
        else:
            if errors:
                self._retry(key, errors)
                return
            self.metrics.reconciles.labels("done").inc()
            self.queue.failures.pop(key, None)

    def _retry(self, key: ServiceKey, errors: tuple[Trouble, ...]) -> None:
        """Log each trouble of a reconcile, and want another one: later each time, whatever they say."""
        self.metrics.reconciles.labels("retry").inc()
        for error in errors:
            log.warning("not done", extra={"service": key, "error": f"{type(error).__name__}: {error}"})
        self.queue.retry(key, max(getattr(error, "retry_after", 0.0) for error in errors))

    # --- Volcano ------------------------------------------------------------------------------------

    async def _keep_learning(self) -> None:
        while True:
            await asyncio.sleep(VERSION_AGAIN)
            before = self.too_old
            await self._learn_version()
            if self.too_old != before:
                self._want_all()

    async def _learn_version(self) -> None:
        """Ask which Volcano runs, unless it is configured; who may not read that trusts the dry run."""
        version = self.settings.volcano_version
        try:
            version = version or await volcano.running(self._get)
        except (ApiError, *NO_ANSWER, LookupError) as error:
            log.info("version of volcano unknown", extra={"error": f"{type(error).__name__}: {error}"})
        self.too_old = volcano.too_old(version)
        self.metrics.volcano_too_old.set(bool(self.too_old))

    async def _get(self, path: str) -> Object:
        return await self.writer.client.call(get(path))


def _is_same(one: CachedInferenceService, other: CachedInferenceService | None) -> bool:
    """Whether two are one InferenceService in one generation."""
    return other is not None and (one.uid, one.generation) == (other.uid, other.generation)
