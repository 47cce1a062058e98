"""One object as we found it: what we put on taken off, what is left read."""

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
"""Annotations of ours that ask nothing of admission."""


@dataclass(frozen=True, slots=True)
class Study:
    """Live as it came, old as it was (None on CREATE), and the original: live with our part off."""

    live: Object
    old: Object | None
    original: Object
    off: Overlay = field(default_factory=dict)
    record: Record = NO_RECORD
    reading: Reading = NOTHING
    digest: str = ""
    text: str = ""
    """The record as it is written."""
    unreadable: FieldError | None = None
    stamp: Overlay = field(default_factory=dict)
    """The label of the service in place of a value that no object may have; `live` has it already."""
    pin: Record = NO_RECORD
    """The record whose overlay is put on again, since its input did not change. A CREATE never pins."""

    @property
    def has_record(self) -> bool:
        """Whether the object itself carries a record."""
        return has_record(self.live)

    @property
    def pinned(self) -> bool:
        """Whether an update changed nothing that the rules look at."""
        return self.pin is not NO_RECORD


def concerns(live: Object, old: Object | None = None) -> bool:
    """Whether the object, or what it was, carries a key of ours, and nobody broke the glass."""
    if disabled(live) or metadata(live).get("deletionTimestamp"):
        return False
    return any(key.startswith(PREFIX) for key in (*annotations(live), *annotations(old)))


def disabled(lws: Object) -> bool:
    """Whether `inject: disabled` keeps an object from us."""
    return annotations(lws).get(INJECT) == "disabled"


def nothing_to_do(live: Object, old: Object | None = None) -> bool:
    """Whether the object is none of ours, or is as it was; asked of specs that are unread, too."""
    return not concerns(live, old) or settled(live, old)


def settled(live: Object, old: Object | None = None) -> bool:
    """Whether an update changes nothing that we look at, of an object that carries our record: most do.

    What was stored went through us then, so there is nothing to take off, to read or to put on.
    """
    if old is None or not has_record(old):
        return False
    one, other = metadata(live), metadata(old)
    if any(one.get(field) != other.get(field) for field in ("annotations", "labels", "name")):
        return False
    return _spec(live) == _spec(old)


def _spec(lws: Object) -> Object | None:
    """Take the spec but for `replicas`, which no mutator looks at; None if it has another shape."""
    spec = lws.get("spec")
    return {key: spec[key] for key in spec if key != "replicas"} if isinstance(spec, dict) else None


def study(live: Object, old: Object | None = None) -> Study:
    """Withdraw what we put on, and read what is left.

    A record that cannot be read is an error on the object itself. On the old object alone it counts for
    nothing: its author removed it, or wrote the object without it.
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
    """Choose the record that holds: the object's own, else the old object's; `NO_RECORD` if neither does.

    The own one may be older than what is stored (a file that was saved with its record), or of words that
    another webhook replaced since (an image by its digest).
    """
    if _holds(found):
        return found.record
    before = records.find(found.old)
    if not found.digest or before is None or before == found.text:
        return NO_RECORD
    stored = records.read(before)
    return stored if isinstance(stored, Record) and stored.digest == found.digest else NO_RECORD


def _stamp(live: Object) -> Overlay:
    """Give the label of the service where a value stands that the API server refuses.

    Nobody's object is stored with such a value: the controller sends it so that nothing is stored unless
    admission answers (ADR 13). It means what admission writes there, the name of the service.
    """
    value = labels(live).get(SERVICE)
    if not isinstance(value, str) or is_label_value(value):
        return {}
    return {"metadata": {"labels": {SERVICE: annotations(live).get(SERVICE)}}}


def _holds(found: Study) -> bool:
    """Whether the record was made from what its author asks for now.

    Digests tell, where both are made in one way and of all that stands there. Else another release decided
    or this one is stricter: then the update must change nothing of what that one left.
    """
    if found.record is NO_RECORD or found.reading == NOTHING:
        return False
    if found.digest and found.digest == found.record.digest:
        return True
    return bool(found.record.is_foreign or found.reading.errors) and _carries_on(found)


def _carries_on(found: Study) -> bool:
    """Whether the old object was as its record says, and its author asks for the same.

    Of what was written while the glass was broken nobody knows.
    """
    if found.old is None or annotations(found.old).get(INJECT) is not None:
        return False
    before = study(found.old)
    known = (before.record.digest, before.record.put_on) == (found.record.digest, found.record.put_on)
    return known and stands(before) and _asks_the_same(before, found)


def _asks_the_same(before: Study, found: Study) -> bool:
    """Whether two objects ask for the same: as far as the rules see, or word by word where they cannot."""
    if found.digest:
        return found.digest == before.digest and found.reading.errors == before.reading.errors
    one, other = found.original, before.original
    if annotations(one) == annotations(other) and _spec(one) == _spec(other):
        return True
    return _words(one) == _words(other)


def _words(original: Object) -> tuple[Object, object]:
    """Take what its author wrote that we might look at."""
    keys = annotations(original)
    words = {key: keys[key] for key in keys if key.startswith(PREFIX) and key not in UNREAD}
    return words, canonical(_spec(original))


def stands(found: Study) -> bool:
    """Whether all that is recorded is on the object: taken off and put on again it makes no difference."""
    put_on, _ = put(found.original, found.record.put_on)
    return not patch(found.live, compose(found.off, filled(found.original, put_on)))


def made_elsewhere(found: Study) -> bool:
    """Whether another release put its record on in this very write, and all that it says is there."""
    return found.record.is_foreign and found.text != records.find(found.old) and stands(found)


def unchanged(found: Study) -> bool:
    """Whether what the author wrote is what they had written before, or what the old record was made from.

    An object without a record that `inject: disabled` kept from us is new to us, as on a CREATE.
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
    """Whether it carries no record, and its author changed nothing now, or removed the record only."""
    return found.record is NO_RECORD and (lost_its_record(found) or unchanged(found))


def lost_its_record(found: Study) -> bool:
    """Whether the update removed a record that nobody can read, and changed nothing else of ours."""
    if found.record is not NO_RECORD or found.old is None or not has_record(found.old):
        return False
    return _words(found.live) == _words(found.old)


def _beside(found: Study) -> tuple[tuple[str, ...], Routing]:
    """Take what an author says to the loop, so that the digest leaves it out."""
    intent = found.reading.intent
    return (intent.roles, intent.routing) if intent else ((), NO_ROUTING)


def has_record(lws: Object | None) -> bool:
    """Whether an object carries a record."""
    return annotations(lws).get(EXPANSION) is not None


def metadata(lws: Object | None) -> Object:
    """Take the metadata of an object; empty if there is none, or it has another shape."""
    found = lws.get("metadata") if isinstance(lws, dict) else None
    return found if isinstance(found, dict) else {}


def annotations(lws: Object | None) -> Object:
    """Take the annotations of an object; empty if there are none, or they have another shape."""
    found = metadata(lws).get("annotations")
    return found if isinstance(found, dict) else {}


def labels(lws: Object | None) -> Object:
    """Take the labels of an object; empty if there are none, or they have another shape."""
    found = metadata(lws).get("labels")
    return found if isinstance(found, dict) else {}
