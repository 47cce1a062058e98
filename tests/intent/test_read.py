"""Reading of a LeaderWorkerSet: equivalent spellings, and defaults of the API, give one Intent."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from intent.accelerators import asks
from intent.annotations import SERVICE
from intent.lws import NO_POD, Intent, Template
from intent.read import read
from intent.shapes import whole
from tests.builders.lws import WORKER, changed, container, lws, template


class Asked(dict[str, Any]):
    """A map that notes which of its fields are read."""

    def __init__(self, fields: dict[str, Any], noted: set[str]) -> None:
        super().__init__(fields)
        self.noted = noted

    def get(self, key: str, default: Any = None) -> Any:
        self.noted.add(key)
        return super().get(key, default)


def read_whole(lws: Any) -> None:
    intent = read(lws).intent
    for each in intent.templates if intent else ():
        assert each.pod.value
        assert each.engine is None or each.engine.extended.value is not None


def test_a_pod_is_read_whatever_is_in_a_field_beside_one_that_is_on() -> None:
    noted = set[str]()
    whole = template()["spec"]
    values: tuple[Any, ...] = (7, "x", {}, [{}], {"a": []})
    read_whole(lws(worker={"spec": Asked({**whole, "hostNetwork": True}, noted)}))

    for on, field in permutations(sorted(noted), 2):
        for value in values:
            read_whole(lws(worker={"spec": {**whole, on: True, field: value}}))

    assert noted > {"containers", "hostNetwork", "dnsPolicy", "affinity"}


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
        ({"limits": {"huawei.com/ascend-1980": 1}}, True),
        ({"limits": {"cambricon.com/mlu": 1}}, True),
        ({"limits": {"metax-tech.com/gpu": 1}}, True),
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


def test_what_an_object_leaves_out_is_read_as_the_intents_of_tests_have_it() -> None:
    pods = {"spec": {"containers": [{"name": "engine"}]}}
    spec = {"leaderWorkerTemplate": {"workerTemplate": pods}}

    intent = read({"metadata": {"annotations": {SERVICE: "svc"}}, "spec": spec}).intent

    assert intent is not None
    (found,) = intent.templates
    assert replace(found, engine=None, pod=NO_POD) == Template("workerTemplate")
    expected = Intent("svc", role_name="worker", kueue_path=intent.kueue_path)
    assert replace(intent, templates=()) == expected
