"""Compares statuses: whether one differs from what is stored, with and without its times and messages."""

import re
from typing import Any, Final

from intent import Object
from intent.shapes import listed, mapping, text
from sync.status.reasons import CONDITIONS

_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").fullmatch


OPTIONAL: Final = ("url", "addresses", "appliedTemplates")
"""Fields that a status may lack."""
OURS: Final = frozenset({*CONDITIONS, "Progressing"})
"""The types of condition that the controller writes, or wrote in an earlier release."""


def differs(desired: Object, before: Object) -> bool:
    """Return whether a status differs from the stored one; other writers' types of condition do not count."""
    stored = {key: before.get(key) for key in (*desired, *OPTIONAL) if key in before}
    conditions = {kind: one for kind, one in by_type(before).items() if kind in OURS}
    return desired | {"conditions": by_type(desired)} != stored | {"conditions": conditions}


def by_type(status: Object) -> dict[str, Object]:
    """Return the conditions of a status by type."""
    return {text(one.get("type")): one for one in map(mapping, listed(status.get("conditions")))}


def without_times(status: Object) -> Object:
    """Return a status without its times."""
    conditions = [_without(one, "lastTransitionTime") for one in listed(status.get("conditions"))]
    roles = mapping(status.get("components")).items()
    components = {name: _without(role, "lastUpdateTime") for name, role in roles}
    return status | {"conditions": conditions, "components": components}


def without_messages(status: Object) -> Object:
    """Return a status without its times and messages: what is left does not vary between tries."""
    plain = without_times(status)
    return plain | {"conditions": [_without(one, "message") for one in plain["conditions"]]}


def _without(value: Any, field: str) -> Object:
    return {key: one for key, one in mapping(value).items() if key != field}


def dated(stored: Any, now: str, *, same: bool) -> str:
    """Return the stored time if nothing changed since and it is RFC 3339, else `now`."""
    return stored if same and isinstance(stored, str) and _RFC_3339(stored) else now
