"""Expand an object: compute the patch that injects fields. Used by webhook, command and tests.

    state      webhook.state      revert what was injected before, parse what the author wrote, and decide
    wish       pin, or MUTATORS   the recorded overlay if the input is unchanged, else that of the mutators
    inject     put, patch         one walk over the overlay; two if the object had a record

No function here changes its arguments, or raises for any JSON.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, assert_never

from intent import Object
from intent.annotations import EXPANSION
from intent.settings import Settings
from intent.shapes import annotations
from webhook.launchers.templates import foreseen
from webhook.mutate import MUTATORS
from webhook.mutate.concern import Mutator
from webhook.overlay import record as records
from webhook.overlay.overlay import Overlay, combine, compose, has_copy, merge
from webhook.overlay.patch import Operation, patch
from webhook.overlay.record import Record
from webhook.state import (
    Ejected,
    Fresh,
    Grandfathered,
    Invalid,
    NotOurs,
    Pinned,
    Settled,
    State,
    Unreadable,
    Withdrawn,
    state,
)
from webhook.write import Injection, Write

ANNOTATIONS_LIMIT: Final = 256 * 1024
"""All annotations of an object, in bytes (`k8s.io/apimachinery` `pkg/api/validation/objectmeta.go`)."""

DEFAULTS: Final = Settings()


class Expansion(NamedTuple):
    """One overlay that reverts the old record and injects the new fields."""

    overlay: Overlay
    operations: list[Operation] | None = None
    """The patch, if it was computed on the way."""


UNCHANGED: Final = Expansion({}, [])


def expand(
    live: Object,
    old: Object | None = None,
    settings: Settings = DEFAULTS,
    mutators: Iterable[Mutator] = MUTATORS,
) -> list[Operation]:
    """Return the JSON patch that expands the object; empty if there is nothing to do."""
    return operations(live, state(live, old), settings, mutators)


def operations(
    live: Object, found: State, settings: Settings = DEFAULTS, mutators: Iterable[Mutator] = MUTATORS
) -> list[Operation]:
    """Return the JSON patch that expands an object in the given state."""
    overlay, made = change(found, settings, mutators)
    return patch(live, overlay) if made is None else made


def expanded(live: Object, settings: Settings = DEFAULTS) -> Object:
    """Return the object as /mutate leaves it. The patch has the same result (tests/laws)."""
    return merge(live, change(state(live), settings).overlay)


def change(found: State, settings: Settings = DEFAULTS, mutators: Iterable[Mutator] = MUTATORS) -> Expansion:
    """Return the fields to revert and to inject. The service label is only fixed together with the others."""
    match found:
        case NotOurs() | Settled() | Unreadable() | Invalid() | Ejected():
            return UNCHANGED
        case Withdrawn(write):
            return _reverted(write) if write.has_record else UNCHANGED
        case Grandfathered(write):
            return Expansion(write.stamp)
        case Pinned(write, pin):
            return Expansion(write.stamp) if _has_all(write, pin) else _injected(found, pin.put_on)
        case Fresh():
            return _injected(found, wish(found, settings, mutators))
    assert_never(found)


def _reverted(write: Write) -> Expansion:
    return Expansion(compose(write.stamp, compose(write.off, _annotation(None))))


def _has_all(write: Write, pin: Record) -> bool:
    """Return whether the object has all recorded fields, as on most updates.

    A record with a copy never counts, since the copy has to follow its source.
    """
    is_own = write.has_record and pin is write.record and not has_copy(pin.put_on)
    return is_own and merge(write.live, pin.put_on) == write.live


def _injected(found: Pinned | Fresh, wished: Overlay) -> Expansion:
    write, made = found.write, found.write.inject(wished)
    text = written(found, made)
    if len(text) > room(write.live):
        return UNCHANGED
    overlay = compose(write.stamp, compose(made.overlay, _annotation(text)))
    if write.stamp or made.operations is None:
        return Expansion(overlay)
    return Expansion(overlay, _recorded(write.live, made.operations, text))


def _recorded(live: Object, operations: list[Operation], text: str) -> list[Operation]:
    """Insert the operations of the record after the other ones of the metadata, as in the overlay."""
    at = sum(one["path"].startswith("/metadata/") for one in operations) or len(operations)
    return [*operations[:at], *patch(live, _annotation(text)), *operations[at:]]


def written(found: Pinned | Grandfathered | Fresh, made: Injection) -> str:
    """Return the text of the record. A pinned one keeps the digest of the release that wrote it."""
    if isinstance(found, Pinned):
        return records.write(found.pin.digest, made.put_on, made.was, found.pin.reading)
    return records.write(found.write.digest, made.put_on, made.was)


def wish(
    found: Pinned | Grandfathered | Fresh, settings: Settings, mutators: Iterable[Mutator] = MUTATORS
) -> Overlay:
    """Return the recorded overlay if the object is pinned, else the overlay of the mutators."""
    if isinstance(found, Pinned):
        return found.pin.put_on
    intent = foreseen(found.intent, settings)
    return combine(mutator(intent, settings) for mutator in mutators)


def room(live: Object) -> int:
    """Return the number of bytes that other annotations leave for the record."""
    others = {key: value for key, value in annotations(live).items() if key != EXPANSION}
    used = sum(len(key) + len(value) for key, value in others.items() if isinstance(value, str))
    return ANNOTATIONS_LIMIT - used - len(EXPANSION)


def _annotation(text: str | None) -> Overlay:
    return {"metadata": {"annotations": {EXPANSION: text}}}
