"""The controller: it reconciles one service at a time with the objects that the service should have.

`kinds.py` lists the kinds that it reads and writes; `parts/service.py` computes the desired objects.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import structlog

from intent import Object
from intent.errors import Finding
from intent.service.member import ServiceKey
from intent.settings import Settings
from kube.client import NO_ANSWER, ApiError, logged
from sync import WORKERS
from sync.changes import conditions_changed, occurrences
from sync.clock import Pace, now
from sync.decide import prunable, retryable
from sync.events import Occurrence, lasting
from sync.kinds import API, INFERENCE_SERVICE, LWS, OBJECTIVES, OUTPUTS, POD_GROUP, Kind, part_of
from sync.lease import LeadershipLostError
from sync.live import OwnerCheck, read_configuration
from sync.metrics import ControllerMetrics
from sync.observe import observe
from sync.observed.index_keys import IndexKey, Key, service_keys
from sync.parts.desired import Desired, Refusal, combined
from sync.parts.service import ALL, UNAVAILABLE, desired_state, reporting, unavailable
from sync.queue import Queue
from sync.snapshot import Snapshot
from sync.state import RETRY_REFUSED, ServiceState
from sync.status import report
from sync.watch.cache import Caches, cache_of
from sync.watch.reflector import is_served
from sync.write import Writer

log: Final = structlog.stdlib.get_logger(__name__)
LISTED_WITHIN: Final = 60.0
"""Seconds after which the controller starts without the kinds that are not listed yet."""
EVENT_SECONDS: Final = 5.0
"""Seconds that the API server may take for an Event: nothing waits for one."""
OBJECTIVES_INTERVAL: Final = 60.0
"""Seconds after which it is read again which InferenceObjectives are served."""


@dataclass(slots=True)
class Unapplied:
    """What one reconcile could not do."""

    refusals: list[Refusal] = field(default_factory=list)
    errors: list[ApiError] = field(default_factory=list)
    """Errors that another try may avoid."""
    kinds: set[str] = field(default_factory=set)
    """Kinds with a desired object that was not applied (`kinds.part_of`)."""

    @property
    def is_crossed(self) -> bool:
        """Whether another write crossed one of this reconcile: what was seen is no longer so."""
        return any(error.crossed for error in self.errors)

    def add(self, obj: Object, *refusals: Refusal) -> None:
        """Add a desired object that was not applied, and why."""
        self.refusals += refusals
        self.kinds.add(part_of(obj["kind"], obj["metadata"]["name"]))

    def fail(self, error: ApiError, kind: Kind[Any], name: str, problem: str) -> None:
        """Add an error of a request; if another write crossed it, it is no refusal."""
        self.errors.append(error)
        if not error.crossed:
            self.refusals.append(retryable(kind, name, error, problem))


@dataclass(slots=True)
class Controller:
    """Reconciles the services of one cluster."""

    settings: Settings
    metrics: ControllerMetrics
    caches: Caches
    writer: Writer
    queue: Queue = field(default_factory=partial(Queue, WORKERS))
    states: dict[ServiceKey, ServiceState] = field(default_factory=dict)
    objectives: dict[str, bool] = field(default_factory=dict)
    """`Snapshot.objectives`."""
    outdated: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when every service has to be reconciled."""

    # --- one service --------------------------------------------------------------------------------

    async def reconcile(self, key: ServiceKey) -> tuple[Exception, ...]:
        """Apply and prune the objects of one service, then report its status and its Events.

        After a crossed write no status is written: the service is reconciled again in a moment.
        Returns the errors that another try may avoid: `ApiError` or one of `NO_ANSWER`.
        """
        state = self.states.setdefault(key, ServiceState(key))
        state.is_withheld = False
        snapshot = await self._with_configuration(self.observe(state))
        desired = desired_state(snapshot, self.settings)
        unapplied = await self.apply_all(state, snapshot, desired)
        await self.prune(state, snapshot, desired, unapplied)
        reported, report_in, left_alone = _with_refusals(snapshot, desired, unapplied), None, state.contested
        try:
            if not unapplied.is_crossed:
                missing = frozenset(unapplied.kinds) | left_alone.keys() & (ALL | {API})
                report_in = await self.report(state, snapshot, reported, missing)
        except ApiError as error:
            unapplied.fail(error, INFERENCE_SERVICE, key[1], "keeps its old status")
            reported = _with_refusals(snapshot, desired, unapplied)
        self._count(state, reported.all_findings)
        found = (*lasting(reported.all_findings), *self._occurrences(state, snapshot))
        send = partial(self.writer.send, state, "Event", at_most=EVENT_SECONDS)
        # A timer is needed; the return of an unavailable kind is announced by `Availability.recovered`.
        is_refused = any(one.code != UNAVAILABLE for one in unapplied.refusals)
        delays = (
            *left_alone.values(),
            desired.requeue_after,
            report_in,
            await state.events.record(send, found),
            state.retry_in(is_refused=is_refused),
        )
        self.queue.add_later(key, min((seconds for seconds in delays if seconds is not None), default=None))
        self.forget_if_gone(state)
        return tuple(unapplied.errors)

    def observe(self, state: ServiceState) -> Snapshot:
        """Build the snapshot of one service."""
        seen = observe(state.key, self.caches, state.memory)
        return replace(seen, objectives=self.objectives)

    async def _with_configuration(self, snapshot: Snapshot) -> Snapshot:
        """Read the configuration that the router refers to, unless there are no routes."""
        value = snapshot.value
        if value is None or not self.settings.routes or snapshot.is_deleting:
            return snapshot
        return replace(snapshot, configuration=await read_configuration(self.writer.client, value))

    async def apply_all(self, state: ServiceState, snapshot: Snapshot, desired: Desired) -> Unapplied:
        """Apply the desired objects, except those that have no effect without an object that is missing."""
        unapplied, check = Unapplied(), OwnerCheck(self.writer.client, self.caches, snapshot)
        for obj in desired.objects:
            kind = OUTPUTS[obj["kind"]]
            if why := snapshot.unknown.get(kind.kind):
                unapplied.add(obj, unavailable(kind.kind, obj["metadata"]["name"], why))
                continue
            if kind.requires & unapplied.kinds:
                unapplied.add(obj)
                continue
            try:
                if refusal := await self.writer.apply(state, kind, obj, check):
                    unapplied.add(obj, refusal)
            except ApiError as error:
                unapplied.add(obj)
                unapplied.fail(error, kind, obj["metadata"]["name"], "is not written")
        return unapplied

    async def prune(
        self, state: ServiceState, snapshot: Snapshot, desired: Desired, unapplied: Unapplied
    ) -> None:
        """Delete objects of a service that are no longer desired (`prunable`).

        Nothing is deleted before its owners were read (`live.OwnerCheck`).
        """
        check = OwnerCheck(self.writer.client, self.caches, snapshot)
        for kind, row in prunable(snapshot, desired, unapplied.kinds):
            try:
                if await check.allows_deletion(row):
                    await self.writer.delete(state, kind, row)
            except ApiError as error:
                unapplied.fail(error, kind, row.name, "is not deleted")

    async def report(
        self, state: ServiceState, before: Snapshot, desired: Desired, unapplied: frozenset[str]
    ) -> float | None:
        """Write the status of the InferenceService, from a new snapshot if anything was written.

        If its spec has changed since the first snapshot no status is written: its own reconcile is queued.
        Returns the seconds after which to write the status, if that must wait.
        """
        service = cache_of(self.caches, INFERENCE_SERVICE).rows.get(state.key)
        if service is None or service.deleting or before.service is None:
            return None
        if (service.uid, service.generation) != (before.service.uid, before.service.generation):
            return None
        is_known = not (state.changes or unapplied)
        snapshot = before if is_known else replace(self.observe(state), unapplied=unapplied)
        if status := report(snapshot, desired, now()):
            return await self.writer.report(state, service, status)
        return None

    def _occurrences(self, state: ServiceState, snapshot: Snapshot) -> Iterator[Occurrence]:
        """Yield what this reconcile changed, and whether the service became ready."""
        changes, state.changes = state.changes, []
        if changes:
            yield from occurrences(changes, snapshot)
        row = cache_of(self.caches, INFERENCE_SERVICE).rows.get(state.key)
        if row is not None and row.status != state.memory.status:
            yield from conditions_changed(state.memory, (snapshot.service or row).status, row)

    def forget_if_gone(self, state: ServiceState) -> None:
        """Drop the state of a service with neither members nor an InferenceService, nor pods of a gang."""
        is_known = any(self.caches[kind.kind].count(state.key) for kind in (LWS, INFERENCE_SERVICE))
        if not is_known and not state.memory.named:
            self._count(state, ())
            del self.states[state.key]

    def _count(self, state: ServiceState, findings: tuple[Finding, ...]) -> None:
        """Count the findings of a service that hold, by code."""
        before, state.events.codes = state.events.codes, tuple(one.error.code for one in findings)
        for code in before:
            self.metrics.findings.labels(code).dec()
        for code in state.events.codes:
            self.metrics.findings.labels(code).inc()

    # --- triggers ----------------------------------------------------------------------------------

    def changed(self, key: Key) -> None:
        """Queue the services that a changed object concerns."""
        for service in service_keys(key, self._services_of):
            self.queue.add(service)

    def _services_of(self, kind: str, index_key: IndexKey) -> tuple[ServiceKey, ...]:
        return self.caches[kind].services_of(index_key) if kind in self.caches else ()

    def resync(self) -> None:
        """Have every service reconciled, after those in which something changes meanwhile."""
        self.outdated.set()

    async def _follow_resyncs(self) -> None:
        """Queue every service when that is asked for, those without a PodGroup first."""
        while True:
            await self.outdated.wait()
            self.outdated.clear()
            pace, services = Pace(), dict[ServiceKey, bool]()
            for cache in self.caches.values():
                for key in tuple(cache.by_key):
                    for one in service_keys(key, self._services_of):
                        services[one] = bool(cache_of(self.caches, POD_GROUP).of(one))
                    await pace.rest()
            self.queue.resync(sorted(services, key=services.__getitem__))

    # --- workers ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Reconcile every service once, then those that change, until cancelled."""
        await self._wait_for_caches()
        for cache in self.caches.values():
            cache.changed = self.changed
            cache.availability.recovered = self.resync
        self.resync()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_objectives())
            tasks.create_task(self._follow_resyncs())
            while True:
                tasks.create_task(self._work(await self.queue.get()))

    async def _wait_for_caches(self) -> None:
        """Wait until every kind is listed or unavailable, a minute at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LISTED_WITHIN):
                for cache in self.caches.values():
                    await cache.availability.settled.wait()

    async def _work(self, key: ServiceKey) -> None:
        """Reconcile one service; an error of it affects no other one."""
        try:
            with self.metrics.seconds.time():
                errors = await self.reconcile(key)
        except LeadershipLostError:
            raise
        except (ApiError, *NO_ANSWER) as error:
            self._retry(key, (error,))
        except Exception:  # a bug in one service must not stop the others
            self.metrics.reconciles.labels("bug").inc()
            log.exception("reconcile failed: bug", service=key)
            self.queue.retry(key, RETRY_REFUSED)
        else:
            if errors:
                self._retry(key, errors)
            else:
                self.metrics.reconciles.labels("done").inc()
                self.queue.failures.pop(key, None)
        finally:
            self.queue.done(key)

    def _retry(self, key: ServiceKey, errors: tuple[Exception, ...]) -> None:
        """Log each error of a reconcile, and queue the service again with a growing delay."""
        self.metrics.reconciles.labels("retry").inc()
        for error in errors:
            log.warning("reconcile failed: will retry", service=key, error=logged(error))
        self.queue.retry(key, max(getattr(error, "retry_after", 0.0) for error in errors))

    async def _follow_objectives(self) -> None:
        """Follow which InferenceObjectives are served: what a picker lacks delays no reconcile."""
        while self.settings.routes:
            found = {one: await is_served(self.writer.client, one) for one in OBJECTIVES}
            known = {one.api_version: served for one, served in found.items() if served is not None}
            before, self.objectives = self.objectives, {**self.objectives, **known}
            if self.objectives != before:
                self.resync()
            await asyncio.sleep(OBJECTIVES_INTERVAL)


def _with_refusals(snapshot: Snapshot, desired: Desired, unapplied: Unapplied) -> Desired:
    """Return what is desired, with the findings about what was refused."""
    found = tuple(reporting(snapshot, refusal) for refusal in unapplied.refusals)
    return combined((desired, *found)) if found else desired
