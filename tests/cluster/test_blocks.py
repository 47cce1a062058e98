"""A LeaderWorkerSet that says only which model it serves and how it is split: its pods run, and one answers.

The containers run as processes with the commands that are stored, and stand-ins take the place of the
programs of their images: the storage initializer, then vLLM. What waits for the leader's name is left out:
the testbed has no DNS (`tests/ray` has one).
"""

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from intent import Object
from intent.model import INITIALIZER
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.containers import name_of, report, run_container
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.flows import namespace_on
from tests.cluster.testbed.images import Program
from tests.cluster.testbed.leaders import ready_endpoint, with_leader
from tests.cluster.testbed.network import Network, add_pod, ask, listens
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.probes import is_ready
from tests.cluster.testbed.processes import tail
from tests.cluster.testbed.wait import until
from tests.patience import PATIENCE

NAME: Final = "blocks"
PORT: Final = 8000
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
DOWNLOADS: Final = Program(
    (sys.executable, "-m", "tests.cluster.testbed.initializer"), {"PYTHONPATH": str(ROOT)}
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder of the programs that the image of the engine has."""
    folder = tmp_path_factory.mktemp("image")
    engine = folder / "vllm"
    engine.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.cluster.testbed.vllm_group "$@"\n')
    engine.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def started(served_network: Network, programs: Path) -> Iterator[tuple[Network, str]]:
    """Apply the object, and run its pods until the leader is ready."""
    add_gpu_nodes(served_network.cluster, 2)
    with namespace_on(served_network) as namespace:
        apply(served_network.cluster, namespace, WRITTEN)
        run_group(served_network, namespace, programs)
        yield served_network, namespace
    remove_nodes(served_network.cluster)


def run_group(there: Network, namespace: str, programs: Path) -> None:
    """Run the containers of both pods as their images would, and write the status of the pods."""

    def stored() -> list[Object]:
        return sorted(items(there.cluster.api, path("pods", namespace)), key=name_of)

    until(lambda: [one["metadata"]["name"] for one in stored()] == [*PODS], f"{NAME} has its pods")
    until(lambda: {one["status"]["phase"] for one in stored()} == {"Running"}, "kwok has made all pods run")
    pods = stored()
    addresses = [add_pod(there, name_of(pod)) for pod in pods]
    for pod in pods:
        run_pod(there, pod, addresses[0], programs)
    until(partial(listens, there, addresses[0], PORT), "the engine of the leader serves")
    for pod, address in zip(pods, addresses, strict=True):
        report(there.cluster, pod, address, ready=is_ready(there, pod))


def run_pod(there: Network, pod: Object, leader: str, programs: Path) -> None:
    """Run what downloads the model of a pod, then its engine."""
    (download,) = [one for one in pod["spec"]["initContainers"] if one["name"] == INITIALIZER]
    process = run_container(there, pod, download, own=DOWNLOADS)
    assert process.popen.wait(PATIENCE) == 0, tail(process)
    (engine,) = pod["spec"]["containers"]
    image = Program((), {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)})
    run_container(there, pod, with_leader(engine, leader), {"HOSTNAME": pod["metadata"]["name"]}, image)


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
