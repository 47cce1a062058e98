"""The whole of what `test_memory.py` shows a part of: each kind, at start, while running, and changed often.

MEMORY_OBJECTS (500) of 1.4 MB of each kind; at the end ten of each kind change a second, for MEMORY_SECONDS
(20), or as many as the controller receives. The API server is a fake one: etcd keeps 8 GiB, and these are 13.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from sync import RENEW_DEADLINE
from sync.kinds import LWS, POD_GROUP, WATCHED, templates
from tests.sync.crowd import SHARED, Crowd, controller, crowd, serving
from tests.sync.samples import lws

COUNT: Final = int(os.environ.get("MEMORY_OBJECTS", "500"))
SECONDS: Final = float(os.environ.get("MEMORY_SECONDS", "20"))
LIMIT: Final = 1024
"""MiB: the limit of the manifests."""
SLOWEST: Final = 1800.0


async def until(holds: Callable[[], object]) -> float:
    """Wait until a condition holds; return the seconds."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() < began + SLOWEST, "the condition did not hold in time"
        await asyncio.sleep(0.05)
    return time.monotonic() - began


def slowest_renewal(api: Crowd) -> float:
    """Return the longest time between two renewals of the Lease, in seconds, all by one holder."""
    leases = [obj["spec"] for _, obj in api.history if obj["kind"] == "Lease"]
    assert len({one["holderIdentity"] for one in leases}) == 1
    times = [datetime.fromisoformat(one["renewTime"]) for one in leases]
    return max((end - start).total_seconds() for start, end in pairwise(times))


async def test_hundreds_of_large_objects_of_each_kind_leave_the_controller_below_its_limit(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    kinds = (*WATCHED, templates(SHARED))
    plurals = [kind.resource.plural for kind in kinds]
    api = crowd(kinds, COUNT)
    served = 0

    async def serve_another(phase: str) -> None:
        nonlocal served
        served += 1
        namespace = f"team-{served}"
        obj = lws("w", "worker")
        obj["metadata"]["namespace"] = namespace
        api.put(LWS.path(namespace, "w"), obj)
        seconds = await until(lambda: peak() and POD_GROUP.path(namespace, "r1") in api.objects)
        said = f"summary: {phase}: peak {peak()} MiB, another tenant's PodGroup after {seconds:.1f} s"
        sys.stdout.write(f"{said}\n")
        assert peak() < LIMIT

    async with serving(api, tmp_path) as kubeconfig, controller(kubeconfig, unused_tcp_port) as peak:
        await serve_another("at start")
        for at in range(COUNT):
            for plural in plurals:
                await api.change(plural, COUNT + at)
        await serve_another("while running")

        async def change() -> None:
            end, at = time.monotonic() + SECONDS, 0
            while time.monotonic() < end:
                for plural in plurals:
                    await api.change(plural, at % COUNT)
                at += 1
                await asyncio.sleep(0.1)

        changing = asyncio.create_task(change())
        await serve_another("while they change")
        await changing
        await serve_another("afterwards")
        seconds = slowest_renewal(api)
        sys.stdout.write(f"summary: the Lease was renewed each {seconds:.1f} s or sooner\n")
        assert seconds < RENEW_DEADLINE
