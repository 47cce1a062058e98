"""An endpoint picker in pods as its author wrote them, configured by a ConfigMap: it runs and answers.

Another service refers to its InferencePool, so the same picker chooses for that one's requests too.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from catalog.pickers.generations import PICKERS
from intent import Object, yaml
from sync.parts.strategies import preset
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import container, template
from tests.cluster.testbed.answers import add_gateway
from tests.cluster.testbed.api import create, get, items, patch, path
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.flows import ROUTE, Service, namespace_on, repicked, request, serve
from tests.cluster.testbed.network import Network
from tests.cluster.testbed.wait import until

NAME, GUEST = "demo", "guest"
ROW: Final = "gie-1.5"
KEY: Final = "epp.yaml"
ENGINE: Final = template(container(args=["org/M"], resources=None))
PICKER: Final[Object] = {
    "metadata": {"labels": {"team": "serving"}},
    "spec": {
        "containers": [
            {
                "name": "epp",
                "args": ["--v=4"],
                "env": [{"name": "NOTE", "value": "authored"}],
                "resources": {"requests": {"cpu": "300m"}},
            }
        ],
        "priorityClassName": "system-cluster-critical",
    },
}


def service() -> Object:
    """Return a service whose author writes the picker's pods, and refers to a configuration."""
    fields = {"strategy": None, "template": PICKER, "configRef": {"name": "routing", "key": KEY}}
    engine = worker(multinode=None, template=ENGINE)
    picker = {"fusioninfer.io/picker": ROW}
    return isvc(router(**fields, httproute=ROUTE), engine, name=NAME, annotations=picker)


def configuration(strategy: str) -> str:
    return str(yaml.dump(preset(PICKERS[ROW], strategy)))


@pytest.fixture(scope="module")
def authored(served_network: Network) -> Iterator[Service]:
    """Run the service: its engine, its picker, and a gateway."""
    cluster = served_network.cluster
    with namespace_on(served_network) as namespace:
        add_gateway(cluster, namespace)
        data = {KEY: configuration("queue-size"), "other": "x"}
        create(cluster.api, path("configmaps", namespace), {"metadata": {"name": "routing"}, "data": data})
        apply(cluster, namespace, service())
        yield serve(served_network, namespace, NAME, 1)


def test_the_picker_runs_as_its_author_wrote(authored: Service) -> None:
    pod, engine = authored.picker.pod, authored.picker.container

    assert pod["metadata"]["labels"]["team"] == "serving"
    assert pod["spec"]["priorityClassName"] == "system-cluster-critical"
    assert engine["resources"]["requests"]["cpu"] == "300m"
    assert {"name": "NOTE", "value": "authored"} in engine["env"]
    assert engine["image"] == PICKERS[ROW].image


def test_requests_are_answered(authored: Service) -> None:
    until(lambda: request(authored).status == 200, "a request is answered")


def test_a_changed_configuration_starts_the_next_picker_which_answers(authored: Service) -> None:
    cluster, namespace = authored.there.cluster, authored.namespace
    text = configuration("kv-cache-utilization")

    patch(cluster.api, path("configmaps", namespace, "routing"), {"data": {KEY: text}})

    where = path("configmaps", namespace, f"{NAME}-epp-config")
    until(lambda: text in get(cluster.api, where)["data"].values(), "the configuration is the new one")
    until(lambda: request(repicked(authored)).status == 200, "the next picker answers")


def test_another_service_shares_the_pool(authored: Service) -> None:
    cluster, namespace = authored.there.cluster, authored.namespace
    (pool,) = items(cluster.api, path("inferencepools", namespace))
    reference = {"ref": {"name": pool["metadata"]["name"]}}
    guest = router(strategy=None, pool=reference, httproute=ROUTE)

    apply(cluster, namespace, isvc(guest, worker(multinode=None, template=ENGINE), name=GUEST))

    until(lambda: len(items(cluster.api, path("httproutes", namespace))) == 2, "both services have a route")
    routes = [
        one["spec"]["rules"][0]["backendRefs"][0]["name"]
        for one in items(cluster.api, path("httproutes", namespace))
    ]
    assert routes == [pool["metadata"]["name"]] * 2
    assert len(items(cluster.api, path("inferencepools", namespace))) == 1
    assert len(items(cluster.api, path("deployments", namespace))) == 1
