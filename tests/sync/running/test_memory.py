"""Large objects of one tenant take a bounded part of the controller's memory, and others are served."""

import asyncio
import time
from pathlib import Path
from typing import Final

from sync.kinds import HTTP_ROUTE, INFERENCE_SERVICE, LWS, OUTPUTS, POD_GROUP
from tests.builders.patience import PATIENCE
from tests.sync.crowd import SIZE, controller, crowd, serving
from tests.sync.samples import lws

KINDS: Final = (INFERENCE_SERVICE, HTTP_ROUTE, OUTPUTS["ConfigMap"])
"""Of the first content is kept, of the second many fields, and of the third only metadata."""
COUNT: Final = 24
MORE: Final = 128
"""MiB: the memory for what was received and is not yet read."""


async def peak_with(folder: Path, port: int, size: int) -> int:
    """Return the peak of the controller with objects of so many bytes, at start and while they change."""
    api = crowd(KINDS, COUNT, size)
    async with serving(api, folder) as kubeconfig, controller(kubeconfig, port) as peak:
        for number in (1, 2):
            obj = lws("w", "worker")
            obj["metadata"]["namespace"] = f"team-{number}"
            api.put(LWS.path(f"team-{number}", "w"), obj)
            end = time.monotonic() + PATIENCE
            while POD_GROUP.path(f"team-{number}", "r1") not in api.objects:
                assert time.monotonic() < end, "another tenant is not served"
                await asyncio.sleep(0.05)
            for at in range(COUNT):
                for kind in KINDS:
                    await api.change(kind.resource.plural, at)
        return peak()


async def test_large_objects_need_no_more_memory_than_small_ones_but_for_one_pool(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    small = await peak_with(tmp_path, unused_tcp_port, 2_000)
    large = await peak_with(tmp_path, unused_tcp_port, SIZE)

    assert large - small < MORE, f"{small} and {large} MiB"
