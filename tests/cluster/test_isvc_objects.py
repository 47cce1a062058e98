"""The InferenceServices of the documents become the objects of the documents, as the command prints them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, becomes
from tests.cluster.testbed.differences import differences
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.services import Objects, made, offline, story

ROUTES: Final = {
    *("serviceaccounts", "rolebindings", "configmaps"),
    *("inferencepools", "deployments", "httproutes"),
}


@dataclass(frozen=True, slots=True)
class Document:
    """The documents' figures: replicas and size of each LeaderWorkerSet, the gang, and routes."""

    sets: dict[str, tuple[int, int]]
    minimum: int = 0
    """Pods that the PodGroup starts together; 0: there is no PodGroup."""
    routed: bool = False


DOCUMENTS: Final = {
    "story-1": Document({"qwen-inference-inference": (1, 1)}),
    "story-2": Document(
        {"qwen-inference-service-prefill": (2, 1), "qwen-inference-service-decode": (4, 1)}, minimum=2
    ),
    "story-3": Document({"deepseek-r1-inference-inference": (2, 4)}, minimum=4),
    "story-4": Document(
        {"deepseek-r1-disagg-prefill": (1, 2), "deepseek-r1-disagg-decode": (2, 4)}, minimum=6
    ),
    "readme-monolithic": Document({"qwen-inference-inference": (1, 1)}, routed=True),
    "readme-disaggregated": Document(
        {"qwen-pd-service-prefill": (2, 1), "qwen-pd-service-decode": (4, 1)}, minimum=2, routed=True
    ),
    "readme-multi-node": Document({"deepseek-r1-inference": (2, 4)}, minimum=4),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `fusioninfer expand` says of each document, and what the cluster has of it."""

    offline: dict[str, Objects]
    stored: dict[str, Objects]


@pytest.fixture(scope="module")
def outcome(served: Cluster) -> Iterator[Outcome]:
    namespaces = {name: add_namespace(served) for name in DOCUMENTS}
    expected = {name: offline(served, at, story(name)) for name, at in namespaces.items()}
    for name, at in namespaces.items():
        apply(served, at, story(name))
    stored = {
        name: becomes(lambda at=at: made(served, at), expected[name])  # type: ignore[misc] # mypy cannot infer a lambda with a default
        for name, at in namespaces.items()
    }
    yield Outcome(expected, stored)
    for namespace in namespaces.values():
        empty_namespace(served, namespace)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_stored_objects_equal_the_output_of_the_command(outcome: Outcome, name: str) -> None:
    found = differences(outcome.offline[name], outcome.stored[name])

    assert found == {}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_role_is_a_leader_worker_set_of_its_size(outcome: Outcome, name: str) -> None:
    sets = {
        called: (lws["spec"]["replicas"], lws["spec"]["leaderWorkerTemplate"]["size"])
        for (resource, called), lws in outcome.stored[name].items()
        if resource == "leaderworkersets"
    }

    assert DOCUMENTS[name].sets == sets


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_whole_replica_of_each_role_starts_together(outcome: Outcome, name: str) -> None:
    minimums = [
        pod_group["spec"]["minMember"]
        for (resource, _), pod_group in outcome.stored[name].items()
        if resource == "podgroups"
    ]

    assert [DOCUMENTS[name].minimum] * bool(DOCUMENTS[name].minimum) == minimums


@pytest.mark.parametrize("name", DOCUMENTS)
def test_there_is_a_service_on_the_leaders(outcome: Outcome, name: str) -> None:
    services = {called for resource, called in outcome.stored[name] if resource == "services"}

    assert len(services) == 1 + DOCUMENTS[name].routed
    assert any(called.endswith("-api") for called in services)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_routes_are_there_where_a_router_asks(outcome: Outcome, name: str) -> None:
    made_of = {resource for resource, _ in outcome.stored[name]} & ROUTES

    assert made_of == (ROUTES if DOCUMENTS[name].routed else set())
