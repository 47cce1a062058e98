"""Parallel sizes on the real API server, and in the pods that LWS makes."""

from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, worker
from tests.builders.lws import PREFIX, container, lws, template
from tests.cluster.testbed.api import amend, await_object, create, get, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.groups import pods, wait_pods
from webhook.expand import expanded

DEEPSEEK: Final = "tensor=1,data=16,dataLocal=8,expert"
KEY: Final = f"/metadata/annotations/{PREFIX.replace('/', '~1')}parallelism"
GPU: Final = "nvidia.com/gpu"


def plain(gpus: int | None = None) -> Object:
    """Return a pod template whose engine has no parallel sizes."""
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {GPU: str(gpus)} if gpus else {}}
    return template(container(args=["org/M"], image="vllm/vllm-openai:v0.20.2", resources=resources))


def engines(whole: Object) -> list[Object]:
    group = whole["spec"]["leaderWorkerTemplate"]
    return [
        group[field]["spec"]["containers"][0]
        for field in ("leaderTemplate", "workerTemplate")
        if field in group
    ]


def started(engine: Object) -> tuple[list[str], Object]:
    return [*engine.get("command", ()), *engine.get("args", ())], engine["resources"]["limits"]


@pytest.mark.parametrize("value", ["tensor=8,pipeline=2", DEEPSEEK])
def test_leader_and_worker_get_flags_and_accelerators(
    fusioninfer: Cluster, namespace: str, value: str
) -> None:
    file = lws(2, plain(), None, parallelism=value)

    stored = create(fusioninfer.api, path("leaderworkersets", namespace), file)

    wanted = [started(one) for one in engines(expanded(file))]
    assert [started(one) for one in engines(stored)] == wanted
    assert [limits[GPU] for _, limits in wanted] == ["8", "8"]
    wait_pods(fusioninfer, namespace, 2)
    made = [started(pod["spec"]["containers"][0])[1] for pod in pods(fusioninfer, namespace)]
    assert [limits[GPU] for limits in made] == ["8", "8"]


def test_a_removed_annotation_removes_flags_and_accelerators(fusioninfer: Cluster, namespace: str) -> None:
    where = path("leaderworkersets", namespace)
    stored = create(fusioninfer.api, where, lws(1, plain(), None, parallelism="tensor=8,expert"))
    assert started(engines(stored)[0])[1] == {GPU: "8"}

    amend(fusioninfer.api, f"{where}/x", [{"op": "remove", "path": KEY}])

    (engine,) = engines(get(fusioninfer.api, f"{where}/x"))
    assert engine["args"] == ["org/M"]
    assert GPU not in engine["resources"].get("limits", {})


def test_a_role_without_a_number_of_nodes_has_as_many_as_its_sizes_need(
    fusioninfer: Cluster, namespace: str
) -> None:
    sizes = {"tensor": 1, "data": 16, "dataLocal": 8, "expert": True, "dataRPCPort": 5555}
    apply(
        fusioninfer, namespace, isvc(worker(multinode=None, parallelism=sizes, template=plain(8)), name="svc")
    )
    where = path("leaderworkersets", namespace, "svc-inference")

    stored = await_object(fusioninfer.api, where)
    assert stored["spec"]["leaderWorkerTemplate"]["size"] == 2
    noted = stored["metadata"]["annotations"][f"{PREFIX}parallelism"]
    assert noted == "tensor=1,data=16,dataLocal=8,dataRPCPort=5555,expert"
    assert all("--enable-expert-parallel" in started(one)[0] for one in engines(stored))
