"""The cost of a plan grows no faster than pods x states of nodes: counted, not timed."""

from typing import Final

import pytest

from plan.forecast import forecast
from plan.simulation import Simulation
from tests.plan.services import gang, nodes, role
from tests.tiers import WHOLE

SHAPES: Final = 4
MOST_OF_A_POD: Final = 25
"""How often a pod may be compared with nodes of one shape: in several rows, and in several states."""


def plan_of(services: int, *, in_rows: bool) -> tuple[int, int]:
    """Plan services on ten times as many nodes of four shapes; return the work, and the pods.

    `in_rows`: nodes are added step by step; the number of rows is the same from 127 nodes on.
    """
    workloads = [
        gang(f"s{at:04}", role("prefill", 2, gpus=4 + 4 * (at % 2)), role("decode", 4, 2))
        for at in range(services)
    ]
    half = services * 10 // SHAPES
    there = nodes(",".join(f"{half}x8@pool={at}" for at in range(SHAPES)))
    present = 0 if in_rows else len(there)
    return forecast(workloads, there, present=present).work, sum(2 + 4 * 2 for _ in workloads)


def test_the_cost_of_a_pod_does_not_grow_with_services_and_nodes() -> None:
    small, large = plan_of(8, in_rows=False), plan_of(32, in_rows=False)

    assert large[0] / large[1] <= 1.2 * small[0] / small[1]


@pytest.mark.slow
@pytest.mark.parametrize("services", [10, 100, *([1000] if WHOLE else [])])
def test_the_cost_in_rows_is_bounded_by_pods_and_shapes(services: int) -> None:
    """The factor depends on how many nodes a row adds, between 3 and 20 from 10 services to 1000."""
    work, pods = plan_of(services, in_rows=True)

    assert work <= MOST_OF_A_POD * SHAPES * pods


@pytest.mark.parametrize("count", [100, 10_000])
def test_equal_nodes_are_compared_once(count: int) -> None:
    end = Simulation.of([gang("a", role("worker", 8))])

    end.add(nodes(f"{count}x8"))

    assert end.pool.work[0] == 8 + 7


def test_a_further_group_costs_the_same_however_many_have_started() -> None:
    small, large = (
        Simulation.of([gang("a", role("worker", 1, 50))]),
        Simulation.of([gang("a", role("worker", 1, 200))]),
    )
    small.add(nodes("100x8"))
    large.add(nodes("400x8"))

    assert large.pool.work[0] == 4 * small.pool.work[0] + 3
