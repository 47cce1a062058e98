"""A LeaderWorkerSet that says only which model it serves and how it is split: its pods run, and one answers.

The containers run as processes with the commands that are stored, and stand-ins take the place of the
programs of their images: the storage initializer, then vLLM.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from intent import Object
from tests.cluster.testbed.api import get, path
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.flows import namespace_on
from tests.cluster.testbed.leaders import ready_endpoint
from tests.cluster.testbed.network import Network, ask
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.vllm_pods import add_programs, run_group

NAME: Final = "blocks"
MODEL: Final = "s3://models/qwen3"
PODS: Final = (f"{NAME}-0", f"{NAME}-0-1")
PROMPT: Final = {"model": NAME, "prompt": "Hi"}
WRITTEN: Final[Object] = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "metadata": {
        "name": NAME,
        "annotations": {
            "fusioninfer.io/service": NAME,
            "fusioninfer.io/model": MODEL,
            "fusioninfer.io/parallelism": "tensor=8,pipeline=2",
        },
    },
    "spec": {
        "leaderWorkerTemplate": {
            "size": 2,
            "workerTemplate": {
                "spec": {"containers": [{"name": "vllm", "image": "vllm/vllm-openai:v0.20.2"}]},
            },
        }
    },
}
"""Everything that its author wrote."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder of the programs that the image of the engine has."""
    return add_programs(tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def started(served_network: Network, programs: Path) -> Iterator[tuple[Network, str]]:
    """Apply the object, and run its pods until the leader is ready."""
    add_gpu_nodes(served_network.cluster, 2)
    with namespace_on(served_network) as namespace:
        apply(served_network.cluster, namespace, WRITTEN)
        run_group(served_network, namespace, PODS, programs)
        yield served_network, namespace
    remove_nodes(served_network.cluster)


def test_a_request_is_answered_by_two_pods_with_the_model(started: tuple[Network, str]) -> None:
    there, namespace = started

    answer = ask(there, ready_endpoint(there, namespace, f"{NAME}-api"), "/v1/completions", PROMPT)

    assert (answer.status, answer.body["pods"]) == (
        200,
        [{"pod": pod, "rank": rank, "sizes": [8, 2], "model": MODEL} for rank, pod in enumerate(PODS)],
    )


def test_the_pods_of_the_group_start_together_on_two_nodes(started: tuple[Network, str]) -> None:
    there, namespace = started

    pods = [get(there.cluster.api, path("pods", namespace, name)) for name in PODS]

    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
    assert len({pod["spec"]["nodeName"] for pod in pods}) == len(PODS)
    limits = [pod["spec"]["containers"][0]["resources"]["limits"] for pod in pods]
    assert limits == [{"nvidia.com/gpu": "8"}] * len(PODS)
