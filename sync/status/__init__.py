"""Computes the status of an InferenceService, as it is applied to `/status`.

Rules of this package:
1. No clock: `now` is an argument, and is used only where something changed. Equal rows give an equal status.
2. Nothing is `True` because of an object of an earlier generation.
3. A message names one cause and its remedy; what several roles wait for is one line.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from intent import Object
from intent.errors import printable
from intent.inferenceservice.v1alpha1 import MOST_APPLIED
from intent.shapes import listed, mapping, text
from sync.kinds import LWS, POD, POD_GROUP
from sync.parts.desired import Desired
from sync.snapshot import Snapshot
from sync.status.addresses import addresses
from sync.status.components import component, ratio
from sync.status.conditions import JUDGES
from sync.status.observed import Observed, observed
from sync.status.reasons import CONDITIONS, STATES, Verdict

LONGEST: Final = 1024
"""Maximum length of a message. The API allows 32 Ki characters; people read less."""
SEEN: Final = frozenset({LWS.kind, POD.kind, POD_GROUP.kind})
"""Kinds without which a status would be wrong: it would report pods as missing that cannot be listed."""
OPTIONAL: Final = ("url", "addresses", "appliedTemplates")
"""Fields that a status may lack."""
OURS: Final = frozenset({*CONDITIONS, "Progressing"})
"""The types of condition that the controller writes, or wrote in an earlier release."""


def report(snapshot: Snapshot, desired: Desired, now: str) -> Object | None:
    """Return the status at a time (RFC 3339).

    None if there is no InferenceService, if the status is stored already, or if too little is known.
    """
    if snapshot.service is None or snapshot.unknown.keys() & SEEN:
        return None
    new = status(observed(snapshot, desired), snapshot.service.status, now)
    return new if differs(new, snapshot.service.status) else None


def status(seen: Observed, before: Object, now: str) -> Object:
    """Return the whole status; `before` is the stored status, `now` is RFC 3339."""
    stored, generation = by_type(before), seen.service.generation
    seen = _with_failures(seen, before, stored.get("Failed", {}))
    conditions = [
        _condition(kind, verdict, stored.get(kind, {}), generation, now)
        for kind, judge in JUDGES.items()
        if (verdict := judge(seen))
    ]
    # Empty maps are left out: the API server makes null of one that an apply empties (422).
    of_roles = {"components": dict(_components(seen, mapping(before.get("components")), now))}
    return {
        "observedGeneration": generation,
        "conditions": conditions,
        **({**of_roles, "ready": {"replicas": ratio(seen.roles)}} if seen.roles else {}),
        **addresses(seen),
        **_applied_templates(seen),
    }


def _with_failures(seen: Observed, before: Object, failed: Object) -> Observed:
    """Add what failed before, in this generation; a new generation may have repaired an earlier failure."""
    if before.get("observedGeneration") != seen.service.generation:
        return seen
    roles = mapping(before.get("components")).items()
    return replace(
        seen,
        failed=frozenset(name for name, role in roles if mapping(role).get("phase") == "Failed"),
        failure=text(failed.get("message")) if failed.get("reason") == "PodsFailing" else "",
    )


def _condition(kind: str, verdict: Verdict, old: Object, generation: int, now: str) -> Object:
    """Render one condition; `lastTransitionTime` is that of its last change of status."""
    current, message = STATES[kind, verdict.reason], printable(verdict.message)
    return {
        "type": kind,
        "status": current,
        "reason": verdict.reason,
        "message": message if len(message) <= LONGEST else f"{message[: LONGEST - 3]}...",
        "lastTransitionTime": _dated(old.get("lastTransitionTime"), now, same=old.get("status") == current),
        "observedGeneration": generation,
    }


def _components(seen: Observed, before: Object, now: str) -> Iterator[tuple[str, Object]]:
    """Yield the component of every role, by name; `before` is the stored `status.components`."""
    for role in seen.roles:
        new, old = component(seen, role), mapping(before.get(role.name))
        yield (
            role.name,
            {**new, "lastUpdateTime": _dated(old.get("lastUpdateTime"), now, same=old | new == old)},
        )


def _applied_templates(seen: Observed) -> Object:
    """Return the field of the status; nothing for a service without templates, or before any is known."""
    outdated = seen.outdated
    found = [
        {
            "name": one.name,
            "namespace": one.namespace,
            "generation": one.generation,
            "current": one not in outdated,
        }
        for one in seen.applied
    ]
    return {"appliedTemplates": found[:MOST_APPLIED]} if found and not seen.templates.trouble else {}


# --- what is stored ---------------------------------------------------------------------------------


def by_type(status: Object) -> dict[str, Object]:
    """Return the conditions of a status by type."""
    return {text(one.get("type")): one for one in map(mapping, listed(status.get("conditions")))}


def differs(desired: Object, before: Object) -> bool:
    """Return whether a status differs from the stored one; other writers' types of condition do not count."""
    stored = {key: before.get(key) for key in (*desired, *OPTIONAL) if key in before}
    conditions = {kind: one for kind, one in by_type(before).items() if kind in OURS}
    return desired | {"conditions": by_type(desired)} != stored | {"conditions": conditions}


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


def _dated(stored: Any, now: str, *, same: bool) -> str:
    """Return the stored time if there is one and nothing changed since, else `now`."""
    return text(stored) if same and stored else now
