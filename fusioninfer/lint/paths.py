"""Paths of fields, as findings have them (`spec.roles[0].name`, `metadata.annotations[a.b/c]`), and lines.

A path is matched against the object, or its YAML, since keys may contain dots and brackets.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, Final, NamedTuple

import yaml

from intent.tree import LIST_KEYS, name_of

Step = str | int
Children = Callable[[Any], Iterable[tuple[Step, Any]]]
_ENDS: Final = ("", ".", "[")
"""What may follow a step of a path."""


def located(path: str, obj: Any) -> tuple[str, Any]:
    """Return a path with positions of items in place of their names, and the value; None if it is absent.

    From an absent field on, the path stays as it is.
    """
    steps, value, rest = _walk(obj, path, _fields, is_named=True)
    return reduce(joined, steps, "") + rest, None if rest else value


def joined(path: str, step: Step) -> str:
    """Return the path of a field, or of an item, of the object at a path."""
    if isinstance(step, int) or "." in step or "/" in step:
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


def is_at_or_below(path: str, above: str) -> bool:
    """Return whether a path is that of a field, or of a part of it."""
    return path.startswith(above) and path[len(above) :][:1] in _ENDS


class Lines(NamedTuple):
    """The lines of a document, or of a part of it."""

    node: yaml.Node
    start: int
    """The line of its first field, from 1."""

    def below(self, path: str) -> "Lines":
        """Return the lines of a field, or of its nearest parent if the field is absent."""
        found: Lines = _walk(self, path, _lines)[1]
        return found


def lines_of(node: yaml.Node) -> Lines:
    """Return the lines of a document."""
    return Lines(node, node.start_mark.line + 1)


def _walk(
    value: Any, path: str, children: Children, *, is_named: bool = False
) -> tuple[tuple[Step, ...], Any, str]:
    """Return the steps that exist, where they end, and the rest of the path.

    Of several fitting keys the longest is taken. `is_named`: items of list maps have names in the path, as in
    an overlay, and not positions.
    """
    found: list[Step] = []
    while path:
        above = found[-1] if found and is_named else ""
        fits = [
            (path.removeprefix(form), step, below)
            for step, below in children(value)
            for form in _forms(step, below, above)
            if form and is_at_or_below(path, form)
        ]
        if not fits:
            break
        path, step, value = min(fits, key=lambda one: len(one[0]))
        found.append(step)
    return tuple(found), value, path


def _forms(step: Step, below: Any, above: Step) -> tuple[str, ...]:
    """Return how a path may begin with a step; `above`: the field of the list that has the item."""
    if isinstance(step, int):
        return (f"[{name_of(above, below) if isinstance(above, str) and above in LIST_KEYS else step}]",)
    return step, f".{step}", f"[{step}]"


def _fields(value: Any) -> Iterable[tuple[Step, Any]]:
    """Return the fields of an object, or the items of a list."""
    return value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()


def _lines(lines: Lines) -> Iterable[tuple[Step, Lines]]:
    """Return the lines of fields or items; of a repeated key the last counts."""
    if isinstance(lines.node, yaml.MappingNode):
        fields = {str(key.value): Lines(value, key.start_mark.line + 1) for key, value in lines.node.value}
        return fields.items()
    return enumerate(map(lines_of, lines.node.value)) if isinstance(lines.node, yaml.SequenceNode) else ()
