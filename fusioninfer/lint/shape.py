"""The shape of an object in a file: unknown fields and wrong values, which the API server refuses too."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Final

from intent import Object
from intent.errors import FieldError, each_nearest, suggested
from intent.resource import FileKind, violations_of
from intent.schema import Violation

UNKNOWN: Final = "FI920"
INVALID: Final = "FI921"
LATER: Final = "FI925"
MOST: Final = 100
"""The most violations of one object that are reported."""


def violated(obj: Object, kind: FileKind) -> Iterator[FieldError]:
    """Report the violations of the schema of its kind by an object (FI920, FI921, FI925)."""
    found = list(islice(violations_of(obj, kind), MOST))
    meant = each_nearest((one.unknown, one.known) for one in found if one.unknown)
    for one in found:
        if one.unknown:
            hint = suggested(next(meant)) or f"; {kind.source} has no such field here"
            yield FieldError(one.path, None, f"unknown field{hint}", UNKNOWN)
        elif one.since:
            yield FieldError(one.path, None, one.message, LATER)
        else:
            yield FieldError(one.path, one.value, one.message + _quoted(one), INVALID)


def _quoted(one: Violation) -> str:
    """Return the advice to quote a number, or true, where a string must be; empty for other values."""
    is_bare = one.message == "must be a string" and isinstance(one.value, int | float)
    return f'; quote it: "{json.dumps(one.value)}"' if is_bare else ""
