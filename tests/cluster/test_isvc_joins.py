"""A role that joins a running service and does not fit keeps nothing else from healing."""

from collections.abc import Iterator
from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import decoder, isvc, prefiller
from tests.cluster.testbed.api import delete, items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, becomes, required
from tests.cluster.testbed.groups import bound, wait_pods
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
PREFILL, DECODE, MORE = (f"{NAME}-{role}" for role in ("prefill", "decode", "more"))
TWO: Final = (prefiller(replicas=1), decoder(replicas=1))
WHOLE: Final = {f"{PREFILL}-0": (2, 2), f"{DECODE}-0": (2, 2)}


@pytest.fixture
def full(served: Cluster) -> Iterator[str]:
    """A namespace with a service of two roles, on nodes without further capacity."""
    with new_namespace(served) as namespace:
        apply(served, namespace, service(*TWO))
        wait_pods(served, namespace, 4)
        add_gpu_nodes(served, 4)
        until(lambda: bound(served, namespace) == WHOLE, "all pods are on nodes")
        yield namespace
    remove_nodes(served)


def test_the_others_heal_while_it_waits(served: Cluster, full: str) -> None:
    before = uids(served, full)

    apply(served, full, service(*TWO, decoder(replicas=1, name="more")))
    wait_pods(served, full, 6)
    sets = {PREFILL: (1, 2), DECODE: (1, 2), MORE: (0, 2)}
    policies = becomes(lambda: required(served, full, NAME), (4, sets))
    delete(served.api, path("pods", full, f"{DECODE}-0"))
    until(lambda: uids(served, full).get(f"{DECODE}-0") not in (None, before[f"{DECODE}-0"]), "a new pod")
    healed = WHOLE | {f"{MORE}-0": (0, 2)}
    until(lambda: bound(served, full) == healed, "the group is on nodes again")

    after = uids(served, full)
    kept = {name for name in before if name.startswith(PREFILL)}
    assert policies == (4, sets)
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


def service(*roles: Object) -> Object:
    return isvc(*roles, name=NAME)


def uids(cluster: Cluster, namespace: str) -> dict[str, str]:
    """Return the uid of each pod by its name."""
    found = items(cluster.api, path("pods", namespace))
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in found}
