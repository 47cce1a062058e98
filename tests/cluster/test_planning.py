"""`fusioninfer plan` beside the real schedulers: Volcano with its default configuration, and Kubernetes' own.

After each node that is added, the groups whose pods are bound are those of the plan. `make soak SOAK=plan`
tries many cases, from PLAN_SEED on; TIER=soak PLAN_SEED=N PLAN_CASES=1 repeats one. A plan may differ for
the reasons in docs/plan.md only: of groups that depend on equally good nodes, the comparison accepts both
outcomes.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from tests.cluster.planning.bed import scheduling
from tests.cluster.planning.cases import case, single
from tests.cluster.planning.compare import differences, planned
from tests.cluster.planning.kept import KEPT
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster
from tests.tiers import WHOLE, count

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
    _, plan = planned(case(seed))

    last, groups = plan.steps[-1], sum(role.replicas for one in plan.workloads for role in one.roles)
    assert 0 < last.counts.total() + len(last.uncertain) < groups


@pytest.mark.parametrize("name", KEPT)
def test_a_case_with_a_name_is_as_planned(scheduler: Cluster, name: str) -> None:
    assert differences(scheduler, KEPT[name]) == []
