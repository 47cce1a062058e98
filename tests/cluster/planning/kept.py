"""Cases with names: both capacity tables of the documents, and those in which a plan differed once."""

from collections.abc import Mapping
from typing import Final

import yaml

from intent import Object
from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, Table
from tests.cluster.planning.cases import GPU, Case, plain


def _of_table(table: Table) -> Case:
    """Return the files of a table, with nodes up to its last row."""
    return plain((yaml.safe_load(file.read_text()) for file in table.files), max(table.rows) // 8)


def _of_containers(*, init: int, main: int) -> Case:
    """Return a worker of two pods whose init container requests other GPUs than its engine."""

    def container(name: str, gpus: int) -> Object:
        return {
            "name": name,
            "image": "vllm/vllm-openai:v0.17.1",
            "command": ["vllm", "serve"],
            "args": ["org/M"],
            "resources": {"limits": {GPU: str(gpus)}},
        }

    spec = {"containers": [container("vllm", main)], "initContainers": [container("warm", init)]}
    annotations = {"fusioninfer.io/service": "s0", "fusioninfer.io/launcher": "none"}
    lws = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "s0-worker", "annotations": annotations},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": spec}}},
    }
    return plain([lws], 2)


KEPT: Final[Mapping[str, Case]] = {
    "the table of the worker": _of_table(MONOLITHIC),
    "the table of prefill and decode": _of_table(DISAGGREGATED),
    "an init container that requests more than the engine": _of_containers(init=5, main=3),
}
