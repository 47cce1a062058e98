"""Releases of the Inference Extension that come and go below services: with pools alone (1.6), and 1.5.

One cluster starts with 1.6, gets 1.5, goes on to 1.6 and back, and gets llm-d's own definitions at last.
"""

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

import pytest

from catalog.pickers.generations import Picker as Row
from intent import Object, yaml
from sync.parts.strategies import preset
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import container, lws, template
from tests.cluster.conftest import obtained
from tests.cluster.test_inspecting import run
from tests.cluster.testbed.answers import accept, add_gateway
from tests.cluster.testbed.api import delete, items, path, refusal
from tests.cluster.testbed.build import build
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.control_plane import restart_component, running
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.flows import ROUTE, namespace_on
from tests.cluster.testbed.images import BUILT
from tests.cluster.testbed.modules import (
    CRDS,
    LATER_MODULES,
    LATER_ROUTE_CRDS,
    MODULES,
    ROUTE_CRDS,
    ROUTE_MODULES,
)
from tests.cluster.testbed.namespaces import add_namespace
from tests.cluster.testbed.network import Network, network
from tests.cluster.testbed.nodes import add_gpu_nodes, bind
from tests.cluster.testbed.ours import install_manifests, start_sync, start_webhook, wait_admission
from tests.cluster.testbed.pickers import serves, start_picker, wait_picker
from tests.cluster.testbed.processes import tail
from tests.cluster.testbed.rendered import routes, store
from tests.cluster.testbed.services import MADE, says, told
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named

ROWS: Final = ("gie-1.2", "gie-1.5", "llm-d-0.4", "llm-d-0.10")
"""Endpoint pickers that need the definition of InferenceObjectives to start, and others."""
ANNOTATED: Final = "annotated"
"""A service without an InferenceService."""
KEPT: Final = [one for one in MADE if one not in {"inferenceobjectives", "destinationrules"}]
GONE: Final = ("inferenceobjectives", "inferencemodelrewrites")
"""What 1.6 does not define."""
ENGINE: Final = template(container(args=["org/M"], resources=None))
APPLIED: Final = ("True", "RoutesAccepted")
NOT_APPLIED: Final = ("True", "PriorityNotApplied")
PICKERS: Final = {"labelSelector": "app.kubernetes.io/name=endpoint-picker"}
SECONDS: Final = 300.0
"""The controller asks each minute what is served."""


def name_of(row: str) -> str:
    """Return the name of the service with an endpoint picker."""
    return row.replace(".", "-")


NAMES: Final = (*map(name_of, ROWS), ANNOTATED)


def service(row: str) -> Object:
    """Return a service with a priority."""
    roles = router(strategy="queue-size", httproute=ROUTE), worker(multinode=None, template=ENGINE)
    return isvc(*roles, name=name_of(row), annotations={"fusioninfer.io/picker": row}, priority="Critical")


@pytest.fixture(scope="module")
def extended(request: pytest.FixtureRequest) -> Iterator[Network]:
    """A network of pods beside a cluster with 1.6, our webhook and our controller."""
    modules = (*MODULES, *ROUTE_MODULES, *LATER_MODULES)
    built = obtained(request.config, lambda: build(sys.stderr, modules))
    with running(built, (*CRDS, *LATER_ROUTE_CRDS)) as cluster:
        install_manifests(cluster)
        restart_component(cluster, "kube-controller-manager")
        start_webhook(cluster)
        wait_admission(cluster)
        start_sync(cluster)
        with network(cluster) as there:
            yield there


@pytest.fixture(scope="module")
def namespace(extended: Network) -> str:
    """A namespace with the services, which run."""
    cluster = extended.cluster
    found = add_namespace(cluster)
    add_gateway(cluster, found)
    asked = lws(1, ENGINE, service=ANNOTATED, strategy="queue-size", gateway="gateway", priority="Critical")
    apply(cluster, found, *map(service, ROWS), named(asked, ANNOTATED))
    node, *_ = add_gpu_nodes(cluster, 2)
    where = path("pods", found)
    until(lambda: len(items(cluster.api, where, **PICKERS)) == len(NAMES), "there are endpoint pickers")
    for pod in items(cluster.api, where, **PICKERS):
        bind(cluster, found, pod["metadata"]["name"], node)
    for name in NAMES:
        accept(cluster, found, name)
    return found


def install(cluster: Cluster, definitions: tuple[str, str]) -> None:
    """Install the definitions of a release over those that there are, and delete those that it lacks.

    Then wait for the API server, which answers 429 at first.
    """
    folder = cluster.built.source(*definitions)
    kubectl(cluster, "apply", "--server-side", "--force-conflicts", f"--filename={folder}")
    if definitions == LATER_ROUTE_CRDS[1]:
        for plural in GONE:
            delete(
                cluster.api, path("customresourcedefinitions", "", f"{plural}.inference.networking.x-k8s.io")
            )
    listed = partial(items, cluster.api, path("inferencepools"))
    until(lambda: not refusal(listed), "InferencePools can be listed")


def install_those_of_llm_d(cluster: Cluster) -> None:
    """Install InferenceObjective in llm-d's own group: the same kind."""
    folder = cluster.built.source(*ROUTE_CRDS[1])
    text = (folder / "inference.networking.x-k8s.io_inferenceobjectives.yaml").read_text()
    other = text.replace("inference.networking.x-k8s.io", "llm-d.ai")
    kubectl(cluster, "create", "--validate=false", "--filename=-", stdin=other)


def kept(cluster: Cluster, namespace: str) -> dict[str, tuple[str, int]]:
    """Return uid and generation of everything that must stay."""
    return {
        f"{resource}/{(metadata := obj['metadata'])['name']}": (
            metadata["uid"],
            metadata.get("generation", 0),
        )
        for resource in KEPT
        for obj in items(cluster.api, path(resource, namespace))
    }


def say(cluster: Cluster, namespace: str, expected: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Wait until services say this of their routes; return the messages by picker."""
    found = {}
    for row, state in expected.items():
        name = name_of(row)
        conditions = says(cluster, namespace, name, {"RoutesReady": state}, SECONDS)["conditions"]
        found[row] = next(one["message"] for one in conditions if one["type"] == "RoutesReady")
    return found


def all_say(cluster: Cluster, namespace: str, state: tuple[str, str]) -> dict[str, str]:
    return say(cluster, namespace, dict.fromkeys(ROWS, state))


def objectives(cluster: Cluster, namespace: str) -> set[str]:
    """Name the InferenceObjectives."""
    return {one["metadata"]["name"] for one in items(cluster.api, path("inferenceobjectives", namespace))}


def codes(cluster: Cluster, namespace: str, row: str) -> str:
    """Return the messages of the Events about a service."""
    return "\n".join(one["message"] for one in told(cluster, namespace, name_of(row)))


@pytest.mark.parametrize("row", BUILT.values(), ids=lambda row: row.name)
def test_an_endpoint_picker_starts_with_pools_alone_unless_it_needs_more(extended: Network, row: Row) -> None:
    """This test is the first: the others change the definitions."""
    with namespace_on(extended) as namespace:
        store(extended, routes(namespace, "demo", row, yaml.dump(preset(row, "queue-size"))))
        picker = start_picker(extended, namespace, "demo-epp")

        if row.needs:
            until(lambda: "InferenceObjective" in tail(picker.process, 60_000), "it says what it lacks")
            assert not serves(extended, picker)
        else:
            wait_picker(extended, picker)


def test_releases_come_and_go_and_routes_stay(extended: Network, namespace: str) -> None:
    there = extended.cluster
    messages = all_say(there, namespace, NOT_APPLIED)
    before = kept(there, namespace)
    for name in NAMES:
        assert {f"inferencepools/{name}-pool", f"deployments/{name}-epp"} <= before.keys()
        assert {f"httproutes/{name}-httproute", f"services/{name}-api"} <= before.keys()
    assert {one for one in messages.values() if "install the CRDs of InferenceObjective" not in one} == set()
    until(lambda: "choose gie-1.5" in codes(there, namespace, "gie-1.2"), "gie-1.2 is told")
    until(lambda: "choose llm-d-0.10" in codes(there, namespace, "llm-d-0.4"), "llm-d-0.4 is told")
    assert "FI826" not in codes(there, namespace, "gie-1.5")

    (line,) = (one for one in run(there, "check").value if one["name"] == "inference-extension")
    assert (line["state"], line["detail"].startswith("v1.6.0, tested on 1.6.0: ")) == ("ok", True)

    install(there, ROUTE_CRDS[1])
    all_say(there, namespace, APPLIED)
    until(lambda: objectives(there, namespace) == set(NAMES), "each service has its InferenceObjective")
    assert kept(there, namespace) == before

    install(there, LATER_ROUTE_CRDS[1])
    all_say(there, namespace, NOT_APPLIED)
    assert kept(there, namespace) == before

    install(there, ROUTE_CRDS[1])
    install_those_of_llm_d(there)
    say(there, namespace, dict.fromkeys(ROWS[:3], APPLIED))
    until(lambda: objectives(there, namespace) == set(NAMES), "the InferenceObjectives are there again")
    alone = "reads the InferenceObjectives of llm-d.ai/v1alpha2 alone"
    until(lambda: alone in say(there, namespace, {"llm-d-0.10": NOT_APPLIED})["llm-d-0.10"], alone)
    assert kept(there, namespace) == before
