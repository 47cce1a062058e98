"""Laws of plans over random services and nodes."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from plan.forecast import Forecast, forecast
from plan.simulation import Simulation
from plan.supply import Supply
from plan.workload import Workload
from tests.plan.services import GPU, gang, nodes, pod, role

KINDS = some.sampled_from(("prefill", "decode", "worker"))
PODS = some.builds(
    lambda gpus, pool: pod(gpus, **({"nodeSelector": {"pool": pool}} if pool else {})),
    some.sampled_from((1, 2, 4, 8)),
    some.sampled_from(("", "", "a")),
)


@some.composite
def workloads(draw: Any) -> list[Workload]:
    found = []
    for at in range(draw(some.integers(1, 3))):
        roles = [
            role(
                f"r{number}-{draw(KINDS)}",
                draw(some.integers(1, 4)),
                draw(some.integers(0, 4)),
                pod=draw(PODS),
                required=draw(some.sampled_from((0, 1, 1))),
            )
            for number in range(draw(some.integers(1, 3)))
        ]
        found.append(gang(f"s{at}", *roles, priority=draw(some.sampled_from((0, 0, 5)))))
    return found


SHAPES = some.lists(
    some.sampled_from(("1x8", "1x4", "2x8@pool=a", "1x2@pool=a")), min_size=1, max_size=5
).map(lambda words: nodes(",".join(words)))


def used(plan: Forecast) -> dict[int, int]:
    """Return how many GPUs the placed pods request of each node."""
    found: dict[int, int] = {}
    for key, pods in plan.placed:
        for at, node in pods.items():
            one = dict(plan.workloads[key[0]].demand(key[1], at).requests)
            found[node] = found.get(node, 0) + one[GPU]
    return found


@given(workloads(), SHAPES)
def test_no_node_has_more_pods_than_room(services: list[Workload], there: tuple[Supply, ...]) -> None:
    plan = forecast(services, there)

    assert all(amount <= there[node].allocatable[GPU] for node, amount in used(plan).items())


@given(workloads(), SHAPES)
def test_groups_are_placed_whole_or_not_at_all(services: list[Workload], there: tuple[Supply, ...]) -> None:
    plan = forecast(services, there)

    for key, pods in plan.placed:
        assert len(pods) == services[key[0]].roles[key[1][0]].size


@given(workloads(), SHAPES)
def test_nothing_of_a_service_starts_without_its_required_groups(
    services: list[Workload], there: tuple[Supply, ...]
) -> None:
    for step in forecast(services, there).steps:
        for at, one in enumerate(services):
            counts = [
                sum((at, (number, group)) in step.started for group in range(its.replicas))
                for number, its in enumerate(one.roles)
            ]
            enough = all(has >= its.required for has, its in zip(counts, one.roles, strict=True))
            assert enough or not any(counts)


@given(workloads(), SHAPES)
def test_what_has_started_stays_started_as_nodes_are_added(
    services: list[Workload], there: tuple[Supply, ...]
) -> None:
    steps = forecast(services, there).steps

    assert all(before.started <= after.started for before, after in pairwise(steps))


@given(workloads(), SHAPES)
def test_a_group_that_waits_has_no_room_as_a_whole(
    services: list[Workload], there: tuple[Supply, ...]
) -> None:
    """Every shortage is one: the next groups of a service do not all have room, one pod after the other."""
    plan = forecast(services, there)

    for one in plan.shortages:
        assert one.fit < one.pods or "has replicas 0" in one.reason


@given(workloads(), SHAPES)
def test_trying_leaves_the_nodes_as_they_were(services: list[Workload], there: tuple[Supply, ...]) -> None:
    """A second cycle places nothing more: groups that were tried and removed have left nothing behind."""
    end = Simulation.of(services)
    end.add(there)
    states, started = [*end.pool.states], end.started

    end.settle()

    assert (end.pool.states, end.started) == (states, started)


@given(workloads(), SHAPES)
def test_further_nodes_start_what_the_plan_says(services: list[Workload], there: tuple[Supply, ...]) -> None:
    plan = forecast(services, there)

    for one in plan.further:
        end = Simulation.of(services)
        for node in (*there, *([one.like] * one.tried)):
            end.add([node])
        assert (
            end.started - plan.steps[-1].started - plan.steps[-1].uncertain
            == set(one.starts) - plan.steps[-1].uncertain
        )
