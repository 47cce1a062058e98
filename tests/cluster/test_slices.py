"""Slices of a DisaggregatedSet: a gang each on the real Volcano, and routes that reach all of them.

LWS 0.10, which makes them, cannot be built here. The LeaderWorkerSets that its controller would create have
the names and labels of its sources (`pkg/utils/disaggregatedset`, `GenerateName` and `GenerateLabels`), and
go through admission and LWS 0.9's own controller.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import pytest

from intent import Object
from intent.annotations import GROUP_NAME, PREFIX
from intent.disaggregatedset import leader_worker_sets
from tests.builders.lws import container, lws, template
from tests.cluster.testbed.answers import add_gateway
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.controllers import apply, becomes, required
from tests.cluster.testbed.engines import received
from tests.cluster.testbed.flows import Service, answered, namespace_on, serve, set_engines
from tests.cluster.testbed.groups import Bound, bound, settled
from tests.cluster.testbed.network import Network
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.wait import until

SET: Final = "ds"
NAME: Final = "demo"
REVISION: Final = "0a1b2c3d"
GROUPS: Final = (f"{NAME}-{REVISION}", f"{NAME}.1.{REVISION}")
LABELS: Final = "disaggregatedset.x-k8s.io/"
SIZES: Final = {"prefill": 2, "decode": 1}
ROLES: Final = {"encode": "encoder", "prefill": "prefiller", "decode": "decoder"}
ROUTES: Final = {
    PREFIX + key: value
    for key, value in {"strategy": "pd-disaggregation", "gateway": "gateway", "picker": "llm-d-0.7"}.items()
}
TRANSFER: Final = ("--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')
ENCODES: Final = ("--ec-transfer-config", '{"ec_connector":"ECExampleConnector","ec_role":"ec_producer"}')
IDLE: Final[Object] = {"waiting": 0, "cache": 0.1, "status": 200}


def role(name: str) -> Object:
    """Return a role of the set: one group."""
    args = ["org/M", *(ENCODES if name == "encode" else TRANSFER)]
    engine = template(container(args=args))
    made = lws(SIZES.get(name, 1), engine, service=NAME, component_type=ROLES[name], launcher="none")
    routes = ROUTES if name == "decode" else {}
    annotations = made["metadata"]["annotations"] | routes
    return {"name": name, "metadata": {"annotations": annotations}, "spec": made["spec"]}


def member(part: int, name: str) -> Object:
    """Return what the controller of LWS 0.10 creates of a role in a slice."""
    made = role(name)
    labels = {
        "app": f"{SET}-{part}-{name}",
        f"{LABELS}name": SET,
        f"{LABELS}role": name,
        f"{LABELS}slice": str(part),
        f"{LABELS}revision": REVISION,
    }
    group = made["spec"]["leaderWorkerTemplate"]
    worker = {**group["workerTemplate"], "metadata": {"labels": labels}}
    metadata = {**made["metadata"], "name": f"{SET}-{part}-{REVISION}-{name}", "labels": labels}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata,
        "spec": {**made["spec"], "leaderWorkerTemplate": {**group, "workerTemplate": worker}},
    }


MEMBERS: Final = [member(part, name) for part in (0, 1) for name in ROLES]


def gang_of(one: Object) -> str:
    """Return the PodGroup that the templates of a LeaderWorkerSet name; empty if none."""
    marks = one["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"].get("annotations", {})
    return str(marks.get(GROUP_NAME, ""))


def placed(found: Bound) -> dict[str, int]:
    """Return the number of pods in the gang of each slice that are bound."""
    count = {"0": 0, "1": 0}
    for group, (there, _) in found.items():
        count[group.split("-")[1]] += 0 if "-encode-" in group else there
    return count


@pytest.fixture(scope="module")
def sliced(served_network: Network) -> Iterator[Service]:
    """Run the service once both of its gangs are placed."""
    cluster = served_network.cluster
    with namespace_on(served_network) as namespace:
        add_gateway(cluster, namespace)
        apply(cluster, namespace, *MEMBERS)
        until(lambda: sum(there for _, there in bound(cluster, namespace).values()) == 8, "all pods")
        for part, group in enumerate(GROUPS):
            policies = {f"{SET}-{part}-{REVISION}-{name}": (1, size) for name, size in SIZES.items()}
            assert becomes(partial(required, cluster, namespace, group), (3, policies)) == (3, policies)
        add_gpu_nodes(cluster, 5)
        assert sorted(placed(settled(cluster, namespace)).values()) == [0, 3]
        add_gpu_nodes(cluster, 1)
        until(lambda: [*placed(bound(cluster, namespace)).values()] == [3, 3], "both slices are placed")
        yield serve(served_network, namespace, NAME, 6)
    remove_nodes(cluster)


def test_each_slice_is_in_the_gang_of_its_name(sliced: Service) -> None:
    """The templates name it, and nothing else makes a PodGroup."""
    cluster, namespace = sliced.there.cluster, sliced.namespace
    for one in MEMBERS:
        stored = get(cluster.api, path("leaderworkersets", namespace, one["metadata"]["name"]))
        part = int(one["metadata"]["labels"][f"{LABELS}slice"])
        is_encoder = one["metadata"]["labels"][f"{LABELS}role"] == "encode"
        assert gang_of(stored) == ("" if is_encoder else GROUPS[part])
    assert {one["metadata"]["name"] for one in items(cluster.api, path("podgroups", namespace))} == {*GROUPS}


def test_requests_reach_both_slices_and_no_encoder(sliced: Service) -> None:
    """Each decoder and each prefiller in turn is the idle one. An encoder is seen by no picker."""
    routed = {name: one for name, one in sliced.engines.items() if "-encode-" not in name}
    service = replace(sliced, engines=routed)
    assert len(routed) == 4

    for part in (0, 1):
        chosen = {name: f"{SET}-{part}-{REVISION}-{name}-0" for name in SIZES}
        before = len(received(routed[chosen["prefill"]]))
        set_engines(service, IDLE | {"waiting": 4}, **{one: {"waiting": 0} for one in chosen.values()})

        assert answered(service, f"A prompt for slice {part}. " * 50)["engine"] == chosen["decode"]
        assert len(received(routed[chosen["prefill"]])) == before + 1

    encoders = [one for name, one in sliced.engines.items() if "-encode-" in name]
    assert [received(one) for one in encoders] == [[], []]


def test_the_stand_in_makes_what_the_command_makes() -> None:
    roles = [role(name) for name in ROLES]
    metadata = {"name": SET}
    made = leader_worker_sets({"metadata": metadata, "spec": {"slices": 2, "roles": roles}}, REVISION)

    assert [one for _, one in made] == MEMBERS
