"""The priority of a service's requests: a name, or a number.

An endpoint picker rejects requests of a negative priority while the engines are saturated, and admits all
others; with its flow control a higher priority comes first. Source: `pkg/epp/requestcontrol` of
kubernetes-sigs/gateway-api-inference-extension v1.2.1 to v1.5.0.
"""

import re
from typing import Any, Final

PRIORITIES: Final = {"Critical": 100, "Standard": 0, "Sheddable": -100}
"""The names, with distance between them for numbers of the author's own."""
ACCEPTED: Final = f"must be {', '.join(PRIORITIES)} or a whole number"
_HIGHEST: Final = 2**31 - 1
_NUMBER: Final = re.compile("[-+]?[0-9]{1,10}")


def number_of(priority: str) -> int | None:
    """Return the number of a priority, as an InferenceObjective has it; None if it is not valid."""
    known = PRIORITIES.get(priority)
    if known is not None or not _NUMBER.fullmatch(priority):
        return known
    value = int(priority)
    return value if -_HIGHEST - 1 <= value <= _HIGHEST else None


def is_priority(text: str) -> bool:
    """Return whether a text is a priority."""
    return number_of(text) is not None


def as_text(value: Any) -> str:
    """Return a priority as text, from a field that holds a name or a number; empty if it is not valid."""
    written = value if isinstance(value, str) else str(value) if type(value) is int else ""
    return written if is_priority(written) else ""
