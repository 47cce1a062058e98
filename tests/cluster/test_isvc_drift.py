"""Manual changes of the objects of an InferenceService are reverted, and nothing else is.

Edits are made on one service, one after the other; the API server's log says what the controller wrote. Each
edit of a PodGroup has a service of its own: after five repairs of an object in a minute, the controller takes
another writer to fight it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, router, worker
from tests.cluster.testbed.api import delete, get, patch, path
from tests.cluster.testbed.audit import come_to_rest, writes
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import apply, becomes, controller_down, metric
from tests.cluster.testbed.differences import differences
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.services import (
    FOR_ISTIO,
    MADE,
    OF_SCALING,
    Objects,
    comparable,
    made,
    recorded_events,
    says,
)
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
PICKER: Final = f"{NAME}-epp"
IMAGE: Final = "registry.k8s.io/gateway-api-inference-extension/epp:v1.5.0"
SERVICE: Final = isvc(
    router(
        strategy="prefix-cache",
        gateway={"gatewayClassName": "any", "listeners": [{"name": "h", "port": 80, "protocol": "HTTP"}]},
        ingress={},
    ),
    worker(replicas=2),
    name=NAME,
    annotations={"fusioninfer.io/picker-replicas": "2"},
    priority="Critical",
)
STRANGER: Final = {
    "name": "stranger",
    "labelSelector": {"matchLabels": {"app": "stranger"}},
    "matchLabelKeys": ["app"],
    "subGroupSize": 1,
    "minSubGroups": 1,
}
GANG: Final[dict[str, Object]] = {
    "no policies": {"spec": {"subGroupPolicy": None}},
    "other policies": {"spec": {"subGroupPolicy": [STRANGER]}},
    "tasks": {"spec": {"minTaskMember": {"decode": 8}}},
    "no owner of the gang": {"metadata": {"ownerReferences": None}},
}
"""Edits of PodGroups that a server-side apply has to take out of a list, a map or the metadata."""
QUEUED: Final = "queued"
EDITS: Final[dict[str, tuple[str, str, Object]]] = {
    "targetPorts": ("inferencepools", f"{NAME}-pool", {"spec": {"targetPorts": [{"number": 1}]}}),
    "ports": ("services", PICKER, {"spec": {"ports": [{"name": "grpc-ext-proc", "port": 1}]}}),
    "selector": ("services", PICKER, {"spec": {"selector": {"app": "other"}}}),
    "data": ("configmaps", f"{PICKER}-config", {"data": {"config.yaml": "kind: Other"}}),
    "args": (
        "deployments",
        PICKER,
        {"spec": {"template": {"spec": {"containers": [{"name": "epp", "image": IMAGE, "args": ["-v"]}]}}}},
    ),
    "backend": ("httproutes", f"{NAME}-httproute", {"spec": {"rules": []}}),
    "more listeners": (
        "gateways",
        f"{NAME}-gateway",
        {"spec": {"listeners": [{"name": "other", "port": 80, "protocol": "HTTP"}]}},
    ),
    "ingress": ("ingresses", f"{NAME}-ingress", {"spec": {"defaultBackend": {"service": {"name": "other"}}}}),
    "subjects": ("rolebindings", f"{PICKER}-read", {"subjects": []}),
    "owner": ("deployments", PICKER, {"metadata": {"ownerReferences": None}}),
    "no label": ("deployments", PICKER, {"metadata": {"labels": {"fusioninfer.io/service": None}}}),
}


@dataclass(frozen=True, slots=True)
class Drifted:
    """The service, as the controller made it, with the owners of each object."""

    cluster: Cluster
    namespace: str
    whole: Objects


@pytest.fixture(scope="module")
def drifted(served: Cluster) -> Iterator[Drifted]:
    """Have the controller make it, and repair once: what came before may have broken its watches."""
    with new_namespace(served) as namespace:
        apply(served, namespace, SERVICE)
        wait_pods(served, namespace, 4 + 2)
        says(served, namespace, NAME, {"Failed": ("False", "NothingFailed")})
        whole = until(lambda: complete(served, namespace), "the controller has made everything")
        delete(served.api, path("configmaps", namespace, f"{PICKER}-config"))
        assert whole == becomes(lambda: made(served, namespace), whole)
        yield Drifted(served, namespace, {key: seen(served, namespace, *key) for key in whole})


TOLD: Final[dict[str, tuple[str, ...]]] = {
    f"PodGroup {NAME} was changed by another client, and the change was undone; ": (
        *("patch", "podgroup", NAME, "--type=merge", '--patch={"spec":{"minMember":9}}'),
    ),
    f"LeaderWorkerSet {NAME}-inference was changed by another client, and the change was ": (
        *("scale", "leaderworkerset", f"{NAME}-inference", "--replicas=3"),
    ),
    f"Service {PICKER} was changed by another client, ": (
        *("label", "service", PICKER, "fusioninfer.io/service-"),
    ),
    f"HTTPRoute {NAME}-httproute was deleted by another client, and was created again; ": (
        *("delete", "httproute", f"{NAME}-httproute"),
    ),
}
"""How the Event of a change begins, and what kubectl does. They come first: a service has few Events."""


@pytest.mark.parametrize("start", TOLD)
def test_a_change_that_is_undone_is_told(drifted: Drifted, start: str) -> None:
    kubectl(drifted.cluster, *TOLD[start], "--namespace", drifted.namespace)

    def said() -> list[str]:
        events = recorded_events(drifted.cluster, drifted.namespace, NAME)
        return [each["message"] for each in events if each["message"].startswith(start)]

    (message,) = until(said, "an Event says so")
    assert message.endswith(
        f'change InferenceService {NAME} instead, or set fusioninfer.io/paused: "true" there first'
    )


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_undone(drifted: Drifted, edit: str) -> None:
    resource, name, change = EDITS[edit]

    patch(drifted.cluster.api, path(resource, drifted.namespace, name), change)

    before = drifted.whole[resource, name]
    after = becomes(lambda: seen(drifted.cluster, drifted.namespace, resource, name), before)
    assert differences(before, after) == {}


@pytest.fixture(scope="module")
def gangs(served: Cluster) -> Iterator[Drifted]:
    """A service for each edit of a PodGroup."""
    with new_namespace(served) as namespace:
        names = [gang(edit) for edit in (*GANG, QUEUED)]
        apply(served, namespace, *(isvc(name=name) for name in names))
        there = {("podgroups", name) for name in names}
        until(lambda: made(served, namespace).keys() >= there, "each has its PodGroup")
        come_to_rest(served, namespace)
        yield Drifted(served, namespace, {key: seen(served, namespace, *key) for key in there})


def gang(edit: str) -> str:
    return edit.replace(" ", "-").lower()


@pytest.mark.parametrize("edit", GANG)
def test_an_edit_of_a_pod_group_is_undone(gangs: Drifted, edit: str) -> None:
    before = gangs.whole["podgroups", gang(edit)]

    patch(gangs.cluster.api, path("podgroups", gangs.namespace, gang(edit)), GANG[edit])

    after = becomes(lambda: seen(gangs.cluster, gangs.namespace, "podgroups", gang(edit)), before)
    assert differences(before, after) == {}


def test_a_queue_that_no_member_names_is_left_to_others(gangs: Drifted) -> None:
    """Volcano's webhook writes the queue of the namespace there, once, when the PodGroup is created."""
    before = gangs.whole["podgroups", QUEUED]

    edit = {"spec": {"queue": "root", "minMember": 1}}
    patch(gangs.cluster.api, path("podgroups", gangs.namespace, QUEUED), edit)

    expected = {**before, "spec": {**before["spec"], "queue": "root"}}
    after = becomes(lambda: seen(gangs.cluster, gangs.namespace, "podgroups", QUEUED), expected)
    assert differences(expected, after) == {}


@pytest.mark.parametrize(
    ("resource", "name"),
    [("leaderworkersets", f"{NAME}-inference"), ("inferencepools", f"{NAME}-pool"), ("deployments", PICKER)],
)
def test_additions_of_others_stay(drifted: Drifted, resource: str, name: str) -> None:
    where = path(resource, drifted.namespace, name)
    others = {"labels": {"team": "chat"}, "annotations": {"note": "mine"}}
    patch(drifted.cluster.api, where, {"metadata": others})

    delete(drifted.cluster.api, path("serviceaccounts", drifted.namespace, PICKER))
    until(
        lambda: ("serviceaccounts", PICKER) in made(drifted.cluster, drifted.namespace),
        "the controller looks",
    )

    metadata = get(drifted.cluster.api, where)["metadata"]
    assert {key: others[key].items() <= metadata[key].items() for key in others} == dict.fromkeys(
        others, True
    )


def test_a_controller_that_starts_writes_nothing(drifted: Drifted) -> None:
    come_to_rest(drifted.cluster, drifted.namespace)
    before = len(writes_to(drifted))

    with controller_down(drifted.cluster):
        pass
    port = drifted.cluster.ports["sync-metrics"]
    until(lambda: metric(port, "fusioninfer_sync_reconciles_total", outcome="done"), "it has looked")
    come_to_rest(drifted.cluster, drifted.namespace)

    tried = [each["requestURI"] for each in writes_to(drifted)[before:]]
    assert [each for each in tried if "dryRun" not in each] == []


def complete(cluster: Cluster, namespace: str) -> Objects:
    """Return what the controller made, once it is all there."""
    found = made(cluster, namespace)
    return found if {resource for resource, _ in found} == {*MADE} - {FOR_ISTIO, OF_SCALING} else {}


def seen(cluster: Cluster, namespace: str, resource: str, name: str) -> Object:
    """Read what the controller sets of an object, its owners too."""
    stored = get(cluster.api, path(resource, namespace, name))
    return {**comparable(stored), "owners": stored["metadata"].get("ownerReferences")}


def writes_to(drifted: Drifted) -> list[Object]:
    """Return the writes to the namespace. In others the controller may still try what is refused there."""
    return [
        each for each in writes(drifted.cluster) if f"/namespaces/{drifted.namespace}/" in each["requestURI"]
    ]
