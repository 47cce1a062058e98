"""Typed access to JSON: a value of another type becomes the empty value of the expected type."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import orjson

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


def number(value: Any, otherwise: int = 0) -> int:
    """Return an integer; for any other type 0, or another number."""
    return value if type(value) is int else otherwise


def strings(value: Any) -> tuple[str, ...]:
    """Return the strings of a list."""
    if not isinstance(value, list):
        return ()
    is_plain = _TEXT.issuperset(map(type, value))  # one call for the whole list
    return tuple(value if is_plain else [item for item in value if isinstance(item, str)])


def metadata(obj: Any) -> Object:
    """Return the metadata of an object; empty if it is absent or no map."""
    value = obj.get("metadata") if isinstance(obj, dict) else None
    return value if isinstance(value, dict) else EMPTY


def annotations(obj: Any) -> Object:
    """Return the annotations of an object; empty if they are absent or no map."""
    value = metadata(obj).get("annotations")
    return value if isinstance(value, dict) else EMPTY


def labels(obj: Any) -> Object:
    """Return the labels of an object; empty if they are absent or no map."""
    value = metadata(obj).get("labels")
    return value if isinstance(value, dict) else EMPTY


def decoded(text: Any, otherwise: Any = None) -> Any:
    """Decode JSON that anybody may have written; `otherwise` if it is none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return otherwise


def containers_of(spec: Object) -> Iterator[tuple[str, Object]]:
    """Yield all containers of a pod, with their paths below its spec."""
    for field in ("containers", "initContainers"):
        for index, container in enumerate(listed(spec.get(field))):
            yield f"{field}[{index}]", mapping(container)


def without_nulls(value: Any, depth: int = 32) -> Any:
    """Remove null fields, down to a depth that no field we read exceeds; null mostly means absent."""
    if not depth:
        return value
    if isinstance(value, list):
        return [without_nulls(item, depth - 1) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item, depth - 1) for key, item in value.items() if item is not None}


@dataclass(eq=False)
class Later(Generic[_T]):
    """What validators alone read, so that mutators need not: read when it is asked for, equal if that is."""

    read: Callable[[], _T]

    @cached_property
    def value(self) -> _T:
        """What is read."""
        return self.read()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Later) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


# --- quantities (`k8s.io/apimachinery` `pkg/api/resource/quantity.go`) as numbers ---------------------

_SUFFIXES: Final = {
    **{f"{letter}i": Decimal(2 ** (10 * power)) for power, letter in enumerate("KMGTPE", 1)},
    **{letter: Decimal(10 ** (3 * power)) for power, letter in enumerate("kMGTPE", 1)},
    **{letter: Decimal(f"1e-{digits}") for letter, digits in (("n", 9), ("u", 6), ("m", 3))},
}
_UNITS: Final = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki", "E", "P", "T", "G", "M", "k")
_DIGITS: Final = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})"
_EXPONENT: Final = "[eE][+-]?[0-9]{1,2}"
_NUMBER: Final = re.compile(f"{_DIGITS}(?:{_EXPONENT})?")
"""A number of bounded length. Quantities are at most 2^63 - 1, at least 1e-9; a huge exponent is slow."""
QUANTITY: Final = f"^{_DIGITS}(?:[KMGTPE]i|[numkMGTPE]|{_EXPONENT})?$"
"""What schemas say of a quantity, in place of upstream's pattern, which bounds nothing and allows `1e1.5`.

A Kubernetes API server reads `1e99999999` for minutes.
"""


def quantity(value: Any) -> Decimal | None:
    """Parse a quantity: `8`, `"8"`, `"8e0"`, `"1Gi"`, `"500m"`; None if it is not valid."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if type(value) is int and abs(value) >= 2**64:  # Python refuses to print longer ones
        return None
    text = str(value)
    for suffix in (text[-2:], text[-1:]):
        if suffix in _SUFFIXES:
            number = _decimal(text[: -len(suffix)])
            return None if number is None else number * _SUFFIXES[suffix]
    return _decimal(text)


def _decimal(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def whole(value: Any) -> int | None:
    """Parse a quantity as a count; None if it is not a whole number from 0 to 10^9."""
    if type(value) is int:
        return value if 0 <= value <= 10**9 else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    number = quantity(value)
    if number is None or number < 0 or number > 10**9 or number != number.to_integral_value():
        return None
    return int(number)


def of_bytes(count: int) -> str:
    """Return a number of bytes in a form that the API server keeps: `1Gi`, `512M`, `1000Ki`."""
    unit = next((name for name in _UNITS if count % int(_SUFFIXES[name]) == 0), "")
    return f"{count // int(_SUFFIXES.get(unit, 1))}{unit}"


def bytes_of(value: Any) -> int:
    """Parse a quantity of memory, in bytes; 0 if it is not valid, or less than one."""
    number = quantity(value)
    return int(number) if number is not None and 1 <= number < 2**63 else 0
