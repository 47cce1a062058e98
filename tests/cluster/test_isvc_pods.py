"""The fields that services of KServe and llm-d have besides, on the real API server and the real LWS.

Nodes by accelerator, a leader apart from its workers, the endpoint picker's pods, a configuration in a
ConfigMap, and an InferencePool of the author.
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import changed, template
from tests.cluster.testbed.api import ApiError, create, get, items, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, becomes
from tests.cluster.testbed.differences import differences
from tests.cluster.testbed.groups import pods, wait_pods
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.services import Objects, made, offline, says, status, story
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
FILE: Final = story("kserve-fields")
THEIRS: Final = ("configmaps", "routing")
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
TYPES: Final = {
    "key": "nvidia.com/gpu.product",
    "operator": "In",
    "values": ["NVIDIA-H100-80GB-HBM3", "NVIDIA-H200"],
}


@pytest.fixture(scope="module")
def chat(served: Cluster) -> Iterator[tuple[str, Objects]]:
    """A service with all of these fields, and what the command prints of it."""
    with new_namespace(served) as namespace:
        expected = offline(served, namespace, FILE)
        apply(served, namespace, FILE)
        yield namespace, {key: one for key, one in expected.items() if key != THEIRS}


def test_stored_objects_equal_the_output_of_the_command(served: Cluster, chat: tuple[str, Objects]) -> None:
    namespace, expected = chat

    stored = becomes(lambda: made(served, namespace), expected)

    assert differences(expected, stored) == {}


def test_leader_and_workers_have_pods_of_their_own(served: Cluster, chat: tuple[str, Objects]) -> None:
    wait_pods(served, chat[0], 5)

    memory = {
        pod["metadata"]["name"]: pod["spec"]["containers"][0]["resources"]["requests"]["memory"]
        for pod in pods(served, chat[0])
        if pod["metadata"]["name"].startswith("chat-decode")
    }

    assert memory == {"chat-decode-0": "64Gi", "chat-decode-0-1": "32Gi"}


def test_every_term_of_the_pods_names_the_accelerators(served: Cluster, chat: tuple[str, Objects]) -> None:
    wait_pods(served, chat[0], 5)

    found = [one for one in pods(served, chat[0]) if one["metadata"]["name"].startswith("chat-prefill")]

    terms = [
        term
        for pod in found
        for term in pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    ]
    assert [TYPES in term["matchExpressions"] for term in terms] == [True] * 4


def test_the_status_counts_replicas_and_has_the_address_in_the_cluster(
    served: Cluster, chat: tuple[str, Objects]
) -> None:
    def counted() -> Object:
        found = status(served, chat[0], NAME)
        return {key: found.get(key) for key in ("ready", "addresses")}

    counts = {"replicas": "0/3", "prefillers": "0/2", "decoders": "0/1", "endpointPicker": "0/1"}
    address = {"name": f"Service {NAME}-api", "url": f"http://{NAME}-api.{chat[0]}.svc"}
    expected = {"ready": counts, "addresses": [address]}

    assert becomes(counted, expected) == expected


def test_a_changed_config_map_reaches_the_endpoint_picker(served: Cluster, chat: tuple[str, Objects]) -> None:
    namespace = chat[0]
    where, ours = (
        path("configmaps", namespace, "routing"),
        path("configmaps", namespace, f"{NAME}-epp-config"),
    )
    text = get(served.api, where)["data"]["epp.yaml"].replace("weight: 1", "weight: 2")

    patch(served.api, where, {"data": {"epp.yaml": text}})

    until(lambda: get(served.api, ours)["data"]["config.yaml"] == text, "the picker's configuration is new")


def test_a_missing_config_map_is_a_condition_and_the_routes_stay(
    served: Cluster, chat: tuple[str, Objects]
) -> None:
    namespace = chat[0]

    patch(served.api, path("configmaps", namespace, "routing"), {"data": {"epp.yaml": None, "other": "x"}})

    found = says(served, namespace, NAME, {"RoutesReady": ("False", "RoutesRefused")})
    assert "no key epp.yaml: it has other" in str(found)
    assert items(served.api, path("deployments", namespace))


@pytest.fixture
def referring(served: Cluster) -> Iterator[str]:
    """A service whose router refers to an InferencePool that is not there."""
    with new_namespace(served) as namespace:
        fields = {
            "strategy": None,
            "pool": {"ref": {"name": "theirs"}},
            "httproute": {"parentRefs": [{"name": "g"}]},
        }
        apply(served, namespace, isvc(router(**fields), worker(), name=NAME))
        yield namespace


def test_routes_lead_to_the_pool_of_the_author(served: Cluster, referring: str) -> None:
    says(served, referring, NAME, {"RoutesReady": ("False", "PoolMissing")})
    pool = {
        "apiVersion": "inference.networking.k8s.io/v1",
        "kind": "InferencePool",
        "metadata": {"name": "theirs"},
        "spec": {
            "selector": {"matchLabels": {"fusioninfer.io/service": NAME}},
            "targetPorts": [{"number": 8000}],
            "endpointPickerRef": {"name": "theirs-epp", "port": {"number": 9002}},
        },
    }

    create(served.api, path("inferencepools", referring), pool)

    says(served, referring, NAME, {"RoutesReady": ("Unknown", "WaitingForGateway")})
    (route,) = items(served.api, path("httproutes", referring))
    assert route["spec"]["rules"][0]["backendRefs"][0]["name"] == "theirs"
    assert items(served.api, path("deployments", referring)) == []


TYPED: Final = worker(worker=template(), acceleratorTypes={"labelKey": "gpu", "labelValues": ["a"]})


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("worker.spec.containers.0.image", 5, "spec.roles[0].worker.spec.containers[0].image"),
        ("acceleratorTypes.labelValues", [], "spec.roles[0].acceleratorTypes.labelValues"),
        ("acceleratorTypes.labelValues", ["a", "a"], "FI730"),
        ("acceleratorTypes.labelKey", "a b", "FI730"),
        ("multinode", {"nodeCount": 1}, "FI731"),
        ("sidecar", {"connector": "sglang"}, "FI706"),
        ("pool", {"ref": {"name": "p"}}, "FI706"),
    ],
)
def test_a_wrong_field_is_refused(
    served: Cluster, referring: str, field: str, value: Any, words: str
) -> None:
    wrong = changed(isvc(TYPED, name="wrong"), f"spec.roles.0.{field}", value)

    with pytest.raises(ApiError, match=words.replace("[", r"\[").replace("]", r"\]")):
        create(served.api, path("inferenceservices", referring), wrong)
