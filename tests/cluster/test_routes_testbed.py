"""The testbed of routes itself: requests go through Envoy, picker and sidecar as manifests say."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from intent import Object
from tests.cluster.testbed.api import create, path
from tests.cluster.testbed.cluster import kubectl
from tests.cluster.testbed.engines import Engine, received, run_pod, set_engine, wait_seen
from tests.cluster.testbed.gateway import start_gateway
from tests.cluster.testbed.images import binary_of
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.network import Network, ask, remove_pods
from tests.cluster.testbed.pickers import Picker, start_picker, wait_picker

ROUTES: Final = Path(__file__).parent / "routes"
EXTENSION: Final = "registry.k8s.io/gateway-api-inference-extension/epp:v"
LLM_D: Final = "ghcr.io/llm-d/llm-d-inference-scheduler:v"
IMAGES: Final = (
    *(EXTENSION + release for release in ("1.5.0", "1.4.0", "1.3.1", "1.2.1")),
    *(LLM_D + release for release in ("0.7.1", "0.4.0")),
)


class Demo(NamedTuple):
    """A service of three engines, and where its gateway is."""

    engines: dict[str, Engine]
    gateway: str


@pytest.fixture(scope="module")
def service(pod_network: Network) -> Iterator[Demo]:
    with namespace_on(pod_network) as namespace:
        engines = {name: engine(pod_network, namespace, name) for name in ("a", "b", "c")}
        picker = picked_by(pod_network, namespace, IMAGES[0], "queue-size")
        yield Demo(engines, start_gateway(pod_network, namespace, picker))


@pytest.mark.parametrize("idle", ["a", "b", "c"])
def test_requests_go_to_the_shortest_queue(pod_network: Network, service: Demo, idle: str) -> None:
    for name, each in service.engines.items():
        set_engine(pod_network, each, waiting=0 if name == idle else 4)
    wait_seen(pod_network, *service.engines.values())

    engines = Counter(send(pod_network, service.gateway)["engine"] for _ in range(10))

    assert engines == {idle: 10}


@pytest.mark.parametrize("image", IMAGES, ids=binary_of)
def test_a_picker_serves_as_its_service_account(pod_network: Network, image: str) -> None:
    with namespace_on(pod_network) as namespace:
        engine(pod_network, namespace, "a")
        picker = picked_by(pod_network, namespace, image, "queue-size")

        answer = send(pod_network, start_gateway(pod_network, namespace, picker))

    assert answer["engine"] == "a"


@pytest.mark.parametrize(("release", "flag"), [("0.4.0", "--connector"), ("0.7.1", "--kv-connector")])
def test_a_request_is_prefilled_and_then_decoded(pod_network: Network, release: str, flag: str) -> None:
    with namespace_on(pod_network) as namespace:
        groups = (ROUTES / "disaggregated.yaml").read_text()
        groups = groups.replace("RELEASE", f"v{release}").replace("CONNECTOR", f"{flag}=nixlv2")
        kubectl(pod_network.cluster, "apply", "-n", namespace, "-f", "-", stdin=groups)
        prefill, decode = (run_pod(pod_network, namespace, f"{name}-0") for name in ("prefill", "decode"))
        picker = picked_by(pod_network, namespace, LLM_D + release, f"pd-{release}")

        answer = send(pod_network, start_gateway(pod_network, namespace, picker))
        (first,) = received(prefill)

    handed_over = {"remote_engine_id": "prefill-0", "remote_host": prefill.address}
    assert first["body"]["kv_transfer_params"]["do_remote_decode"] is True
    assert answer["engine"] == decode.name
    assert handed_over.items() <= answer["seen_body"]["kv_transfer_params"].items()


@contextmanager
def namespace_on(pod_network: Network) -> Iterator[str]:
    """Add a namespace; at the end its pods end, and what is in it is removed."""
    namespace = add_namespace(pod_network.cluster)
    try:
        yield namespace
    finally:
        remove_pods(pod_network, namespace)
        empty_namespace(pod_network.cluster, namespace)


def picked_by(pod_network: Network, namespace: str, image: str, config: str) -> Picker:
    """Store what routes a service; start the picker and wait for it."""
    text = (ROUTES / "pickers" / f"{config}.yaml").read_text()
    config_map: Object = {"metadata": {"name": "demo-epp"}, "data": {"config.yaml": text}}
    create(pod_network.cluster.api, path("configmaps", namespace), config_map)
    service = (ROUTES / "service.yaml").read_text().replace("IMAGE", image)
    kubectl(pod_network.cluster, "apply", "-n", namespace, "-f", "-", stdin=service)
    picker = start_picker(pod_network, namespace, "demo-epp")
    wait_picker(pod_network, picker)
    return picker


def engine(pod_network: Network, namespace: str, name: str) -> Engine:
    """Run a pod that nobody made but this test."""
    labels = {"fusioninfer.io/service": "demo", "leaderworkerset.sigs.k8s.io/worker-index": "0"}
    spec = {"nodeName": "elsewhere", "containers": [{"name": "vllm", "image": "vllm"}]}
    pod = {"metadata": {"name": name, "labels": labels}, "spec": spec}
    create(pod_network.cluster.api, path("pods", namespace), pod)
    return run_pod(pod_network, namespace, name)


def send(pod_network: Network, gateway: str) -> Object:
    answer = ask(pod_network, gateway, "/v1/completions", {"model": "stand-in", "prompt": "Hello"})
    assert answer.status == 200, answer
    return dict(answer.body)
