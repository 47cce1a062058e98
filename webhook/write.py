"""One write of an object: the live and the old object, and the facts that decide its state (`webhook.state`).

The record of the live object is reverted, and the result parsed: that is what its author wrote. A fact about
the old object is computed once, and only if it is needed, since most writes need none.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from intent import Object
from intent.annotations import EXPANSION, INJECT, NO_ROUTING, PAUSED, PREFIX, SERVICE, Routing
from intent.errors import FieldError
from intent.names import is_label_value
from intent.read import NOTHING, Reading
from intent.read import read as read_lws
from intent.shapes import annotations, labels
from webhook.overlay import record as records
from webhook.overlay.canonical import canonical
from webhook.overlay.overlay import Overlay, compose, has_copy, merge
from webhook.overlay.patch import Operation, patch
from webhook.overlay.put import filled, put
from webhook.overlay.record import NO_RECORD, Record
from webhook.overlay.undo import undo

UNREAD: Final = frozenset({EXPANSION, PAUSED})
"""Annotations of FusionInfer that do not affect admission."""


class Injection(NamedTuple):
    """An overlay as it is injected into the original."""

    put_on: Overlay
    """The part that may be injected, as the record keeps it."""
    was: Overlay
    """The overlay that reverts it."""
    overlay: Overlay
    """Reverts the old record of the live object, and injects this."""
    operations: list[Operation] | None = None
    """The same as a JSON patch, if it was made on the way."""


@dataclass(frozen=True, eq=False)
class Write:
    """The live object, the old one (None on CREATE), and the original: live with its record reverted."""

    live: Object
    old: Object | None
    original: Object
    off: Overlay
    """Turns `live` into `original`."""
    record: Record
    """The record of the live object, else of the old one; `NO_RECORD` if neither has one."""
    text: str
    """The text of the record."""
    reading: Reading
    """The original, parsed."""
    digest: str
    """The digest of the Intent; empty if there is none."""
    stamp: Overlay
    """The service label in place of an invalid value; `live` has it already."""

    @property
    def has_record(self) -> bool:
        """Return whether the live object itself has a record."""
        return has_record(self.live)

    @cached_property
    def before(self) -> "Write | None":
        """The old object in the same form; None if there is none, or if its record cannot be read."""
        found = None if self.old is None else read_write(self.old)
        return found if isinstance(found, Write) else None

    @cached_property
    def unchanged(self) -> bool:
        """Whether the input is that of the old object, or that of the old object's record.

        An old object without a record that bypassed the webhooks counts as absent, as on a CREATE.
        """
        before = self.before
        if before is None or (disabled(before.live) and not before.has_record):
            return False
        if self.reading.intent is None:
            return self.reading != NOTHING and self.reading == before.reading and same_input(before, self)
        if self.reading == before.reading:
            return True
        is_known = bool(self.digest) and self.digest in (before.digest, before.record.digest)
        return is_known and _of_controller(self) == _of_controller(before)

    @cached_property
    def lost_record(self) -> bool:
        """Whether the update removed an invalid record, and changed no other input of admission."""
        if self.record is not NO_RECORD or self.old is None or not has_record(self.old):
            return False
        return _author_input(self.live) == _author_input(self.old)

    def inject(self, wished: Overlay) -> Injection:
        """Revert the record of the live object, and inject an overlay instead."""
        operations: list[Operation] = []
        put_on, was = put(self.original, wished, operations)
        if has_copy(put_on):
            return Injection(put_on, was, compose(self.off, filled(self.original, put_on)))
        overlay = compose(self.off, put_on)
        return Injection(put_on, was, overlay, operations if self.record is NO_RECORD else None)

    def stands(self) -> bool:
        """Return whether all recorded fields are there: reverting and injecting them changes nothing."""
        return not patch(self.live, self.inject(self.record.put_on).overlay)


def read_write(live: Object, old: Object | None = None) -> Write | FieldError:
    """Revert the record of an object, and parse the result. An invalid record of its own is an error.

    If only the old object has an invalid record, it is ignored: the author removed it, or wrote the object
    without it.
    """
    stamp = _stamp(live)
    live = merge(live, stamp) if stamp else live
    text = records.find(live, old)
    record = NO_RECORD if text is None else records.read(text)
    if isinstance(record, FieldError):
        if has_record(live):
            return record
        text, record = None, NO_RECORD
    off, original = undo(live, record) if record.put_on else ({}, live)
    reading = read_lws(original)
    digest = records.digest(reading.intent) if reading.intent else ""
    return Write(live, old, original, off, record, text or "", reading, digest, stamp)


def _stamp(live: Object) -> Overlay:
    """Return an overlay with the service label, if the object has a value that the API server rejects.

    The controller sends such a value so that the object is stored only if admission replaces it (ADR 13). It
    stands for the label that admission writes, the name of the service.
    """
    value = labels(live).get(SERVICE)
    if not isinstance(value, str) or is_label_value(value):
        return {}
    return {"metadata": {"labels": {SERVICE: annotations(live).get(SERVICE)}}}


def same_input(before: Write, now: Write) -> bool:
    """Return whether two objects have the same input: by digest, or field by field if there is none."""
    if now.digest:
        return now.digest == before.digest and now.reading.errors == before.reading.errors
    one, other = now.original, before.original
    if annotations(one) == annotations(other) and scaled_spec(one) == scaled_spec(other):
        return True
    return _author_input(one) == _author_input(other)


def _author_input(original: Object) -> tuple[Object, object]:
    """Return the annotations and the spec of an author, in canonical form."""
    keys = annotations(original)
    read = {key: keys[key] for key in keys if key.startswith(PREFIX) and key not in UNREAD}
    return read, canonical(scaled_spec(original))


def _of_controller(write: Write) -> tuple[tuple[str, ...], Routing]:
    """Return the input of the controller, which the digest leaves out."""
    intent = write.reading.intent
    return (intent.roles, intent.routing) if intent else ((), NO_ROUTING)


def scaled_spec(lws: Object) -> Object | None:
    """Return the spec without `replicas`, which no mutator reads; None if it is no map."""
    spec = lws.get("spec")
    return {key: spec[key] for key in spec if key != "replicas"} if isinstance(spec, dict) else None


def disabled(lws: Object) -> bool:
    """Return whether `inject: disabled` bypasses both webhooks for the object."""
    return annotations(lws).get(INJECT) == "disabled"


def has_record(lws: Object | None) -> bool:
    """Return whether an object has a record."""
    return annotations(lws).get(EXPANSION) is not None
