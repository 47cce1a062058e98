"""Requests that hang, as in the webhook of another product, keep no other service waiting."""

import time

import pytest

from intent import Object
from kube.limit import RateLimit
from sync.kinds import INFERENCE_SERVICE, LWS, POD_GROUP
from tests.sync.conftest import Background, Eventually, Start
from tests.sync.fake_api import Api
from tests.sync.samples import lws, routed
from tests.sync.served import DECODE, PG, PREFILL

NAMESPACE = "hung"
COUNT = 12


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace a worker whose request hangs after a tenth of a second."""
    monkeypatch.setattr("sync.controller.HANGING", 0.1)


@pytest.fixture
async def hung(api: Api, admission: None, start: Start, eventually: Eventually) -> int:  # noqa: ARG001 - first
    """Run a controller until the Deployments of a dozen services hang; return its number of workers."""
    api.hanging = {f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"}
    names = [f"s{at}" for at in range(COUNT)]
    for name in names:
        service = routed(namespace=NAMESPACE, name=name, uid=f"uid-{name}")
        api.put(INFERENCE_SERVICE.path(NAMESPACE, name), service)
    controller = start()
    await eventually(lambda: sum(path in api.hanging for _, path in api.requests) == COUNT)
    assert all(POD_GROUP.path(NAMESPACE, name) in api.objects for name in names)
    return controller.workers


@pytest.mark.usefixtures("hung")
async def test_a_new_gang_is_made_while_others_hang(api: Api, eventually: Eventually) -> None:
    api.put(PREFILL, lws("r1-prefill"))
    api.put(DECODE, lws("r1-decode", "decoder"))

    await eventually(lambda: PG in api.objects)


async def test_workers_that_replaced_others_end(
    api: Api,
    start: Start,
    eventually: Eventually,
) -> None:
    gangs = [f"s{at}" for at in range(COUNT)]
    api.latency = 0.4
    for name in gangs:
        api.put(LWS.path(NAMESPACE, name), gang(name))
    controller = start()
    await eventually(lambda: controller.queue.workers > controller.workers)

    api.latency = 0.0
    await eventually(lambda: all(POD_GROUP.path(NAMESPACE, name) in api.objects for name in gangs))

    await eventually(lambda: controller.queue.workers == controller.workers)


async def test_a_limit_of_requests_is_no_reason_for_more_workers(
    api: Api, make: Start, background: Background, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would share the same few requests, and each reconcile would take so much longer."""
    monkeypatch.setattr("sync.controller.LASTING", 0.1)
    for at in range(COUNT):
        api.put(LWS.path(NAMESPACE, f"s{at}"), gang(f"s{at}"))
    controller = make()
    controller.workers = 1
    controller.writer.client.limit = RateLimit(10.0, free_at=time.monotonic() + 1.0)
    background(controller.run())
    most = []

    def first_is_made() -> bool:
        most.append(controller.queue.workers)
        return any(POD_GROUP.path(NAMESPACE, f"s{at}") in api.objects for at in range(COUNT))

    await eventually(first_is_made)

    assert max(most) == 1


def gang(name: str) -> Object:
    """Return a worker that is a service of its own."""
    made = lws(name, "worker")
    made["metadata"]["namespace"] = NAMESPACE
    for part in ("labels", "annotations"):
        made["metadata"][part]["fusioninfer.io/service"] = name
    annotations = made["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["annotations"]
    annotations["scheduling.k8s.io/group-name"] = name
    return made
