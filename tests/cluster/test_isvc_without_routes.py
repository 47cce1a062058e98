"""Without the Gateway API and its Inference Extension all but the routes works; and they may come."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from intent import Object
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import ApiError, items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.control_plane import restart_component
from tests.cluster.testbed.controllers import apply, becomes, pod_group
from tests.cluster.testbed.groups import settled, wait_pods
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes
from tests.cluster.testbed.services import Objects, conditions, made, says, states, story
from tests.cluster.testbed.wait import until

NAME: Final = "qwen-pd-service"
DISCOVERED: Final = 60.0
"""Seconds after which it knows of what was installed."""
ALL: Final = ("True", "InferenceServiceAvailable")
WITHOUT: Final = {"inferencepools", "deployments", "httproutes"}
"""The kinds that cannot be created, and the endpoint picker, which needs a pool."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What there is and what is said, before the custom resources of routes come, and after."""

    stored: Objects
    bound: dict[str, tuple[int, int]]
    status: Object
    controller: int
    later: Objects
    later_controller: int


@pytest.fixture(scope="module")
def outcome(fusioninfer: Cluster, route_definitions: tuple[str, ...]) -> Iterator[Outcome]:
    files = [f"--filename={folder}" for folder in route_definitions]
    with new_namespace(fusioninfer) as namespace:
        yield installed_later(fusioninfer, namespace, files)
    kubectl(fusioninfer, "delete", *files)
    restart_component(fusioninfer, "kube-controller-manager")


def installed_later(fusioninfer: Cluster, namespace: str, files: list[str]) -> Outcome:
    """Apply a service that wants routes, and then what it lacks."""
    apply(fusioninfer, namespace, story("readme-disaggregated"))
    wait_pods(fusioninfer, namespace, 6)
    until(lambda: pod_group(fusioninfer, namespace, NAME), "the PodGroup")
    add_gpu_nodes(fusioninfer, 1)
    bound = dict(settled(fusioninfer, namespace))
    before = says(fusioninfer, namespace, NAME, {"RoutesReady": ("False", "RoutesRefused"), "Active": ALL})
    stored, controller = made(fusioninfer, namespace), pid(fusioninfer)

    kubectl(fusioninfer, "create", "--validate=false", *files)
    kinds = becomes(lambda: lacking(fusioninfer, namespace), set(), DISCOVERED + PATIENCE)
    assert kinds == set()
    says(fusioninfer, namespace, NAME, {"Failed": ("False", "NothingFailed")})
    later = made(fusioninfer, namespace)
    return Outcome(stored, bound, before, controller, later, pid(fusioninfer))


def test_all_but_the_routes_is_made_and_runs(outcome: Outcome) -> None:
    resources = {resource for resource, _ in outcome.stored}

    assert resources & WITHOUT == set()
    assert {"leaderworkersets", "podgroups", "configmaps"} <= resources
    assert set(outcome.bound.values()) == {(1, 1)}
    assert states(outcome.status, "Scheduled", "Active", "Ready") == {
        "Scheduled": ("True", "AllScheduled"),
        "Active": ALL,
        "Ready": ("False", "RoutesNotReady"),
    }


def test_the_status_names_the_kinds_to_install(outcome: Outcome) -> None:
    message = conditions(outcome.status)["RoutesReady"]["message"]

    assert message.startswith(
        "spec: this cluster has no InferencePool of inference.networking.k8s.io/v1; "
        "install the CRDs of the Gateway API Inference Extension (FI870)."
    )


def test_the_routes_are_made_once_they_can_be(outcome: Outcome) -> None:
    assert {resource for resource, _ in outcome.later} >= WITHOUT
    assert outcome.later_controller == outcome.controller


def pid(cluster: Cluster) -> int:
    """Return which process the controller is."""
    return cluster.processes["sync"].popen.pid


def lacking(cluster: Cluster, namespace: str) -> set[str]:
    """Name what of the routes is not there."""
    try:
        return {resource for resource in WITHOUT if not items(cluster.api, path(resource, namespace))}
    except ApiError:  # 429: the API server has yet to start their storage
        return set(WITHOUT)
