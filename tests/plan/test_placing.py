"""Which nodes a pod may use: selectors, required affinity, taints."""

from typing import Any

import pytest

from plan.supply import Taint, keys, obstacle
from tests.plan.services import pod

LABELS = {"pool": "a", "size": "8", "metadata.name": "n1"}
RESERVED = Taint("reserved", "llm")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def label(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


SELECTED: dict[str, tuple[dict[str, Any], bool]] = {
    "no selector": ({}, True),
    "the same label": ({"nodeSelector": {"pool": "a"}}, True),
    "another value": ({"nodeSelector": {"pool": "b"}}, False),
    "an absent label": ({"nodeSelector": {"zone": ""}}, False),
    "In": (affinity(label("pool", "In", "b", "a")), True),
    "In, another value": (affinity(label("pool", "In", "b")), False),
    "In, absent": (affinity(label("zone", "In", "a")), False),
    "NotIn": (affinity(label("pool", "NotIn", "b")), True),
    "NotIn, absent": (affinity(label("zone", "NotIn", "b")), True),
    "NotIn, the value": (affinity(label("pool", "NotIn", "a")), False),
    "Exists": (affinity(label("pool", "Exists")), True),
    "DoesNotExist": (affinity(label("pool", "DoesNotExist")), False),
    "Gt": (affinity(label("size", "Gt", "4")), True),
    "Gt, equal": (affinity(label("size", "Gt", "8")), False),
    "Lt, no number": (affinity(label("pool", "Lt", "8")), False),
    "an unknown operator": (affinity(label("pool", "Like", "a")), False),
    "one of two terms": (affinity(label("pool", "In", "b"), label("size", "In", "8")), True),
    "no terms": (affinity(), False),
    "an empty term": (affinity({}), False),
    "a field": (
        affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}),
        True,
    ),
    "another field": (
        affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}),
        False,
    ),
}


@pytest.mark.parametrize("name", SELECTED)
def test_a_node_is_selected_as_kubernetes_selects_it(name: str) -> None:
    spec, expected = SELECTED[name]

    assert (obstacle(pod(8, **spec).demand, LABELS, ()) == "") is expected


TOLERATED: dict[str, tuple[dict[str, Any], bool]] = {
    "no toleration": ({}, False),
    "key and value": ({"key": "reserved", "value": "llm"}, True),
    "another value": ({"key": "reserved", "value": "x"}, False),
    "exists": ({"key": "reserved", "operator": "Exists"}, True),
    "everything": ({"operator": "Exists"}, True),
    "another effect": ({"key": "reserved", "operator": "Exists", "effect": "NoExecute"}, False),
    "no key, equal": ({"value": "llm"}, False),
}


@pytest.mark.parametrize("name", TOLERATED)
def test_a_taint_is_tolerated_as_kubernetes_tolerates_it(name: str) -> None:
    toleration, expected = TOLERATED[name]

    found = obstacle(pod(8, tolerations=[toleration] if toleration else []).demand, LABELS, (RESERVED,))

    assert found == ("" if expected else "taints")


def test_a_taint_that_only_prefers_keeps_nothing_away() -> None:
    avoided = Taint("slow", "", "PreferNoSchedule")

    assert obstacle(pod().demand, LABELS, (avoided,)) == ""


def test_the_labels_that_count_are_those_of_requirements() -> None:
    assert keys(pod(8, **affinity(label("pool", "In", "a"), label("size", "In", "8"))).demand) == {
        "pool",
        "size",
    }
