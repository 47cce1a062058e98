"""Each routing strategy, from kubectl through webhook, controller, endpoint picker and Envoy to an engine."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import container, template
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.flows import ROUTE, Service, answered, namespace_on, repicked, serve, set_engines
from tests.cluster.testbed.network import Network, ask
from tests.cluster.testbed.wait import until

NAME: Final = "demo"
PODS: Final = ("demo-inference-0", "demo-inference-1", "demo-inference-2")
ONE: Final = PODS[1]
"""The one that a strategy has to choose: by chance ten requests all go there once in 59,049 times."""
IDLE: Final[Object] = {"waiting": 0, "running": 0, "cache": 0.1, "adapters": ""}
ENGINE: Final = template(container(args=["org/M"], resources=None))


def routed_by(strategy: str, replicas: int = len(PODS)) -> Object:
    """Make a service of workers of one node."""
    workers = worker(multinode=None, replicas=replicas, template=ENGINE)
    return isvc(router(strategy=strategy, httproute=ROUTE), workers, name=NAME)


@pytest.fixture(scope="module")
def first(served_network: Network) -> Iterator[Service]:
    """The service by queue."""
    with namespace_on(served_network) as namespace:
        apply(served_network.cluster, namespace, routed_by("queue-size"))
        yield serve(served_network, namespace, NAME, len(PODS))


@pytest.fixture(scope="module")
def by_queue(first: Service) -> Service:
    return first


@pytest.fixture(scope="module")
def by_cache(by_queue: Service) -> Service:
    return changed(by_queue, "kv-cache-utilization")


@pytest.fixture(scope="module")
def by_prefix(by_cache: Service) -> Service:
    return changed(by_cache, "prefix-cache")


@pytest.fixture(scope="module")
def by_adapter(by_prefix: Service) -> Service:
    return changed(by_prefix, "lora-affinity")


def changed(service: Service, strategy: str) -> Service:
    """Apply the service with another strategy; its engines run on, its picker is replaced."""
    apply(service.there.cluster, service.namespace, routed_by(strategy))
    return repicked(service)


def test_requests_go_to_the_shortest_queue(by_queue: Service) -> None:
    set_engines(by_queue, IDLE | {"waiting": 4}, **{ONE: {"waiting": 0, "cache": 0.5}})

    picked = Counter(answered(by_queue)["engine"] for _ in range(10))

    assert picked == {ONE: 10}


def test_its_metrics_are_served_to_everyone(by_queue: Service) -> None:
    answer = ask(by_queue.there, f"{by_queue.picker.address}:9090", "/metrics")

    assert (answer.status, "inference_" in answer.body) == (200, True)


def test_requests_go_to_the_emptiest_cache(by_cache: Service) -> None:
    set_engines(by_cache, IDLE | {"cache": 0.7}, **{ONE: {"cache": 0.1}})

    picked = Counter(answered(by_cache)["engine"] for _ in range(10))

    assert picked == {ONE: 10}


def test_the_same_prompt_goes_to_the_same_engine(by_prefix: Service) -> None:
    set_engines(by_prefix, IDLE)
    prompts = [f"{letter} long prompt. " * 100 for letter in "ABCDE"]

    picked = [
        {answered(by_prefix, prompt + tail)["engine"] for tail in ("x", "y", "z")} for prompt in prompts
    ]

    assert [len(each) for each in picked] == [1] * len(prompts)


def test_a_warm_engine_that_fills_up_is_left(by_prefix: Service) -> None:
    set_engines(by_prefix, IDLE)
    prompt = "Something else, and long. " * 100
    warm = answered(by_prefix, prompt)["engine"]
    set_engines(by_prefix, IDLE, **{warm: {"waiting": 4, "cache": 0.7}})

    picked = {answered(by_prefix, prompt)["engine"] for _ in range(5)}

    assert warm not in picked


def test_requests_go_to_the_engine_with_their_adapter(by_adapter: Service) -> None:
    set_engines(by_adapter, IDLE, **{ONE: {"adapters": "sql", "waiting": 1}})

    picked = Counter(answered(by_adapter, model="sql")["engine"] for _ in range(10))

    assert picked == {ONE: 10}


def test_another_strategy_replaces_the_endpoint_picker_and_no_engine(by_adapter: Service) -> None:
    engines = {name: engine.pod["metadata"]["uid"] for name, engine in by_adapter.engines.items()}

    pods = uids(by_adapter)

    picker = by_adapter.picker.pod["metadata"]
    assert pods == engines | {picker["name"]: picker["uid"]}


def test_more_engines_keep_the_endpoint_picker(by_adapter: Service) -> None:
    picker = by_adapter.picker.pod["metadata"]
    api, where = by_adapter.there.cluster.api, path("inferenceservices", by_adapter.namespace, NAME)

    apply(by_adapter.there.cluster, by_adapter.namespace, routed_by("lora-affinity", replicas=4))
    until(lambda: is_looked_at(get(api, where)), "the controller has done all that it wants to do")
    until(lambda: len(uids(by_adapter)) == len(PODS) + 2, "there is a fourth engine")

    assert uids(by_adapter)[picker["name"]] == picker["uid"]


def uids(service: Service) -> dict[str, str]:
    """Return the uid of each pod that stays."""
    pods = [pod["metadata"] for pod in items(service.there.cluster.api, path("pods", service.namespace))]
    return {pod["name"]: pod["uid"] for pod in pods if "deletionTimestamp" not in pod}


def is_looked_at(stored: Object) -> bool:
    """Return whether the status speaks of what is asked for now: it is written last."""
    return bool(stored["status"]["observedGeneration"] == stored["metadata"]["generation"])
