"""`fusioninfer plan` beside the real schedulers: Volcano with its default configuration, and Kubernetes' own.

After each node that is added, the groups whose pods are bound are those of the plan. The long form is
`python -m tests.cluster.planning`, which `make soak SOAK=plan` runs. A plan may differ for the reasons in
docs/plan.md only: of groups that depend on equally good nodes, the comparison accepts both outcomes.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.cluster.planning.__main__ import summary
from tests.cluster.planning.bed import scheduling
from tests.cluster.planning.cases import case, single
from tests.cluster.planning.compare import Outcome, compared
from tests.cluster.planning.kept import KEPT
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster

SEEDS: Final = (4, 11)
"""Cases of several services, of which some groups start and some wait."""
SINGLE: Final = 1
"""Of a case without a gang, which Kubernetes' scheduler places."""


@pytest.fixture(scope="module")
def scheduler(built_schedulers: Built) -> Iterator[Cluster]:
    """A control plane with kwok and both schedulers, and nothing else."""
    with scheduling(built_schedulers) as cluster:
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


def test_pods_of_no_gang_are_on_nodes_as_planned(scheduler: Cluster) -> None:
    assert compared(scheduler, single(SINGLE)).differences == ()


def test_the_cases_have_groups_that_start_and_groups_that_wait(found: list[Outcome]) -> None:
    pods = [sum(one["spec"]["replicas"] for one in each.case.objects if "spec" in one) for each in found]

    assert sum(one.started for one in found) >= len(found)
    assert any(0 < one.started < groups for one, groups in zip(found, pods, strict=True))


@pytest.mark.parametrize("name", KEPT)
def test_a_case_with_a_name_is_as_planned(scheduler: Cluster, name: str) -> None:
    assert compared(scheduler, KEPT[name]).differences == ()
