"""Kubernetes quantities (`k8s.io/apimachinery` `pkg/api/resource/quantity.go`) as numbers."""

import re
from decimal import Decimal
from typing import Any, Final

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
PATTERN: Final = f"^{_DIGITS}(?:[KMGTPE]i|[numkMGTPE]|{_EXPONENT})?$"
"""What schemas say of a quantity, in place of upstream's pattern, which bounds nothing and allows `1e1.5`.

A Kubernetes API server reads `1e99999999` for minutes.
"""


def parse(value: Any) -> Decimal | None:
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
    number = parse(value)
    if number is None or number < 0 or number > 10**9 or number != number.to_integral_value():
        return None
    return int(number)


def of_bytes(count: int) -> str:
    """Return a number of bytes in a form that the API server keeps: `1Gi`, `512M`, `1000Ki`."""
    unit = next((name for name in _UNITS if count % int(_SUFFIXES[name]) == 0), "")
    return f"{count // int(_SUFFIXES.get(unit, 1))}{unit}"


def bytes_of(value: Any) -> int:
    """Parse a quantity of memory, in bytes; 0 if it is not valid, or less than one."""
    number = parse(value)
    return int(number) if number is not None and 1 <= number < 2**63 else 0
