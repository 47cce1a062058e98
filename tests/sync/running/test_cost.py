"""A reconcile that changes nothing costs little: functions that are called, files that they are in, requests.

A number here is a bound on what somebody has to read to follow one reconcile, and on what a resync costs.
"""

from pathlib import Path
from typing import Final

import pytest

from intent.service.member import ServiceKey
from sync.controller import Controller
from sync.kinds import LWS, POD_GROUP
from tests.builders.counted import counted
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import KEY, lws

ROOT: Final = Path(__file__).parents[3]
PRODUCT: Final = tuple(f"{ROOT / name}/" for name in ("sync", "kube", "intent", "catalog"))
PLAIN: Final = (425, 20)
"""The most calls of a reconcile of two LeaderWorkerSets, and the most files of ours that it runs."""
SERVED: Final = (1305, 49)
"""The same of an InferenceService of two roles with routes."""


async def cost(controller: Controller, key: ServiceKey) -> tuple[int, int]:
    """Reconcile a service in which nothing changed; return the calls, and the files of the product."""
    await controller.reconcile(key)
    with counted() as files:
        await controller.reconcile(key)
    controller.queue.add_later(key, None)
    return files.total(), sum(name.startswith(PRODUCT) for name in files)


async def test_an_unchanged_service_of_leader_worker_sets_costs_few_calls_in_few_files(
    api: Api, start: Start
) -> None:
    api.put(LWS.path(KEY[0], "p"), lws("p"))
    api.put(LWS.path(KEY[0], "d"), lws("d", "decoder"))
    controller = start()
    await eventually(lambda: POD_GROUP.path(*KEY) in api.objects)
    await quiet()
    requests = len(api.requests)

    calls, files = await cost(controller, KEY)

    assert calls <= PLAIN[0], calls
    assert files <= PLAIN[1], files
    assert len(api.requests) == requests


@pytest.mark.usefixtures("admission")
async def test_an_unchanged_inferenceservice_costs_no_request(api: Api, served: Controller) -> None:
    requests = len(api.requests)

    calls, files = await cost(served, KEY)

    assert calls <= SERVED[0], calls
    assert files <= SERVED[1], files
    assert len(api.requests) == requests
