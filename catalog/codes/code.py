"""The row of one code."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Code:
    """Documentation of one finding."""

    severity: Severity
    title: str
    """The meaning."""
    remedy: str
    cause: str
    """The usual cause."""
    event: str = "Invalid"
    """The reason of its Events; those without one of their own are denied by admission, too."""
