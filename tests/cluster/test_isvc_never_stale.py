"""A condition is `True` no longer than its cause holds, on real components: the next reconcile resets it.

One InferenceService with routes loses one thing after the other, and gets it back. Everything that was stored
is kept, in the order of the writes: what a status says is compared with what stood there at that moment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, router, worker
from tests.cluster.testbed.answers import REFUSES, TAKES, add_gateway, answer, give_address
from tests.cluster.testbed.api import delete, get, items, patch, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.control_plane import kill_process, start_component
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes, lose_node_of, place_picker
from tests.cluster.testbed.services import conditions, says
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.watch import in_order, recorded

NAME: Final = "chat"
SET, PICKER = f"{NAME}-inference", f"{NAME}-epp"
HTTPROUTE: Final = {"parentRefs": [{"name": "gateway"}]}
SERVICE: Final = isvc(router(httproute=HTTPROUTE), worker(), name=NAME)
GOOD: Final = ("Initialized", "Scheduled", "RoutesReady", "Ready", "Active")
COMPLETE: Final = {
    "Ready": ("True", "ServiceReady"),
    "Active": ("True", "InferenceServiceAvailable"),
    "Progressing": ("False", "Complete"),
    "Failed": ("False", "NothingFailed"),
}
Act = Callable[[Cluster, str], None]


@dataclass(frozen=True, slots=True)
class Trouble:
    """A loss, its repair, and the conditions that are not `True` meanwhile."""

    goes: Act
    returns: Act
    gone: tuple[str, ...]
    says: dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Life:
    """The status that was first written in each trouble, in it and after it, and all that was stored.

    And what `kubectl get` prints at the end.
    """

    first: dict[str, Object]
    within: dict[str, Object]
    after: dict[str, Object]
    history: list[Object]
    listed: list[str]


@pytest.fixture(scope="module")
def life(served: Cluster) -> Iterator[Life]:
    with new_namespace(served) as namespace:
        add_gateway(served, namespace)
        first, within, after = dict[str, Object](), dict[str, Object](), dict[str, Object]()
        with recorded(served.api, path("inferenceservices", namespace)) as history:
            completed(served, namespace)
            for name, trouble in TROUBLES.items():
                quiet(served, namespace)
                known = len(history)
                trouble.goes(served, namespace)
                within[name] = says(served, namespace, NAME, trouble.says)
                first[name] = next_status(history, known)
                trouble.returns(served, namespace)
                after[name] = says(served, namespace, NAME, COMPLETE)
        listed = kubectl(served, "get", "isvc", "--namespace", namespace, "--no-headers").split()
        yield Life(first, within, after, in_order(history), listed)


def quiet(cluster: Cluster, namespace: str) -> None:
    """Wait until no status is on its way: the controller may write one a second after its cause."""
    seen: list[Object] = []

    def unchanged() -> bool:
        seen.append(get(cluster.api, path("inferenceservices", namespace, NAME)))
        return len(seen) > 2 and seen[-1] == seen[-2] == seen[-3]

    until(unchanged, "the status is settled", every=1.0)


def next_status(history: list[Object], known: int) -> Object:
    """Return the first status that differs from the last one of those that were known."""
    before = history[known - 1]["status"]
    changed = until(lambda: [obj for obj in history[known:] if obj["status"] != before], "another status")
    found: Object = changed[0]["status"]
    return found


def completed(cluster: Cluster, namespace: str) -> None:
    """Apply it, and give it all that it needs."""
    apply(cluster, namespace, SERVICE)
    wait_pods(cluster, namespace, 2 + 1)
    node, *_ = add_gpu_nodes(cluster, 2)
    place_picker(cluster, namespace, node)
    answer(cluster, namespace, NAME, TAKES)
    says(cluster, namespace, NAME, COMPLETE)


# --- what goes, and comes back ----------------------------------------------------------------------


def picker_goes(cluster: Cluster, namespace: str) -> None:
    """Delete the pod of the endpoint picker; the next one is not scheduled."""
    delete(cluster.api, path("pods", namespace, picker_pod(cluster, namespace)), gracePeriodSeconds="0")


def picker_returns(cluster: Cluster, namespace: str) -> None:
    """Bind the next one."""
    until(lambda: picker_pod(cluster, namespace), "there is another pod of the picker")
    place_picker(cluster, namespace, items(cluster.api, path("nodes"))[0]["metadata"]["name"])


def picker_pod(cluster: Cluster, namespace: str) -> str:
    """Name the pod of the picker; empty while there is none."""
    found = items(
        cluster.api, path("pods", namespace), labelSelector="app.kubernetes.io/name=endpoint-picker"
    )
    return found[0]["metadata"]["name"] if found else ""


def gateway_refuses(cluster: Cluster, namespace: str) -> None:
    """Have the gateway change its mind about the route."""
    answer(cluster, namespace, NAME, REFUSES)


def gateway_takes(cluster: Cluster, namespace: str) -> None:
    """Have it take the route again, and say where it is."""
    give_address(cluster, namespace, "gateway", "10.1.2.3")
    answer(cluster, namespace, NAME, TAKES)


def node_goes(cluster: Cluster, namespace: str) -> None:
    """Lose the node of the second pod."""
    lose_node_of(cluster, namespace, f"{SET}-0-1")


def node_returns(cluster: Cluster, namespace: str) -> None:
    """Add another node; the picker may have been on the one that went."""
    add_gpu_nodes(cluster, 1)
    running = get(cluster.api, path("pods", namespace, picker_pod(cluster, namespace)))["spec"]["nodeName"]
    there = [each["metadata"]["name"] for each in items(cluster.api, path("nodes"))]
    if running not in there:
        picker_goes(cluster, namespace)
        picker_returns(cluster, namespace)


def nobody_observes(cluster: Cluster, namespace: str) -> None:
    """End LeaderWorkerSet's manager, then ask for another replica: it cannot be stored, nor be seen."""
    kill_process(cluster, "lws")
    roles = get(cluster.api, path("inferenceservices", namespace, NAME))["spec"]["roles"]
    roles[1]["replicas"] = 2
    patch(cluster.api, path("inferenceservices", namespace, NAME), {"spec": {"roles": roles}})


def somebody_observes(cluster: Cluster, _namespace: str) -> None:
    """Start it again, with nodes for the other replica."""
    add_gpu_nodes(cluster, 2)
    start_component(cluster, "lws")


TROUBLES: Final[dict[str, Trouble]] = {
    "a picker that goes": Trouble(
        picker_goes,
        picker_returns,
        ("RoutesReady", "Ready"),
        {"RoutesReady": ("False", "PickerNotAvailable")},
    ),
    "a gateway that refuses": Trouble(
        gateway_refuses, gateway_takes, ("RoutesReady", "Ready"), {"Ready": ("False", "RoutesNotReady")}
    ),
    "a node that goes": Trouble(
        node_goes, node_returns, ("Scheduled", "Ready", "Active"), {"Ready": ("False", "NotScheduled")}
    ),
    "a spec that nobody observed": Trouble(
        nobody_observes,
        somebody_observes,
        ("Active",),
        {"Progressing": ("True", "Applying"), "Ready": ("Unknown", "NotObserved")},
    ),
}


# --- what was said ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TROUBLES)
def test_a_condition_without_its_cause_is_not_true(life: Life, name: str) -> None:
    assert not true(life.within[name]) & set(TROUBLES[name].gone)


@pytest.mark.parametrize("name", TROUBLES)
def test_failure_and_progress_end_with_theirs(life: Life, name: str) -> None:
    assert true(life.after[name]) == set(GOOD)


@pytest.mark.parametrize("name", TROUBLES)
def test_the_next_reconcile_resets_the_condition(life: Life, name: str) -> None:
    """The first status that is written after a cause has gone says so; there is none in between."""
    assert not true(life.first[name]) & set(TROUBLES[name].gone)


def test_a_url_is_that_of_a_gateway_that_takes_the_route(life: Life) -> None:
    refused, taken = life.within["a gateway that refuses"], life.after["a gateway that refuses"]

    assert "url" not in refused
    assert "NotAllowedByListeners" in conditions(refused)["RoutesReady"]["message"]
    assert taken["url"] == "http://10.1.2.3"
    assert life.listed[:5] == [NAME, "True", "2/2", "ServiceReady", "http://10.1.2.3"]


def test_ready_is_true_only_if_every_part_is_ready(life: Life) -> None:
    ready = [true(status) for status in statuses(life) if "Ready" in true(status)]

    assert [found for found in ready if not {"Initialized", "Scheduled", "RoutesReady"} <= found] == []


def test_a_recreated_service_does_not_own_the_old_objects(served: Cluster, routed_namespace: str) -> None:
    """Deleted and made again while the garbage collector is away, it has no LeaderWorkerSet of its own."""
    initialized = {"Initialized": ("True", "InferenceServiceCreating")}
    apply(served, routed_namespace, SERVICE)
    says(served, routed_namespace, NAME, initialized)

    kill_process(served, "kube-controller-manager")
    try:
        kubectl(served, "delete", "--namespace", routed_namespace, f"inferenceservice/{NAME}")
        apply(served, routed_namespace, SERVICE)
        says(served, routed_namespace, NAME, {"Initialized": ("False", "LeaderWorkerSetMissing")})
    finally:
        start_component(served, "kube-controller-manager")

    says(served, routed_namespace, NAME, initialized)


def statuses(life: Life) -> list[Object]:
    """Return every status that was stored."""
    return [obj["status"] for obj in life.history if "conditions" in obj.get("status", {})]


def true(status: Object) -> set[str]:
    """Name the conditions that are `True`."""
    return {kind for kind, each in conditions(status).items() if each["status"] == "True"}
