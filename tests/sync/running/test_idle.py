"""What the controller does while nothing happens: its requests and timers, in minutes that pass at once."""

import asyncio
import math
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from intent.names import SYSTEM_NAMESPACE
from intent.settings import Settings
from kube import client
from server.controller import sync
from sync import clock
from sync.kinds import LWS, POD_GROUP, ROUTE_KINDS
from sync.watch import reflector
from tests.builders.virtual_time import VirtualTimeLoop, virtual_time
from tests.sync.conftest import eventually, kubeconfig_of, serving
from tests.sync.samples import KEY, lws

LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases/fusioninfer-sync"
MINUTES: Final = 10
RENEWALS: Final = 21
"""The most renewals of the Lease in a minute."""
REQUESTS: Final = RENEWALS + 14
"""The most in a minute. 5 of the others list a kind that is not served, 3 read certificates, 3 releases, and
some begin the next watch."""
TIMERS: Final = 40
"""The most in a minute: one for each request, and aiohttp's own."""
ABSENT: Final = frozenset(kind.resource.plural for kind in ROUTE_KINDS if kind.resource.source)
"""The kinds of routes that a cluster has only once somebody installs them."""


async def idle(folder: Path) -> tuple[Counter[tuple[str, str]], int, set[str]]:
    """Let a controller come to rest; return its requests and timers of some minutes, and its threads."""
    loop, threads = virtual_time(), set(threading.enumerate())
    async with serving() as api:
        api.absent = set(ABSENT)
        api.put(LWS.path(KEY[0], "p"), lws("p"))
        api.put(LWS.path(KEY[0], "d"), lws("d", "decoder"))
        known: dict[str, Any] = {"kubeconfig": str(kubeconfig_of(api, folder)), "metrics_port": 0}
        running = asyncio.create_task(sync(Settings(), secret="tls", **known))
        await eventually(lambda: POD_GROUP.path(*KEY) in api.objects)
        await asyncio.sleep(600)
        api.requests.clear()
        before = loop.timers
        await asyncio.sleep(60 * MINUTES)
        requests, timers = Counter(api.requests), loop.timers - before
        begun = {each.name for each in set(threading.enumerate()) - threads}
        running.cancel()
        await running
    return requests, timers, begun


def test_an_idle_minute_has_few_requests_and_timers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "SHORTEST", 0.5)
    monkeypatch.setattr(clock, "LONGEST", 30.0)
    monkeypatch.setattr(reflector, "MINUTE", clock.MINUTE)
    monkeypatch.setattr(client, "SILENCE", math.inf)  # the fake API server sends no bookmarks
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        requests, timers, threads = runner.run(idle(tmp_path))

    assert requests["PUT", LEASE] <= RENEWALS * MINUTES, requests
    assert requests.total() <= REQUESTS * MINUTES, requests
    assert timers <= TIMERS * MINUTES
    assert threads == {"probes"}, "a request waits for another thread"
