"""An object that names a template and a model, and says nothing of its pods: they run, and one answers."""

from collections.abc import Iterator
from typing import Final

import pytest
import yaml

from tests.builders.templates import template
from tests.cluster.testbed.api import create, get, path
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.flows import namespace_on
from tests.cluster.testbed.leaders import ready_endpoint
from tests.cluster.testbed.network import Network, ask
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.vllm_pods import add_programs, run_group

NAME: Final = "short"
MODEL: Final = "s3://models/qwen3"
WRITTEN: Final = f"""\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: {NAME}
  annotations:
    fusioninfer.io/service: {NAME}
    fusioninfer.io/base-refs: vllm
    fusioninfer.io/model: {MODEL}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {{}}
"""
"""Everything that its author wrote."""
ENGINE: Final = {
    "name": "vllm",
    "image": "vllm/vllm-openai:v0.20.2",
    "args": ["--port", "8000"],
    "ports": [{"name": "http", "containerPort": "$(role.port)"}],
    "readinessProbe": {"httpGet": {"path": "/v1/models", "port": "http"}},
}
PODS: Final = (f"{NAME}-0", f"{NAME}-0-1")


@pytest.fixture(scope="module")
def started(
    templated_network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Network, str]]:
    """Apply the template and the object, and run its pods until the leader is ready."""
    there, cluster = templated_network, templated_network.cluster
    add_gpu_nodes(cluster, 2)
    with namespace_on(there) as namespace:
        pods = {"template": {"spec": {"containers": [ENGINE]}}}
        written = template(pods, name="vllm", namespace=namespace, parallelism={"tensor": 8, "pipeline": 2})
        create(cluster.api, path("inferencetemplates", namespace), written)
        apply(cluster, namespace, yaml.safe_load(WRITTEN))
        run_group(there, namespace, PODS, add_programs(tmp_path_factory.mktemp("image")))
        yield there, namespace
    remove_nodes(cluster)


def test_fewer_than_15_lines_are_a_service_of_two_nodes_that_answers(started: tuple[Network, str]) -> None:
    there, namespace = started
    assert len(WRITTEN.splitlines()) < 15

    served = ready_endpoint(there, namespace, f"{NAME}-api")
    answer = ask(there, served, "/v1/completions", {"model": NAME, "prompt": "Hi"})

    assert (answer.status, answer.body["pods"]) == (
        200,
        [{"pod": pod, "rank": rank, "sizes": [8, 2], "model": MODEL} for rank, pod in enumerate(PODS)],
    )


def test_its_pods_start_together_on_two_nodes(started: tuple[Network, str]) -> None:
    there, namespace = started

    pods = [get(there.cluster.api, path("pods", namespace, name)) for name in PODS]

    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
    assert len({pod["spec"]["nodeName"] for pod in pods}) == len(PODS)
    assert "http" in [one["name"] for one in pods[0]["spec"]["containers"][0]["ports"]]
