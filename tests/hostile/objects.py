"""The golden files as objects, and ways to harm them."""

import copy
from collections.abc import Iterator
from typing import Any, Final

from intent import Object
from tests.golden.test_golden import CASES, leaderworkersets

FILES: Final[tuple[Object, ...]] = tuple(lws.object for case in CASES for lws in leaderworkersets(case))
"""What people write."""

Path = tuple[str | int, ...]


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Give the path of every value within a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*at, key)
        yield from paths(inner, (*at, key))


def replaced(value: Any, path: Path, to: Any) -> Any:
    """Give a copy with another value at a path."""
    whole = copy.deepcopy(value)
    below = whole
    for key in path[:-1]:
        below = below[key]
    below[path[-1]] = to
    return whole


def turned(value: Any) -> Any:
    """Give a copy with the keys of every map in reverse."""
    if isinstance(value, dict):
        return {key: turned(item) for key, item in reversed(value.items())}
    return [turned(item) for item in value] if isinstance(value, list) else value
