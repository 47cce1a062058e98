"""Services through which requests flow: engines in their pods, the picker that is rendered, a gateway."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from intent import Object
from intent.annotations import SERVICE
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.engines import Engine, run_pods, set_engine, wait_seen
from tests.cluster.testbed.gateway import start_gateway
from tests.cluster.testbed.groups import LWS_LABELS
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.network import Answer, Network, ask, remove_pods
from tests.cluster.testbed.pickers import Picker, end_pickers, start_picker, start_pickers, wait_picker
from tests.cluster.testbed.wait import until

ROUTE: Final[Object] = {"parentRefs": [{"name": "gateway"}]}
"""What a router says of its HTTPRoute; Envoy serves whatever route there is."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service that answers: its engines by pod, its picker, and where its gateway is."""

    there: Network
    namespace: str
    name: str
    engines: dict[str, Engine]
    picker: Picker
    gateway: str


@contextmanager
def namespace_on(there: Network) -> Iterator[str]:
    """Add a namespace; at the end its pods end, and what is in it is removed."""
    namespace = add_namespace(there.cluster)
    try:
        yield namespace
    finally:
        remove_pods(there, namespace)
        empty_namespace(there.cluster, namespace)


def serve(
    there: Network, namespace: str, name: str, leaders: int, run: Callable[..., list[Engine]] = run_pods
) -> Service:
    """Run the leaders of a service that is applied, its picker, and a gateway."""
    engines = {each.name: each for each in run(there, namespace, *_leaders(there, namespace, name, leaders))}
    picker = start_picker(there, namespace, f"{name}-epp")
    wait_picker(there, picker)
    return Service(there, namespace, name, engines, picker, start_gateway(there, namespace, picker))


def repicked(service: Service) -> Service:
    """Run the picker of the next pod of its Deployment, and a gateway that knows it; the one before goes."""
    there, namespace = service.there, service.namespace
    (picker,) = start_pickers(there, namespace, f"{service.name}-epp", 1, beside=[service.picker])
    wait_picker(there, picker)
    end_pickers(there, service.picker)
    return replace(service, picker=picker, gateway=start_gateway(there, namespace, picker))


def set_engines(service: Service, usual: Object, **others: Object) -> None:
    """Have all engines say the usual, and some of them, by pod, other things; wait until it is known."""
    for name, engine in service.engines.items():
        set_engine(service.there, engine, **(usual | others.get(name, {})))
    wait_seen(service.there, *service.engines.values())


def request(service: Service, prompt: str = "Hello", headers: Object | None = None, **fields: Any) -> Answer:
    """Ask the gateway for tokens."""
    body = {"model": "stand-in", "prompt": prompt, **fields}
    return ask(service.there, service.gateway, "/v1/completions", body, headers)


def answered(service: Service, prompt: str = "Hello", **fields: Any) -> Object:
    """Ask the gateway for tokens; return what the engine that was picked says."""
    answer = request(service, prompt, **fields)
    assert answer.status == 200, answer
    return dict(answer.body)


def _leaders(there: Network, namespace: str, service: str, count: int) -> list[str]:
    """Wait until a service has so many leaders; return their names, sorted."""
    labels = f"{SERVICE}={service},{LWS_LABELS}worker-index=0"

    def found() -> list[str]:
        return [
            pod["metadata"]["name"]
            for pod in items(there.cluster.api, path("pods", namespace), labelSelector=labels)
        ]

    until(lambda: len(found()) == count, f"{count} leaders of {service}")
    return sorted(found())
