"""Times of a status: RFC 3339 texts that come in, and stay as long as what they date."""

import re
from typing import Any, Final

from intent import Object
from intent.shapes import listed, mapping, text
from sync.status.reasons import CONDITIONS

_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").fullmatch


def differs(desired: Object, before: Object) -> bool:
    """Whether a status would change what is stored. Conditions of other types are somebody else's."""
    stored = {key: before.get(key) for key in (*desired, "url") if key in before}
    conditions = {kind: one for kind, one in by_type(before).items() if kind in CONDITIONS}
    return desired | {"conditions": by_type(desired)} != stored | {"conditions": conditions}


def by_type(status: Object) -> dict[str, Object]:
    """Return the conditions of a status by type."""
    found = (mapping(one) for one in listed(status.get("conditions")))
    return {text(one.get("type")): one for one in found}


def undated(status: Object) -> Object:
    """Take the times out of a status: what is left is what it says."""
    conditions = [_without(one, "lastTransitionTime") for one in listed(status.get("conditions"))]
    roles = mapping(status.get("components")).items()
    components = {name: _without(role, "lastUpdateTime") for name, role in roles}
    return status | {"conditions": conditions, "components": components}


def unworded(status: Object) -> Object:
    """Take the times and the messages out of a status: what is left does not vary from try to try."""
    plain = undated(status)
    return plain | {"conditions": [_without(one, "message") for one in plain["conditions"]]}


def _without(value: Any, field: str) -> Object:
    return {key: one for key, one in mapping(value).items() if key != field}


def dated(stored: Any, now: str, *, same: bool) -> str:
    """Give the stored time where nothing changed since; else, or if it is no time, now."""
    return stored if same and isinstance(stored, str) and _RFC_3339(stored) else now
