"""The tiers of the tests: `TIER=unit|test|e2e|alone|soak` (Makefile, DEVELOPMENT.md).

- `unit`: pure code, golden cases and laws, in this process.
- `test`: what needs Python alone: also servers on TLS, the fake API server, processes (`SERVED`).
- `e2e`: real components (`REAL`), which need Go.
- `alone`: after those, what has the machine to itself. Real engines take it whole, Ray gives its nodes 30 s
  to start (`ray/_private/node.py`), the safety law gives services a minute to heal, Kubernetes' autoscaler
  asks for metrics within seconds, and the delay of one tenant is compared with its delay under attack.
- `soak`: the long forms of some of them (tests/soak.py).

The folder of a file gives its tier; a single test that takes long is marked `slow`, and is not in `unit`.
`COUNTS` has the rounds of each law by tier. Without TIER every test runs that is asked for, with the counts
of `test`.

`Groups` has pytest-xdist run the tests of a group in one process. Its own `--dist loadgroup` does not group
with pytest 9.2 (pytest-xdist issue 1386).

- A file is a group: its fixtures are made once.
- A cluster takes long to start, so the files that use one share a group. A cluster that many files use has
  several groups, each with a cluster of its own. The fixtures of a file show which cluster it uses. A cluster
  ends with its group (`ended`): an idle one takes memory, and with ours a twenty-fifth of a core.
- What fails early starts first (`EARLY`), then groups that take long, so that no process waits at the end.
  Between them stand those that mostly wait (`spread`).
"""

import os
from collections.abc import Collection, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Final, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

HERE: Final = Path(__file__).parent
TIER: Final = os.environ.get("TIER", "")
ALONE: Final = ("alone", "engines", "ray")
REAL: Final = ("bench", "cluster", "image", "site", "storage")
SERVED: Final = ("checks", "hostile", "running", "server", "upgrades")
"""The folders of the tiers `alone`, `e2e` and `test`: those of `REAL` at the top, the others at any depth."""
FOLDERS: Final[Mapping[str, Collection[str]]] = {
    "unit": ("unit",),
    "test": ("unit", "test"),
    "e2e": ("e2e",),
    "alone": ("alone",),
}
"""The tiers of the files that a run of a tier imports."""
COUNTS: Final[Mapping[str, Mapping[str, int]]] = {
    "HYPOTHESIS_EXAMPLES": {"unit": 15, "test": 20, "e2e": 60, "soak": 3000},
    "CONVERGENCE_SEQUENCES": {"test": 24, "soak": 5000},
    "CONVERGENCE_REAL": {"soak": 100},
    "FORGERIES": {"test": 120, "soak": 10_000},
    "OTHER_TYPES": {"test": 60, "soak": 10_000},
    "SAFETY_ROUNDS": {"test": 9, "soak": 50},
    "CHAOS_ROUNDS": {"test": 4, "soak": 50},
    "FUZZ_SECONDS": {"soak": 1800},
    "FUZZED_BODIES": {"test": 60, "soak": 3000},
    "HARMED_FIELDS": {"test": 80, "soak": 100_000},
    "SENT_FILES": {"test": 20, "soak": 10_000},
    "SEEDED_CASES": {"test": 40, "soak": 10_000},
    "SENT_WITHOUT_A_CONCERN": {"test": 40, "soak": 10_000},
    "TINY_THINGS": {"test": 60, "soak": 10_000},
    "COMMAND_FIELDS": {"test": 20, "soak": 10_000},
    "COMMAND_LINES": {"test": 20, "soak": 10_000},
    "REQUESTS": {"test": 600, "soak": 10_000},
    "PLAN_CASES": {"soak": 150},
    "SINGLE_PLAN_CASES": {"test": 1, "soak": 30},
    "BOUNDS": {"test": 60, "soak": 1000},
    "FILE_SCHEMAS": {"test": 2, "soak": 20},
    "GO_TEMPLATES": {"test": 1000, "soak": 8000},
    "IMPORTED": {"unit": 60, "test": 100, "soak": 3000},
    "KILLED_PREFILLERS": {"test": 1, "soak": 3},
    "KSERVE_INPUTS": {"test": 6, "soak": 10_000},
    "STRATEGIC_MERGES": {"test": 1000, "soak": 20_000},
    "TEMPLATE_APPLIES": {"test": 6, "soak": 100},
}
"""By law, how often it is tried in a tier; a tier without a count has that of `test`. A variable of the
environment by that name wins."""
WAITING: Final = ("/running/", "/server/", "tests/sync/test_")
"""Parts of the paths of files whose tests mostly wait: for servers, processes and clocks."""
T = TypeVar("T")
WHOLE: Final = TIER == "soak"
"""Whether matrices are tried as a whole: elsewhere a part in which each row and each column occurs."""
SHARED: Final = {
    "routed": ("routed",),
    "cluster": ("cluster-1", "cluster-2"),
    "certified": ("certified",),
    "bare": ("bare",),
    "templated": ("templated",),
}
"""The groups of each cluster, by its fixture, the longest first."""
EARLY: Final = (
    "tests/checks/",
    "tests/golden/",
    *(group for groups in SHARED.values() for group in groups),
    "tests/cluster/",
    "tests/laws/",
    "tests/upgrades/",
    "tests/hostile/",
    "tests/sync/",
    "tests/image/",
    "tests/webhook/",
)
"""What starts first, in this order: groups, and the files of a folder."""


def count(name: str) -> int:
    """Return how often this run tries a law."""
    counts = COUNTS[name]
    return int(os.environ.get(name) or counts.get(TIER, counts.get("test", 0)))


def some(items: Sequence[T], law: str) -> Sequence[T]:
    """Return items, evenly spaced: all, or as many as this run tries a law and fewer than twice that."""
    return items[:: max(1, len(items) // count(law))]


def by_turns(items: Sequence[T], turn: int, turns: int = 3) -> Sequence[T]:
    """Return the items that one of several tests tries, so that `turns` of them try all; in the soak all."""
    return items if WHOLE else items[turn % turns :: turns]


def register_profiles() -> None:
    """Load the settings of Hypothesis.

    A run of the soak alone draws other examples each time. The others repeat theirs: what fails in CI, the
    change in question broke. No tier fails because a machine is slow.
    """
    settings.register_profile(
        "tier",
        max_examples=count("HYPOTHESIS_EXAMPLES"),
        deadline=None,
        database=None,
        derandomize=not WHOLE,
        suppress_health_check=(HealthCheck.too_slow,),
    )
    settings.load_profile("tier")


def is_left_out(path: Path) -> bool:
    """Return whether a file belongs to another tier than this run's, so that it is not imported."""
    return TIER in FOLDERS and path.suffix == ".py" and tier_of(path) not in FOLDERS[TIER]


def tier_of(path: Path) -> str:
    """Return the first tier that runs the tests of a file under `tests/`."""
    folders = path.relative_to(HERE).parts[:-1]
    if not set(ALONE).isdisjoint(folders):
        return "alone"
    if folders and folders[0] in REAL:
        return "e2e"
    return "unit" if set(SERVED).isdisjoint(folders) else "test"


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


def group(items: list[pytest.Item], config: pytest.Config) -> None:
    """Put the early groups first, and keep the group of each file. Every process gets the same order."""
    groups = groups_of(_fixtures(items))
    found = dict.fromkeys(groups[file_of(item.nodeid)] for item in items)
    places = {each: at for at, each in enumerate(spread(sorted(found, key=place)))}
    items.sort(key=lambda item: places[groups[file_of(item.nodeid)]])
    config.cache.set(KEPT, groups)
    config.stash[GROUPS] = groups


def groups_of(files: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return the group of each file by the fixtures that it uses; a cluster's groups are given in turn."""
    turns = {cluster: cycle(groups) for cluster, groups in SHARED.items()}
    clusters = {file: next((each for each in SHARED if each in used), None) for file, used in files.items()}
    return {file: next(turns[each]) if each else file for file, each in clusters.items()}


def spread(groups: Sequence[str]) -> list[str]:
    """Return groups with those that mostly wait spread over the others, so that no processor is idle."""
    waits = {group: any(part in group for part in WAITING) for group in groups}
    parts = ([each for each in groups if waits[each] is kind] for kind in (False, True))
    places = {each: at / len(part) for part in parts for at, each in enumerate(part)}
    return sorted(groups, key=places.__getitem__)


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
