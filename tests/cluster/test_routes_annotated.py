"""Annotated LeaderWorkerSets of several nodes: only leaders are asked, at their port, by another picker."""

import sys
from collections.abc import Iterator
from functools import partial
from typing import Final

import pytest

from intent import Object
from intent.container import ROUTING_PROXY
from tests.builders.lws import changed, container, lws, template
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.containers import name_of
from tests.cluster.testbed.controllers import apply, configured
from tests.cluster.testbed.engines import look, received, set_engine
from tests.cluster.testbed.flows import Service, answered, namespace_on, request, serve, set_engines
from tests.cluster.testbed.groups import LWS_LABELS
from tests.cluster.testbed.network import Network, listens, start_container
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named

PARALLEL: Final = ("--tensor-parallel-size", "8", "--pipeline-parallel-size", "2")
TRANSFER: Final = ("--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')
PORT: Final = 9000
HEALTH: Final[Object] = {"httpGet": {"path": "/health", "port": PORT}}
WORKERS: Final = template(container(args=["org/M", "--port", str(PORT), *PARALLEL], readinessProbe=HEALTH))
SPLIT: Final = template(container(args=["org/M", *PARALLEL, *TRANSFER]))
PREFILLERS: Final = ("prefiller-0", "prefiller-1")
LEADERS: Final = ("queue-0", "queue-1")
IDLE: Final[Object] = {"waiting": 0, "health": 200}


@pytest.fixture(scope="module")
def other_settings(served_network: Network) -> Iterator[Network]:
    """Have prefill and decode picked by llm-d 0.4, unless an author says otherwise, and serve without TLS."""
    add_gpu_nodes(served_network.cluster, 10)
    with configured(served_network.cluster, disaggregatedPicker="llm-d-0.4", secureServing=False):
        yield served_network
    remove_nodes(served_network.cluster)


@pytest.fixture(scope="module")
def queued(other_settings: Network) -> Iterator[Service]:
    """Two groups of two nodes, by queue."""
    groups = lws(2, WORKERS, service="queue", strategy="queue-size", gateway="gateway")
    chosen = named(changed(groups, "spec.replicas", 2), "queue", picker="gie-1.4")
    with namespace_on(other_settings) as namespace:
        apply(other_settings.cluster, namespace, chosen)
        yield serve(other_settings, namespace, "queue", len(LEADERS))


@pytest.fixture(scope="module")
def split(other_settings: Network) -> Iterator[Service]:
    """Two groups of two nodes that prefill, and one that decodes."""
    with namespace_on(other_settings) as namespace:
        for component, replicas in (("prefiller", len(PREFILLERS)), ("decoder", 1)):
            group = lws(2, SPLIT, service="split", component_type=component, strategy="pd-disaggregation")
            chosen = named(group, component, gateway="gateway", picker="llm-d-0.7")
            scaled = changed(chosen, "spec.replicas", replicas)
            apply(other_settings.cluster, namespace, scaled)
        yield serve(other_settings, namespace, "split", len(PREFILLERS) + 1)


@pytest.mark.parametrize("leader", LEADERS)
def test_requests_go_to_the_leader_with_the_shortest_queue(queued: Service, leader: str) -> None:
    set_engines(queued, IDLE | {"waiting": 4}, **{leader: {"waiting": 0}})

    assert {answered(queued)["engine"] for _ in range(10)} == {leader}


def test_a_group_is_asked_when_its_engine_serves_not_when_ray_does(queued: Service) -> None:
    for engine in queued.engines.values():
        ray = (sys.executable, "-m", "http.server", "6379")
        start_container(queued.there, name_of(engine.pod), "ray", ray)
        until(partial(listens, queued.there, engine.address, 6379), "Ray listens")
    tell_health(queued, 503)
    until(lambda: request(queued).status == 503, "the picker knows that nobody is ready")
    before = [len(received(engine)) for engine in queued.engines.values()]

    refused = {request(queued).status for _ in range(5)}
    after = [len(received(engine)) for engine in queued.engines.values()]
    tell_health(queued, 200)

    assert (refused, after) == ({503}, before)
    until(lambda: request(queued).status == 200, "the groups are asked again")


@pytest.mark.parametrize("leader", PREFILLERS)
def test_a_prompt_is_prefilled_by_a_leader_and_decoded_by_another(split: Service, leader: str) -> None:
    set_engines(split, {"waiting": 4}, **{leader: {"waiting": 0}})

    answer = answered(split, max_tokens=5)

    asked = received(split.engines[leader])[-1]["body"]
    handed_over = answer["seen_body"]["kv_transfer_params"]
    assert (asked["max_tokens"], asked["kv_transfer_params"]["do_remote_decode"]) == (1, True)
    assert (answer["engine"], answer["seen_body"]["max_tokens"]) == ("decoder-0", 5)
    assert handed_over["remote_host"] == split.engines[leader].address


def test_the_same_prompt_is_prefilled_by_the_same_leader(split: Service) -> None:
    set_engines(split, {"waiting": 0})
    prompts = [f"{letter} long prompt. " * 100 for letter in "ABCDE"]

    hosts = [{prefilled_at(split, prompt + tail) for tail in ("x", "y", "z")} for prompt in prompts]

    assert [len(each) for each in hosts] == [1] * len(prompts)


def test_only_the_leader_of_a_decoder_has_the_sidecar(split: Service) -> None:
    pods = items(split.there.cluster.api, path("pods", split.namespace), labelSelector=f"{LWS_LABELS}name")

    found = [pod["metadata"]["name"] for pod in pods if ROUTING_PROXY in names(pod)]

    assert found == ["decoder-0"]


def prefilled_at(service: Service, prompt: str) -> str:
    """Return the address at which a prompt was prefilled."""
    return str(answered(service, prompt)["seen_body"]["kv_transfer_params"]["remote_host"])


def names(pod: Object) -> list[str]:
    """Return the names of the init containers of a pod."""
    return [each["name"] for each in pod["spec"].get("initContainers", ())]


def tell_health(service: Service, status: int) -> None:
    """Have the engines answer so when they are asked how they are, and the kubelet ask."""
    for engine in service.engines.values():
        set_engine(service.there, engine, health=status)
        look(service.there, engine)
