"""A controller that was suspended until its Lease expired writes nothing when it goes on (ADR 10).

The answer to a dry run arrives meanwhile, so that the next step of the controller is the write.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from sync.kinds import LWS, POD_GROUP
from tests.sync.conftest import eventually
from tests.sync.fake_api import Api
from tests.sync.samples import lws
from tests.sync.served import HOME, PG

ROOT: Final = Path(__file__).parents[3]
RENEW_DEADLINE: Final = 6.0
FLAGS: Final = ("--lease-duration=9", f"--renew-deadline={RENEW_DEADLINE}", "--retry-period=1")
CREATE: Final = POD_GROUP.path(HOME)
Suspended = Callable[[str], Awaitable[int]]


@pytest.fixture
async def suspended(api: Api, kubeconfig: Path) -> AsyncIterator[Suspended]:
    """Return a function that suspends a controller just before a write, and returns its exit code."""
    processes: list[asyncio.subprocess.Process] = []

    async def run(module: str) -> int:
        api.gates[CREATE] = asyncio.Event()
        api.put(LWS.path(HOME, "w"), lws("w", "worker"))
        words = ("-m", module, "sync", "--kubeconfig", str(kubeconfig), "--metrics-port=0", *FLAGS)
        process = await asyncio.create_subprocess_exec(
            sys.executable, *words, cwd=ROOT, stderr=asyncio.subprocess.DEVNULL
        )
        processes.append(process)
        await eventually(lambda: ("POST", CREATE) in api.requests)
        os.kill(process.pid, signal.SIGSTOP)
        api.gates.pop(CREATE).set()
        await asyncio.sleep(RENEW_DEADLINE + 1)
        os.kill(process.pid, signal.SIGCONT)
        return await asyncio.wait_for(process.wait(), 60)

    yield run
    for process in processes:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_suspended_controller_writes_nothing_afterwards(api: Api, suspended: Suspended) -> None:
    code = await suspended("fusioninfer")

    assert (code, [path for _, path in api.writes if path == PG]) == (1, [])


async def test_without_its_fence_it_would_write(api: Api, suspended: Suspended) -> None:
    await suspended("tests.cluster.chaos.unfenced")

    assert [path for _, path in api.writes if path == PG] == [PG]
