"""The golden files as objects, and ways to damage them."""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

from intent import Object
from tests.golden.test_golden import CASES, leaderworkersets


@cache
def files() -> tuple[Object, ...]:
    """Return LeaderWorkerSets as authors write them."""
    return tuple(lws.object for case in CASES for lws in leaderworkersets(case))


Path = tuple[str | int, ...]


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the path of every value within a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*at, key)
        yield from paths(inner, (*at, key))


def replaced(value: Any, path: Path, to: Any) -> Any:
    """Return a copy with another value at a path; the rest is shared."""
    if not path:
        return to
    return _with(value, path[0], replaced(value[path[0]], path[1:], to))


def without(value: Any, path: Path) -> Any:
    """Return a copy without the value at a path; the rest is shared."""
    if path[1:]:
        return _with(value, path[0], without(value[path[0]], path[1:]))
    whole = copy.copy(value)
    del whole[path[0]]
    return whole


def _with(value: Any, key: str | int, to: Any) -> Any:
    whole = copy.copy(value)
    whole[key] = to
    return whole
