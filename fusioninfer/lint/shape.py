"""The shape of an object in a file: unknown fields and wrong types, and the object that its author meant.

A misspelt field must not hide the findings about what is below it. Therefore obvious mistakes are corrected
in a copy, and the copy is checked too; its findings have the paths that the author wrote.
"""

import json
import re
import shlex
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from fusioninfer.lint.paths import Step, is_at_or_below, steps_of, value_at, with_field, with_value
from intent import Object
from intent.errors import FieldError, each_nearest, nearest, suggested
from intent.resource import FileKind, violations_of
from intent.schema import Violation

UNKNOWN: Final = "FI920"
INVALID: Final = "FI921"
LATER: Final = "FI925"
MOST: Final = 100
"""The most violations of one object that are read."""
ROUNDS: Final = 8
"""How often mistakes are corrected: a misspelt field may contain another one."""
OBVIOUS: Final = 0.75
"""The least similarity at which a field is taken for another one; suggestions need less."""


@dataclass(frozen=True, slots=True)
class CheckedShape:
    """The violations by an object, and the object without its obvious mistakes."""

    violations: tuple[Violation, ...]
    meant: Object
    renamed: tuple[tuple[str, str], ...] = ()
    """Paths in the object as it is meant, and as the author wrote them; outer ones first."""

    def as_written(self, path: str) -> str:
        """Return the path that the author wrote for a path in the corrected object."""
        return _as_written(path, self.renamed)


def read_shape(obj: Object, kind: FileKind) -> CheckedShape:
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
            if not one.unknown:
                obj = _corrected(obj, one, kind)
                continue
            obj, place = _moved(obj, one, kind) or _renamed(obj, one, missing) or (obj, "")
            if place:
                absent = {_as_written(above, renamed) for above in _and_above(place)}
                found = {
                    key: known for key, known in found.items() if key[1] != REQUIRED or key[0] not in absent
                }
                renamed.append((place, written.path))
        if obj is before:
            break
    return CheckedShape(tuple(found.values()), obj, tuple(renamed))


REQUIRED: Final = "is required"


def _as_written(path: str, renamed: Iterable[tuple[str, str]]) -> str:
    """Return the path that the author wrote: that of the innermost renamed field above it."""
    fits = [(meant, written) for meant, written in renamed if is_at_or_below(path, meant)]
    if not fits:
        return path
    meant, written = max(fits, key=lambda one: len(one[0]))
    return written + path.removeprefix(meant)


# --- corrections --------------------------------------------------------------------------------------


def _corrected(obj: Object, one: Violation, kind: FileKind) -> Object:
    """Return an object without an invalid value, if it is obvious what it means, or if it must be removed."""
    steps = steps_of(obj, one.path)
    if not steps or not one.schema:
        return obj
    value = value_at(obj, steps)
    meant = _meant(value, one)
    if meant is not None and meant != value:
        return with_value(obj, steps, meant)
    return _without(obj, steps) if kind.is_all_or_nothing and isinstance(steps[-1], str) else obj


def _and_above(path: str) -> Iterator[str]:
    """Yield a path and those of the objects that contain it."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _renamed(obj: Object, one: Violation, missing: Container[str]) -> tuple[Object, str] | None:
    """Give an unknown field the name that it resembles, unless the object has both; return its new path.

    A required field that is missing need not be as similar.
    """
    steps = steps_of(obj, one.path)
    above = one.path.removesuffix(one.unknown)
    name = nearest(one.unknown, one.known)
    if above + name not in missing:
        name = nearest(one.unknown, one.known, OBVIOUS)
    if not steps or not name or name in value_at(obj, steps[:-1]):
        return None
    fields = value_at(obj, steps[:-1]).items()
    named = {name if key == one.unknown else key: value for key, value in fields}
    return with_value(obj, steps[:-1], named), above + name


def _moved(obj: Object, one: Violation, kind: FileKind) -> tuple[Object, str] | None:
    """Move a field to where it belongs, unless there is one; return its new path."""
    steps, place = steps_of(obj, one.path), _elsewhere(one, kind)
    if not steps or not place:
        return None
    made = with_field(_without(obj, steps), place, one.unknown, value_at(obj, steps))
    return None if made is None else (made, f"{place}.{one.unknown}")


def _elsewhere(one: Violation, kind: FileKind) -> str:
    """Return the path of the object that an unknown field belongs to; empty for one that is misspelt."""
    return "" if nearest(one.unknown, one.known, OBVIOUS) else kind.place_of(one.path, one.unknown)


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
        if kind == "array":
            return _words(value) if one.schema["items"].get("type") == "string" else None
        number = _WHOLE(value)
        if kind == "integer":
            return int(number[1]) if number else None
        if kind == "boolean":
            return _FLAGS.get(value.lower())
        return nearest(value, known, OBVIOUS) or None
    if kind == "string" and isinstance(value, int | float):
        return json.dumps(value)
    return None


def _words(line: str) -> list[str] | None:
    """Split a command line, as a shell does; None if it cannot be split."""
    try:
        return shlex.split(line)
    except ValueError:
        return None


# --- findings -----------------------------------------------------------------------------------------


def errors(shape: CheckedShape, kind: FileKind) -> Iterator[FieldError]:
    """Report the violations by an object."""
    meant = each_nearest((one.unknown, one.known) for one in shape.violations if one.unknown)
    later = {one.path: one.since for one in shape.violations if one.since}
    for one in shape.violations:
        if one.unknown:
            above = (since for path, since in later.items() if is_at_or_below(one.path, path))
            hint = _hint(one, next(meant), kind, next(above, kind.source))
            yield FieldError(one.path, None, f"unknown field{hint}", UNKNOWN)
        elif one.since:
            yield FieldError(one.path, None, one.message, LATER)
        else:
            yield FieldError(one.path, one.value, one.message + value_hint(one), INVALID)


def value_hint(one: Violation) -> str:
    """Return what to write in the place of an invalid value, if it is obvious."""
    if isinstance(one.value, str) and one.schema.get("enum") and one.schema.get("type") == "string":
        return suggested(nearest(one.value, one.schema["enum"]))
    if isinstance(one.value, str) and one.schema.get("type") == "array" and (words := _meant(one.value, one)):
        return f"; write {json.dumps(words)}"
    is_bare = one.schema.get("type") == "string" and isinstance(one.value, int | float)
    return f'; quote it: "{json.dumps(one.value)}"' if is_bare else ""


def _hint(one: Violation, meant: str, kind: FileKind, source: str) -> str:
    """Return what to write in the place of an unknown field; `source` defines the object around it."""
    if elsewhere := _elsewhere(one, kind):
        return f"; it belongs in {elsewhere}"
    return suggested(meant) or f"; {source} has none of this name"
