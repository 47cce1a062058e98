"""What pydantic says of an object, as field errors in Kubernetes' words and paths."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from intent.errors import FieldError, each_nearest
from intent.inferenceservice.schema import fields_at

Path = tuple[int | str, ...]
MOST: Final = 256
"""More findings than these fit into no answer; an object may have one for each of its fields."""

_SHAPES: Final = {
    "missing": "is required",
    "int_type": "must be a whole number",
    "string_type": "must be a string",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have at least {min_length} item",
    "too_long": "must have at most {max_length} items",
    "string_too_long": "must be at most {max_length} characters",
    "literal_error": "must be {expected}",
}
"""Words by pydantic's type of error (`pydantic-core` `ErrorType`), with its own values in braces."""
_LABEL: Final = "must be a DNS-1123 label: lower-case letters, digits and '-', at most 63 characters"


def violations(found: ValidationError) -> Iterator[FieldError]:
    """Say what a validation found, at most `MOST`."""
    errors = found.errors(include_url=False)[:MOST]
    unknown = (one["loc"] for one in errors if one["type"] == "extra_forbidden")
    meant = each_nearest((str(path[-1]), fields_at(path[:-1])) for path in unknown)
    for one in errors:
        path, where = one["loc"], shown(one["loc"])
        if one["type"] == "extra_forbidden":
            yield FieldError(where, None, f"unknown field; {_hint(path, next(meant))}", "FI702")
        elif one["type"] == "string_pattern_mismatch":
            yield FieldError(where, one["input"], _LABEL, "FI105")
        else:
            said = _said(one["type"], one.get("ctx", {})) or one["msg"]
            yield FieldError(where, _value(one["input"]), said, "FI701")


def shown(path: Path) -> str:
    """Write a path as Kubernetes does: `spec.roles[1].multinode.nodeCount`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _said(kind: str, values: Mapping[str, Any]) -> str:
    return _SHAPES.get(kind, "").format_map(values).replace("'", "")


def _value(given: Any) -> Any:
    """Show a value that has no parts; of others the path is enough."""
    return None if isinstance(given, dict | list) else given


def _hint(path: Path, meant: str) -> str:
    return f"did you mean {meant}?" if meant else f"known are {', '.join(fields_at(path[:-1]))}"
