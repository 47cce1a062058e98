"""What is wrong with which object: where, what would be right, and a code of `catalog.codes`."""

import json
from dataclasses import dataclass
from typing import Any, Final

from catalog.codes import CODES, Severity


@dataclass(frozen=True, slots=True)
class FieldError:
    """One finding: where, what stands there, what would be right, and its code."""

    path: str
    value: Any
    message: str
    code: str
    softened: bool = False
    """An error that only warns, since the author of the object changed nothing."""

    @property
    def severity(self) -> Severity:
        """Whether it denies the object or only warns its author."""
        return "warning" if self.softened else CODES[self.code].severity

    def __str__(self) -> str:
        """Say it as Kubernetes says field errors, with the code behind."""
        return f"{self.path}: {_shown(self.value)}{self.message} ({self.code})"


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that something is said about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    """Empty offline."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say to the author of one object."""

    subject: Subject
    error: FieldError


_as_json: Final = json.JSONEncoder(default=str, ensure_ascii=False, separators=(",", ":")).encode
"""Whatever a person may have written, numbers of any length too."""


def _shown(value: Any, limit: int = 80) -> str:
    if value is None:
        return ""
    start = value[:limit] if isinstance(value, str) else value  # a long one may stand in many errors
    text = _as_json(start)
    return f"Invalid value: {text if len(text) <= limit else text[:limit] + '…'}: "
