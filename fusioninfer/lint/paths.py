"""Paths of fields, as findings have them: `spec.roles[0].name`, `metadata.annotations[a.b/c]`.

A path is matched against the object, since keys may contain dots and brackets.
"""

from collections.abc import Iterator
from functools import reduce
from typing import Any, Final

from intent.tree import LIST_KEYS, name_of

Step = str | int
_ENDS: Final = ("", ".", "[")
"""What may follow a step of a path."""


def known_steps(value: Any, path: str) -> tuple[Step, ...]:
    """Return the steps of a path down to the field, or to its nearest parent if the field is absent."""
    return _walk(value, path)[0]


def positioned(path: str, obj: Any) -> str:
    """Return a path with positions of items in place of their names; from an absent field on, as it is."""
    steps, rest = _walk(obj, path, is_named=True)
    return reduce(joined, steps, "") + rest


def joined(path: str, step: Step) -> str:
    """Return the path of a field, or of an item, of the object at a path."""
    if isinstance(step, int) or "." in step or "/" in step:
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


def _walk(value: Any, path: str, *, is_named: bool = False) -> tuple[tuple[Step, ...], str]:
    """Return the steps that exist, and the rest of the path. Of several fitting keys the longest is taken.

    `is_named`: items of list maps have names in the path, as in an overlay, and not positions.
    """
    found: list[Step] = []
    while path:
        above = found[-1] if found and is_named else ""
        fits = [
            (path.removeprefix(form), step, below)
            for step, below in _children(value)
            for form in _forms(step, below, above)
            if form and is_at_or_below(path, form)
        ]
        if not fits:
            break
        path, step, value = min(fits, key=lambda one: len(one[0]))
        found.append(step)
    return tuple(found), path


def _children(value: Any) -> Iterator[tuple[Step, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _forms(step: Step, below: Any, above: Step) -> tuple[str, ...]:
    """Return how a path may begin with a step; `above`: the field of the list that has the item."""
    if isinstance(step, int):
        return (f"[{name_of(above, below) if isinstance(above, str) and above in LIST_KEYS else step}]",)
    return step, f".{step}", f"[{step}]"


def is_at_or_below(path: str, above: str) -> bool:
    """Return whether a path is that of a field, or of a part of it."""
    return path.startswith(above) and path[len(above) :][:1] in _ENDS
