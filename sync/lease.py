"""Leader election: a `coordination.k8s.io/v1` Lease, held by one process at a time.

Rules of this file (client-go `tools/leaderelection`, and known defects of other libraries):
1. Our deadlines use a monotonic clock, and count from before the renewal was sent.
2. Another holder's Lease has expired when *we* saw no change of it for its whole duration, or for ours if
 that is longer: anybody may have edited it. Its timestamps are not read. A deletion is no change: the holder
 does not know of it, and continues. A process that never saw the Lease waits until it does.
3. Every error while renewing is a failed renewal, not only an answer of the API server.
4. The work is cancelled and awaited before the renew deadline; nothing is written after it (ADR 10).
 After the deadline the Lease is not released either: a request may still be in flight.
5. Each write carries the resourceVersion that was read: of two candidates one gets 409. A holder that gets it
 reads at once, and writes nothing more once it has seen another holder.
6. Each call has half of the renew deadline, or what is left of it: a slow API server still has a leader.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import structlog

from intent import Object
from intent.names import api_path
from intent.shapes import mapping, text
from kube.client import NO_ANSWER, NOT_FOUND, ApiError, Client, logged
from kube.request import create, get, update, within
from sync import LEASE_DURATION, RENEW_DEADLINE, RETRY_PERIOD
from sync.clock import precisely, steady

log: Final = structlog.stdlib.get_logger(__name__)
API_VERSION: Final = "coordination.k8s.io/v1"
FAILED: Final = (ApiError, *NO_ANSWER, ValueError, KeyError)
"""Errors that a renewal may meet."""
CHANGED: Final = (NOT_FOUND, 409)
"""Status codes of a renewal if another client changed or deleted the Lease."""
Work = Callable[[], Coroutine[Any, Any, None]]


class LeadershipLostError(Exception):
    """The Lease was not renewed in time. The process must exit: another one may be the leader."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, each shorter than the one before: the Lease, our deadline to renew it, the retry interval."""

    lease_duration: float = LEASE_DURATION
    renew_deadline: float = RENEW_DEADLINE
    retry_period: float = RETRY_PERIOD

    @property
    def renewal(self) -> float:
        """The interval of renewals while they succeed, after which there is time for another attempt."""
        return min(self.retry_period * 1.5, (self.renew_deadline - self.retry_period) / 2)

    @property
    def call(self) -> float:
        """The limit of one call: after a failed call there is time for another one before the deadline."""
        return self.renew_deadline / 2

    @property
    def between(self) -> float:
        """The minimum time without a leader after one has lost the Lease."""
        return self.lease_duration - self.renew_deadline


@dataclass(slots=True)
class Leadership:
    """Whether this process may write now."""

    timing: Timing
    until: float = 0.0
    """The time until which this process is the leader, counted from before the renewal was sent."""
    clock: Callable[[], float] = steady

    def check(self) -> float:
        """Return the seconds that are left for a write.

        Raises `LeadershipLostError` if the renew deadline has passed: the process may have been suspended.
        """
        left = self.until - self.clock()
        if left <= 0:
            raise LeadershipLostError("the renew deadline has passed")
        return left

    def left(self) -> float:
        """Return the seconds left for a renewal; the last retry period is for stopping the work."""
        return self.until - self.timing.retry_period - self.clock()


@dataclass(slots=True)
class Elector:
    """One candidate for one Lease."""

    client: Client
    namespace: str
    name: str
    identity: str
    leadership: Leadership
    lease: Object | None = None
    """The Lease as last read or written."""
    changed_at: float = 0.0
    """When it changed last, on our clock."""
    is_current: bool = False
    """Whether the last call succeeded: then the Lease is written without being read first."""
    failed: Callable[[], None] = lambda: None
    """Counts attempts to take or renew the Lease that failed."""

    @property
    def leases(self) -> str:
        """The path of the Leases in our namespace."""
        return api_path(f"/apis/{API_VERSION}/namespaces", self.namespace, "leases")

    @property
    def path(self) -> str:
        """The path of our Lease."""
        return api_path(self.leases, self.name)

    async def lead(self, work: Work, leading: Callable[[bool], None]) -> None:
        """Wait for the Lease, run the work while this process holds it, and release it in the end.

        Returns when the work does. Raises `LeadershipLostError` if renewals failed for too long.
        """
        await self._acquire()
        log.info("started leading", identity=self.identity)
        leading(True)
        try:
            await first_of(self._start(work), self._renew_until_lost())
        finally:
            leading(False)
            await self._release()

    async def _acquire(self) -> None:
        while True:
            if await self._try(self.leadership.timing.renew_deadline):
                return
            await asyncio.sleep(self.leadership.timing.retry_period)

    async def _start(self, work: Work) -> None:
        """Work; if there was no Lease, only after a holder has found out that its Lease was deleted.

        It does when it renews it, and has a retry period to stop.
        """
        if not _spec(self.lease or {}).get("leaseTransitions"):
            await asyncio.sleep(self.leadership.timing.renewal + self.leadership.timing.retry_period)
        await work()

    async def _renew_until_lost(self) -> None:
        """Renew until another process holds the Lease, or only the time to stop the work is left."""
        timing = self.leadership.timing
        while (left := self.leadership.left()) > 0:
            await asyncio.sleep(min(timing.renewal if self.is_current else timing.retry_period, left))
            await self._try(max(0.0, self.leadership.left()))
            if holder(self.lease) not in {"", self.identity}:
                self.leadership.until = -math.inf
                break
        raise LeadershipLostError("the Lease could not be renewed, or another process holds it")

    async def _try(self, seconds: float) -> bool:
        """Acquire or renew the Lease if it is free, expired or ours; return whether that succeeded."""
        try:
            async with asyncio.timeout(seconds):
                taken = await self._take(self.leadership.clock() + seconds)
        except FAILED as error:
            self.is_current = False
            self.failed()
            log.warning("lease not written", error=logged(error))
            return False
        return taken

    async def _take(self, end: float) -> bool:
        if not self.is_current:
            found = await self._read(end)
            if found or not self._is_anothers():  # the holder of a deleted Lease continues until its deadline
                self._saw(found)
        if self._is_anothers():
            return False
        lease = _held(self.lease, self.name, self.identity, self.leadership.timing)
        sent = self.leadership.clock()
        try:
            self._saw(await self._write(lease, end))
        except ApiError as error:
            if not self.is_current or error.code not in CHANGED:
                raise
            self.is_current = False
            return await self._take(end)
        self.is_current = True
        self.leadership.until = sent + self.leadership.timing.renew_deadline
        return True

    async def _read(self, end: float) -> Object | None:
        """Return the Lease; None if there is none."""
        try:
            return await self.client.call(get(self.path), self._call(end))
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
        return None

    async def _write(self, lease: Object, end: float) -> Object:
        is_stored = bool(lease["metadata"].get("resourceVersion"))
        write = update(self.path, lease) if is_stored else create(self.leases, lease)
        seconds = self._call(end)
        return await self.client.call(within(write, seconds), seconds)

    def _call(self, end: float) -> float:
        """Return the limit of a call in seconds, if everything must end at a time of our clock."""
        return max(0.0, min(self.leadership.timing.call, end - self.leadership.clock()))

    def _saw(self, lease: Object | None) -> None:
        if self.lease is None or lease is None or _spec(self.lease) != _spec(lease):
            self.changed_at = self.leadership.clock()
        self.lease = lease

    def _is_anothers(self) -> bool:
        """Return whether another process holds the Lease and renewed it within its duration."""
        if self.lease is None or holder(self.lease) in {"", self.identity}:
            return False
        lasts = float(_spec(self.lease).get("leaseDurationSeconds") or 0)
        return self.leadership.clock() < self.changed_at + max(lasts, self.leadership.timing.lease_duration)

    async def _release(self) -> None:
        """Release the Lease, so that a successor need not wait; if that fails, it expires."""
        try:
            seconds = min(self.leadership.timing.call, self.leadership.check())
            end = self.leadership.clock() + seconds
            async with asyncio.timeout(seconds):
                lease = await self._read(end)
                if lease and holder(lease) == self.identity:
                    await self._write(_given_back(lease), end)
        except (*FAILED, LeadershipLostError) as error:
            log.warning("lease not released", error=logged(error))


async def first_of(work: Coroutine[Any, Any, None], renewing: Coroutine[Any, Any, None]) -> None:
    """Run both until one ends; cancel and await the other, then return or raise as the first did."""
    tasks = (asyncio.create_task(work), asyncio.create_task(renewing))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


def holder(lease: Object | None) -> str:
    """Return the holder of a Lease; empty if there is none."""
    return text(_spec(lease or {}).get("holderIdentity"))


def _spec(lease: Object) -> Object:
    """Return the spec of a Lease; one that was created by hand may have none."""
    return mapping(lease.get("spec"))


def _held(lease: Object | None, name: str, identity: str, timing: Timing) -> Object:
    """Render the Lease with this process as its holder; `leaseTransitions` counts changes of the holder."""
    before = _spec(lease or {})
    now, ours = precisely(), before.get("holderIdentity") == identity
    spec = {
        "holderIdentity": identity,
        "leaseDurationSeconds": math.ceil(timing.lease_duration),
        "acquireTime": before.get("acquireTime", now) if ours else now,
        "renewTime": now,
        "leaseTransitions": int(before.get("leaseTransitions") or 0) + (lease is not None and not ours),
    }
    new = {"apiVersion": API_VERSION, "kind": "Lease", "metadata": {"name": name}}
    return {**(lease or new), "spec": spec}


def _given_back(lease: Object) -> Object:
    spec = {key: value for key, value in _spec(lease).items() if key != "holderIdentity"}
    return {**lease, "spec": {**spec, "leaseDurationSeconds": 1, "renewTime": precisely()}}
