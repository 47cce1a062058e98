"""Laws of plans over random services and nodes."""

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

from plan.forecast import forecast
from plan.supply import Supply, keys, shape
from plan.workload import Groups, Workload
from tests.plan.scheduler import Scheduler
from tests.plan.workloads import gang, machine, pod, role, started, ungrouped
from tests.tiers import count

KINDS = some.sampled_from(("prefill", "decode", "worker"))
PODS = some.builds(
    lambda gpus, cpu, memory, pool: pod(
        gpus, cpu, overhead={"memory": memory}, **({"nodeSelector": {"pool": pool}} if pool else {})
    ),
    some.sampled_from((1, 2, 4, 8, 0)),
    some.sampled_from((0, 0, 1, 6)),
    some.sampled_from(("0", "0", "1Gi", "100Gi")),
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
                replicas := draw(some.integers(0, 4)),
                pod=draw(PODS),
                leader=draw(some.sampled_from((None, None, None, "other"))) and draw(PODS),
                required=min(replicas, draw(some.sampled_from((0, 1, 1)))),
            )
            for number in range(draw(some.integers(1, 3)))
        ]
        if draw(some.sampled_from((0, 0, 0, 1))):
            found.append(ungrouped(f"s{at}", roles[0]))
        else:
            found.append(gang(f"s{at}", *roles, priority=draw(some.sampled_from((0, 0, 5)))))
    return found


NODES = some.builds(
    lambda gpus, cpu, pool: machine(gpus, cpu, pool=pool),
    some.sampled_from((8, 8, 4, 2)),
    some.sampled_from((64, 64, 8)),
    some.sampled_from(("a", "b")),
)
SHAPES = some.lists(NODES, min_size=1, max_size=6).map(tuple)


@given(workloads(), SHAPES)
def test_what_has_started_stays_and_is_never_a_part_of_the_required_groups(
    services: list[Workload], there: tuple[Supply, ...]
) -> None:
    steps = forecast(services, there).steps

    assert all(started(before) <= started(after) for before, after in pairwise(steps))
    for step in steps:
        for one, standing in zip(services, step.standings, strict=True):
            assert standing.started >= one.required or not standing.started


@given(workloads(), SHAPES, some.integers(0, 2**32))
@settings(max_examples=2 * count("HYPOTHESIS_EXAMPLES"))
def test_a_scheduler_starts_what_is_promised_and_nothing_that_is_not_uncertain(
    services: list[Workload], there: tuple[Supply, ...], seed: int
) -> None:
    """Whichever nodes it takes, after each node that is added."""
    scheduler = Scheduler(services, seed)
    for step, more in zip(forecast(services, there).steps, ([], *([one] for one in there)), strict=True):
        scheduler.add(more)
        found = scheduler.started()
        for at, standing in enumerate(step.standings):
            whole = Groups(role for service, role, _ in found if service == at)
            assert standing.started <= whole <= standing.started + standing.uncertain


@given(workloads(), SHAPES)
@settings(max_examples=count("HYPOTHESIS_EXAMPLES") // 3)
def test_further_nodes_start_what_the_plan_says(services: list[Workload], there: tuple[Supply, ...]) -> None:
    plan = forecast(services, there)
    shapes = [each for one in services for its in one.roles for each in its.shapes]
    marks = {key for each in shapes for key in keys(each.demand)}

    for each in plan.further:
        like = next(one for one in there if shape(one, marks) == each.shape)
        more = forecast(services, (*there, *([like] * each.nodes)))
        names = {one if len(services) > 1 else f"{services[0].name}/{one}" for one in each.starts}
        assert started(more.steps[-1]) - started(plan.steps[-1]) == names
