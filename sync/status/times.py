"""Times of a status: RFC 3339 texts that come in, and stay as long as what they date."""

import re
from typing import Any, Final

_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").fullmatch


def dated(stored: Any, now: str, *, same: bool) -> str:
    """Give the stored time where nothing changed since; else, or if it is no time, now."""
    return stored if same and isinstance(stored, str) and _RFC_3339(stored) else now
