"""Cases with names: those in which a plan differed once. `test_tables.py` has the tables of the documents."""

from collections.abc import Mapping
from typing import Final

from intent import Object
from tests.cluster.planning.cases import GPU, Case, plain


def _container(name: str, gpus: int) -> Object:
    return {
        "name": name,
        "image": "vllm/vllm-openai:v0.17.1",
        "command": ["vllm", "serve"],
        "args": ["org/M"],
        "resources": {"limits": {GPU: str(gpus)}},
    }


def _of_containers(*, init: int, main: int) -> Case:
    """Return a worker of two pods whose init container requests other GPUs than its engine."""
    spec = {"containers": [_container("vllm", main)], "initContainers": [_container("warm", init)]}
    return plain([_worker(spec)], [8, 8])


def _of_pods(leader: int, worker: int, nodes: list[int]) -> Case:
    """Return a worker of two pods that request other GPUs, and nodes with so many."""
    leaders, workers = ({"containers": [_container("vllm", gpus)]} for gpus in (leader, worker))
    lws = _worker(workers)
    lws["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = {"spec": leaders}
    return plain([lws], nodes)


def _worker(spec: Object) -> Object:
    annotations = {"fusioninfer.io/service": "s0", "fusioninfer.io/launcher": "none"}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "s0-worker", "annotations": annotations},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": spec}}},
    }


KEPT: Final[Mapping[str, Case]] = {
    "an init container that requests more than the engine": _of_containers(init=5, main=3),
    "a node too small for the leader, and not taken for its worker": _of_pods(8, 1, [8, 1, 8]),
}
