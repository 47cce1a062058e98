"""One write of an object: the live and the old object, and the facts that decide its state (`webhook.state`).

The record of the live object is reverted, and the result parsed: that is what its author wrote. A fact about
the old object is computed once, and only if it is needed, since most writes need none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

from intent import Object
from intent.annotations import (
    BASE_REFS,
    EXCLUSIVE_TOPOLOGY,
    EXPANSION,
    INJECT,
    KUEUE_QUEUE,
    LLM_D_ROLE,
    PREFIX,
    REFRESH,
    SERVICE,
    UNREAD,
)
from intent.errors import FieldError
from intent.gang import revision_of
from intent.names import is_label_value
from intent.read import NOTHING, Reading
from intent.read import read as read_lws
from intent.service.member import group_of, sidecar_of
from intent.service.routes import keeping
from intent.settings import Settings
from intent.shapes import annotations, labels, text
from intent.template import Templates
from webhook.mutate import ORDER, RECORDABLE, REPLACEABLE, RESTORABLE, Pins
from webhook.overlay import record as records
from webhook.overlay.base import NO_BASE, Base
from webhook.overlay.canonical import equivalent
from webhook.overlay.keyed import same
from webhook.overlay.overlay import Overlay, merge
from webhook.overlay.patch import patch
from webhook.overlay.put import Injection, in_order_of, inject
from webhook.overlay.record import NO_RECORD, Expansion, Record
from webhook.overlay.revert import (
    LEADER,
    Reverted,
    revert,
    with_kept,
    with_own_leader,
    without_mounted,
)
from webhook.overlay.written import is_applied, is_applied_after_export, written
from webhook.templates.content import bypassed, key_of
from webhook.templates.fill import FilledObject
from webhook.templates.refill import WriteContext, refill
from webhook.templates.separate import layers


@dataclass(frozen=True, eq=False)
class Write:
    """The live object, the old one (None on CREATE), and the original: live with its record reverted.

    With templates, `reverted` and `reading` are those of the filled object, and `original` is the author's.
    """

    sent: Object
    """The live object as it was sent."""
    live: Object
    """The same, with the service label in place of an invalid value."""
    old: Object | None
    reverted: Reverted
    record: Record
    """The record that the live object was made with; `NO_RECORD` if there is none."""
    text: str
    """The text of the record."""
    read_stored: Callable[[], Record]
    """Reads the record of the old object, which few writes need."""
    reading: Reading
    """The original, parsed."""
    filling: FilledObject | None = None
    """What templates put under the author's object; None if it names none."""
    templates: Templates | None = None
    """Those that were read for it."""

    @property
    def stored(self) -> Record:
        """Return the record of the old object."""
        return self.read_stored()

    @cached_property
    def pinning(self) -> Record:
        """The record whose parts may be injected again: the stored one. A CREATE has none.

        If none is stored, it is one that the write brings and that says nothing else than the stored object.
        """
        if self.old is None:
            return NO_RECORD
        is_there = self.stored is NO_RECORD and not patch(self.old, merge(self.old, self.record.put_on))
        return self.record if is_there else self.stored

    @cached_property
    def pins(self) -> Pins | None:
        """What is recorded of the old object, if that has all of it, and its author's input."""
        before, record = self.recorded, self.pinning
        if record is NO_RECORD or before is None or annotations(before.live).get(INJECT) is not None:
            return None
        return Pins(record.expansion, before.reading.intent, Settings()) if before.stands() else None

    @cached_property
    def same_author(self) -> bool:
        """Whether the author of the old object asked for the same."""
        return self.recorded is not None and _asks_the_same(self.recorded.original, self.original)

    @cached_property
    def recorded(self) -> "Write | None":
        """The old object with the record that pins it, which this write may bring."""
        if self.old is None or self.pinning is self.stored:
            return self.before
        found = read_write(merge(self.old, {"metadata": {"annotations": {EXPANSION: self.text}}}))
        return found if isinstance(found, Write) else None

    @property
    def refreshed(self) -> str:
        """Return the last value of the annotation `refresh` that was taken before this write."""
        return _refresh(self.old) if self.pinning.refresh is None else self.pinning.refresh

    @property
    def refresh(self) -> str:
        """Return the value of the annotation `refresh`, else the last one that was taken; for the record."""
        return _refresh(self.live) or self.refreshed

    @property
    def is_refresh(self) -> bool:
        """Return whether the write asks to expand all anew: with each value once."""
        return self.refresh != self.refreshed

    @property
    def original(self) -> Object:
        """Return the object as its author wrote it."""
        return self.reverted.original if self.filling is None else self.filling.author

    @property
    def base(self) -> Base | None:
        """Return what the record keeps of templates."""
        return None if self.filling is None else self.filling.base

    @property
    def is_filled_anew(self) -> bool:
        """Whether templates add other fields than before: then the empty ones that they gave go too.

        Otherwise empty fields stay, whoever added them: without them pods would restart.
        """
        now, then = self.base or NO_BASE, self.record.base or NO_BASE
        return now.put_on != then.put_on

    @property
    def is_misfilled(self) -> bool:
        """Whether the content of its templates was put in with errors: then no record holds for it."""
        return self.filling is not None and bool(self.filling.errors) and self.filling.base.has_content

    @property
    def is_unfilled(self) -> bool:
        """Return whether it names templates whose content is not known."""
        return (
            self.filling is not None
            and BASE_REFS in annotations(self.filling.author)
            and not self.filling.base.has_content
        )

    @property
    def lacks_content(self) -> bool:
        """Return whether that matters: an object that stays as it was stored needs no content."""
        return self.is_unfilled and not (self.lost_record or (self.unchanged and self._names_the_same()))

    def _names_the_same(self) -> bool:
        """Return whether the old object has the same templates."""
        return self.before is not None and key_of(self.before.original) == key_of(self.original)

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
        if before is None or self.reading == NOTHING or (bypassed(before.live) and not before.has_record):
            return False
        return (self.reading.intent is not None and self.reading == before.reading) or self.same_author

    @cached_property
    def lost_record(self) -> bool:
        """Whether the update removed an invalid record, and changed no other input of admission."""
        if self.record is not NO_RECORD or self.old is None or not has_record(self.old):
            return False
        return _asks_the_same(self.live, self.old)

    @property
    def is_ejected(self) -> bool:
        """Return whether the update removed the record, and fields that it injected are still there."""
        if self.has_record or self.stored is NO_RECORD or patch(self.live, self.original):
            return False
        without = revert(self.live, layers(self.stored, self.old or {}).concerns, {}).original
        return bool(patch(self.live, without))

    def keeping(self, settings: Settings) -> Settings:
        """Return the settings with the generation of the stored sidecar, unless its author asks anew."""
        intent = self.reading.intent
        before = self.before.reading.intent if intent and intent.sidecar and self.before else None
        if intent is None or before is None or not before.sidecar:
            return settings
        is_asked = (intent.picker, intent.refresh) != (before.picker, before.refresh)
        return settings if is_asked else keeping(settings, (sidecar_of(self.old or {}),))

    @cached_property
    def pinned(self) -> Injection:
        """The recorded overlay injected again."""
        return self.inject(self.pinning.expansion)

    def inject(self, wished: Expansion) -> Injection:
        """Inject what the concerns wish for into the original. Edits of a launch that stay are restored."""
        original = without_mounted(self.reverted, wished.wish)
        made = inject(original, wished.wish, REPLACEABLE, self.reverted.leader)
        stored = self.live if self.old is None else self.old
        is_new = self.old is None and not self.record.put_on
        edits = {"spec": {"leaderWorkerTemplate": {LEADER: self.reverted.edits}}}
        added = merge(made.put_on, edits) if self.reverted.edits else made.put_on
        result = made.result if is_new else in_order_of(stored, made.result, added)
        return made._replace(result=with_kept(result, self.reverted))

    def stands(self) -> bool:
        """Return whether all recorded fields are there: reverting and injecting them changes nothing."""
        return not patch(self.live, self.inject(self.record.expansion).result)

    def with_own_leader(self) -> "Write":
        """Return the write with an edited copy of the workers' template as its author's leader template."""
        reverted, filling = with_own_leader(self.reverted), self.filling
        if reverted is self.reverted:
            return self
        if filling is not None and filling.with_own_leader is not None:
            reverted, filling = filling.with_own_leader()
        reading = _read(reverted.original, self.old)
        return replace(self, reverted=reverted, filling=filling, reading=reading)


def read_write(
    live: Object, old: Object | None = None, templates: Templates | None = None
) -> Write | FieldError:
    """Revert the record of an object, fill it, and parse the result. An invalid record of it is an error.

    If only the old object has an invalid record, it is ignored: the author removed it, or wrote the object
    without it.
    """
    stamp = _stamp(live)
    sent, live = live, merge(live, stamp) if stamp else live
    text = _text_of_record(live, old)
    record = NO_RECORD if text is None else records.read(text, RECORDABLE, ORDER, RESTORABLE)
    if isinstance(record, FieldError):
        if has_record(live):
            return record
        text, record = None, NO_RECORD
    known = record if records.find(old) == text else None
    stored = _reader(old, known)
    file = written(live, old) if record.put_on else {}
    before = layers(record, live if known is None else old or {})
    reverted, filling = revert(live, before.concerns, file), None
    if record.base is not None or BASE_REFS in annotations(live):
        then = before if known else layers(stored(), old or {})
        around = WriteContext(old, record.base, stored().base, file, before, then.concerns)
        reverted, filling = refill(reverted, around, templates)
    reading = _read(reverted.original, old)
    made = Write(sent, live, old, reverted, record, text or "", stored, reading, filling, templates)
    if filling is None or not made.is_misfilled:
        return made
    return replace(made, reading=replace(reading, errors=(*filling.errors, *reading.errors)))


def _read(original: Object, old: Object | None) -> Reading:
    """Parse what an author wrote. A stored object stays in its gang: labels of a slice count at CREATE."""
    reading = read_lws(original)
    if reading.intent is None or old is None:
        return reading
    stored = revision_of(text(annotations(old).get(SERVICE)), group_of(old))
    if stored in {None, reading.intent.revision}:
        return reading
    return replace(reading, intent=replace(reading.intent, revision=stored))


def _text_of_record(live: Object, old: Object | None) -> Any:
    """Return the record that the live object was made with; None if it has none.

    A write without the record comes from a file that holds all there is (`kubectl replace`), or ejects the
    object. Three writes lose it on the way: one that removed nothing else, a server-side apply that removed
    its last annotation, which removes those without an owner too, and a client-side apply after an export.
    """
    if has_record(live) or old is None or not has_record(old):
        return records.find(live)
    is_ours = any(key.startswith(PREFIX) for key in annotations(live))
    is_unintended = same(scaled_spec(live), scaled_spec(old)) or is_applied_after_export(live, old)
    is_lost = is_applied(live, old) or (is_ours and is_unintended)
    return records.find(old) if is_lost else None


def _reader(old: Object | None, known: Record | None) -> Callable[[], Record]:
    """Return a function that returns the record of the old object, and reads it once if it is not known."""
    found = known

    def stored() -> Record:
        nonlocal found
        if found is None:
            found = record_of(old)
        return found

    return stored


def record_of(lws: Object | None) -> Record:
    """Return the record of an object; `NO_RECORD` if it has none that can be read."""
    text = records.find(lws)
    record = NO_RECORD if text is None else records.read(text, RECORDABLE, ORDER, RESTORABLE)
    return record if isinstance(record, Record) else NO_RECORD


def _stamp(live: Object) -> Overlay:
    """Return an overlay with the service label, if the object has a value that the API server rejects.

    The controller sends such a value so that the object is stored only if admission replaces it (ADR 13). It
    stands for the label that admission writes, the name of the service.
    """
    value = labels(live).get(SERVICE)
    if not isinstance(value, str) or is_label_value(value):
        return {}
    return {"metadata": {"labels": {SERVICE: annotations(live).get(SERVICE)}}}


def _refresh(lws: Object | None) -> str:
    """Return the value of the annotation `refresh`; of a long one its digest, which a record has room for."""
    value = text(annotations(lws).get(REFRESH))
    return value if len(value) <= _LONG else sha256(value.encode("utf-8", "replace")).hexdigest()[:_LONG]


_LONG: Final = 32


def _asks_the_same(one: Object, other: Object) -> bool:
    """Return whether two authors ask for the same: in annotations, labels and spec."""
    keys = ((read_keys(read(one)), read_keys(read(other))) for read in (annotations, labels))
    return all(mine == theirs for mine, theirs in keys) and equivalent(scaled_spec(one), scaled_spec(other))


_READ: Final = frozenset({EXCLUSIVE_TOPOLOGY, KUEUE_QUEUE, LLM_D_ROLE})
"""Labels and annotations without our prefix that admission reads."""


def read_keys(keys: Object) -> Object:
    """Return what admission reads of labels or annotations."""
    return {key: keys[key] for key in keys if (key.startswith(PREFIX) and key not in UNREAD) or key in _READ}


def scaled_spec(lws: Object) -> Object | None:
    """Return the spec without `replicas`, which no mutator reads; None if it is no map."""
    spec = lws.get("spec")
    return {key: spec[key] for key in spec if key != "replicas"} if isinstance(spec, dict) else None


def has_record(lws: Object | None) -> bool:
    """Return whether an object has a record."""
    return annotations(lws).get(EXPANSION) is not None
