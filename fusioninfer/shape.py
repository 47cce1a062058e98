"""The shape of an object in a file: unknown fields and wrong types, and the object that its author meant.

A misspelt field must not hide the findings about what is below it. Therefore obvious mistakes are corrected
in a copy, and the copy is checked too; its findings have the paths that the author wrote.
"""

import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from fusioninfer.paths import Step, is_at_or_below, steps_of, value_at, with_value
from intent import Object
from intent.errors import FieldError, each_nearest, nearest, suggested
from intent.resource import Kind, violations_of
from intent.schema import Violation

UNKNOWN: Final = "FI920"
INVALID: Final = "FI921"
MOST: Final = 100
"""The most violations of one object that are read."""
ROUNDS: Final = 8
"""How often mistakes are corrected: a misspelt field may contain another one."""
OBVIOUS: Final = 0.75
"""The least similarity at which a field is taken for another one; suggestions need less."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The violations by an object, and the object without its obvious mistakes."""

    violations: tuple[Violation, ...]
    meant: Object
    renamed: tuple[tuple[str, str], ...] = ()
    """Paths in the object as it is meant, and as the author wrote them; outer ones first."""

    def as_written(self, path: str) -> str:
        """Return the path that the author wrote for a path in the corrected object."""
        return _as_written(path, self.renamed)


def read_shape(obj: Object, kind: Kind) -> Shape:
    """Hold an object against the schema of its kind, and correct its obvious mistakes."""
    found: dict[tuple[str, str], Violation] = {}
    renamed: list[tuple[str, str]] = []
    for _ in range(ROUNDS):
        new = [
            (one, replace(one, path=_as_written(one.path, renamed)))
            for one in islice(violations_of(obj, kind), MOST)
        ]
        new = [(one, written) for one, written in new if (written.path, written.message) not in found]
        found |= {(written.path, written.message): written for _, written in new}
        before, missing = obj, {one.path for one, _ in new if one.message == REQUIRED}
        for one, written in new:
            obj, name = _renamed(obj, one, missing) if one.unknown else (_corrected(obj, one, kind), "")
            if name:
                above = one.path.removesuffix(one.unknown)
                renamed.append((above + name, written.path))
                found.pop((_as_written(above, renamed[:-1]) + name, REQUIRED), None)
        if obj is before:
            break
    return Shape(tuple(found.values()), obj, tuple(renamed))


REQUIRED: Final = "is required"


def _as_written(path: str, renamed: Iterable[tuple[str, str]]) -> str:
    """Return the path that the author wrote: that of the innermost renamed field above it."""
    fits = [(meant, written) for meant, written in renamed if is_at_or_below(path, meant)]
    if not fits:
        return path
    meant, written = max(fits, key=lambda one: len(one[0]))
    return written + path.removeprefix(meant)


# --- corrections --------------------------------------------------------------------------------------


def _corrected(obj: Object, one: Violation, kind: Kind) -> Object:
    """Return an object without an invalid value, if it is obvious what it means, or if it must be removed."""
    steps = steps_of(obj, one.path)
    if not steps or not one.schema:
        return obj
    value = value_at(obj, steps)
    meant = _meant(value, one)
    if meant is not None and meant != value:
        return with_value(obj, steps, meant)
    return _without(obj, steps) if kind.is_all_or_nothing and isinstance(steps[-1], str) else obj


def _renamed(obj: Object, one: Violation, missing: Container[str]) -> tuple[Object, str]:
    """Give an unknown field the name that it resembles, unless the object has both; return the name too.

    A required field that is missing need not be as similar.
    """
    steps = steps_of(obj, one.path)
    name = nearest(one.unknown, one.known)
    if one.path.removesuffix(one.unknown) + name not in missing:
        name = nearest(one.unknown, one.known, OBVIOUS)
    above = value_at(obj, steps[:-1]) if steps else {}
    if not name or not steps or name in above:
        return obj, ""
    fields = {name if key == one.unknown else key: value for key, value in above.items()}
    return with_value(obj, steps[:-1], fields), name


def _without(obj: Object, steps: tuple[Step, ...]) -> Object:
    """Remove a field whose value says nothing."""
    above = value_at(obj, steps[:-1])
    return with_value(obj, steps[:-1], {key: value for key, value in above.items() if key != steps[-1]})


_WHOLE: Final = re.compile(r"\s*([+-]?[0-9]{1,9})\s*").fullmatch
_FLAGS: Final = {"true": True, "yes": True, "false": False, "no": False}


def _meant(value: Any, one: Violation) -> Any:
    """Return the value that an invalid scalar means; None if it means none."""
    kind, known = one.schema.get("type"), one.schema.get("enum", ())
    if isinstance(value, str):
        number = _WHOLE(value)
        if kind == "integer":
            return int(number[1]) if number else None
        if kind == "boolean":
            return _FLAGS.get(value.lower())
        return nearest(value, known, OBVIOUS) or None
    if kind == "string" and isinstance(value, int | float):
        return json.dumps(value)
    return None


# --- findings -----------------------------------------------------------------------------------------


def errors(shape: Shape, kind: Kind) -> Iterator[FieldError]:
    """Report the violations by an object."""
    meant = each_nearest((one.unknown, one.known) for one in shape.violations if one.unknown)
    for one in shape.violations:
        if one.unknown:
            yield FieldError(one.path, None, f"unknown field{_hint(one, next(meant), kind)}", UNKNOWN)
        else:
            yield FieldError(one.path, one.value, one.message + _value_hint(one), INVALID)


def _value_hint(one: Violation) -> str:
    """Return what to write in the place of an invalid value, if it is obvious."""
    if isinstance(one.value, str) and one.schema.get("enum"):
        return suggested(nearest(one.value, one.schema["enum"]))
    is_bare = one.schema.get("type") == "string" and isinstance(one.value, int | float)
    return f'; quote it: "{json.dumps(one.value)}"' if is_bare else ""


def _hint(one: Violation, meant: str, kind: Kind) -> str:
    """Return what to write in the place of an unknown field."""
    close = nearest(one.unknown, one.known, OBVIOUS)
    elsewhere = "" if close else kind.place_of(one.path, one.unknown)
    if elsewhere:
        return f"; it belongs in {elsewhere}"
    return suggested(meant) or f"; {kind.source} has none of this name"
