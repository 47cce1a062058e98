"""Expand an object: compute the patch that injects fields. Used by webhook, command and tests.

    revert     undo               remove the fields that were injected before
    parse      intent.read        read what the author wrote: an Intent, and field errors
    decide     pin, or MUTATORS   use the recorded overlay if the Intent is unchanged, else call the mutators
    patch      put, patch         one walk over the overlay; two if the object had a record

No function here changes its arguments, or raises for any JSON.
"""

from typing import Final, NamedTuple

from intent import Object
from intent.annotations import EXPANSION
from intent.settings import Settings
from webhook.launchers.templates import foreseen
from webhook.mutate import MUTATORS
from webhook.mutate.concern import Mutator
from webhook.overlay import record as records
from webhook.overlay.overlay import COPY, Overlay, combine, compose, merge
from webhook.overlay.patch import Operation, patch
from webhook.overlay.put import filled, put
from webhook.overlay.record import NO_RECORD
from webhook.study import Study, annotations, concerns, left_alone, nothing_to_do, study

ANNOTATIONS_LIMIT: Final = 256 * 1024
"""All annotations of an object, in bytes (`k8s.io/apimachinery` `pkg/api/validation/objectmeta.go`)."""

DEFAULTS: Final = Settings()


class Expansion(NamedTuple):
    """One overlay that reverts the old record and injects the new fields."""

    overlay: Overlay
    operations: list[Operation] | None = None
    """The patch, if it was computed on the way."""


UNCHANGED: Final = Expansion({})
"""The object has no annotation of FusionInfer, or is invalid: no patch."""
STANDS: Final = Expansion({})
"""The object has all its fields already, or is left as it is since its input does not change: no patch."""


def expand(
    live: Object,
    old: Object | None = None,
    settings: Settings = DEFAULTS,
    mutators: tuple[Mutator, ...] = MUTATORS,
) -> list[Operation]:
    """Return the JSON patch that expands the object; empty if there is nothing to do."""
    if nothing_to_do(live, old):
        return []
    overlay, operations = change(study(live, old), settings, mutators)
    return patch(live, overlay) if operations is None else operations


def expanded(live: Object, settings: Settings = DEFAULTS) -> Object:
    """Return the object as /mutate leaves it. The patch has the same result (tests/laws)."""
    if not concerns(live):
        return live
    return merge(live, change(study(live), settings).overlay)


def change(found: Study, settings: Settings, mutators: tuple[Mutator, ...] = MUTATORS) -> Expansion:
    """Return the fields to revert and to inject. The service label is only fixed together with the others."""
    made = _change(found, settings, mutators)
    if made is UNCHANGED or not found.stamp:
        return made
    return Expansion(compose(found.stamp, made.overlay))


def _change(found: Study, settings: Settings, mutators: tuple[Mutator, ...]) -> Expansion:
    if found.unreadable or (found.reading.errors and not found.pinned):
        return UNCHANGED
    if found.reading.intent is None and not found.pinned:
        return Expansion(compose(found.off, _annotation(None))) if found.has_record else UNCHANGED
    if not found.pinned and left_alone(found):
        return STANDS
    if found.pinned and _stands(found):
        return STANDS
    return _put_on(found, wish(found, settings, mutators))


def _put_on(found: Study, wished: Overlay) -> Expansion:
    operations: list[Operation] = []
    put_on, was = put(found.original, wished, operations)
    text = written(found, put_on, was)
    if len(text) > room(found.live):
        return UNCHANGED
    has_copies = COPY in text
    if has_copies:
        put_on = filled(found.original, put_on)
    overlay = compose(found.off, compose(put_on, _annotation(text)))
    is_new = found.record is NO_RECORD and not has_copies
    return Expansion(overlay, _recorded(found.live, operations, text) if is_new else None)


def _recorded(live: Object, operations: list[Operation], text: str) -> list[Operation]:
    """Insert the operations of the record after the other ones of the metadata, as in the overlay."""
    at = sum(one["path"].startswith("/metadata/") for one in operations) or len(operations)
    return [*operations[:at], *patch(live, _annotation(text)), *operations[at:]]


def written(found: Study, put_on: Overlay, was: Overlay) -> str:
    """Return the text of the record. A pinned one keeps the digest of the release that wrote it."""
    if found.pinned:
        return records.write(found.pin.digest, put_on, was, found.pin.reading)
    return records.write(found.digest, put_on, was)


def _stands(found: Study) -> bool:
    """Return whether the object has all recorded fields, as on most updates.

    A record with a copy never counts, since the copy has to follow its source.
    """
    is_own = found.has_record and found.pin is found.record and COPY not in found.text
    return is_own and merge(found.live, found.record.put_on) == found.live


def wish(found: Study, settings: Settings, mutators: tuple[Mutator, ...] = MUTATORS) -> Overlay:
    """Return the recorded overlay if the object is pinned, else the overlay of the mutators."""
    if found.pinned or found.reading.intent is None:
        return found.pin.put_on
    intent = foreseen(found.reading.intent, settings)
    return combine(mutator(intent, settings) for mutator in mutators)


def room(live: Object) -> int:
    """Return the number of bytes that other annotations leave for the record."""
    others = {key: value for key, value in annotations(live).items() if key != EXPANSION}
    used = sum(len(key) + len(value) for key, value in others.items() if isinstance(value, str))
    return ANNOTATIONS_LIMIT - used - len(EXPANSION)


def _annotation(text: str | None) -> Overlay:
    return {"metadata": {"annotations": {EXPANSION: text}}}
