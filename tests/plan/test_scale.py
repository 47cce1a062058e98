"""The cost of a plan grows no faster than the pods that wait: counted, not timed."""

from collections import Counter
from typing import Any

import pytest

import plan.forecast
from plan.forecast import forecast
from plan.room import Room
from plan.supply import Supply
from tests.plan.workloads import gang, nodes, role

SHAPES = 4


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often slots are looked up, and how often a node is compared with a demand."""
    found: Counter[str] = Counter()

    def counted(name: str, function: Any) -> Any:
        def called(*given: Any) -> Any:
            found[name] += 1
            return function(*given)

        return called

    for owner, name in ((Room, "left"), (Room, "may_take"), (Supply, "slots"), (plan.forecast, "lack")):
        monkeypatch.setattr(owner, name, counted(name, getattr(owner, name)))
    return found


def work_of(services: int, looks: Counter[str]) -> int:
    """Plan services on ten times as many nodes of four shapes; return how often slots were looked up."""
    looks.clear()
    workloads = [
        gang(f"s{at:04}", role("prefill", 2, gpus=4 + 4 * (at % 2)), role("decode", 4, 2))
        for at in range(services)
    ]
    half = services * 10 // SHAPES
    forecast(workloads, nodes(",".join(f"{half}x8@pool={at}" for at in range(SHAPES))))
    return looks["left"] + looks["may_take"]


def test_the_cost_of_a_service_does_not_grow_with_services_and_nodes(looks: Counter[str]) -> None:
    """From 13 services on, the number of rows is the same."""
    small, large = work_of(16, looks), work_of(64, looks)

    assert large / 64 <= 1.5 * small / 16


def test_equal_nodes_are_compared_once(looks: Counter[str]) -> None:
    """Also where a service waits, and the plan says how many nodes are too small."""
    for gpus in (8, 16):
        looks.clear()
        forecast([gang("a", role("worker", 8, gpus=gpus))], nodes("10000x8"))

        assert (looks["slots"], looks["lack"]) == (1, int(gpus > 8))


def test_further_nodes_are_not_tried_one_by_one(looks: Counter[str]) -> None:
    forecast([gang("a", role("worker", 5000))], nodes("3x8"))

    assert looks["left"] < 50


def test_a_further_group_costs_the_same_however_many_have_started(looks: Counter[str]) -> None:
    costs = []
    for count in (50, 200):
        looks.clear()
        there = nodes(f"{2 * count}x8")
        forecast([gang("a", role("worker", 1, count))], there, present=len(there))
        costs.append(looks["left"])

    assert costs[1] <= 4 * costs[0]
