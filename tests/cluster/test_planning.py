"""`fusioninfer plan` beside the real schedulers: Volcano with its default configuration, and Kubernetes' own.

After each node that is added, the groups whose pods are bound are those of the plan. The long form is
`python -m tests.cluster.planning`, which `make soak SOAK=plan` runs. A plan may differ for the reasons in
docs/plan.md only: of groups that depend on equally good nodes, the comparison accepts both outcomes.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.builders.examples import EXAMPLES
from tests.cluster.planning.__main__ import summary
from tests.cluster.planning.bed import scheduling
from tests.cluster.planning.cases import case, single
from tests.cluster.planning.compare import Outcome, compared
from tests.cluster.planning.kept import KEPT
from tests.cluster.test_inspecting import run
from tests.cluster.testbed.api import create, delete, path
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.nodes import gpu_node

SEEDS: Final = (4, 5, 11, 12)
"""Cases of several services, of which some groups start and some wait."""
SINGLES: Final = (1, 3)
"""Of cases without a gang, which Kubernetes' scheduler places."""


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


@pytest.mark.parametrize("seed", SINGLES)
def test_pods_of_no_gang_are_on_nodes_as_planned(scheduler: Cluster, seed: int) -> None:
    assert compared(scheduler, single(seed)).differences == ()


def test_the_cases_have_groups_that_start_and_groups_that_wait(found: list[Outcome]) -> None:
    pods = [sum(one["spec"]["replicas"] for one in each.case.objects if "spec" in one) for each in found]

    assert sum(one.started for one in found) >= len(found)
    assert any(0 < one.started < groups for one, groups in zip(found, pods, strict=True))


@pytest.mark.parametrize("name", KEPT)
def test_a_case_with_a_name_is_as_planned(scheduler: Cluster, name: str) -> None:
    assert compared(scheduler, KEPT[name]).differences == ()


# --- resource claims (DRA) ---------------------------------------------------------------------------

CLASS: Final = "gpu.nvidia.com"
DRIVERS: Final = "/apis/resource.k8s.io/v1"
DEVICES: Final = {"node-a": 8, "node-b": 4}
CLAIMS: Final = (EXAMPLES / "claims" / "vllm-two-pods.yaml").read_text().replace("count: 4", "count: 8")


@pytest.fixture
def offered(scheduler: Cluster) -> Iterator[Cluster]:
    """Two nodes whose driver offers 8 and 4 devices of a class."""
    expression = f"device.driver == '{CLASS}' && device.attributes['{CLASS}'].type == 'gpu'"
    selectors = [{"cel": {"expression": expression}}]
    create(
        scheduler.api,
        f"{DRIVERS}/deviceclasses",
        {"metadata": {"name": CLASS}, "spec": {"selectors": selectors}},
    )
    for name, count in DEVICES.items():
        create(scheduler.api, path("nodes"), gpu_node(name, 0))
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        has = [{"name": f"gpu-{at}", "attributes": {"type": {"string": "gpu"}}} for at in range(count)]
        spec = {"driver": CLASS, "nodeName": name, "pool": pool, "devices": has}
        create(scheduler.api, f"{DRIVERS}/resourceslices", {"metadata": {"name": name}, "spec": spec})
    yield scheduler
    for where in (f"{DRIVERS}/resourceslices", f"{DRIVERS}/deviceclasses", path("nodes")):
        delete(scheduler.api, where)


def test_devices_that_drivers_offer_are_not_known(offered: Cluster, tmp_path: Path) -> None:
    """A group of two pods claims 8 devices a pod, and one node has them: nothing is promised, nor refused."""
    file = tmp_path / "service.yaml"
    file.write_text(CLAIMS)

    done = run(offered, "plan", str(file), "-q")

    (row,) = done.value["rows"]
    assert (done.code, row["nodes"], row["services"][0]["status"]) == (1, 2, "Not known")
    assert done.value["services"][0]["name"] == "claiming"
    assert "Node objects do not say which devices there are" in " ".join(done.value["notes"])
