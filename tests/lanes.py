"""Tests run in several processes at once: `make test` starts them, and pytest-xdist hands out lanes.

- The tests of a lane run in one process, one after another. A file is a lane.
- A cluster takes long to start, so the files that use one share a lane. A cluster that many files use has
  several lanes, each with such a cluster of its own.
- What waits for other programs starts first; the files that only compute run beside it.

Which cluster a file uses is seen from the fixtures of its tests. A cluster that is not named here is started
by every process that comes to a file of it.
"""

from collections.abc import Collection, Mapping
from itertools import cycle
from typing import Final

import pytest
from xdist.scheduler import LoadScopeScheduling

SHARED: Final = {"cluster": ("cluster 1", "cluster 2"), "routed": ("routed",), "certified": ("certified",)}
"""The lanes of each cluster, by its fixture."""
EARLY: Final = (
    *(lane for lanes in SHARED.values() for lane in lanes),
    "tests/cluster/",
    "tests/image/",
    "tests/checks/",
)
"""What starts first, in this order: lanes, and the files of a folder."""
KEPT: Final = "fusioninfer/lanes"
"""Where the lane of each file is kept in pytest's cache: tests are collected where they run, and handed out
elsewhere."""


class Lanes(LoadScopeScheduling):  # type: ignore[misc] # it ships no types
    """Hand out the tests of a lane together, which xdist calls a scope; it wants to be told by a class."""

    def schedule(self) -> None:
        """Begin, once every process has collected its tests."""
        self.lanes: Mapping[str, str] = self.config.cache.get(KEPT, {})
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        file = file_of(nodeid)
        return self.lanes.get(file, file)


def divide(items: list[pytest.Item], config: pytest.Config) -> None:
    """Put early lanes first, and keep the lanes. Every process comes to the same."""
    lanes = lanes_of(_fixtures(items))
    items.sort(key=lambda item: place(lanes[file_of(item.nodeid)]))
    config.cache.set(KEPT, lanes)


def lanes_of(files: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Name the lane of each file by the fixtures that it uses; lanes of one cluster are given in turn."""
    turns = {cluster: cycle(lanes) for cluster, lanes in SHARED.items()}
    clusters = {file: next((each for each in SHARED if each in used), None) for file, used in files.items()}
    return {file: next(turns[each]) if each else file for file, each in clusters.items()}


def place(lane: str) -> int:
    """Return when a lane starts."""
    return next((place for place, early in enumerate(EARLY) if lane.startswith(early)), len(EARLY))


def file_of(nodeid: str) -> str:
    """Return the file of a test."""
    return nodeid.partition("::")[0]


def _fixtures(items: list[pytest.Item]) -> Mapping[str, Collection[str]]:
    found: dict[str, set[str]] = {}
    for item in items:
        found.setdefault(file_of(item.nodeid), set()).update(getattr(item, "fixturenames", ()))
    return found
