"""The row of one code."""

from dataclasses import dataclass
from typing import ClassVar, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Code:
    """Documentation of one finding."""

    title: str
    """The meaning."""
    remedy: str
    cause: str = ""
    """Why it is so, where title and remedy do not tell; else empty."""
    event: str = "Invalid"
    """The reason of its Events; those without one of their own are denied by admission, too."""
    severity: ClassVar[Severity] = "error"


class Error(Code):
    """A finding that denies the object."""


class Warn(Code):
    """A finding that its author only reads."""

    severity: ClassVar[Severity] = "warning"
