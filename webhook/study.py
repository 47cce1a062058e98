"""Inspect an object: revert its record, and parse the result, which is what its author wrote."""

from dataclasses import dataclass, field, replace
from typing import Final

from intent import Object
from intent.annotations import EXPANSION, INJECT, NO_ROUTING, PAUSED, PREFIX, SERVICE, Routing
from intent.errors import FieldError
from intent.names import is_label_value
from intent.read import NOTHING, Reading
from intent.read import read as read_lws
from webhook.overlay import record as records
from webhook.overlay.canonical import canonical
from webhook.overlay.overlay import Overlay, compose, merge
from webhook.overlay.patch import patch
from webhook.overlay.put import filled, put
from webhook.overlay.record import NO_RECORD, Record
from webhook.overlay.undo import undo

UNREAD: Final = frozenset({EXPANSION, PAUSED})
"""Annotations of FusionInfer that do not affect admission."""


@dataclass(frozen=True, slots=True)
class Study:
    """The live object, the old one (None on CREATE), and the original: live with its record reverted."""

    live: Object
    old: Object | None
    original: Object
    off: Overlay = field(default_factory=dict)
    record: Record = NO_RECORD
    reading: Reading = NOTHING
    digest: str = ""
    text: str = ""
    """The text of the record."""
    unreadable: FieldError | None = None
    stamp: Overlay = field(default_factory=dict)
    """The service label in place of an invalid value; `live` has it already."""
    pin: Record = NO_RECORD
    """The record whose overlay is injected again, since its input is unchanged. A CREATE has no pin."""

    @property
    def has_record(self) -> bool:
        """Return whether the live object itself has a record."""
        return has_record(self.live)

    @property
    def pinned(self) -> bool:
        """Return whether an update changed no input of the rules."""
        return self.pin is not NO_RECORD


def concerns(live: Object, old: Object | None = None) -> bool:
    """Return whether the live or old object has an annotation of FusionInfer, and is not bypassed."""
    if disabled(live) or metadata(live).get("deletionTimestamp"):
        return False
    return any(key.startswith(PREFIX) for key in (*annotations(live), *annotations(old)))


def disabled(lws: Object) -> bool:
    """Return whether `inject: disabled` bypasses both webhooks for the object."""
    return annotations(lws).get(INJECT) == "disabled"


def nothing_to_do(live: Object, old: Object | None = None) -> bool:
    """Return whether the object needs no admission, or is unchanged. Specs may be raw JSON."""
    return not concerns(live, old) or settled(live, old)


def settled(live: Object, old: Object | None = None) -> bool:
    """Return whether an update of an object with a record changes no input of admission, as for most updates.

    The stored object was expanded already, so nothing is to be reverted, parsed or injected.
    """
    if old is None or not has_record(old):
        return False
    one, other = metadata(live), metadata(old)
    if any(one.get(field) != other.get(field) for field in ("annotations", "labels", "name")):
        return False
    return _spec(live) == _spec(old)


def _spec(lws: Object) -> Object | None:
    """Return the spec without `replicas`, which no mutator reads; None if it is no map."""
    spec = lws.get("spec")
    return {key: spec[key] for key in spec if key != "replicas"} if isinstance(spec, dict) else None


def study(live: Object, old: Object | None = None) -> Study:
    """Revert the record of an object, and parse the result.

    An invalid record is an error if the live object has it. If only the old object has it, it is ignored: the
    author removed it, or wrote the object without it.
    """
    stamp = _stamp(live)
    live = merge(live, stamp) if stamp else live
    text = records.find(live, old)
    record = NO_RECORD if text is None else records.read(text)
    if isinstance(record, FieldError):
        if has_record(live):
            return Study(live, old, live, unreadable=record)
        text, record = None, NO_RECORD
    off, original = undo(live, record) if record.put_on else ({}, live)
    reading = read_lws(original)
    digest = records.digest(reading.intent) if reading.intent else ""
    found = Study(live, old, original, off, record, reading, digest, text or "", stamp=stamp)
    return found if old is None else replace(found, pin=_pin(found))


def _pin(found: Study) -> Record:
    """Return the record that still holds: the live object's, else the old one's; `NO_RECORD` if neither does.

    The live object's record may be outdated: a saved file may have an older one, and another webhook may have
    changed the input since (an image tag to a digest).
    """
    if _holds(found):
        return found.record
    before = records.find(found.old)
    if not found.digest or before is None or before == found.text:
        return NO_RECORD
    stored = records.read(before)
    return stored if isinstance(stored, Record) and stored.digest == found.digest else NO_RECORD


def _stamp(live: Object) -> Overlay:
    """Return an overlay with the service label, if the object has a value that the API server rejects.

    The controller sends such a value so that the object is stored only if admission replaces it (ADR 13). It
    stands for the label that admission writes, the name of the service.
    """
    value = labels(live).get(SERVICE)
    if not isinstance(value, str) or is_label_value(value):
        return {}
    return {"metadata": {"labels": {SERVICE: annotations(live).get(SERVICE)}}}


def _holds(found: Study) -> bool:
    """Return whether the record was made from the current input.

    The digests are compared if this release made both. If another release wrote the record, or this one finds
    errors in the input, the update must leave the input of the stored object unchanged.
    """
    if found.record is NO_RECORD or found.reading == NOTHING:
        return False
    if found.digest and found.digest == found.record.digest:
        return True
    return bool(found.record.is_foreign or found.reading.errors) and _carries_on(found)


def _carries_on(found: Study) -> bool:
    """Return whether the old object matches its record, and the update leaves its input unchanged.

    Writes that bypassed the webhooks do not count: their record may not match.
    """
    if found.old is None or annotations(found.old).get(INJECT) is not None:
        return False
    before = study(found.old)
    known = (before.record.digest, before.record.put_on) == (found.record.digest, found.record.put_on)
    return known and stands(before) and _asks_the_same(before, found)


def _asks_the_same(before: Study, found: Study) -> bool:
    """Return whether two objects have the same input: by digest, or field by field if there is none."""
    if found.digest:
        return found.digest == before.digest and found.reading.errors == before.reading.errors
    one, other = found.original, before.original
    if annotations(one) == annotations(other) and _spec(one) == _spec(other):
        return True
    return _words(one) == _words(other)


def _words(original: Object) -> tuple[Object, object]:
    """Return the annotations and the spec of an author, in canonical form."""
    keys = annotations(original)
    words = {key: keys[key] for key in keys if key.startswith(PREFIX) and key not in UNREAD}
    return words, canonical(_spec(original))


def stands(found: Study) -> bool:
    """Return whether all recorded fields are on the object: reverting and injecting them changes nothing."""
    put_on, _ = put(found.original, found.record.put_on)
    return not patch(found.live, compose(found.off, filled(found.original, put_on)))


def made_elsewhere(found: Study) -> bool:
    """Return whether another release wrote the record in this write, and its fields are on the object."""
    return found.record.is_foreign and found.text != records.find(found.old) and stands(found)


def unchanged(found: Study) -> bool:
    """Return whether the input is that of the old object, or that of the old object's record.

    An old object without a record that bypassed the webhooks counts as absent, as on a CREATE.
    """
    if found.old is None or (disabled(found.old) and not has_record(found.old)):
        return False
    before = study(found.old)
    if found.reading.intent is None:
        return found.reading != NOTHING and found.reading == before.reading and _asks_the_same(before, found)
    if before.reading == found.reading:
        return True
    known = found.digest in (before.digest, before.record.digest)
    return bool(found.digest) and known and _beside(before) == _beside(found)


def left_alone(found: Study) -> bool:
    """Return whether the object has no record, and the update changes nothing else than removing it."""
    return found.record is NO_RECORD and (lost_its_record(found) or unchanged(found))


def lost_its_record(found: Study) -> bool:
    """Return whether the update removed an invalid record, and changed no other input of admission."""
    if found.record is not NO_RECORD or found.old is None or not has_record(found.old):
        return False
    return _words(found.live) == _words(found.old)


def _beside(found: Study) -> tuple[tuple[str, ...], Routing]:
    """Return the input of the controller, which the digest leaves out."""
    intent = found.reading.intent
    return (intent.roles, intent.routing) if intent else ((), NO_ROUTING)


def has_record(lws: Object | None) -> bool:
    """Return whether an object has a record."""
    return annotations(lws).get(EXPANSION) is not None


def metadata(lws: Object | None) -> Object:
    """Return the metadata of an object; empty if it is absent or no map."""
    found = lws.get("metadata") if isinstance(lws, dict) else None
    return found if isinstance(found, dict) else {}


def annotations(lws: Object | None) -> Object:
    """Return the annotations of an object; empty if they are absent or no map."""
    found = metadata(lws).get("annotations")
    return found if isinstance(found, dict) else {}


def labels(lws: Object | None) -> Object:
    """Return the labels of an object; empty if they are absent or no map."""
    found = metadata(lws).get("labels")
    return found if isinstance(found, dict) else {}
