"""The priority of requests, from kubectl through controller and real endpoint picker to an engine.

Each service is reached by requests that name its InferenceObjective, and by others. Engines are full when
their metrics say that many requests wait.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import container, lws, template
from tests.cluster.testbed.answers import add_gateway
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.flows import ROUTE, Service, namespace_on, request, serve, set_engines
from tests.cluster.testbed.network import Network
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named

NAME: Final = "demo"
HEADER: Final = "x-gateway-inference-objective"
ENGINE: Final = template(container(args=["org/M"], resources=None))
FULL: Final[Object] = {"waiting": 50, "running": 0, "cache": 0.1, "adapters": ""}
IDLE: Final[Object] = FULL | {"waiting": 0}


def of_inference_service(row: str, priority: str | None) -> Object:
    """Make a service whose priority is a field."""
    given: dict[str, Any] = {} if priority is None else {"priority": priority}
    engine = worker(multinode=None, template=ENGINE)
    picker = {"fusioninfer.io/picker": row}
    return isvc(
        router(strategy="queue-size", httproute=ROUTE), engine, name=NAME, annotations=picker, **given
    )


def of_leader_worker_set(row: str, priority: str | None) -> Object:
    """Make a service whose priority is an annotation."""
    given: dict[str, Any] = {} if priority is None else {"priority": priority}
    asked = lws(1, ENGINE, service=NAME, strategy="queue-size", gateway="gateway", picker=row, **given)
    return named(asked, f"{NAME}-inference")


SERVICES: Final = {
    "gie-1.2": of_leader_worker_set,
    "gie-1.5": of_inference_service,
    "llm-d-0.7": of_leader_worker_set,
}
"""How the oldest generation, the newest of its project, and one for prefill and decode are asked for."""


@dataclass(frozen=True, slots=True)
class Prioritized:
    """A service, and the generation of its endpoint picker."""

    service: Service
    row: str

    def change(self, priority: str | None) -> None:
        """Write another priority where its author wrote the first."""
        apply(self.service.there.cluster, self.service.namespace, SERVICES[self.row](self.row, priority))

    def objectives(self) -> list[tuple[str, int]]:
        """Return name and priority of the InferenceObjectives."""
        found = items(self.service.there.cluster.api, path("inferenceobjectives", self.service.namespace))
        return [(one["metadata"]["name"], one["spec"]["priority"]) for one in found]

    def asked(self, objective: str = NAME) -> int:
        """Ask for tokens with an objective, or with none; return the status of the answer."""
        return request(self.service, headers={HEADER: objective} if objective else None).status


@pytest.fixture(scope="module", params=SERVICES)
def sheddable(served_network: Network, request: pytest.FixtureRequest) -> Iterator[Prioritized]:
    """Run a service whose requests may be turned away."""
    row: str = request.param
    with namespace_on(served_network) as namespace:
        add_gateway(served_network.cluster, namespace)
        apply(served_network.cluster, namespace, SERVICES[row](row, "Sheddable"))
        yield Prioritized(serve(served_network, namespace, NAME, 1), row)


def test_sheddable_requests_are_served_while_there_is_room(sheddable: Prioritized) -> None:
    set_engines(sheddable.service, IDLE)

    until(lambda: sheddable.asked() == 200, "a sheddable request is served")


def test_sheddable_requests_alone_are_turned_away_while_all_engines_are_full(sheddable: Prioritized) -> None:
    set_engines(sheddable.service, FULL)

    until(lambda: sheddable.asked() == 429, "a sheddable request is turned away")

    assert (sheddable.asked(""), sheddable.asked("unknown")) == (200, 200)


def test_critical_requests_are_served_while_all_engines_are_full(sheddable: Prioritized) -> None:
    set_engines(sheddable.service, FULL)
    sheddable.change("Critical")

    until(lambda: sheddable.asked() == 200, "a critical request is served")

    assert (sheddable.objectives(), [sheddable.asked() for _ in range(5)]) == ([(NAME, 100)], [200] * 5)
