"""The tiers of the tests: `make unit`, `make test` and `make soak` (Makefile, DEVELOPMENT.md).

- `make unit` runs every test that is not marked `slow`. The folders and files of `SLOW` are marked here; a
  single test is marked where it stands.
- `make test` runs every test. `make soak` runs some of them with more rounds and examples (tests/soak.py).

`Groups` has pytest-xdist run the tests of a group in one process. Its own `--dist loadgroup` does not group
with pytest 9.2 (pytest-xdist issue 1386).

- A file is a group: its fixtures are made once.
- A cluster takes long to start, so the files that use one share a group. A cluster that many files use has
  several groups, each with a cluster of its own. The fixtures of a file show which cluster it uses. A cluster
  ends with its group (`ended`): an idle one takes memory, and with ours a twenty-fifth of a core.
- Groups that take long start first, so that no process waits for another one at the end.
- Of three processes or more, the last one runs only tests that need nothing but their own process, and leaves
  the processors to the others when they have work (`BESIDE`): tests of clusters mostly wait.
"""

import os
from collections.abc import Collection, Mapping
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

HERE: Final = Path(__file__).parent
SLOW: Final = tuple(
    HERE / name
    for name in (
        "bench",
        "checks",
        "cluster",
        "hostile",
        "image",
        "ray",
        "storage",
        "certs/test_reload.py",
        "fusioninfer/cluster/test_command.py",
        "fusioninfer/cluster/test_diff.py",
        "fusioninfer/eject/test_applied.py",
        "fusioninfer/serving/test_admission.py",
        "fusioninfer/test_streams.py",
        "kube/test_paths.py",
        "sync/runtime/test_lease.py",
        "sync/runtime/test_pause.py",
        "sync/runtime/test_reflector.py",
        "sync/test_any_object.py",
        "sync/test_api_service.py",
        "sync/test_autoscalers.py",
        "sync/test_bounded.py",
        "sync/test_changes.py",
        "sync/test_changes_first.py",
        "sync/test_confirmed_owners.py",
        "sync/test_disaggregatedset.py",
        "sync/test_hanging.py",
        "sync/test_hostile_names.py",
        "sync/test_inferenceservice.py",
        "sync/test_never_stale.py",
        "sync/test_obstacles.py",
        "sync/test_owners.py",
        "sync/test_process.py",
        "sync/test_refused_events.py",
        "sync/test_replicas.py",
        "sync/test_sealed.py",
        "sync/test_status_written.py",
        "sync/test_suspended.py",
        "sync/test_switches.py",
        "sync/test_unavailable.py",
        "sync/test_upgrades.py",
        "sync/test_writer_late.py",
        "upgrades",
        "webhook/server",
    )
)
"""What `make unit` leaves out: real components, processes and sockets, measurements, and tests of the whole
controller that wait. `sync/test_controller.py` stands for those."""
REAL: Final = ("cluster", "ray")
"""The folders whose name is a marker as well: these tests may be impossible on some machines."""
UNIT: Final = "not slow"
"""The marker expression of `make unit`."""
EXAMPLES: Final = {"unit": 15, "test": 60, "soak": 3000}
"""How many examples Hypothesis tries for each property: `--hypothesis-profile=NAME`; `test` is the default.
Those of `unit` are the same in every run."""
SHARED: Final = {
    "routed": ("routed",),
    "cluster": ("cluster-1", "cluster-2"),
    "certified": ("certified",),
    "bare": ("bare",),
    "templated": ("templated",),
}
"""The groups of each cluster, by its fixture, the longest first."""
EARLY: Final = (
    "routed",
    "cluster-1",
    "cluster-2",
    "certified",
    "tests/cluster/test_safety.py",
    "bare",
    "templated",
    "tests/cluster/test_chaos.py",
    "tests/hostile/test_worst.py",
    "tests/hostile/test_tenants.py",
    "tests/laws/test_laws.py",
    "tests/laws/convergence/test_law.py",
    "tests/sync/test_inferenceservice.py",
    "tests/sync/test_controller.py",
    "tests/webhook/mutate/test_deletion.py",
    "tests/golden/",
    "tests/hostile/",
    "tests/cluster/",
    "tests/image/",
    "tests/checks/",
    "tests/sync/",
    "tests/laws/",
    "tests/webhook/",
)
"""What starts first, in this order: groups, files, and the files of a folder."""
ALONE: Final = (
    *(group for groups in SHARED.values() for group in groups),
    "tests/bench/",
    "tests/cluster/",
    "tests/fusioninfer/serving/test_admission.py",
    *(
        f"tests/hostile/test_{name}.py"
        for name in ("behaviours", "fuzz", "protocol", "rules", "tenants", "wire")
    ),
    "tests/image/",
    "tests/sync/runtime/test_lease.py",
    "tests/sync/test_process.py",
    "tests/webhook/server/",
)
"""Groups, files and folders that the last process of `BESIDE` does not run: they start other processes, have
deadlines of less than a second, or measure."""
BESIDE: Final = 3
"""From this number of processes on, the last one runs beside the others, with less priority."""
NICE: Final = 10
"""By how much its priority is lowered."""


def register_profiles() -> None:
    """Register the profiles of Hypothesis, and load the default one.

    A run of the soak alone draws other examples each time. The others repeat theirs: what fails in CI, the
    change in question broke. No profile fails because a machine is slow.
    """
    for name, examples in EXAMPLES.items():
        settings.register_profile(
            name,
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=name != "soak",
            suppress_health_check=(HealthCheck.too_slow,),
        )
    settings.load_profile("test")


def is_left_out(path: Path, expression: str) -> bool:
    """Return whether a run with a marker expression needs nothing of a path, so that it is not imported."""
    return expression == UNIT and path in SLOW


def mark(items: list[pytest.Item]) -> None:
    """Mark every test by its file and folder."""
    for item in items:
        for name in _marks(item.path):
            item.add_marker(name)


@cache
def _marks(path: Path) -> tuple[str, ...]:
    """Return the markers of a file."""
    folder = path.relative_to(HERE).parts[0]
    slow = () if {path, *path.parents}.isdisjoint(SLOW) else ("slow",)
    return (*slow, folder) if folder in REAL else slow


GROUPS: Final = pytest.StashKey[Mapping[str, str]]()
"""The group of each file, in a process that runs tests."""
KEPT: Final = "fusioninfer/groups"
"""The key of pytest's cache for the group of each file: one process collects, another hands tests out."""


class Groups(LoadScopeScheduling):  # type: ignore[misc] # it ships no types
    """Hand out the tests of a group together, in the order in which they were collected."""

    def schedule(self) -> None:
        """Start, once every process has collected its tests."""
        self.groups: Mapping[str, str] = self.config.cache.get(KEPT, {})
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        file = file_of(nodeid)
        return self.groups.get(file, file)

    def _assign_work_unit(self, node: Any) -> None:
        """Give the next group to a process; the one beside the others gets the next that it may run."""
        if is_beside(node.workerinput):
            chosen = next((group for group in self.workqueue if not group.startswith(ALONE)), None)
            if chosen is None:
                node.shutdown()
                return
            self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)


def is_beside(worker: Mapping[str, Any]) -> bool:
    """Return whether a process of several runs beside the others: the last one, if there are enough."""
    count: int = worker["workercount"]
    return count >= BESIDE and worker["workerid"] == f"gw{count - 1}"


def group(items: list[pytest.Item], config: pytest.Config) -> None:
    """Put the early groups first, and keep the group of each file. Every process gets the same order.

    The process that runs beside the others lowers its priority: they have waited for its collection.
    """
    groups = groups_of(_fixtures(items))
    items.sort(key=lambda item: place(groups[file_of(item.nodeid)]))
    config.cache.set(KEPT, groups)
    config.stash[GROUPS] = groups
    if is_beside(config.workerinput):  # type: ignore[attr-defined] # an attribute of pytest-xdist's
        os.nice(NICE)


def groups_of(files: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return the group of each file by the fixtures that it uses; a cluster's groups are given in turn."""
    turns = {cluster: cycle(groups) for cluster, groups in SHARED.items()}
    clusters = {file: next((each for each in SHARED if each in used), None) for file, used in files.items()}
    return {file: next(turns[each]) if each else file for file, each in clusters.items()}


def place(group: str) -> int:
    """Return the position of a group among those that start early; later ones share the last position."""
    return next((place for place, early in enumerate(EARLY) if group.startswith(early)), len(EARLY))


def file_of(nodeid: str) -> str:
    """Return the file of a test."""
    return nodeid.partition("::")[0]


def ended(item: pytest.Item, following: pytest.Item | None) -> str:
    """Return the cluster, by its fixture, that no test of this process uses after this one; else nothing."""
    groups = item.config.stash.get(GROUPS, {})
    if not groups or following is None:
        return ""
    return left(*(groups[file_of(each.nodeid)] for each in (item, following)))


def left(here: str, there: str) -> str:
    """Return the cluster of a group, by its fixture, unless the next group uses it too; else nothing."""
    return "" if cluster_of(here) == cluster_of(there) else cluster_of(here)


def cluster_of(group: str) -> str:
    """Return the cluster of a group, by its fixture; nothing if it has none."""
    return next((cluster for cluster, groups in SHARED.items() if group in groups), "")


def _fixtures(items: list[pytest.Item]) -> Mapping[str, Collection[str]]:
    found: dict[str, set[str]] = {}
    for item in items:
        found.setdefault(file_of(item.nodeid), set()).update(getattr(item, "fixturenames", ()))
    return found
