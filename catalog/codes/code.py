"""What is known of a code."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Code:
    """One row."""

    severity: Severity
    title: str
    """What it means."""
    remedy: str
    cause: str
    """How a person comes into this situation."""
