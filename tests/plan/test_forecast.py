"""What starts with which nodes: the gang, whole groups, the order of services, and what is missing."""

from dataclasses import replace
from typing import Final

import pytest

from plan.data import as_data
from plan.forecast import Forecast, forecast
from plan.rows import overview, table
from plan.sentences import MOST_SHORTAGES, idle, size, waiting
from plan.supply import Supply, Taint
from plan.words import status
from plan.workload import Workload
from tests.plan.services import GPU, gang, nodes, pod, role, ungrouped

DISAGGREGATED = gang("pd", role("prefill", 2), role("decode", 4, 2))


def started(plan: Forecast, at: int = -1) -> set[str]:
    """Return the groups that have started in a row."""
    return {
        f"{plan.workloads[one].name}/{plan.workloads[one].label(key)}" for one, key in plan.steps[at].started
    }


WORKER = role("worker", 2)
REQUIRED = {"pd/prefill", "pd/decode-0"}
STARTED: dict[str, tuple[list[Workload], str, set[str]]] = {
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
    "of equal priority the oldest": ([gang("z", WORKER), gang("a", WORKER)], "2x8", {"a/worker"}),
    "every service before further groups": (
        [gang("a", role("worker", 2, 3)), gang("b", role("worker", 2, 3))],
        "4x8",
        {"a/worker-0", "b/worker-0"},
    ),
    "pods that are bound": (
        [gang("a", role("worker", 2, 2, bound=frozenset({(0, 0), (0, 1)})))],
        "0x8",
        {"a/worker-0"},
    ),
    "a group of which one pod needs room": (
        [gang("a", role("worker", 2, bound=frozenset({(0, 1)})))],
        "1x8",
        {"a/worker"},
    ),
}
"""What starts, of which services, on which nodes."""


@pytest.mark.parametrize(("services", "shapes", "expected"), STARTED.values(), ids=STARTED)
def test_what_starts(services: list[Workload], shapes: str, expected: set[str]) -> None:
    assert started(forecast(services, nodes(shapes))) == expected


def test_every_number_of_nodes_has_a_row() -> None:
    plan = forecast([DISAGGREGATED], nodes("10x8"))

    assert [(step.nodes, step.accelerators, len(step.started)) for step in plan.steps] == [
        (count, 8 * count, 0 if count < 6 else 2 if count < 10 else 3) for count in range(11)
    ]
    assert [(step.nodes, len(step.started)) for step in forecast([DISAGGREGATED], ()).steps] == [(0, 0)]


def test_further_groups_go_to_the_service_with_the_smaller_share() -> None:
    """Of 8 GPUs, both have a quarter when a has 1 group and b has 2; the oldest is next."""
    services = [gang("a", role("worker", 2, 3)), gang("b", role("worker", 1, 9))]

    plan = forecast(services, nodes("8x8"), present=8)

    assert started(plan) == {"a/worker-0", "a/worker-1", *(f"b/worker-{at}" for at in range(4))}


def test_pods_of_no_gang_that_waited_may_be_overtaken() -> None:
    """The pod that is tried first takes the node, whatever the priorities."""
    large = ungrouped("a", role("worker", 1, pod=replace(pod(8), priority=5)))
    small = ungrouped("b", role("worker", 1, pod=pod(4)))

    plan = forecast([large, small], nodes("1x8"))

    assert (started(plan), len(plan.steps[-1].uncertain)) == (set(), 2)
    assert any("preemption" in one for one in plan.notes)


def test_groups_of_no_gang_that_may_each_hold_a_part_are_uncertain() -> None:
    """Any 7 of 8 pods take the nodes: they are promised together alone."""
    loose = ungrouped("a", role("worker", 4, 2))
    seven, eight = (forecast([loose], nodes(f"{count}x8"), present=count) for count in (7, 8))

    assert (started(seven), len(seven.steps[-1].uncertain)) == (set(), 1)
    assert status(seven, seven.steps[-1], 0) == "Uncertain"
    assert started(eight) == {"a/worker-0", "a/worker-1"}
    assert any("its pods are in no gang" in one for one in seven.notes)


def test_replicas_of_one_pod_in_no_gang_are_certain() -> None:
    plan = forecast([ungrouped("a", role("worker", 1, 3))], nodes("2x8"))

    assert (started(plan), plan.steps[-1].uncertain) == ({"a/worker-0", "a/worker-1"}, frozenset())


POOL: Final = nodes("1x8,1x8@pool=h100")
TAINTED: Final = tuple(replace(one, taints=(Taint("x"),)) for one in nodes("1x8@pool=h100"))
USED: Final = tuple(replace(one, used={GPU: 4000}) for one in nodes("1x8"))
SHORT: Final[dict[str, tuple[Workload, tuple[Supply, ...], int, str]]] = {
    "selectors and taints": (
        gang("a", role("worker", 2, pod=pod(8, nodeSelector={"pool": "h100"}))),
        (*POOL, *TAINTED),
        1,
        (
            "a pod requests 8 nvidia.com/gpu; of 3 nodes, 1 excluded by its node selector or affinity, "
            "1 excluded by taints, 1 large enough"
        ),
    ),
    "no node has the resource": (
        gang("a", WORKER),
        nodes("2x0"),
        0,
        "a pod requests 8 nvidia.com/gpu; of 2 nodes, 2 without nvidia.com/gpu",
    ),
    "nodes that are too small, or in use": (
        gang("a", WORKER),
        (*nodes("2x4"), *USED),
        0,
        (
            "a pod requests 8 nvidia.com/gpu; "
            "of 3 nodes, 1 in use (nvidia.com/gpu), 2 too small (nvidia.com/gpu)"
        ),
    ),
    "no node": (DISAGGREGATED, (), 0, "a pod requests 8 nvidia.com/gpu; there is no node"),
    "a required role without replicas": (
        gang("pd", role("prefill", 2), role("decode", 4, 0)),
        nodes("10x8"),
        0,
        "decode must start too, and has replicas 0",
    ),
}


@pytest.mark.parametrize(("service", "there", "fit", "reason"), SHORT.values(), ids=SHORT)
def test_what_starts_nothing_is_told_why(
    service: Workload, there: tuple[Supply, ...], fit: int, reason: str
) -> None:
    plan = forecast([service], there)

    assert started(plan) == set()
    assert plan.shortages[0].fit == fit
    assert plan.shortages[0].reason == reason


def test_the_next_nodes_that_start_something_are_counted_by_shape() -> None:
    plan = forecast([DISAGGREGATED], nodes("1x4,4x8"))

    found = [(one.like.allocatable[GPU], one.tried, len(one.starts)) for one in plan.further]
    assert found == [(8000, 2, 2), (4000, 0, 0)]


def test_a_large_group_is_told_how_many_more_nodes_it_needs() -> None:
    plan = forecast([gang("a", role("worker", 500))], nodes("3x8"))

    assert [(one.tried, len(one.starts)) for one in plan.further] == [(497, 1)]


def test_equal_machines_are_one_shape_and_labels_that_count_tell_shapes_apart() -> None:
    """Memory differs by less than a GiB; only the pods' selector makes pools different."""
    gib = 2**30 * 1000
    there = tuple(
        replace(
            one,
            partial=False,
            allocatable={"cpu": 64_000, "memory": 512 * gib + at, GPU: 8000, "pods": 110_000},
            labels={"pool": "ab"[at % 2], "kubernetes.io/hostname": one.name},
        )
        for at, one in enumerate(nodes("6x8"))
    )
    size = "8 nvidia.com/gpu, 64 cpu, 512Gi memory"
    free, picky = role("worker", 8), role("worker", 8, pod=pod(8, nodeSelector={"pool": "a"}))

    found = [
        [(one.shape, one.tried) for one in forecast([gang("a", its)], there).further] for its in (free, picky)
    ]

    assert found == [[(size, 2)], [(f"{size}, pool=a", 5), (f"{size}, pool=b", 0)]]


def test_without_groups_that_could_start_no_further_nodes_are_tried() -> None:
    waiting = replace(gang("a", role("worker", 2)), waits=("no PodGroup",))

    assert forecast([waiting], nodes("2x8")).further == ()


def test_a_group_is_promised_where_each_pod_has_room_for_the_larger_of_leader_and_worker() -> None:
    """Volcano keeps the nodes on which a pod of a role failed, and leader and workers have one role."""
    one = replace(role("worker", 2), worker=pod(1))
    short, enough = (forecast([gang("a", one)], nodes(shapes)) for shapes in ("1x8,1x1", "1x8,1x1,1x8"))

    assert (started(short), started(enough)) == (set(), {"a/worker"})
    assert len(short.steps[-1].uncertain) == 1


def test_pods_of_another_size_may_stand_in_the_way() -> None:
    """Two pods of 1 GPU are on one node, or on two: then the pod of 8 waits."""
    small, large = gang("a", role("worker", 1, 2, gpus=1, required=2)), gang("b", role("worker"))

    found = [forecast([small, large], nodes(f"{count}x8"), present=count) for count in (2, 3)]

    both = {"a/worker-0", "a/worker-1"}
    assert [started(one) for one in found] == [both, {*both, "b/worker"}]
    assert [len(one.steps[-1].uncertain) for one in found] == [1, 0]


@pytest.mark.parametrize(
    ("service", "shapes", "said"),
    [
        (DISAGGREGATED, "9x8", "idle GPUs: 24"),
        (gang("a", role("worker", 2, 2)), "2x8,1x4", "idle GPUs: 4"),
        (ungrouped("plain", role("worker", 3, 2)), "4x8", "idle GPUs: up to 32"),
    ],
    ids=["pending pods could use them", "no pending pod could", "pods of no gang hold them"],
)
def test_gpus_that_no_group_has_are_counted(service: Workload, shapes: str, said: str) -> None:
    assert idle(forecast([service], nodes(shapes))) == said


def test_services_that_wait_are_told_up_to_a_number_and_then_counted() -> None:
    several = [gang(f"s{number}", role("worker", 2)) for number in range(MOST_SHORTAGES + 2)]

    *told, last = waiting(forecast(several, nodes("1x1")))

    assert len(told) == MOST_SHORTAGES
    assert last == "2 more services wait"


def test_a_service_without_pod_group_waits_and_holds_nothing() -> None:
    waiting = replace(gang("a", role("worker", 2)), waits=("no PodGroup",))

    plan = forecast([waiting, gang("b", role("worker", 2))], nodes("2x8"))

    assert started(plan) == {"b/worker"}
    assert [one.reason for one in plan.shortages] == ["no PodGroup"]


def test_a_group_that_depends_on_the_nodes_that_others_take_is_not_promised() -> None:
    """Two nodes are equal to the first service; the second one needs one of them."""
    first = gang("a", role("worker", 1, pod=pod(8)))
    second = gang("b", role("worker", 1, pod=pod(8, nodeSelector={"pool": "x"})))

    plan = forecast([first, second], nodes("1x8@pool=x,1x8"), present=2)

    assert started(plan) == {"a/worker"}
    assert len(plan.steps[-1].uncertain) == 1


def test_a_service_of_which_claims_are_not_known_is_on_no_node_and_others_are() -> None:
    claims = gang("x", role("worker", 1, pod=replace(pod(1), unknown=("claim gpus: why",))))

    plan = forecast([claims, gang("a", WORKER)], nodes("3x8"))

    assert started(plan) == {"a/worker"}
    assert (plan.complete, plan.unknown) == (False, True)
    assert [status(plan, step, 0) for step in plan.steps] == ["Not known"] * 4
    assert [status(plan, step, 1) for step in plan.steps][2:] == ["Full capacity"] * 2
    assert (plan.shortages, plan.further) == ((), ())
    assert plan.notes[0] == "x: not known whether its pods have room: claim gpus: why"
    assert (idle(plan), size(plan, 0)) == ("idle GPUs: not known", "x: 1 group, GPUs not known")
    assert overview(plan)[0] == ("nodes", "GPUs", "full", "partial", "blocked", "not known", "groups")
    assert overview(plan)[-1] == ("2-3", "16-24", "1", "0", "0", "1", "1 of 2")


@pytest.mark.parametrize("replicas", [1, 13])
def test_cells_and_capacity_are_not_known_unless_all_pods_are_on_nodes(replicas: int) -> None:
    one = role("worker", 1, replicas, pod=replace(pod(1), unknown=("claim gpus: why",)))
    there = replace(one, bound=frozenset((at, 0) for at in range(replicas)))

    unknown, known = (table(forecast([gang("x", its)], nodes("1x8")), 0) for its in (one, there))

    assert unknown[1:] == [("0-1", "0-8", "not known", "not known", "Not known")]
    assert known[1][-2:] == ("100%", "Full capacity")


def test_the_claims_of_workers_count_where_there_are_workers() -> None:
    unknown = replace(pod(), unknown=("claim gpus: why",))

    found = [gang("x", replace(role("worker", size), worker=unknown)).unknown for size in (1, 2)]

    assert found == ["", "x: not known whether its pods have room: claim gpus: why"]


def test_accelerators_of_a_device_plugin_are_no_devices_of_a_class() -> None:
    claims = gang("x", role("worker", 1, pod=replace(pod(0), requests=(("gpu.nvidia.com", 1000),))))

    plan = forecast([claims], nodes("1x8"))

    assert plan.shortages[0].reason == "a pod requests 1 gpu.nvidia.com; of 1 node, 1 without gpu.nvidia.com"


def test_numbers_that_are_not_known_are_null() -> None:
    claims = gang("x", role("worker", 1, pod=replace(pod(1), unknown=("claim gpus: why",))))

    found = as_data(forecast([claims], nodes("1x8")))

    assert found["idle"] == {"gpus": None}
    assert found["services"][0]["roles"][0]["gpusOfAGroup"] is None
    assert [(row["services"][0]["capacity"], row["services"][0]["status"]) for row in found["rows"]] == [
        (None, "Not known"),
        (None, "Not known"),
    ]


def test_what_is_not_modelled_is_a_note() -> None:
    spread = pod(8, topologySpreadConstraints=[{"maxSkew": 1}])
    one = gang("a", role("worker", 2, pod=spread))

    assert "a: not modelled: topology spread constraints" in forecast([one], nodes("2x8")).notes


def test_what_no_node_was_given_of_is_named() -> None:
    joined = replace(pod(8), requests=(*pod(8).requests, ("rdma/hca", 1000)))

    (note,) = forecast([gang("a", replace(role("worker"), leader=joined))], nodes("1x8")).notes

    assert note.endswith("having enough CPU, memory and other resources (rdma/hca)")
