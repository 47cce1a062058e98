"""A process that loses its Lease writes nothing more, wherever its reconcile is (ADR 10).

The requests of a reconcile that creates, changes, deletes and reports are recorded. Then it is repeated, and
the Lease is lost while one of the requests is under way that a write follows.
"""

import asyncio
import copy
from collections.abc import Callable
from itertools import pairwise
from typing import Final

import pytest
from aiohttp import web

from intent.settings import Settings
from kube.client import Client
from sync.controller import Controller
from sync.kinds import watched
from sync.lease import Elector, Leadership, Timing
from sync.metrics import ControllerMetrics
from sync.watch.cache import Cache
from sync.watch.reflector import reflect
from sync.write import Writer
from tests.sync.conftest import quiet
from tests.sync.fake_api import WRITES, Api
from tests.sync.samples import routed
from tests.sync.served import DECODE, HOME, PG, SERVICE, STATUS

TIMING: Final = Timing(lease_duration=60.0, renew_deadline=40.0, retry_period=0.2)
LEASE: Final = "/apis/coordination.k8s.io/v1/namespaces/system/leases/sync"
RELEASED: Final = {"kind": "Lease", "metadata": {"name": "sync"}, "spec": {"leaseTransitions": 1}}
Asked = tuple[str, str, bool]
"""Method, path, and whether it is a dry run."""


def is_write(asked: Asked) -> bool:
    """Return whether a request may change something."""
    return asked[0] in WRITES and not asked[2]


async def lead(client: Client, clock: Callable[[], float]) -> None:
    """Reconcile as `server.controller` does, until the Lease is lost."""
    settings, leadership, measured = Settings(), Leadership(TIMING, clock=clock), ControllerMetrics()
    caches = {kind.kind: Cache(kind) for kind in watched(settings)}
    writer = Writer(client, measured, leadership.check, caches)
    elector = Elector(client, "system", "sync", "a", leadership)
    async with asyncio.TaskGroup() as tasks:
        for cache in caches.values():
            tasks.create_task(reflect(client, cache))
        controller = Controller(settings, measured, caches, writer)
        tasks.create_task(elector.lead(controller.run, lambda _leads: None))


async def played(api: Api, client: Client, lost_at: int = 0) -> list[Asked]:
    """Lead until the Lease is lost: at a request about the service, by its number, or after the last one.

    Returns all of these requests, later ones included.
    """
    asked, now = list[Asked](), [1000.0]

    def note(request: web.Request) -> None:
        if f"/namespaces/{HOME}/" in request.path:
            asked.append((request.method, request.path, "dryRun" in request.query))
            if len(asked) == lost_at:
                now[0] += TIMING.renew_deadline

    api.fault = note
    leading = asyncio.create_task(lead(client, lambda: now[0]))
    while not leading.done():
        seen = len(asked)
        await quiet()
        now[0] += TIMING.renew_deadline if 0 < len(asked) == seen else 0.0
    assert isinstance(leading.exception(), ExceptionGroup)
    return asked


@pytest.mark.usefixtures("admission")
async def test_a_reconcile_that_loses_its_lease_between_two_requests_writes_nothing_more(
    api: Api, client: Client
) -> None:
    api.put(SERVICE, routed())
    api.put(LEASE, RELEASED)
    await played(api, client)
    api.edit(SERVICE, roles=api.objects[SERVICE]["spec"]["roles"][:2])
    api.remove(PG)
    api.edit(DECODE, replicas=7)
    api.put(LEASE, RELEASED)
    before = copy.deepcopy(api.objects)
    whole = await played(api, client)
    followed = {
        (one[0], one[2], other[0]): number
        for number, (one, other) in enumerate(pairwise(whole), 1)
        if is_write(other)
    }

    late = {}
    for shapes, number in followed.items():
        api.objects = copy.deepcopy(before)
        asked = await played(api, client, number)
        late[shapes] = [one for one in asked[number:] if is_write(one)]
    assert {one[0] for one in whole if is_write(one)} == {"PATCH", "DELETE"}
    assert STATUS in {path for _, path, _ in whole}
    assert any("/events/" in path for _, path, _ in whole)
    assert not any(late.values()), late
