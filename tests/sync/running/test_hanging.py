"""Requests that hang, as in the webhook of another product, keep no other service waiting."""

import pytest

from intent import Object
from sync import WORKERS
from sync.kinds import INFERENCE_SERVICE
from tests.sync.conftest import Eventually, Start
from tests.sync.fake_api import Api
from tests.sync.samples import lws, routed
from tests.sync.served import DECODE, PG, PREFILL

NAMESPACE = "hung"


@pytest.fixture
async def hung(api: Api, admission: None, start: Start, eventually: Eventually) -> None:  # noqa: ARG001 - first
    """Run a controller until the Deployments of as many services hang as a namespace may have reconciles."""
    api.hanging = {f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"}
    for name in [f"s{at}" for at in range(2 * WORKERS)]:
        service = routed(namespace=NAMESPACE, name=name, uid=f"uid-{name}")
        api.put(INFERENCE_SERVICE.path(NAMESPACE, name), service)
    start()
    await eventually(lambda: sum(path in api.hanging for _, path in api.requests) == WORKERS)


@pytest.mark.usefixtures("hung")
async def test_a_new_gang_is_made_while_others_hang(api: Api, eventually: Eventually) -> None:
    api.put(PREFILL, lws("r1-prefill"))
    api.put(DECODE, lws("r1-decode", "decoder"))

    await eventually(lambda: PG in api.objects)


def gang(name: str) -> Object:
    """Return a worker that is a service of its own."""
    made = lws(name, "worker")
    made["metadata"]["namespace"] = NAMESPACE
    for part in ("labels", "annotations"):
        made["metadata"][part]["fusioninfer.io/service"] = name
    annotations = made["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["annotations"]
    annotations["scheduling.k8s.io/group-name"] = name
    return made
