"""Reading of a LeaderWorkerSet: equivalent spellings, and defaults of the API, give one Intent."""

from itertools import permutations
from typing import Any

import pytest

from intent.accelerators import asks
from intent.quantity import whole
from intent.read import read
from tests.builders.lws import WORKER, changed, container, lws, template
from webhook.digest import digest, facts


def digest_of(live: Any) -> str:
    intent = read(live).intent
    assert intent is not None
    return digest(facts(intent))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.startupPolicy", "LeaderCreated"),
        ("spec.replicas", 7),
        ("spec.rolloutStrategy", {"type": "RollingUpdate"}),
        ("metadata.managedFields", [{"manager": "x"}]),
        ("metadata.annotations.fusioninfer.io/roles", "worker"),
        ("metadata.annotations.fusioninfer.io/component-type", "worker"),
        (f"{WORKER}.metadata", {}),
        (f"{WORKER}.spec.nodeSelector", {"a": "b"}),
        (
            f"{WORKER}.spec.containers.0.resources",
            {"limits": {"nvidia.com/gpu": 8}, "requests": {"cpu": "1"}},
        ),
        (f"{WORKER}.spec.containers.0.env", []),
        (f"{WORKER}.spec.containers.0.volumeMounts", []),
    ],
)
def test_a_field_that_is_not_an_input_does_not_change_the_digest(path: str, value: Any) -> None:
    assert digest_of(changed(lws(), path, value)) == digest_of(lws())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.leaderWorkerTemplate.size", 3),
        ("spec.startupPolicy", "LeaderReady"),
        ("metadata.annotations.fusioninfer.io/refresh", "1"),
        ("metadata.annotations.fusioninfer.io/launcher", "none"),
        (f"{WORKER}.spec.containers.0.image", "vllm/vllm-openai:v0.18.0"),
        (f"{WORKER}.spec.containers.0.args", ["org/N"]),
        (f"{WORKER}.spec.containers.0.resources", {"limits": {"nvidia.com/gpu": "4"}}),
        (f"{WORKER}.spec.containers.0.readinessProbe", {"httpGet": {"port": 8000}}),
        (f"{WORKER}.spec.schedulerName", "mine"),
    ],
)
def test_an_input_changes_the_digest(path: str, value: Any) -> None:
    assert digest_of(changed(lws(), path, value)) != digest_of(lws())


class Asked(dict[str, Any]):
    """A map that notes which of its fields are read."""

    def __init__(self, fields: dict[str, Any], noted: set[str]) -> None:
        super().__init__(fields)
        self.noted = noted

    def get(self, key: str, default: Any = None) -> Any:
        self.noted.add(key)
        return super().get(key, default)


def test_a_pod_is_read_whatever_is_in_a_field_beside_one_that_is_on() -> None:
    noted = set[str]()
    whole = template()["spec"]
    values: tuple[Any, ...] = (7, "x", {}, [{}], {"a": []})
    read(lws(worker={"spec": Asked({**whole, "hostNetwork": True}, noted)}))

    for on, field in permutations(sorted(noted), 2):
        for value in values:
            read(lws(worker={"spec": {**whole, on: True, field: value}}))

    assert noted > {"containers", "hostNetwork", "dnsPolicy", "affinity"}


def test_a_sidecar_before_the_engine_does_not_change_the_digest() -> None:
    beside = lws(worker=template({"name": "proxy", "image": "envoy"}, container()))

    assert digest_of(beside) == digest_of(lws())


@pytest.mark.parametrize(
    ("containers", "annotations", "chosen"),
    [
        ([container("a"), container("b")], {"engine_container": "b"}, "b"),
        ([container("a", resources=None), container("b")], {}, "b"),
        ([container("a", resources=None, image="x", command=["y"]), container("b", resources=None)], {}, "b"),
        ([container("only", resources=None, image="x", command=["y"])], {}, "only"),
    ],
)
def test_the_engine_is_found(containers: Any, annotations: Any, chosen: str) -> None:
    intent = read(lws(worker=template(*containers), **annotations)).intent

    assert intent is not None
    assert intent.templates[0].engine is not None
    assert intent.templates[0].engine.container == chosen


def test_the_default_container_breaks_a_tie() -> None:
    plain = {"resources": None, "image": "x", "command": ["y"]}
    tied = lws(worker=template(container("a", **plain), container("b", **plain)))
    named = changed(tied, f"{WORKER}.metadata.annotations.kubectl~kubernetes~io/default-container", "b")

    intent = read(named).intent

    assert intent is not None
    assert intent.templates[0].engine is not None
    assert intent.templates[0].engine.container == "b"


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (8, 8),
        ("8", 8),
        ("8e0", 8),
        ("8000m", 8),
        ("1k", 1000),
        ("0", 0),
        ("0.5", None),
        (-1, None),
        (True, None),
        ("x", None),
    ],
)
def test_a_count_is_a_quantity(value: Any, count: int | None) -> None:
    assert whole(value) == count


@pytest.mark.parametrize(
    ("resources", "accelerated"),
    [
        ({"limits": {"nvidia.com/gpu": 1}}, True),
        ({"requests": {"amd.com/gpu": "1"}}, True),
        ({"limits": {"google.com/tpu": 4}}, True),
        ({"limits": {"huawei.com/Ascend910B": 1}}, True),
        ({"limits": {"nvidia.com/mig-1g.5gb": 1}}, True),
        ({"limits": {"nvidia.com/gpu.shared": 1}}, True),
        ({"claims": [{"name": "gpu"}]}, True),
        ({"limits": {"cpu": 1}}, False),
        ({}, False),
        (None, False),
        ([], False),
    ],
)
def test_known_resources_are_accelerators(resources: Any, *, accelerated: bool) -> None:
    assert asks({"resources": resources}) is accelerated


@pytest.mark.parametrize(
    ("resources", "unasked"),
    [
        ({"limits": {"nvidia.com/gpu": 8}}, ("cpu", "memory")),
        ({"limits": {"cpu": "8", "memory": "64Gi"}}, ()),
        ({"requests": {"cpu": "8"}, "limits": {"nvidia.com/gpu": 8}}, ("memory",)),
        ({"requests": [], "limits": None}, ("cpu", "memory")),
        (None, ("cpu", "memory")),
    ],
)
def test_a_limit_is_a_request_too(resources: Any, unasked: tuple[str, ...]) -> None:
    intent = read(changed(lws(), f"{WORKER}.spec.containers.0.resources", resources or {})).intent

    assert intent is not None
    assert intent.templates[0].engine is not None
    assert intent.templates[0].engine.unasked == unasked
