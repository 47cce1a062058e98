"""`fusioninfer plan` beside the real schedulers: Volcano with its default configuration, and Kubernetes' own.

After each node that is added, the groups whose pods are bound are those of the plan. `make soak SOAK=plan`
tries many cases, from PLAN_SEED on; TIER=soak PLAN_SEED=N PLAN_CASES=1 repeats one. A plan may differ for
the reasons in docs/plan.md only: of groups that depend on equally good nodes, the comparison accepts both
outcomes.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pytest

from fusioninfer.lint import offline
from fusioninfer.lint.documents import Document
from intent import Object
from intent.settings import Settings
from plan.forecast import Forecast, ForecastStep, forecast
from plan.supply import supplies
from plan.workload import Workload, workloads
from tests.cluster.planning.bed import Bound, add_node, scheduling, services
from tests.cluster.planning.cases import GPU, Case, case, plain, single
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster
from tests.tiers import WHOLE, count

# --- one case on the real scheduler beside its plan ---------------------------------------------------


def planned(case: Case) -> tuple[list[Object], tuple[Workload, ...], Forecast]:
    """Return the objects of a case as a cluster would store them, its services, and their plan."""
    documents = [Document("case.yaml", at, one) for at, one in enumerate(case.objects)]
    made = offline.compose(documents, Settings())
    if made.count("error"):
        raise AssertionError([str(one.error) for one in made.found if one.error.severity == "error"])
    nodes = supplies(case.nodes, (pod for pods in case.fillers for pod in pods))
    gangs = workloads(made.objects)
    return [*made.objects], gangs, forecast(gangs, nodes)


def differences(cluster: Cluster, case: Case) -> list[str]:
    """Run a case; return how the groups that are bound differ from the plan, after the first such node."""
    objects, gangs, plan = planned(case)
    with services(cluster, objects, gangs) as namespace:
        for node, fillers, step in zip(case.nodes, case.fillers, plan.steps[1:], strict=True):
            found = add_node(cluster, namespace, node, fillers)
            if differing := list(_differing(step, found)):
                return [f"with {step.nodes} nodes: {what}" for what in differing]
    return []


def _differing(step: ForecastStep, found: Bound) -> Iterator[str]:
    """Yield the services of which other numbers of groups are whole, and those of gangs with groups in part.

    Groups of a role are equal but for the order of their pods, so any of them may be the ones that start.
    """
    for standing in step.standings:
        one = standing.workload
        for index, role in enumerate(one.roles):
            name, size = role.member.name, role.member.size
            counts = [found.get((name, group), 0) for group in range(role.member.replicas)]
            least, more = standing.started[index], standing.uncertain[index]
            if not least <= counts.count(size) <= least + more:
                yield f"{name} of {one.name}: {counts} pods, planned {least} to {least + more} groups"
            if one.is_gang and (parts := set(counts) - {0, size}):
                yield f"{name} of {one.name}: groups in part, with {sorted(parts)} of {size} pods"


# --- cases with names ---------------------------------------------------------------------------------
# A plan differed in them once. `test_tables.py` has the tables of the documents.


def _container(name: str, gpus: int) -> Object:
    return {
        "name": name,
        "image": "vllm/vllm-openai:v0.17.1",
        "command": ["vllm", "serve"],
        "args": ["org/M"],
        "resources": {"limits": {GPU: str(gpus)}},
    }


def _of_containers(*, init: int, main: int) -> Case:
    """Return a worker of two pods whose init container requests other GPUs than its engine."""
    spec = {"containers": [_container("vllm", main)], "initContainers": [_container("warm", init)]}
    return plain([_worker(spec)], [8, 8])


def _of_pods(leader: int, worker: int, nodes: list[int]) -> Case:
    """Return a worker of two pods that request other GPUs, and nodes with so many."""
    leaders, workers = ({"containers": [_container("vllm", gpus)]} for gpus in (leader, worker))
    lws = _worker(workers)
    lws["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = {"spec": leaders}
    return plain([lws], nodes)


def _worker(spec: Object) -> Object:
    annotations = {"fusioninfer.io/service": "s0", "fusioninfer.io/launcher": "none"}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "s0-worker", "annotations": annotations},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": spec}}},
    }


KEPT: Final[Mapping[str, Case]] = {
    "an init container that requests more than the engine": _of_containers(init=5, main=3),
    "a node too small for the leader, and not taken for its worker": _of_pods(8, 1, [8, 1, 8]),
}


FEW: Final = (4, 11)
"""Seeds of cases of several services. Groups of each start, and some wait."""
FIRST: Final = int(os.environ.get("PLAN_SEED", "1"))
SEEDS: Final[Sequence[int]] = range(FIRST, FIRST + count("PLAN_CASES")) if WHOLE else FEW
SINGLES: Final = range(FIRST, FIRST + count("SINGLE_PLAN_CASES"))
"""Of cases without a gang, which Kubernetes' scheduler places."""


@pytest.fixture(scope="module")
def scheduler(built_schedulers: Built) -> Iterator[Cluster]:
    """A control plane with kwok and both schedulers, and nothing else."""
    with scheduling(built_schedulers) as cluster:
        yield cluster


@pytest.mark.parametrize("seed", SEEDS)
def test_after_each_node_the_planned_groups_are_bound_and_no_others(scheduler: Cluster, seed: int) -> None:
    assert differences(scheduler, case(seed)) == []


@pytest.mark.parametrize("seed", SINGLES)
def test_pods_of_no_gang_are_on_nodes_as_planned(scheduler: Cluster, seed: int) -> None:
    assert differences(scheduler, single(seed)) == []


@pytest.mark.parametrize("seed", FEW)
def test_the_few_cases_have_groups_that_start_and_groups_that_wait(seed: int) -> None:
    _, _, plan = planned(case(seed))

    standings = plan.steps[-1].standings
    assert any(each.started or each.uncertain for each in standings)
    assert not plan.complete


@pytest.mark.parametrize("name", KEPT)
def test_a_case_with_a_name_is_as_planned(scheduler: Cluster, name: str) -> None:
    assert differences(scheduler, KEPT[name]) == []
