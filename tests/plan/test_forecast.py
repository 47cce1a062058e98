"""What starts with which nodes: the gang, whole groups, the order of services, and what is missing."""

from dataclasses import replace

import pytest

from plan.forecast import Forecast, forecast
from plan.supply import Taint
from tests.plan.services import GPU, gang, nodes, pod, role, ungrouped

DISAGGREGATED = gang("pd", role("prefill", 2), role("decode", 4, 2))


def started(plan: Forecast, at: int = -1) -> set[str]:
    """Return the groups that have started in a row."""
    return {
        f"{plan.workloads[one].name}/{plan.workloads[one].label(key)}" for one, key in plan.steps[at].started
    }


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ("0x8", set()),
        ("5x8", set()),
        ("6x8", {"pd/prefill", "pd/decode-0"}),
        ("9x8", {"pd/prefill", "pd/decode-0"}),
        ("10x8", {"pd/prefill", "pd/decode-0", "pd/decode-1"}),
    ],
)
def test_the_required_groups_start_together_and_others_whole(shapes: str, expected: set[str]) -> None:
    assert started(forecast([DISAGGREGATED], nodes(shapes))) == expected


def test_every_number_of_nodes_has_a_row() -> None:
    plan = forecast([DISAGGREGATED], nodes("10x8"))

    assert [(step.nodes, step.accelerators, len(step.started)) for step in plan.steps] == [
        (count, 8 * count, 0 if count < 6 else 2 if count < 10 else 3) for count in range(11)
    ]


def test_the_service_of_higher_priority_starts_first() -> None:
    low, high = gang("a", role("worker", 2)), gang("b", role("worker", 2), priority=5)

    assert started(forecast([low, high], nodes("2x8"))) == {"b/worker"}


def test_of_equal_priority_the_oldest_starts_first() -> None:
    young, old = gang("z", role("worker", 2)), gang("a", role("worker", 2))

    assert started(forecast([young, old], nodes("2x8"))) == {"a/worker"}


def test_every_service_starts_before_one_gets_further_groups() -> None:
    plan = forecast([gang("a", role("worker", 2, 3)), gang("b", role("worker", 2, 3))], nodes("4x8"))

    assert started(plan) == {"a/worker-0", "b/worker-0"}


def test_further_groups_go_to_the_service_with_the_smaller_share() -> None:
    """Of 8 GPUs, both have a quarter when a has 1 group and b has 2; the oldest is next."""
    services = [gang("a", role("worker", 2, 3)), gang("b", role("worker", 1, 9))]

    plan = forecast(services, nodes("8x8"), present=8)

    assert started(plan) == {"a/worker-0", "a/worker-1", *(f"b/worker-{at}" for at in range(4))}


def test_a_role_without_replicas_that_is_required_keeps_all_others_waiting() -> None:
    plan = forecast([gang("pd", role("prefill", 2), role("decode", 4, 0))], nodes("10x8"))

    assert started(plan) == set()
    assert "decode must start too, and has replicas 0" in plan.shortages[0].reason


def test_pods_of_no_gang_are_placed_one_by_one_and_hold_what_they_have() -> None:
    plan = forecast([ungrouped("plain", role("worker", 4))], nodes("3x8"))

    assert started(plan) == set()
    assert plan.idle.accelerators == 0


def test_pods_that_are_bound_count_as_started() -> None:
    running = role("worker", 2, 2, bound=frozenset({(0, 0), (0, 1)}))

    assert started(forecast([gang("a", running)], nodes("0x8"))) == {"a/worker-0"}


def test_only_the_missing_pods_of_a_group_need_room() -> None:
    half = role("worker", 2, bound=frozenset({(0, 1)}))

    assert started(forecast([gang("a", half)], nodes("1x8"))) == {"a/worker"}


def test_selectors_and_taints_keep_pods_away() -> None:
    picky = gang("a", role("worker", 2, pod=pod(8, nodeSelector={"pool": "h100"})))
    tainted = tuple(replace(one, taints=(Taint("x"),)) for one in nodes("1x8@pool=h100"))

    plan = forecast([picky], (*nodes("1x8,1x8@pool=h100"), *tainted))

    assert started(plan) == set()
    assert plan.shortages[0].fit == 1
    assert plan.shortages[0].reason == (
        "a pod requests 8 nvidia.com/gpu; of 3 nodes, 1 excluded by its node selector or affinity, "
        "1 excluded by taints, 1 taken by the pods that have room"
    )


def test_a_resource_that_no_node_has_is_named() -> None:
    plan = forecast([gang("a", role("worker", 2))], nodes("2x0"))

    assert plan.shortages[0].reason.endswith("of 2 nodes, 2 without nvidia.com/gpu")


def test_a_node_that_is_too_small_is_told_from_one_that_is_in_use() -> None:
    used = tuple(replace(one, used={GPU: 4000}) for one in nodes("1x8"))

    plan = forecast([gang("a", role("worker", 2))], (*nodes("2x4"), *used))

    assert plan.shortages[0].reason.endswith("1 in use (nvidia.com/gpu), 2 too small (nvidia.com/gpu)")


def test_the_next_nodes_that_start_something_are_counted_by_shape() -> None:
    plan = forecast([DISAGGREGATED], nodes("1x4,4x8"))

    found = [(one.like.allocatable[GPU], one.tried, len(one.starts)) for one in plan.further]
    assert found == [(4000, 0, 0), (8000, 2, 2)]


def test_idle_gpus_that_pending_pods_could_use_are_counted() -> None:
    plan = forecast([DISAGGREGATED], nodes("9x8"))

    assert (plan.idle.accelerators, plan.idle.held) == (24, 24)


def test_gpus_that_no_pending_pod_could_use_are_only_idle() -> None:
    plan = forecast([gang("a", role("worker", 2, 2))], nodes("2x8,1x4"))

    assert (plan.idle.accelerators, plan.idle.held) == (4, 0)


def test_a_service_without_pod_group_waits_and_holds_nothing() -> None:
    waiting = replace(gang("a", role("worker", 2)), waits=("no PodGroup",))

    plan = forecast([waiting, gang("b", role("worker", 2))], nodes("2x8"))

    assert started(plan) == {"b/worker"}
    assert [one.reason for one in plan.shortages] == ["no PodGroup"]


def test_a_group_that_depends_on_equally_good_nodes_is_not_promised() -> None:
    """Two nodes are equal to the first service; the second one needs one of them."""
    first = gang("a", role("worker", 1, pod=pod(8)))
    second = gang("b", role("worker", 1, pod=pod(8, nodeSelector={"pool": "x"})))

    plan = forecast([first, second], nodes("1x8@pool=x,1x8"), present=2)

    assert started(plan) == {"a/worker"}
    assert len(plan.steps[-1].uncertain) == 1
    assert any("equally good" in one for one in plan.notes)


def test_a_pod_that_requests_nothing_does_not_keep_its_group_waiting() -> None:
    leader = replace(role("worker", 3), leader=pod(0))

    assert started(forecast([gang("a", leader)], nodes("2x8"))) == {"a/worker"}


def test_without_nodes_a_plan_has_one_row() -> None:
    plan = forecast([DISAGGREGATED], ())

    assert [(step.nodes, len(step.started)) for step in plan.steps] == [(0, 0)]
    assert plan.shortages[0].reason.endswith("there is no node")


def test_what_is_not_modelled_is_a_note() -> None:
    spread = pod(8, topologySpreadConstraints=[{"maxSkew": 1}])
    one = gang("a", role("worker", 2, pod=spread))

    assert "a: not modelled: topology spread constraints" in forecast([one], nodes("2x8")).notes
