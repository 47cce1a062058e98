"""`fusioninfer plan` beside the real Volcano scheduler with its default configuration.

After each node that is added, the groups whose pods are bound are those of the plan. The long form is
`python -m tests.cluster.planning`, which `make soak SOAK=plan` runs. A plan may differ for the reasons in
docs/plan.md only; each has a test here, or is an outcome that the comparison expects.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from intent import Object
from tests.cluster.planning.__main__ import summary
from tests.cluster.planning.bed import Bound, add_node, scheduling, services
from tests.cluster.planning.cases import GPU, Case, case, plain
from tests.cluster.planning.compare import Outcome, compared, planned
from tests.cluster.planning.kept import KEPT
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster

SEEDS: Final = range(1, 16)


@pytest.fixture(scope="module")
def scheduler(built: Built) -> Iterator[Cluster]:
    """A control plane with kwok and the Volcano scheduler, and nothing else."""
    with scheduling(built) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def found(scheduler: Cluster) -> list[Outcome]:
    """Run the cases, and print what they showed."""
    outcomes = [compared(scheduler, case(seed)) for seed in SEEDS]
    print(summary(outcomes))  # noqa: T201 - pytest shows it where a test fails
    return outcomes


def test_after_each_node_the_planned_groups_are_bound_and_no_others(found: list[Outcome]) -> None:
    differing = [str(one) for one in found if one.differences]

    assert differing == []


def test_the_cases_have_groups_that_start_and_groups_that_wait(found: list[Outcome]) -> None:
    pods = [sum(one["spec"]["replicas"] for one in each.case.objects if "spec" in one) for each in found]

    assert sum(one.started for one in found) >= len(found)
    assert any(0 < one.started < groups for one, groups in zip(found, pods, strict=True))


@pytest.mark.parametrize("name", KEPT)
def test_a_case_with_a_name_is_as_planned(scheduler: Cluster, name: str) -> None:
    assert compared(scheduler, KEPT[name]).differences == ()


def test_volcano_forgets_init_containers_of_placed_pods_and_a_plan_does_not(scheduler: Cluster) -> None:
    """The kubelet counts them as the plan does, and would refuse the second pod."""
    one = with_init(init=5, main=3)

    _, plan = planned(one)
    counted = counts(scheduler, one)

    assert [len(step.started) for step in plan.steps] == [0, 0, 1]
    assert [sum(each.values()) for each in counted] == [2, 2]


def with_init(*, init: int, main: int) -> Case:
    """Return a case of two pods with an init container, and two nodes with 8 GPUs."""

    def container(name: str, gpus: int) -> Object:
        return {
            "name": name,
            "image": "vllm/vllm-openai:v0.17.1",
            "command": ["vllm", "serve"],
            "args": ["org/M"],
            "resources": {"limits": {GPU: str(gpus)}},
        }

    spec = {"containers": [container("vllm", main)], "initContainers": [container("warm", init)]}
    lws = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "s0-worker",
            "annotations": {"fusioninfer.io/service": "s0", "fusioninfer.io/launcher": "none"},
        },
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": spec}}},
    }
    return plain([lws], 2)


def counts(cluster: Cluster, one: Case) -> list[Bound]:
    """Return what is bound after each node."""
    objects, plan = planned(one)
    with services(cluster, objects, plan.workloads) as namespace:
        return [
            add_node(cluster, namespace, node, fillers)
            for node, fillers in zip(one.nodes, one.fillers, strict=True)
        ]
