"""Values of a template: what Go's reflection tells apart, as plain data.

str, int, float, bool    themselves
list                     a slice
dict                     a map: a key that is absent is an error (`missingkey=error`)
None                     a nil pointer
Struct                   a struct, or a pointer to one: it is true, even if all its fields are empty
Pointer                  a pointer to a scalar: it is true, even if the scalar is 0 or empty
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Value = Any


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct with its fields by their names in Go."""

    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer to a scalar, as optional fields of Kubernetes' types are."""

    to: str | int | bool


class UnfitError(Exception):
    """A value cannot be used so. The message says why; the evaluation adds the place."""


def truth(value: Value) -> bool:
    """Return whether `if` takes a value for true (`text/template`, `IsTrue`)."""
    return True if isinstance(value, Struct | Pointer) else bool(value)


def printed(value: Value) -> str:
    """Return how a value is printed (`fmt`, `%v`)."""
    shown = value.to if isinstance(value, Pointer) else value
    if isinstance(shown, bool):
        return str(shown).lower()
    if isinstance(shown, str | int):
        return str(shown)
    raise UnfitError(f"{described(value)} cannot be printed")


def described(value: Value) -> str:
    """Return what a value is, in the words of Kubernetes' API."""
    if value is None:
        return "an absent value"
    kinds = {bool: "a boolean", int: "a number", float: "a decimal number", str: "a text", list: "a list"}
    return kinds.get(type(value), "an optional value" if isinstance(value, Pointer) else "an object")
