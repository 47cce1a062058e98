"""The Service `<service>-api`: what kube-proxy would call for it, called as real processes."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from intent import Object
from intent.annotations import SERVICE
from tests.builders.isvc import decoder, isvc, prefiller
from tests.builders.lws import changed, container, lws, template
from tests.cluster.testbed.api import await_object, items, path
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.engines import Engine, look, run_pods, set_engine
from tests.cluster.testbed.flows import namespace_on
from tests.cluster.testbed.network import Network, ask
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named

PARALLEL: Final = ("--tensor-parallel-size", "8", "--pipeline-parallel-size", "2")
PORT: Final = 9000
HEALTH: Final[Object] = {"httpGet": {"path": "/health", "port": PORT}}
WORKERS: Final = template(container(args=["org/M", "--port", str(PORT), *PARALLEL], readinessProbe=HEALTH))


class Served(NamedTuple):
    """A service of which every pod runs, workers too."""

    there: Network
    namespace: str
    name: str
    engines: dict[str, Engine]


def run_all(there: Network, namespace: str, name: str, pods: int) -> Served:
    """Run every pod of a service."""

    def stored() -> list[str]:
        found = items(there.cluster.api, path("pods", namespace), labelSelector=f"{SERVICE}={name}")
        return sorted(pod["metadata"]["name"] for pod in found)

    until(lambda: len(stored()) == pods, f"{name} has {pods} pods")
    return Served(there, namespace, name, {one.name: one for one in run_pods(there, namespace, *stored())})


def endpoints(served: Served, service: str, port: str | int) -> list[str]:
    """Return the addresses and ports to which kube-proxy sends the connections to a port of a Service."""
    api, home = served.there.cluster.api, served.namespace
    ports = await_object(api, path("services", home, service))["spec"]["ports"]
    (chosen,) = [one for one in ports if port in {one["name"], one["port"]}]
    slices = items(api, path("endpointslices", home), labelSelector=f"kubernetes.io/service-name={service}")
    return sorted(
        f"{address}:{target['port']}"
        for one in slices
        for target in one["ports"]
        if target["name"] == chosen["name"]
        for endpoint in one["endpoints"]
        if endpoint["conditions"]["ready"]
        for address in endpoint["addresses"]
    )


def answering(served: Served, port: str | int = 80) -> set[Any]:
    """Ask every endpoint for the models; return the engines that answered, and the endpoints where none did.

    A node that is simulated gives a pod an address first, under which nothing runs.
    """
    found: set[Any] = set()
    for one in endpoints(served, f"{served.name}-api", port):
        try:
            answer = ask(served.there, one, "/v1/models")
        except OSError:
            found.add(one)
            continue
        assert answer.status == 200
        found.add(answer.body["engine"])
    return found


@pytest.fixture(scope="module")
def nodes(served_network: Network) -> Iterator[Network]:
    """Have room for every pod."""
    add_gpu_nodes(served_network.cluster, 8)
    yield served_network
    remove_nodes(served_network.cluster)


@pytest.fixture(scope="module")
def annotated(nodes: Network) -> Iterator[Served]:
    """Two groups of two pods, whose engines serve on another port than the usual one."""
    groups = named(changed(lws(2, WORKERS, service="plain"), "spec.replicas", 2), "plain")
    with namespace_on(nodes) as namespace:
        apply(nodes.cluster, namespace, groups)
        yield run_all(nodes, namespace, "plain", 4)


@pytest.fixture(scope="module")
def split(nodes: Network) -> Iterator[Served]:
    """An InferenceService with a prefiller of two pods and a decoder of two pods, and no router."""
    two = {"multinode": {"nodeCount": 2}}
    with namespace_on(nodes) as namespace:
        apply(
            nodes.cluster,
            namespace,
            isvc(prefiller(replicas=1, **two), decoder(replicas=1, **two), name="chat"),
        )
        yield run_all(nodes, namespace, "chat", 4)


def test_leaders_answer_and_workers_are_not_asked(annotated: Served) -> None:
    assert len(annotated.engines) == 4
    until(lambda: answering(annotated) == {"plain-0", "plain-1"}, "both leaders are asked, and no worker")


def test_a_leader_that_is_not_ready_is_not_asked(annotated: Served) -> None:
    engine = annotated.engines["plain-0"]

    set_engine(annotated.there, engine, health=503)
    look(annotated.there, engine)
    until(lambda: answering(annotated) == {"plain-1"}, "only the other leader is asked")
    set_engine(annotated.there, engine, health=200)
    look(annotated.there, engine)

    until(lambda: answering(annotated) == {"plain-0", "plain-1"}, "both leaders are asked again")


def test_of_prefill_and_decode_the_leaders_of_the_decoders_answer(split: Served) -> None:
    assert len(split.engines) == 4
    until(lambda: answering(split) == {"chat-decode-0"}, "the decoder's leader is asked")
