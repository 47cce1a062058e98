"""The loop: look at one service, make the cluster have what it should have, say what stands in the way.

What there is to read and write are rows of `kinds.py`; what to want is `plan.py`.
"""

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Final

from intent import Object
from intent.service import Finding, Member, ServiceKey
from intent.settings import Settings
from sync import volcano
from sync.cache import Cache
from sync.client import NO_ANSWER, ApiError
from sync.events import Voice
from sync.kinds import LWS, OUTPUTS, POD_GROUP, rival_key, service_key
from sync.lease import LeadershipLostError
from sync.metrics import Metrics
from sync.plan import Plan, Refusal, Situation, plan, refused
from sync.projection import PodGroup
from sync.queue import Queue
from sync.render import objects
from sync.request import get
from sync.writer import Writer

log: Final = logging.getLogger(__name__)
WORKERS: Final = 4
ASK_AGAIN: Final = 60.0
"""Seconds after which something that was refused is tried again."""
VERSION_AGAIN: Final = 300.0
"""Seconds after which the version of Volcano is read again."""


@dataclass(slots=True)
class Memory:
    """What must outlast one look at a service."""

    ours: PodGroup | None = None
    """Our PodGroup, as last seen: what opened the gate, if somebody deletes it."""
    empty_since: dict[str, float] = field(default_factory=dict)
    """Since when (monotonic) a member, by uid, has no replicas."""

    def empty_for(self, members: tuple[Member, ...]) -> dict[str, float]:
        """Give the seconds that members have been without replicas; start counting where that is new."""
        now, empty = time.monotonic(), [one for one in members if not one.replicas]
        self.empty_since = {one.uid: self.empty_since.get(one.uid, now) for one in empty}
        return {one.name: now - self.empty_since[one.uid] for one in empty}


@dataclass(slots=True)
class Loop:
    """One cluster, looked at service by service."""

    settings: Settings
    metrics: Metrics
    caches: dict[str, Cache]
    writer: Writer
    voice: Voice
    queue: Queue = field(default_factory=Queue)
    memories: dict[ServiceKey, Memory] = field(default_factory=dict)
    too_old: str = ""
    """Why the Volcano that runs schedules no gang."""

    # --- one service --------------------------------------------------------------------------------

    async def reconcile(self, key: ServiceKey) -> None:
        """Bring about what one service should have, and say what stands in the way."""
        situation = self.observe(key)
        decided = plan(situation, self.settings)
        refusal = await self.bring_about(key, decided)
        if refusal:
            decided = refused(decided, refusal, situation, self.settings)
        await self.prune(key, decided)
        waits = (
            decided.requeue_after,
            await self.say(key, decided.findings),
            ASK_AGAIN if refusal or self.writer.is_fighting(key) else None,
        )
        self.queue.look_later(key, min((seconds for seconds in waits if seconds is not None), default=None))

    def observe(self, key: ServiceKey) -> Situation:
        """Put together all that a plan is made from."""
        members: tuple[Member, ...] = self.caches[LWS.kind].of(key)
        pod_groups = self.caches[POD_GROUP.kind]
        stored, memory = pod_groups.rows.get(key), self.memories.setdefault(key, Memory())
        if stored and stored.service:
            memory.ours = stored
        rivals = (one.name for one in members if pod_groups.of(rival_key(one.namespace, one.name)))
        empty_for = memory.empty_for(members)
        return Situation(key, members, stored, memory.ours, frozenset(rivals), empty_for, self.too_old)

    async def bring_about(self, key: ServiceKey, decided: Plan) -> Refusal | None:
        """Apply everything that is wanted; stop at the first refusal."""
        for wanted in objects(decided):
            kind = next(kind for kind in OUTPUTS if kind.kind == wanted["kind"])
            if refusal := await self.writer.apply(key, kind, wanted):
                return refusal
        return None

    async def prune(self, key: ServiceKey, decided: Plan) -> None:
        """Delete what was made for a service and is not wanted any more."""
        wanted = {(obj["kind"], obj["metadata"]["name"]) for obj in objects(decided)}
        stored = [(kind, row) for kind in OUTPUTS for row in self.caches[kind.kind].of(key)]
        for kind, row in () if decided.hold else stored:
            if row.service == key[1] and not row.deleting and (kind.kind, row.name) not in wanted:
                await self.writer.delete(kind, row)

    async def say(self, key: ServiceKey, findings: tuple[Finding, ...]) -> float | None:
        """Tell the authors, once; forget a service that has no members any more."""
        due = await self.voice.say(self.writer.event, key, findings)
        if not self.caches[LWS.kind].of(key):
            self.voice.forget(key)
            self.writer.forget(key)
            self.memories.pop(key, None)
        return due

    # --- all of them --------------------------------------------------------------------------------

    def changed(self, key: ServiceKey) -> None:
        """Want a look at the service that a changed object concerns."""
        if service := service_key(key, self.caches[LWS.kind].rows):
            self.queue.add(service)

    async def run(self) -> None:
        """Work until cancelled: every service once, then those that change."""
        for cache in self.caches.values():
            await cache.synced.wait()
        await self._learn_version()
        for cache in self.caches.values():
            cache.changed = self.changed
        self._want_all()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_learning())
            for _ in range(WORKERS):
                tasks.create_task(self._work())

    def _want_all(self) -> None:
        for key in [key for cache in self.caches.values() for key in cache.index]:
            self.changed(key)

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self._look(key)
            finally:
                self.queue.done(key)

    async def _look(self, key: ServiceKey) -> None:
        """Reconcile one service; whatever goes wrong with it stops no other one."""
        try:
            with self.metrics.seconds.time():
                await self.reconcile(key)
        except LeadershipLostError:
            raise
        except (ApiError, *NO_ANSWER) as error:
            self.metrics.reconciles.labels("retry").inc()
            log.warning("not done", extra={"service": key, "error": f"{type(error).__name__}: {error}"})
            self.queue.retry(key, getattr(error, "retry_after", 0.0))
        except Exception:  # the loop's door: a bug met in one service is logged, the others go on
            self.metrics.reconciles.labels("bug").inc()
            log.exception("bug", extra={"service": key})
            self.queue.retry(key, ASK_AGAIN)
        else:
            self.metrics.reconciles.labels("done").inc()
            self.queue.failures.pop(key, None)

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
