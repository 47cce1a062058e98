"""The testbed of routes itself: requests go through Envoy, picker and sidecar as manifests say."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.testbed.api import create, path
from tests.cluster.testbed.cluster import kubectl
from tests.cluster.testbed.engines import run_pod, set_engine, wait_seen
from tests.cluster.testbed.gateway import start_gateway
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.network import Network, ask
from tests.cluster.testbed.pickers import start_picker, wait_picker

ROUTES: Final = Path(__file__).parent / "routes"


@pytest.fixture(scope="module")
def demo(road: Network) -> Iterator[str]:
    namespace = add_namespace(road.cluster)
    kubectl(road.cluster, "apply", "-n", namespace, "-f", str(ROUTES / "queue-size.yaml"))
    for name in ("a", "b", "c"):
        create(road.cluster.api, path("pods", namespace), leader(name, "demo"))
        run_pod(road, namespace, name)
    picker = start_picker(road, namespace, "demo-epp")
    wait_picker(road, picker)
    yield start_gateway(road, namespace, picker)
    empty_namespace(road.cluster, namespace)


@pytest.mark.parametrize("idle", ["a", "b", "c"])
def test_requests_go_to_the_shortest_queue(road: Network, demo: str, idle: str) -> None:
    for name in ("a", "b", "c"):
        set_engine(road, name, waiting=0 if name == idle else 4)
    wait_seen(road, "a", "b", "c")

    engines = Counter(send(road, demo, f"p{number}")["engine"] for number in range(10))

    assert engines == {idle: 10}


def leader(name: str, service: str, **labels: str) -> dict[str, Any]:
    own = {"fusioninfer.io/service": service, "leaderworkerset.sigs.k8s.io/worker-index": "0", **labels}
    container = {"name": "vllm", "image": "vllm", "ports": [{"containerPort": 8000}]}
    return {
        "metadata": {"name": name, "labels": own},
        "spec": {"nodeName": "elsewhere", "containers": [container]},
    }


def send(road: Network, gateway: str, prompt: str) -> dict[str, Any]:
    answer = ask(road, gateway, "/v1/completions", {"model": "stand-in", "prompt": prompt})
    assert answer.status == 200, answer
    return dict(answer.body)
