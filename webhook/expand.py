"""The one path from an object to what is put on it. Webhook, command and tests all go this way.

    withdraw   undo               what we put on comes off
    read       intent.read        what its author wrote: an Intent, and field errors
    decide     pin, or MUTATORS   the recorded overlay while the Intent is the recorded one, else the rules
    patch      put, patch         one walk over the overlay; a second one where we were before

Nothing here changes its arguments or raises, whatever the JSON.
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
    """What comes off and what goes on, as one overlay."""

    overlay: Overlay
    operations: list[Operation] | None = None
    """The patch, where it is known already."""


UNCHANGED: Final = Expansion({})
"""The object is not for us, or cannot be read: nothing is answered for it."""
STANDS: Final = Expansion({})
"""All that should be on the object is there, or is left as it is since nothing changes now."""


def expand(
    live: Object,
    old: Object | None = None,
    settings: Settings = DEFAULTS,
    mutators: tuple[Mutator, ...] = MUTATORS,
) -> list[Operation]:
    """Give the operations that make the object what its author asked for; none if there is nothing to do."""
    if nothing_to_do(live, old):
        return []
    overlay, operations = change(study(live, old), settings, mutators)
    return patch(live, overlay) if operations is None else operations


def expanded(live: Object, settings: Settings = DEFAULTS) -> Object:
    """Give the object as /mutate leaves it; that is what the patch makes of it (tests/laws)."""
    if not concerns(live):
        return live
    return merge(live, change(study(live), settings).overlay)


def change(found: Study, settings: Settings, mutators: tuple[Mutator, ...] = MUTATORS) -> Expansion:
    """Decide what comes off and what goes on; the label of the service only with the rest of it."""
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
    """Put the record behind what else goes into the metadata, where the overlay has it."""
    at = sum(one["path"].startswith("/metadata/") for one in operations) or len(operations)
    return [*operations[:at], *patch(live, _annotation(text)), *operations[at:]]


def written(found: Study, put_on: Overlay, was: Overlay) -> str:
    """Write the record; while the pin holds it stays the record of the release that decided."""
    if found.pinned:
        return records.write(found.pin.digest, put_on, was, found.pin.reading)
    return records.write(found.digest, put_on, was)


def _stands(found: Study) -> bool:
    """Whether all that is recorded is on the object: most updates end here.

    A copy has to follow what it copies, so it never counts as standing.
    """
    is_own = found.has_record and found.pin is found.record and COPY not in found.text
    return is_own and merge(found.live, found.record.put_on) == found.live


def wish(found: Study, settings: Settings, mutators: tuple[Mutator, ...] = MUTATORS) -> Overlay:
    """Take the recorded overlay while the pin holds; else ask the mutators."""
    if found.pinned or found.reading.intent is None:
        return found.pin.put_on
    intent = foreseen(found.reading.intent, settings)
    return combine(mutator(intent, settings) for mutator in mutators)


def room(live: Object) -> int:
    """Count the bytes that annotations leave for the record."""
    others = {key: value for key, value in annotations(live).items() if key != EXPANSION}
    used = sum(len(key) + len(value) for key, value in others.items() if isinstance(value, str))
    return ANNOTATIONS_LIMIT - used - len(EXPANSION)


def _annotation(text: str | None) -> Overlay:
    return {"metadata": {"annotations": {EXPANSION: text}}}
