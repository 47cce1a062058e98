"""Nodes: the short form, Node objects, the pods on them, and the pods that may use them."""

from dataclasses import replace
from typing import Any

import pytest

from plan.amounts import PODS, Amounts, PlanError
from plan.supply import Supply, Taint, keys, obstacle, out_of_service, parse_shapes, supplies
from tests.plan.workloads import GPU, nodes, pod


def test_shapes_are_added_in_their_order() -> None:
    found = nodes("2x8,0x2, 1x4@pool=h100@zone=")

    assert [one.allocatable for one in found] == [{GPU: 8000}, {GPU: 8000}, {GPU: 4000}]
    assert found[2].labels == {"pool": "h100", "zone": ""}


@pytest.mark.parametrize("name", ["gpu.amd.com", "amd.com/gpu"])
def test_a_shape_has_the_accelerator_that_services_request(name: str) -> None:
    (node,) = parse_shapes("1x8", [name])

    assert node.allocatable == {name: 8000}


UNREADABLE = {
    "": "is not COUNTxGPUS",
    "8": "is not COUNTxGPUS",
    "-1x8": "is not COUNTxGPUS",
    "1x8@pool": "is not COUNTxGPUS",
    "1x8,": "is not COUNTxGPUS",
    "60000x8,60000x8": "more than 100000 nodes are not planned",
    f"1x{'9' * 5000}": "is not COUNTxGPUS",
}


@pytest.mark.parametrize("word", UNREADABLE)
def test_a_shape_that_cannot_be_read_says_why(word: str) -> None:
    with pytest.raises(PlanError) as raised:
        nodes(word)

    assert UNREADABLE[word] in str(raised.value)
    assert len(str(raised.value)) < 200


def test_of_two_accelerators_no_shape_can_be_told() -> None:
    with pytest.raises(
        PlanError, match=r"request amd\.com/gpu, nvidia\.com/gpu; plan one of them, or on a cluster"
    ):
        parse_shapes("1x8", ["nvidia.com/gpu", "amd.com/gpu"])


def test_pods_on_a_node_use_it() -> None:
    node = {"metadata": {"name": "n"}, "status": {"allocatable": {GPU: "8", "pods": "110"}}}
    container = {"resources": {"limits": {GPU: "2"}}}
    spec = {"nodeName": "n", "containers": [container]}
    specs = (spec, {**spec, "nodeName": "other"}, {"containers": [container]})

    (found,) = supplies([node], [{"spec": one} for one in specs])

    assert (found.used[GPU], found.used[PODS], found.free(GPU)) == (2000, 1000, 6000)


@pytest.mark.parametrize(
    ("spec", "condition", "expected"),
    [({}, "True", ""), ({"unschedulable": True}, "True", "cordoned"), ({}, "Unknown", "not ready")],
)
def test_a_node_that_takes_no_pods_is_left_out(spec: dict[str, bool], condition: str, expected: str) -> None:
    status = {"conditions": [{"type": "Ready", "status": condition}]}

    assert out_of_service({"spec": spec, "status": status}) == expected


# --- which nodes a pod may use: selectors, required affinity, taints ---------------------------------------

RESERVED = Taint("reserved", "llm")
NODE = Supply(Amounts(), labels={"pool": "a", "size": "8", "metadata.name": "n1"})
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
    "a field": (affinity({"matchFields": label("metadata.name", "In", "n1")["matchExpressions"]}), True),
    "another field": (
        affinity({"matchFields": label("metadata.name", "In", "n2")["matchExpressions"]}),
        False,
    ),
}


@pytest.mark.parametrize("name", SELECTED)
def test_a_node_is_selected_as_kubernetes_selects_it(name: str) -> None:
    spec, expected = SELECTED[name]

    assert (obstacle(pod(8, **spec).demand, NODE) == "") is expected


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

    reserved = replace(NODE, taints=(RESERVED,))

    found = obstacle(pod(8, tolerations=[toleration] if toleration else []).demand, reserved)

    assert found == ("" if expected else "taints")


def test_a_taint_that_only_prefers_keeps_nothing_away() -> None:
    avoided = replace(NODE, taints=(Taint("slow", "", "PreferNoSchedule"),))

    assert obstacle(pod().demand, avoided) == ""


def test_the_labels_that_count_are_those_of_requirements() -> None:
    assert keys(pod(8, **affinity(label("pool", "In", "a"), label("size", "In", "8"))).demand) == {
        "pool",
        "size",
    }
