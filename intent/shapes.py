"""Values of JSON in the shape that they should have; whatever has another shape is empty."""

from typing import Any, Final

from intent import Object
from intent.errors import FieldError

EMPTY: Final[Object] = {}


def checked(value: Any, path: str, errors: list[FieldError], *, required: bool = True) -> Object:
    """Give an object; empty if it is none, which is an error where it is there or required."""
    if isinstance(value, dict):
        return value
    if value is not None:
        errors.append(FieldError(path, value, "must be an object", "FI108"))
    elif required:
        errors.append(FieldError(path, None, "is required", "FI108"))
    return EMPTY


def mapping(value: Any) -> Object:
    """Give an object; empty if it is none."""
    return value if isinstance(value, dict) else EMPTY


def listed(value: Any) -> list[Any]:
    """Give a list; empty if it is none."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Give a string; empty if it is none."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int:
    """Give a whole number; 0 if it is none."""
    return value if type(value) is int else 0


def strings(value: Any) -> tuple[str, ...]:
    """Give the strings of a list."""
    return tuple([item for item in value if isinstance(item, str)]) if isinstance(value, list) else ()


def without_nulls(value: Any, depth: int = 32) -> Any:
    """Leave out fields that are null: most authors mean that they are absent. Nothing we read is deeper."""
    if not depth:
        return value
    if isinstance(value, list):
        return [without_nulls(item, depth - 1) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item, depth - 1) for key, item in value.items() if item is not None}
