"""Run the controller: credentials, caches, the Lease, the metrics port, and how the process ends."""

import asyncio
import signal
import socket
import time
import uuid
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import structlog

from catalog.release import VERSION
from intent.inferencetemplate.v1alpha1 import KIND as TEMPLATE
from intent.names import SYSTEM_NAMESPACE
from intent.settings import Settings
from kube.client import connect
from kube.pool import BytePool
from server import probes
from server.certificates import Keeper, keep
from server.scrapes import by_token, made_context
from sync import WORKERS
from sync.controller import Controller
from sync.kinds import watched
from sync.lease import Elector, Leadership, LeadershipLostError, Timing
from sync.metrics import ControllerMetrics
from sync.queue import Queue
from sync.watch.cache import ROWS, Cache, Caches
from sync.watch.reflector import reflect
from sync.write import Writer

log: Final = structlog.stdlib.get_logger(__name__)
LEASE: Final = "fusioninfer-sync"
TIMING: Final = Timing()
MEMORY_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")
"""The file with the limit of this container (cgroup v2)."""


async def sync(  # noqa: PLR0913 - each is a flag of the command
    settings: Settings,
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    namespace: str = SYSTEM_NAMESPACE,
    metrics_port: int = 8080,
    secure_metrics_port: int | None = None,
    timing: Timing = TIMING,
    secret: str = "",
    workers: int = WORKERS,
) -> int:
    """Reconcile a cluster until SIGTERM or SIGINT (return 0), or until leadership is lost (return 1).

    Without a kubeconfig and a context it is the cluster of the pod that this runs in. `namespace` is the
    Lease's. With `secret`, the leader keeps the webhook's certificates in that Secret, beside the Lease.
    With `settings.observe_only` it takes no Lease, issues no certificates and writes nothing.
    /metrics is plain HTTP on `metrics_port`, or has TLS on `secure_metrics_port` for tokens that may read it.
    `workers` services of one namespace are reconciled at once.
    Raises `kube.client.ConfigError` if there are no credentials, OSError if the port is taken.
    """
    async with AsyncExitStack() as stack:
        client = await connect(kubeconfig, context, timing.between)
        stack.push_async_callback(client.close)
        measured, leadership = ControllerMetrics(VERSION), Leadership(timing)
        client.timed = lambda verb, code, seconds: measured.requests.labels(verb, code).observe(seconds)
        space = BytePool(_room_for_rows())
        caches: Caches = {kind.kind: Cache(kind, space=space) for kind in watched(settings)}
        writer = Writer(client, measured, leadership.check, caches, observe_only=settings.observe_only)
        controller = Controller(settings, measured, caches, writer, Queue(workers))
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"  # the host name is the pod's name
        elector = Elector(client, namespace, LEASE, identity, leadership, failed=measured.lease_failures.inc)
        _measure(measured, caches, controller.queue)

        async def work() -> None:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(controller.run())
                if secret:
                    tasks.create_task(keep(Keeper(client, namespace, secret, leadership.check), measured))

        scrapes = None
        if secure_metrics_port is not None:
            own = made_context(f"fusioninfer-sync.{namespace}.svc")
            scrapes = probes.Scrapes(probes.bind(secure_metrics_port), own, by_token(client))
        plain, unready = probes.bind(metrics_port), partial(_unready, caches)
        answers = probes.serving(plain, measured.registry, unready, scrapes=scrapes)

        async def serve() -> None:
            async with answers, asyncio.TaskGroup() as tasks:
                for cache in caches.values():
                    tasks.create_task(reflect(client, cache, _namespaces(cache, settings)))
                if settings.observe_only:
                    log.info("observe only: nothing is written")
                    tasks.create_task(controller.run())
                else:
                    tasks.create_task(elector.lead(work, measured.is_leader.set))

        return await _until_stopped(serve())


async def _until_stopped(work: Coroutine[Any, Any, None]) -> int:
    """Run until a signal (return 0) or the loss of leadership (return 1); raise any other error."""
    task = asyncio.create_task(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    lost = False
    try:
        await task
    except* asyncio.CancelledError:
        log.info("stopped")
    except* LeadershipLostError as group:
        log.error("leadership lost", error=str(group.exceptions[0]))  # noqa: TRY400 - expected, not a bug
        lost = True
    return int(lost)


def _room_for_rows() -> int:
    """Return half of the memory limit of this pod; without one, half of that of the manifests."""
    try:
        return int(MEMORY_LIMIT.read_text(encoding="ascii")) // 2
    except (OSError, ValueError):  # "max" is no number
        return ROWS


def _namespaces(cache: Cache[Any], settings: Settings) -> tuple[str, ...]:
    """Return the namespaces that are watched; templates of the operator's namespace serve all; none: all."""
    shared = (settings.templates_namespace,) if cache.kind.kind == TEMPLATE else ()
    return tuple(dict.fromkeys((*settings.namespaces, *shared))) if settings.namespaces else ()


def _measure(measured: ControllerMetrics, caches: Caches, queue: Queue) -> None:
    measured.waiting.set_function(queue.depth)
    measured.oldest.set_function(queue.oldest)
    measured.longest.set_function(queue.longest)
    for cache in caches.values():
        _measure_kind(measured, cache)


def _measure_kind(measured: ControllerMetrics, cache: Cache[Any]) -> None:
    kind, availability = cache.kind.kind, cache.availability
    measured.objects.labels(kind).set_function(cache.rows.__len__)
    measured.unreadable.labels(kind).set_function(cache.unreadable.__len__)
    measured.unavailable.labels(kind).set_function(lambda: bool(availability.trouble))
    measured.watch_age.labels(kind).set_function(lambda: time.monotonic() - availability.heard)


def _unready(caches: Caches) -> str:
    """Return "not synced" until every kind was listed; standby replicas become ready too."""
    return "" if all(cache.availability.settled.is_set() for cache in caches.values()) else "not synced"
