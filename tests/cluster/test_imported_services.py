"""An imported service of KServe becomes ready and answers.

So does an object of ours that names a template and a model, and says nothing of its pods. The pods run as
processes with the commands that are stored, and a stand-in takes the place of vLLM.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from importer.table import import_all
from intent import Object
from tests.builders.lws import WORKER, changed, container, lws, template
from tests.builders.templates import template as inference_template
from tests.cluster.kserve.inputs import documents
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.flows import namespace_on
from tests.cluster.testbed.leaders import ready_endpoint
from tests.cluster.testbed.network import Network, ask
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.vllm_pods import add_programs, run_group

PRESET: Final = "config/llmisvcconfig/config-llm-template.yaml"
IMAGE: Final = "vllm/vllm-openai:v0.20.2"
KSERVE: Final[Object] = {
    "apiVersion": "serving.kserve.io/v1alpha2",
    "kind": "LLMInferenceService",
    "metadata": {"name": "chat"},
    "spec": {
        "baseRefs": [{"name": "fast"}],
        "model": {"uri": "s3://models/qwen3", "name": "qwen3"},
        "parallelism": {"tensor": 2},
        "template": {"containers": [{"name": "main", "env": [{"name": "OWN", "value": "1"}]}]},
    },
}
CONFIG: Final[Object] = {
    "apiVersion": "serving.kserve.io/v1alpha2",
    "kind": "LLMInferenceServiceConfig",
    "metadata": {"name": "fast"},
    "spec": {
        "template": {
            "containers": [{"name": "main", "image": IMAGE, "env": [{"name": "OF", "value": "{{ .Name }}"}]}],
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        }
    },
}

OURS: Final = "ours"
SERVED: Final = container(
    image=IMAGE,
    command=None,
    args=["--port", "8000"],
    ports=[{"name": "http", "containerPort": "$(role.port)"}],
    readinessProbe={"httpGet": {"path": "/v1/models", "port": "http"}},
)
PODS: Final = inference_template({"template": template(SERVED)}, parallelism={"tensor": 8, "pipeline": 2})
BASE_OF_OURS: Final = changed(PODS, "metadata", {"name": "base"})
SHORT: Final = changed(
    lws(service="chat", base_refs="base", model="s3://models/qwen3", model_name="qwen3"), WORKER, {}
)


class Case(NamedTuple):
    """Objects of another system, and what an answer to a request has to say."""

    objects: tuple[Object, ...]
    pods: tuple[str, ...]
    sizes: list[int]
    model: str


CASES: Final = {
    "KServe": Case((KSERVE, CONFIG), ("chat-worker-0",), [2, 1], "s3://models/qwen3"),
    OURS: Case((BASE_OF_OURS, SHORT), ("x-0", "x-0-1"), [8, 2], "s3://models/qwen3"),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_programs(tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def presets(source_of: Callable[[str], Path]) -> list[Object]:
    return documents((source_of("kserve") / PRESET).read_text())


@pytest.fixture
def nodes(templated_network: Network) -> Iterator[Network]:
    add_gpu_nodes(templated_network.cluster, 2)
    yield templated_network
    remove_nodes(templated_network.cluster)


def imported(name: str, presets: list[Object]) -> list[Object]:
    if name == OURS:
        return list(CASES[name].objects)
    made = import_all([*CASES[name].objects, *presets])
    assert not made.problems
    return list(made.objects)


@contextmanager
def applied(there: Network, made: list[Object]) -> Iterator[str]:
    """Have kubectl apply an import to a namespace of its own."""
    with namespace_on(there) as namespace:
        apply(there.cluster, namespace, *made)
        yield namespace


@pytest.mark.parametrize("name", CASES)
def test_an_imported_service_becomes_ready_and_answers(
    nodes: Network, name: str, presets: list[Object], programs: Path
) -> None:
    case = CASES[name]
    with applied(nodes, imported(name, presets)) as namespace:
        run_group(nodes, namespace, case.pods, programs)

        prompt = {"model": "qwen3", "prompt": "Hi"}
        answer = ask(nodes, ready_endpoint(nodes, namespace, "chat-api"), "/v1/completions", prompt)

    told = [
        {"pod": pod, "rank": rank, "sizes": case.sizes, "model": case.model}
        for rank, pod in enumerate(case.pods)
    ]
    assert (answer.status, answer.body["pods"]) == (200, told)
