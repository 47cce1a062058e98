"""Where two JSON values differ."""

from typing import Any, Final

Differences = dict[str, tuple[Any, Any]]
ABSENT: Final = "absent"


def differences(before: Any, after: Any, where: str = "") -> Differences:
    """Return every path at which two values differ: what stood there, and what stands there now."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = dict.fromkeys([*before, *after])
        parts = [
            (f"{where}.{key}".lstrip("."), before.get(key, ABSENT), after.get(key, ABSENT)) for key in keys
        ]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        parts = [(f"{where}[{index}]", *pair) for index, pair in enumerate(zip(before, after, strict=True))]
    else:
        same = type(before) is type(after) and before == after
        return {} if same else {where: (before, after)}
    return {place: what for part in parts for place, what in differences(part[1], part[2], part[0]).items()}
