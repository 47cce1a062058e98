"""Typed access to JSON: a value of another type becomes the empty value of the expected type."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from intent import Object
from intent.errors import FieldError

EMPTY: Final[Object] = {}
_T = TypeVar("_T")
_TEXT: Final = frozenset({str})


def checked(value: Any, path: str, errors: list[FieldError], *, required: bool = True) -> Object:
    """Return an object; otherwise empty, with an error if it is required or of another type."""
    if isinstance(value, dict):
        return value
    if value is not None:
        errors.append(FieldError(path, value, "must be an object", "FI108"))
    elif required:
        errors.append(FieldError(path, None, "is required", "FI108"))
    return EMPTY


def mapping(value: Any) -> Object:
    """Return an object; empty for any other type."""
    return value if isinstance(value, dict) else EMPTY


def listed(value: Any) -> list[Any]:
    """Return a list; empty for any other type."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a string; empty for any other type."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int:
    """Return an integer; 0 for any other type."""
    return value if type(value) is int else 0


def strings(value: Any) -> tuple[str, ...]:
    """Return the strings of a list."""
    if not isinstance(value, list):
        return ()
    is_plain = _TEXT.issuperset(map(type, value))  # one call for the whole list
    return tuple(value if is_plain else [item for item in value if isinstance(item, str)])


def metadata(obj: Any) -> Object:
    """Return the metadata of an object; empty if it is absent or no map."""
    found = obj.get("metadata") if isinstance(obj, dict) else None
    return found if isinstance(found, dict) else EMPTY


def annotations(obj: Any) -> Object:
    """Return the annotations of an object; empty if they are absent or no map."""
    found = metadata(obj).get("annotations")
    return found if isinstance(found, dict) else EMPTY


def labels(obj: Any) -> Object:
    """Return the labels of an object; empty if they are absent or no map."""
    found = metadata(obj).get("labels")
    return found if isinstance(found, dict) else EMPTY


def containers_of(spec: Object) -> Iterator[tuple[str, Object]]:
    """Yield all containers of a pod, with their paths below its spec."""
    for field in ("containers", "initContainers"):
        for at, container in enumerate(listed(spec.get(field))):
            yield f"{field}[{at}]", mapping(container)


def without_nulls(value: Any, depth: int = 32) -> Any:
    """Remove null fields, down to a depth that no field we read exceeds; null mostly means absent."""
    if not depth:
        return value
    if isinstance(value, list):
        return [without_nulls(item, depth - 1) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item, depth - 1) for key, item in value.items() if item is not None}


class Later(Generic[_T]):
    """What validators alone read, so that mutators need not: read when it is asked for, equal if that is."""

    def __init__(self, read: Callable[[], _T]) -> None:
        self._read = read

    @cached_property
    def value(self) -> _T:
        """What is read."""
        return self._read()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Later) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)
