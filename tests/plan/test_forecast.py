"""What starts with which nodes: the gang, whole groups, the order of services, and what is missing."""

from dataclasses import replace
from typing import Final

import pytest

from plan.amounts import Amounts
from plan.forecast import Forecast, forecast
from plan.show import status, tables
from plan.supply import Supply, Taint
from plan.workload import RolePods, Workload
from tests.plan.workloads import GPU, gang, machine, nodes, pod, role, started, ungrouped

DISAGGREGATED: Final = gang("pd", role("prefill", 2), role("decode", 4, 2))
WORKER: Final = role("worker", 2)
REQUIRED: Final = {"pd/prefill", "pd/decode-0"}
STARTED: Final[dict[str, tuple[list[Workload], str, set[str]]]] = {
    "nothing without nodes": ([DISAGGREGATED], "0x8", set()),
    "the required groups not in part": ([DISAGGREGATED], "5x8", set()),
    "the required groups together": ([DISAGGREGATED], "6x8", REQUIRED),
    "others not in part": ([DISAGGREGATED], "9x8", REQUIRED),
    "others whole": ([DISAGGREGATED], "10x8", {*REQUIRED, "pd/decode-1"}),
    "the service of higher priority": (
        [gang("a", WORKER), gang("b", WORKER, priority=5)],
        "2x8",
        {"b/worker"},
    ),
    "of equal priority the first": ([gang("z", WORKER), gang("a", WORKER)], "2x8", {"z/worker"}),
    "every service before further groups": (
        [gang("a", role("worker", 2, 3)), gang("b", role("worker", 2, 3))],
        "4x8",
        {"a/worker-0", "b/worker-0"},
    ),
    "pods that are bound": ([gang("a", role("worker", 2, 2, whole=1))], "0x8", {"a/worker-0"}),
    "pods of no gang one by one": (
        [ungrouped("a", role("worker", 1, 3))],
        "2x8",
        {"a/worker-0", "a/worker-1"},
    ),
    "a service without PodGroup holds nothing": (
        [gang("a", WORKER, waits="no PodGroup"), gang("b", WORKER)],
        "2x8",
        {"b/worker"},
    ),
}
"""What starts, of which services, on which nodes."""


@pytest.mark.parametrize(("services", "shapes", "expected"), STARTED.values(), ids=STARTED)
def test_what_starts(services: list[Workload], shapes: str, expected: set[str]) -> None:
    assert started(forecast(services, nodes(shapes)).steps[-1]) == expected


def test_every_number_of_nodes_has_a_row() -> None:
    plan = forecast([DISAGGREGATED], nodes("10x8"))

    assert [(step.nodes, step.accelerators, len(started(step))) for step in plan.steps] == [
        (count, 8 * count, 0 if count < 6 else 2 if count < 10 else 3) for count in range(11)
    ]
    assert [step.nodes for step in forecast([DISAGGREGATED], ()).steps] == [0]


# --- promised or uncertain ----------------------------------------------------------------------------


def promised(services: list[Workload], there: tuple[Supply, ...]) -> tuple[set[str], int]:
    """Return what starts on all nodes at once, and how many groups may start too."""
    plan = forecast(services, there, present=len(there))
    standings = plan.steps[-1].standings
    return started(plan.steps[-1]), sum(each.uncertain.total() for each in standings)


def test_of_further_groups_a_service_has_what_all_others_leave() -> None:
    """After the required groups of 3 GPU nodes, a may take one more pair, and b up to two nodes."""
    services = [gang("a", role("worker", 2, 2)), gang("b", role("worker", 1, 3))]

    assert promised(services, nodes("5x8")) == ({"a/worker-0", "b/worker-0"}, 3)
    assert promised(services, nodes("6x8"))[0] == {"a/worker-0", "b/worker-0", "b/worker-1"}
    assert promised(services, nodes("7x8")) == ({f"{one}-{at}" for one, at in FULL}, 0)


FULL: Final = (("a/worker", 0), ("a/worker", 1), ("b/worker", 0), ("b/worker", 1), ("b/worker", 2))


def test_a_start_that_leaves_room_for_another_role_starts_that_one_too() -> None:
    """Until it is known that one more decode group starts, two may take what the prefill pod needs."""
    service = gang("pd", role("prefill", 1, 2, gpus=1), role("decode", 4, 3, gpus=2))

    expected = {"pd/prefill-0", "pd/prefill-1", "pd/decode-0", "pd/decode-1"}
    assert promised([service], nodes("3x8")) == (expected, 0)


def test_a_group_has_room_whatever_room_another_role_of_its_service_lacks() -> None:
    """One node is full, and the other one has 7 GPUs left: for prefill pods, but for no decode pod."""
    service = gang("pd", role("prefill", 1, 3, gpus=1), role("decode", 1, 2))

    expected = {"pd/prefill-0", "pd/prefill-1", "pd/prefill-2", "pd/decode-0"}
    assert promised([service], nodes("2x8")) == (expected, 0)


def test_pods_of_no_gang_may_take_any_node_first() -> None:
    large, small = ungrouped("a", role("worker")), ungrouped("b", role("worker", pod=pod(4)))

    assert promised([large, small], nodes("1x8")) == (set(), 2)
    assert "a/worker waits: 0 of 1 pods have room; " in forecast([large, small], nodes("1x8")).waiting[0]
    assert promised([gang("g", role("worker")), large], nodes("1x8")) == (set(), 2)
    assert promised([gang("g", role("worker")), large], nodes("2x8")) == ({"g/worker", "a/worker"}, 0)


def test_groups_of_several_pods_in_no_gang_are_promised_together() -> None:
    """Two groups of two pods: each of the four may be first, so three nodes may hold a half of both."""
    service = ungrouped("a", role("worker", 2, 2))

    assert promised([service], nodes("0x8")) == (set(), 0)
    assert promised([service], nodes("3x8")) == (set(), 2)
    assert promised([service], nodes("4x8")) == ({"a/worker-0", "a/worker-1"}, 0)
    (waiting,) = forecast([service], nodes("3x8")).waiting
    assert waiting.startswith("worker-0, worker-1 wait: 3 of 4 pods have room; ")


def test_a_group_is_promised_where_each_pod_has_room_for_the_larger_of_leader_and_worker() -> None:
    """Volcano keeps the nodes on which a pod of a role failed, and leader and workers have one role."""
    one = gang("a", role("worker", 2, leader=pod(8), pod=pod(1)))

    assert promised([one], nodes("1x8,1x1")) == (set(), 1)
    assert promised([one], nodes("1x8,1x1,1x8")) == ({"a/worker"}, 0)


def test_pods_of_another_size_may_stand_in_the_way() -> None:
    """Two pods of 1 GPU are on one node, or on two: then the pod of 8 waits."""
    small, large = gang("a", role("worker", 1, 2, gpus=1, required=2)), gang("b", role("worker"))

    assert promised([small, large], nodes("2x8")) == ({"a/worker-0", "a/worker-1"}, 1)
    assert promised([small, large], nodes("3x8")) == ({"a/worker-0", "a/worker-1", "b/worker"}, 0)


def test_a_group_that_depends_on_the_nodes_that_others_take_is_not_promised() -> None:
    """Two nodes are equal to the first service; the second one needs one of them."""
    first = gang("a", role("worker"))
    second = gang("b", role("worker", pod=pod(8, nodeSelector={"pool": "x"})))

    assert promised([first, second], nodes("1x8@pool=x,1x8")) == ({"a/worker"}, 1)


@pytest.mark.parametrize(("cpu", "expected"), [(64, ({"pd/prefill", "pd/decode"}, 0)), (20, (set(), 2))])
def test_other_resources_count_where_they_may_be_used_up(cpu: int, expected: tuple[set[str], int]) -> None:
    """Two pods of half a node have room on it, unless the larger one of CPU might come twice."""
    service = gang("pd", role("prefill", pod=pod(4, cpu=4)), role("decode", pod=pod(4, cpu=16)))

    assert promised([service], (machine(cpu=cpu),)) == expected


def test_a_resource_does_not_count_that_is_left_when_another_one_is_used_up() -> None:
    """Each pod takes a quarter of the CPU; the first one takes more memory, of which there is plenty."""
    large, small = (pod(0, cpu=16, overhead={"memory": size}) for size in ("2Gi", "1Gi"))
    services = [gang("a", role("worker", pod=large)), gang("b", role("worker", 1, 3, pod=small))]

    assert promised(services, (machine(cpu=64),)) == ({"a/worker", *(f"b/worker-{at}" for at in range(3))}, 0)


# --- why groups wait, and what more nodes would start --------------------------------------------------

POOL: Final = nodes("1x8,1x8@pool=h100")
TAINTED: Final = tuple(replace(one, taints=(Taint("x"),)) for one in nodes("1x8@pool=h100"))
USED: Final = tuple(replace(one, used=Amounts({GPU: 4000})) for one in nodes("1x8"))
PICKY: Final = role("worker", 2, pod=pod(8, nodeSelector={"pool": "h100"}))
SHORT: Final[dict[str, tuple[tuple[RolePods, ...], tuple[Supply, ...], str, str]]] = {
    "selectors and taints": (
        (PICKY,),
        (*POOL, *TAINTED),
        "worker waits: 1 of 2 pods have room",
        "of 3 nodes, 1 excluded by its node selector or affinity, 1 excluded by taints, 1 large enough",
    ),
    "nodes that are too small, or in use": (
        (WORKER,),
        (*nodes("2x4"), *USED),
        "worker waits: 0 of 2 pods have room",
        "of 3 nodes, 1 in use (nvidia.com/gpu), 2 too small (nvidia.com/gpu)",
    ),
    "no node": (
        DISAGGREGATED.roles,
        (),
        "prefill, decode-0 must start together: 0 of 6 pods have room",
        "there is no node",
    ),
}


@pytest.mark.parametrize(("roles", "there", "room", "reason"), SHORT.values(), ids=SHORT)
def test_what_starts_nothing_is_told_why(
    roles: tuple[RolePods, ...], there: tuple[Supply, ...], room: str, reason: str
) -> None:
    plan = forecast([gang("a", *roles)], there)

    assert plan.waiting == (f"{room}; a pod requests 8 nvidia.com/gpu; {reason}",)
    assert started(plan.steps[-1]) == set()


def test_groups_of_several_services_are_told_apart_by_their_namespaces() -> None:
    services = [replace(gang("x", WORKER), namespace=name) for name in ("a", "b")]

    found = forecast(services, ()).waiting

    assert [sentence.partition(" ")[0] for sentence in found] == ["a/x/worker", "b/x/worker"]


def further(plan: Forecast) -> list[tuple[int, str, int]]:
    return [(one.nodes, one.shape, len(one.starts)) for one in plan.further]


def test_the_next_nodes_that_start_something_are_counted_by_shape() -> None:
    mixed = forecast([DISAGGREGATED], nodes("1x4,4x8"))
    large = forecast([gang("a", role("worker", 500))], nodes("3x8"))

    assert further(mixed) == [(2, "8 nvidia.com/gpu", 2), (0, "4 nvidia.com/gpu", 0)]
    assert [str(one) for one in mixed.further] == [
        "2 more nodes with 8 nvidia.com/gpu would start prefill, decode-0",
        "more nodes with 4 nvidia.com/gpu would start nothing",
    ]
    assert further(large) == [(497, "8 nvidia.com/gpu", 1)]


def test_more_nodes_than_pods_wait_may_be_needed() -> None:
    """Three pods of 8 GPUs may take all 8 slots of the large node, and what else has room for a pod of 1."""
    services = [ungrouped("a", role("worker", 1, 3)), ungrouped("b", role("worker", gpus=1))]

    assert further(forecast(services, nodes("1x8,1x2")))[1] == (8, "2 nvidia.com/gpu", 1)


def test_equal_machines_are_one_shape_and_labels_that_count_tell_shapes_apart() -> None:
    """Memory differs by less than a GiB; only the pods' selector makes pools different."""
    there = [machine(memory=512 * 2**30 + at, pool="ab"[at % 2]) for at in range(6)]
    size = "8 nvidia.com/gpu, 64 cpu, 512Gi memory"
    free, picky = role("worker", 8), role("worker", 8, pod=pod(8, nodeSelector={"pool": "a"}))

    found = [further(forecast([gang("a", its)], there)) for its in (free, picky)]

    assert found == [[(2, size, 1)], [(5, f"{size}, pool=a", 1), (0, f"{size}, pool=b", 0)]]


def test_without_groups_that_could_start_no_further_nodes_are_tried() -> None:
    assert forecast([gang("a", WORKER, waits="no PodGroup")], nodes("2x8")).further == ()


# --- what is not known, and what is not modelled -------------------------------------------------------


def test_a_service_of_which_claims_are_not_known_is_on_no_node_and_others_are() -> None:
    claims = gang("x", role("worker", 1, pod=replace(pod(1), unknown=("claim gpus: why",))))

    plan = forecast([claims, gang("a", WORKER)], nodes("3x8"))

    assert started(plan.steps[-1]) == {"a/worker"}
    assert (plan.complete, plan.waiting, plan.further) == (False, (), ())
    assert [status(standing) for standing in plan.steps[-1].standings] == ["Not known", "Full capacity"]
    assert plan.notes[0] == "x: not known whether its pods have room: claim gpus: why"


@pytest.mark.parametrize("replicas", [1, 13])
def test_cells_and_capacity_are_not_known_unless_all_pods_are_on_nodes(replicas: int) -> None:
    one = role("worker", 1, replicas, pod=replace(pod(1), unknown=("claim gpus: why",)))
    there = replace(one, whole=replicas)

    ((_, unknown),), ((_, known),) = (
        tables(forecast([gang("x", its)], nodes("1x8"))) for its in (one, there)
    )

    words = ["not known"] * (len(unknown[0]) - 3)
    assert unknown[1:] == [("0-1", "0-8", *words, "Not known")]
    assert known[1][-2:] == ("100%", "Full capacity")


def test_the_claims_of_workers_count_where_there_are_workers() -> None:
    unknown = replace(pod(), unknown=("claim gpus: why",))

    found = [bool(gang("x", role("worker", size, leader=pod(), pod=unknown)).unknown) for size in (1, 2)]

    assert found == [False, True]


def test_what_is_not_modelled_is_a_note() -> None:
    spread = gang("a", role("worker", 2, pod=pod(8, topologySpreadConstraints=[{"maxSkew": 1}])))

    found = forecast([spread, gang("b", WORKER, priority=1)], nodes("2x8")).notes

    assert found == (
        "a: not modelled: topology spread constraints",
        "preemption is not modelled: a service of higher priority takes only what is free",
        "only accelerators were given: the nodes count as having enough CPU, memory and other resources",
    )
