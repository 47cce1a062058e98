"""Nodes: the short form, Node objects, and the pods on them."""

import pytest

from plan.amounts import PODS, PlanError
from plan.supply import out_of_service, parse_shapes, supplies
from tests.plan.services import GPU, nodes


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


def test_pods_on_a_node_use_it_until_they_have_ended() -> None:
    node = {"metadata": {"name": "n"}, "status": {"allocatable": {GPU: "8", "pods": "110"}}}
    container = {"resources": {"limits": {GPU: "2"}}}
    spec = {"nodeName": "n", "containers": [container]}
    specs = (spec, spec, {**spec, "nodeName": "other"}, {"containers": [container]})
    phases = ("Running", "Failed", "Running", "Pending")
    pods = [{"spec": one, "status": {"phase": phase}} for one, phase in zip(specs, phases, strict=True)]

    (found,) = supplies([node], pods)

    assert (found.used[GPU], found.used[PODS], found.free(GPU)) == (2000, 1000, 6000)


@pytest.mark.parametrize(
    ("spec", "condition", "expected"),
    [({}, "True", ""), ({"unschedulable": True}, "True", "cordoned"), ({}, "Unknown", "not ready")],
)
def test_a_node_that_takes_no_pods_is_left_out(spec: dict[str, bool], condition: str, expected: str) -> None:
    status = {"conditions": [{"type": "Ready", "status": condition}]}

    assert out_of_service({"spec": spec, "status": status}) == expected
