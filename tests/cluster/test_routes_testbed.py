"""The testbed of routes itself: requests go through Envoy, picker and sidecar as manifests say."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import pytest

from catalog.pickers.generations import PICKERS
from intent import Object, yaml
from sync.desired.strategies import preset
from tests.cluster.testbed.api import create, get, items, patch, path
from tests.cluster.testbed.cluster import kubectl
from tests.cluster.testbed.containers import report
from tests.cluster.testbed.engines import Engine, received, run_pods, set_engine, wait_seen
from tests.cluster.testbed.flows import ROUTE, namespace_on
from tests.cluster.testbed.gateway import start_gateway
from tests.cluster.testbed.network import Network, ask
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.pickers import Picker, serves, start_picker, wait_picker
from tests.cluster.testbed.processes import tail
from tests.cluster.testbed.rendered import routes, store
from tests.cluster.testbed.wait import until
from tests.tiers import WHOLE

BACKEND: Final = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "demo-pool"}
FORBIDDEN: Final = "cannot list resource"
ALONE: Final = tuple(PICKERS) if WHOLE else tuple(PICKERS)[::2]
SEVERAL: Final = tuple(PICKERS) if WHOLE else tuple(PICKERS)[1::2]
"""Generations of which one picker is run, and of which one of two leads."""


class Demo(NamedTuple):
    """A service of three engines, and where its gateway is."""

    engines: dict[str, Engine]
    gateway: str
    namespace: str
    picker: Picker


@pytest.fixture(scope="module")
def service(pod_network: Network) -> Iterator[Demo]:
    with namespace_on(pod_network) as namespace:
        engines = {name: engine(pod_network, namespace, name) for name in ("a", "b", "c")}
        picker = picked_by(pod_network, namespace)
        yield Demo(engines, start_gateway(pod_network, namespace, picker), namespace, picker)


@pytest.fixture(scope="module")
def rewriting(pod_network: Network, service: Demo) -> str:
    """The gateway once more, with a route that rewrites paths."""
    rules = [
        rule(
            {"type": "PathPrefix", "value": "/prefix"},
            {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"},
        ),
        rule(
            {"type": "PathPrefix", "value": "/other/v1"},
            {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/v1"},
        ),
        rule(
            {"type": "Exact", "value": "/exact"}, {"type": "ReplaceFullPath", "replaceFullPath": "/v1/models"}
        ),
    ]
    return rerouted(pod_network, service, {"rules": rules})


@pytest.fixture(scope="module")
def hosted(pod_network: Network, service: Demo) -> str:
    """The gateway once more, with a route for one host."""
    return rerouted(pod_network, service, {"hostnames": ["a.example"], "rules": [{"backendRefs": [BACKEND]}]})


@pytest.mark.parametrize("idle", ["a", "b", "c"])
def test_requests_go_to_the_shortest_queue(pod_network: Network, service: Demo, idle: str) -> None:
    for name, each in service.engines.items():
        set_engine(pod_network, each, waiting=0 if name == idle else 4)
    wait_seen(pod_network, *service.engines.values())

    engines = Counter(send(pod_network, service.gateway)["engine"] for _ in range(10))

    assert engines == {idle: 10}


def test_a_pod_that_is_not_ready_gets_no_request(pod_network: Network, service: Demo) -> None:
    for name, each in service.engines.items():
        set_engine(pod_network, each, waiting=0 if name == "a" else 4)
    wait_seen(pod_network, *service.engines.values())

    with not_ready(pod_network, service.engines["a"]):
        until(lambda: send(pod_network, service.gateway)["engine"] != "a", "the picker knows it")
        engines = {send(pod_network, service.gateway)["engine"] for _ in range(10)}

    assert "a" not in engines


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        ("/v1/models", None),
        ("/prefixed", None),
        ("/prefix/v1/models", "/v1/models"),
        ("/other/v1/models", "/v1/models"),
        ("/exact", "/v1/models"),
        ("/exact/not", None),
    ],
)
def test_paths_are_matched_and_rewritten_as_the_route_says(
    pod_network: Network, service: Demo, rewriting: str, asked: str, seen: str | None
) -> None:
    before = sum(len(received(each)) for each in service.engines.values())

    answer = ask(pod_network, rewriting, asked, {"model": "stand-in", "prompt": "Hello"})

    paths = [request["path"] for each in service.engines.values() for request in received(each)]
    assert (answer.status, len(paths) - before) == ((200, 1) if seen else (404, 0))
    assert not seen or answer.body["seen_path"] == seen


@pytest.mark.parametrize(("host", "status"), [("a.example", 200), ("b.example", 404)])
def test_a_route_is_for_its_hosts(pod_network: Network, hosted: str, host: str, status: int) -> None:
    body = {"model": "stand-in", "prompt": "Hello"}

    answer = ask(pod_network, hosted, "/v1/completions", body, {"Host": host})

    assert answer.status == status


def test_an_endpoint_picker_without_its_rights_is_never_ready(pod_network: Network) -> None:
    with namespace_on(pod_network) as namespace:
        stored(pod_network, namespace)
        kubectl(pod_network.cluster, "delete", "rolebinding", "-n", namespace, "demo-epp-read")
        picker = start_picker(pod_network, namespace, "demo-epp")

        until(lambda: FORBIDDEN in tail(picker.process), "it says so")

        assert not serves(pod_network, picker)


def test_an_endpoint_picker_without_tls_is_called_without(pod_network: Network) -> None:
    with namespace_on(pod_network) as namespace:
        engine(pod_network, namespace, "a")
        picker = picked_by(pod_network, namespace, secure_serving=False)

        answer = send(pod_network, start_gateway(pod_network, namespace, picker))

    assert answer["engine"] == "a"


@pytest.mark.parametrize("generation", ALONE)
def test_an_endpoint_picker_serves_as_its_service_account(pod_network: Network, generation: str) -> None:
    with namespace_on(pod_network) as namespace:
        engine(pod_network, namespace, "a")
        picker = picked_by(pod_network, namespace, generation)

        answer = send(pod_network, start_gateway(pod_network, namespace, picker))

    assert answer["engine"] == "a"


@pytest.mark.parametrize("generation", SEVERAL)
def test_one_of_several_endpoint_pickers_leads(pod_network: Network, generation: str) -> None:
    with namespace_on(pod_network) as namespace:
        engine(pod_network, namespace, "a")
        picker = picked_by(pod_network, namespace, generation, replicas=2)

        answer = send(pod_network, start_gateway(pod_network, namespace, picker))

        leases = items(pod_network.cluster.api, path("leases", namespace))
    ((name, holder),) = [(each["metadata"]["name"], each["spec"]["holderIdentity"]) for each in leases]
    assert (answer["engine"], bool(holder)) == ("a", True)
    assert name == f"epp-{namespace}-demo-pool.gateway-api-inference-extension.sigs.k8s.io"


def test_a_pod_that_kwok_runs_has_the_address_of_its_network(pod_network: Network) -> None:
    cluster = pod_network.cluster
    (node,) = add_gpu_nodes(cluster, 1)
    with namespace_on(pod_network) as namespace:
        there = engine(pod_network, namespace, "a", node)
        picker = picked_by(pod_network, namespace)

        answer = send(pod_network, start_gateway(pod_network, namespace, picker))

        status = get(cluster.api, path("pods", namespace, "a", "status"))["status"]
    remove_nodes(cluster)

    assert "containerStatuses" in status, "kwok was there"
    assert (answer["engine"], status["podIP"]) == ("a", there.address)


def picked_by(pod_network: Network, namespace: str, generation: str = "gie-1.5", **fields: Any) -> Picker:
    """Store what routes a service; start the picker and wait for it."""
    stored(pod_network, namespace, generation, **fields)
    picker = start_picker(pod_network, namespace, "demo-epp")
    wait_picker(pod_network, picker)
    return picker


def stored(pod_network: Network, namespace: str, generation: str = "gie-1.5", **fields: Any) -> None:
    """Store what routes a service by queue."""
    row = PICKERS[generation]
    config = yaml.dump(preset(row, "queue-size"))
    store(pod_network, routes(namespace, "demo", row, config, http_route=ROUTE, **fields))


def rule(match: Object, instead: Object) -> Object:
    """Return a rule of a route to the service that rewrites a path."""
    rewrite = {"type": "URLRewrite", "urlRewrite": {"path": instead}}
    return {"matches": [{"path": match}], "filters": [rewrite], "backendRefs": [BACKEND]}


def rerouted(pod_network: Network, service: Demo, spec: Object) -> str:
    """Change the route, and start the gateway anew."""
    patch(pod_network.cluster.api, path("httproutes", service.namespace, "demo-httproute"), {"spec": spec})
    return start_gateway(pod_network, service.namespace, service.picker)


@contextmanager
def not_ready(pod_network: Network, engine: Engine) -> Iterator[None]:
    """Have a pod fail its readiness for a while."""
    report(pod_network.cluster, engine.pod, engine.address, ready=False)
    try:
        yield
    finally:
        report(pod_network.cluster, engine.pod, engine.address)


def engine(pod_network: Network, namespace: str, name: str, node: str = "elsewhere") -> Engine:
    """Run a pod that nobody made but this test."""
    labels = {"fusioninfer.io/service": "demo", "leaderworkerset.sigs.k8s.io/worker-index": "0"}
    spec = {"nodeName": node, "containers": [{"name": "vllm", "image": "vllm"}]}
    pod = {"metadata": {"name": name, "labels": labels}, "spec": spec}
    create(pod_network.cluster.api, path("pods", namespace), pod)
    (found,) = run_pods(pod_network, namespace, name)
    return found


def send(pod_network: Network, gateway: str) -> Object:
    answer = ask(pod_network, gateway, "/v1/completions", {"model": "stand-in", "prompt": "Hello"})
    assert answer.status == 200, answer
    return dict(answer.body)
