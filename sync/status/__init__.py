"""Computes the status of an InferenceService, as it is applied to `/status`.

Rules of this package:
1. No clock: `now` is an argument, and is used only where something changed. Equal rows give an equal status.
2. Nothing is `True` because of an object of an earlier generation.
3. A message names one cause and its remedy; what several roles wait for is one line.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from intent import Object
from intent.errors import printable
from intent.shapes import mapping, text
from sync.status.addresses import addresses
from sync.status.compare import by_type, dated, differs, without_messages, without_times
from sync.status.components import components, ready_counts
from sync.status.conditions import JUDGES, state
from sync.status.inputs import FailureMemory, Observed, ObservedRoutes
from sync.status.reasons import Verdict
from sync.status.templates import applied_templates

__all__ = [
    "Observed",
    "ObservedRoutes",
    "differs",
    "status",
    "without_messages",
    "without_times",
]

LONGEST: Final = 1024
"""Maximum length of a message. The API allows 32 Ki characters; people read less."""


def status(seen: Observed, before: Object, now: str) -> Object:
    """Return the whole status; `before` is the stored status, `now` is RFC 3339."""
    stored = by_type(before)
    seen = replace(seen, memory=_memory(before, stored, seen.service.generation))
    return {
        "observedGeneration": seen.service.generation,
        "conditions": list(_conditions(seen, stored, now)),
        **_filled(
            components=components(seen, mapping(before.get("components")), now), ready=ready_counts(seen)
        ),
        **addresses(seen),
        **applied_templates(seen),
    }


def _filled(**maps: Object) -> Object:
    """Return the maps that are not empty: the API server makes null of one that an apply empties (422)."""
    return {key: value for key, value in maps.items() if value}


def _memory(before: Object, conditions: Mapping[str, Object], generation: int) -> FailureMemory:
    """Read what failed before, in this generation; a new generation may have repaired an earlier failure."""
    if before.get("observedGeneration") != generation:
        return FailureMemory()
    roles = mapping(before.get("components")).items()
    failed = conditions.get("Failed", {})
    crashed = failed.get("reason") == "PodsFailing"
    return FailureMemory(
        frozenset(name for name, role in roles if mapping(role).get("phase") == "Failed"),
        text(failed.get("message")) if crashed else "",
    )


def _conditions(seen: Observed, stored: Mapping[str, Object], now: str) -> Iterator[Object]:
    for kind, judge in JUDGES.items():
        if verdict := judge(seen):
            yield _condition(kind, verdict, stored.get(kind, {}), seen.service.generation, now)


def _condition(kind: str, verdict: Verdict, old: Object, generation: int, now: str) -> Object:
    """Render one condition; `lastTransitionTime` is that of its last change of status."""
    current = state(kind, verdict)
    return {
        "type": kind,
        "status": current,
        "reason": verdict.reason,
        "message": _shortened(printable(verdict.message)),
        "lastTransitionTime": dated(old.get("lastTransitionTime"), now, same=old.get("status") == current),
        "observedGeneration": generation,
    }


def _shortened(message: str) -> str:
    return message if len(message) <= LONGEST else f"{message[: LONGEST - 3]}..."
