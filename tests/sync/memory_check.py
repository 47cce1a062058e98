"""The whole of what `test_memory.py` shows a part of: each kind, at start, while running, and changed often.

MEMORY_OBJECTS (500) of 1.4 MB of each kind; at the end each of them changes ten times a second for
MEMORY_SECONDS (20).
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sync.kinds import LWS, POD_GROUP, WATCHED, templates
from tests.sync.crowd import SHARED, controller, crowd, serving
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
