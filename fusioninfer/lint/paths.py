"""Paths of fields, as findings have them: `spec.roles[0].name`, `metadata.annotations[a.b/c]`.

A path is matched against the object, since keys may contain dots and brackets.
"""

from collections.abc import Iterator
from functools import reduce
from typing import Any, Final

from intent import Object
from intent.tree import LIST_KEYS, name_of

Step = str | int
_ENDS: Final = ("", ".", "[")
"""What may follow a step of a path."""


def known_steps(value: Any, path: str) -> tuple[Step, ...]:
    """Return the steps of a path down to the field, or to its nearest parent if the field is absent."""
    return _walk(value, path)[0]


def steps_of(value: Any, path: str) -> tuple[Step, ...] | None:
    """Return the steps of a path; None if the object has no such field."""
    found, rest = _walk(value, path)
    return None if rest else found


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


def with_value(obj: Object, steps: tuple[Step, ...], value: Any) -> Object:
    """Return a copy of an object with another value at an existing place."""
    changed: Object = _with(obj, steps, value)
    return changed


def _with(node: Any, steps: tuple[Step, ...], value: Any) -> Any:
    if not steps:
        return value
    step, *below = steps
    if isinstance(node, list):
        return [_with(one, tuple(below), value) if at == step else one for at, one in enumerate(node)]
    return {key: _with(one, tuple(below), value) if key == step else one for key, one in node.items()}


def value_at(obj: Any, steps: tuple[Step, ...]) -> Any:
    """Return the value at an existing place."""
    for step in steps:
        obj = obj[step]
    return obj


def with_field(obj: Object, path: str, name: str, value: Any) -> Object | None:
    """Return a copy with one more field in the object at a path, made if absent; None if not possible."""
    steps, rest = _walk(obj, path)
    above = value_at(obj, steps)
    if not isinstance(above, dict) or "[" in rest or (name in above and not rest):
        return None
    for step in reversed([one for one in rest.split(".") if one]):
        name, value = step, {name: value}
    return with_value(obj, steps, {**above, name: value})
