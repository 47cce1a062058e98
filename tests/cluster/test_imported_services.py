"""Imported services become ready and answer: one of KServe, one of llm-d, and a launch written by hand.

The pods run as processes with the commands that are stored, and a stand-in takes the place of vLLM.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from importer.table import import_all
from intent import Object
from tests.cluster.kserve.inputs import documents
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.flows import namespace_on
from tests.cluster.testbed.leaders import ready_endpoint
from tests.cluster.testbed.network import Network, ask
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.vllm_pods import add_programs, run_group

PRESET: Final = "config/llmisvcconfig/config-llm-template.yaml"
IMAGE: Final = "vllm/vllm-openai:v0.20.2"
DEPLOYMENT: Final = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: decode}
spec:
  selector: {matchLabels: {a: b}}
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.20.2
        command: [vllm, serve]
        args: ["{{ .HFModelName }}", --served-model-name, "{{ .ModelName }}", --port, '{{ getPort "http" }}']
        ports: [{containerPort: 8000}]
"""
KSERVE: Final[Object] = {
    "apiVersion": "serving.kserve.io/v1alpha2",
    "kind": "LLMInferenceService",
    "metadata": {"name": "chat"},
    "spec": {
        "model": {"uri": "s3://models/qwen3", "name": "qwen3"},
        "parallelism": {"tensor": 2},
        "template": {"containers": [{"name": "main", "image": IMAGE}]},
    },
}
BASE: Final[Object] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "base"},
    "data": {"decodeDeployment": DEPLOYMENT},
}
MODEL_SERVICE: Final[Object] = {
    "apiVersion": "llm-d.ai/v1alpha1",
    "kind": "ModelService",
    "metadata": {"name": "chat"},
    "spec": {
        "baseConfigMapRef": {"name": "base"},
        "routing": {"modelName": "qwen3", "ports": [{"name": "http", "port": 8000}]},
        "modelArtifacts": {"uri": "hf://qwen/qwen3"},
        "decode": {"replicas": 1},
    },
}
SERVE: Final = ["vllm", "serve", "qwen/qwen3", "--served-model-name", "qwen3", "--tensor-parallel-size", "16"]
JOIN: Final = [
    "--nnodes",
    "2",
    "--node-rank",
    "$(LWS_WORKER_INDEX)",
    "--master-addr",
    "$(LWS_LEADER_ADDRESS)",
]


def container(command: list[str]) -> Object:
    resources = {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"nvidia.com/gpu": "8"}}
    return {"name": "engine", "image": IMAGE, "command": command, "resources": resources}


BY_HAND: Final[Object] = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "metadata": {"name": "chat"},
    "spec": {
        "leaderWorkerTemplate": {
            "size": 2,
            "leaderTemplate": {"spec": {"containers": [container([*SERVE, *JOIN])]}},
            "workerTemplate": {"spec": {"containers": [container([*SERVE, *JOIN, "--headless"])]}},
        }
    },
}


class Case(NamedTuple):
    """Objects of another system, and what an answer to a request has to say."""

    objects: tuple[Object, ...]
    pods: tuple[str, ...]
    sizes: list[int]
    model: str


CASES: Final = {
    "KServe": Case((KSERVE,), ("chat-worker-0",), [2, 1], "s3://models/qwen3"),
    "llm-d": Case((MODEL_SERVICE, BASE), ("chat-decode-0",), [1, 1], "qwen/qwen3"),
    "LeaderWorkerSet": Case((BY_HAND,), ("chat-0", "chat-0-1"), [16, 1], "qwen/qwen3"),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_programs(tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def presets(source_of: Callable[[str], Path]) -> list[Object]:
    return documents((source_of("kserve") / PRESET).read_text())


@pytest.fixture(params=CASES)
def case(served_network: Network, request: pytest.FixtureRequest) -> Iterator[Case]:
    add_gpu_nodes(served_network.cluster, 2)
    yield CASES[request.param]
    remove_nodes(served_network.cluster)


def test_an_imported_service_becomes_ready_and_answers(
    served_network: Network, case: Case, presets: list[Object], programs: Path
) -> None:
    there = served_network
    made = import_all([*case.objects, *presets])
    assert not made.problems
    with namespace_on(there) as namespace:
        apply(there.cluster, namespace, *made.objects)
        run_group(there, namespace, case.pods, programs)

        prompt = {"model": "qwen3", "prompt": "Hi"}
        answer = ask(there, ready_endpoint(there, namespace, "chat-api"), "/v1/completions", prompt)

    told = [
        {"pod": pod, "rank": rank, "sizes": case.sizes, "model": case.model}
        for rank, pod in enumerate(case.pods)
    ]
    assert (answer.status, answer.body["pods"]) == (200, told)
