"""One write of an object: the live and the old object, each as its author wrote it.

The record of an object is reverted, and the result parsed: that is what its author wrote. `webhook.state`
decides what admission does with a write.
"""

from dataclasses import dataclass, replace
from functools import cached_property
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
from intent.read import Reading
from intent.read import read as read_lws
from intent.service.member import group_of, sidecar_of
from intent.service.routes import keeping
from intent.settings import Settings
from intent.shapes import annotations, labels, text
from intent.template import Templates
from intent.tree import COPY, Overlay, equivalent, merge, same
from webhook.mutate import ORDER, REPLACEABLE, RESTORABLE, WRITABLE
from webhook.overlay import record as records
from webhook.overlay.base import NO_BASE, Base
from webhook.overlay.overlay import LEADER, WORKER, common, is_on, template_of, templates_of
from webhook.overlay.patch import patch
from webhook.overlay.put import Injection, in_order_of, inject
from webhook.overlay.record import NO_RECORD, Expansion, Record
from webhook.overlay.revert import (
    Layer,
    Reverted,
    is_torn,
    layer_of,
    revert,
    with_edits,
    with_kept,
    without_mounted,
)
from webhook.overlay.written import brings_record, is_applied, is_applied_after_export, written
from webhook.templates.content import bypassed, key_of
from webhook.templates.fill import FilledObject, refill, separate


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
    record: Record
    """The record that the live object was made with; `NO_RECORD` if there is none."""
    layer: Layer
    """What the write before injected into the object, by this record."""
    reverted: Reverted
    reading: Reading
    """The original, parsed."""
    filling: FilledObject | None = None
    """What templates put under the author's object; None if it names none."""
    templates: Templates | None = None
    """Those that were read for it."""
    before: "Write | None" = None
    """The old object in the same form."""

    @property
    def stored(self) -> Record:
        """Return the record of the old object: its parts are pinned, and no others."""
        return NO_RECORD if self.before is None else self.before.record

    @property
    def refresh(self) -> str:
        """Return the value of the annotation `refresh`, else the last one that was taken; for the record."""
        return text(annotations(self.live).get(REFRESH)) or self._refreshed

    @property
    def _refreshed(self) -> str:
        """Return the last value of the annotation `refresh` that was taken before this write."""
        taken = self.stored.refresh
        return text(annotations(self.old).get(REFRESH)) if taken is None else taken

    @property
    def is_refresh(self) -> bool:
        """Return whether the write asks to expand all anew: with each value once."""
        return self.refresh != self._refreshed

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
    def is_first(self) -> bool:
        """Return whether nothing was injected before: what is injected now is all that changes."""
        return self.old is None and self.record is NO_RECORD and self.reverted.original is self.sent

    @property
    def has_record(self) -> bool:
        """Return whether the live object itself has a record."""
        return has_record(self.live)

    def keeping(self, settings: Settings) -> Settings:
        """Return the settings with the generation of the stored sidecar, unless its author asks anew."""
        now, then = self.reading.intent, self.before.reading.intent if self.before else None
        if now is None or then is None or not (now.sidecar and then.sidecar):
            return settings
        is_asked = (now.routing.picker, now.refresh) != (then.routing.picker, then.refresh)
        return settings if is_asked else keeping(settings, (sidecar_of(self.old or {}),))

    @cached_property
    def again(self) -> Injection | None:
        """What is recorded of the old object, injected again; None unless that has all of it.

        A record that bypassed the webhooks counts for nothing.
        """
        before = self.before
        if before is None or before.record is NO_RECORD or annotations(before.live).get(INJECT) is not None:
            return None
        return self.inject(before.record.expansion) if before.stands() else None

    @property
    def is_left(self) -> bool:
        """Return whether the old object was stored past the webhooks: nothing of it is pinned.

        It has no record, or lacks what that says. While the rules make the same for its author, it stays as
        it is stored. Edited arguments are its author's, so that they get a launch with another edit.
        """
        before = self.before
        if before is None or bypassed(before.live) or self.again is not None:
            return False
        if "edited" in before.layer.origins and not wrote_the_same(before.original, self.original):
            return False
        return before.record is not NO_RECORD or self.record is NO_RECORD

    @cached_property
    def standing(self) -> Expansion:
        """What the old object still has of its recorded expansion; the rest of that was kept out of it."""
        put_on = common(self.old, self.stored.put_on)
        return replace(self.stored.expansion.reduced(put_on), wish=put_on)

    def inject(self, wished: Expansion) -> Injection:
        """Inject what the concerns wish for into the original. Edits of a launch that stay are restored."""
        if self.is_first:
            return inject(self.reverted.original, wished.wish, REPLACEABLE)
        original = without_mounted(self.reverted, wished.wish)
        injection = inject(original, wished.wish, REPLACEABLE, self.reverted.leader)
        stored = self.live if self.old is None else self.old
        is_new = self.old is None and not self.record.put_on
        added = merge(self._of_templates(injection.put_on), injection.put_on)
        edits = {"spec": {"leaderWorkerTemplate": {LEADER: self.reverted.delta}}}
        added = merge(added, edits) if self.reverted.delta else added
        result = with_kept(injection.result, self.reverted)
        return injection._replace(result=result if is_new else in_order_of(stored, result, added))

    def _of_templates(self, put_on: Overlay) -> Overlay:
        """Return what templates added, also to a leader's template that is made from the workers'."""
        added = self.base.put_on if self.base else Overlay()
        if COPY not in template_of(put_on, LEADER):
            return added
        return merge(added, {"spec": {"leaderWorkerTemplate": {LEADER: template_of(added, WORKER)}}})

    def stands(self) -> bool:
        """Return whether all recorded fields are there: reverting and injecting them changes nothing."""
        return not patch(self.live, self.inject(self.record.expansion).result)

    def with_own_leader(self) -> "Write":
        """Return the write with an edited copy of the workers' template as its author's leader template."""
        reverted, filling = with_edits(self.reverted), self.filling
        if reverted is self.reverted or LEADER in templates_of(self.reverted.original):
            return self
        if filling is not None and filling.with_own_leader is not None:
            reverted, filling = filling.with_own_leader()
        intent = self.reading.intent
        reading = read_lws(reverted.original, intent.revision if intent else None)
        return replace(self, reverted=reverted, filling=filling, reading=reading)


def read_write(
    live: Object, old: Object | None = None, templates: Templates | None = None
) -> Write | FieldError:
    """Revert the record of an object, fill it, and parse the result. An invalid record of it is an error.

    If only the old object has an invalid record, it is ignored: the author removed it, or wrote the object
    without it. If it has none, the one that a write brings counts, if it says nothing else than the object.
    Beside the record of an exported file the stored one counts for what the write left of it.
    """
    if old is None:
        record = _record(records.find(live))
        return record if isinstance(record, FieldError) else _write(live, record, templates=templates)
    stored = _record(records.find(old))
    written_text = _text_of_record(live, old, _readable(stored))
    record = stored if written_text == records.find(old) else _record(written_text)
    if isinstance(record, FieldError) and has_record(live):
        return record
    if stored is NO_RECORD and all(is_on(old, part) for part in _readable(record).overlays):
        stored = record
    if record is not stored and isinstance(record, Record) and brings_record(live, old):
        record, live = records.with_left(record, _readable(stored), live, old)
    before = _write(old, _readable(stored), is_stored=True)
    return _write(live, _readable(record), before, templates)


def _write(
    live: Object,
    record: Record,
    before: Write | None = None,
    templates: Templates | None = None,
    *,
    is_stored: bool = False,
) -> Write:
    stamp, old = _stamp(live), before.sent if before else None
    sent, live = live, merge(live, stamp) if stamp else live
    injected, file, filled, filling = Layer(), Object(), Reverted(live), None
    if record is not NO_RECORD:
        injected = before.layer if before and record is before.record else layer_of(record, live)
        if before and "written" in injected.origins and is_on(live, record.put_on):
            injected = layer_of(record, live)  # an earlier call brought back a launch that a write removed
        file = {} if old is None else written(live, old)
        filled = revert(live, injected, file)
    reverted = filled
    if record.base is not None or BASE_REFS in annotations(live):
        parts, mine, stored = separate(filled, injected, file), record.base or NO_BASE, None
        if is_stored:
            stored = FilledObject(parts.original, filled.original, mine, mine)
        elif before and before.filling:
            if before.has_record and not bypassed(before.live):
                stored = before.filling
            is_same = before.filling.base.key == key_of(parts.original)
            if is_same and asks_the_same(before.original, parts.original):
                templates = None  # an object that was stored past the webhooks stays as it is
        reverted, filling = refill(parts, filled.original, mine, stored, templates)
    # a stored object stays in its gang: labels of a slice count at CREATE
    stays = None if old is None else revision_of(text(annotations(old).get(SERVICE)), group_of(old))
    reading = read_lws(reverted.original, stays)
    if filling is not None and filling.is_wrong and not is_stored:
        reading = replace(reading, errors=(*filling.errors, *reading.errors))
    return Write(sent, live, old, record, injected, reverted, reading, filling, templates, before)


def _text_of_record(live: Object, old: Object, stored: Record) -> Any:
    """Return the record that the live object was made with; None if it has none.

    A write without the record comes from a file that holds all there is (`kubectl replace`), or ejects the
    object. Five writes lose it on the way: one that removed nothing else, one of a client that read the
    stored object and prunes annotations, a server-side apply that removed its last annotation, which removes
    those without an owner too, a client-side apply after an export, and one that writes the author's launch
    beside a part of ours.
    """
    if has_record(live) or not has_record(old):
        return records.find(live)
    is_ours = any(key.startswith(PREFIX) for key in annotations(live))
    is_unintended = same(scaled_spec(live), scaled_spec(old)) or is_applied_after_export(live, old)
    is_pruned = is_ours and (is_unintended or _has_labels(live, stored))
    is_opted_out = not is_ours and is_torn(live, layer_of(stored, old))
    return records.find(old) if is_applied(live, old) or is_pruned or is_opted_out else None


def _has_labels(live: Object, stored: Record) -> bool:
    """Return whether the templates have all labels and annotations that were injected into those stored."""
    injected = {
        name: {"metadata": template["metadata"]}
        for name, template in templates_of(stored.put_on).items()
        if template.get("metadata")
    }
    return bool(injected) and is_on(live, {"spec": {"leaderWorkerTemplate": injected}})


def record_of(lws: Object | None) -> Record:
    """Return the record of an object; `NO_RECORD` if it has none that can be read."""
    return _readable(_record(records.find(lws)))


def _record(record_text: Any) -> Record | FieldError:
    """Read the text of a record; None is that of no record."""
    return NO_RECORD if record_text is None else records.read(record_text, WRITABLE, ORDER, RESTORABLE)


def _readable(record: Record | FieldError) -> Record:
    return record if isinstance(record, Record) else NO_RECORD


def _stamp(live: Object) -> Overlay:
    """Return an overlay with the service label, if the object has a value that the API server rejects.

    The controller sends such a value so that the object is stored only if admission replaces it (ADR 13). It
    stands for the label that admission writes, the name of the service.
    """
    value, service = labels(live).get(SERVICE), annotations(live).get(SERVICE)
    if not isinstance(value, str) or value == service or is_label_value(value):
        return {}
    return {"metadata": {"labels": {SERVICE: service}}}


def asks_the_same(author: Object, other: Object) -> bool:
    """Return whether two authors ask for the same: in annotations, labels and spec."""
    mine, theirs = (_read_keys(annotations(lws)) for lws in (author, other))
    return mine == theirs and wrote_the_same(author, other)


def wrote_the_same(author: Object, other: Object) -> bool:
    """Return whether two authors wrote the same labels and spec."""
    mine, theirs = (_read_keys(labels(lws)) for lws in (author, other))
    return mine == theirs and equivalent(scaled_spec(author), scaled_spec(other))


READ: Final = frozenset({EXCLUSIVE_TOPOLOGY, KUEUE_QUEUE, LLM_D_ROLE})
"""Labels and annotations without our prefix that admission reads."""


def _read_keys(keys: Object) -> Object:
    """Return what admission reads of labels or annotations."""
    return {key: keys[key] for key in keys if (key.startswith(PREFIX) and key not in UNREAD) or key in READ}


def scaled_spec(lws: Object) -> Object | None:
    """Return the spec without `replicas`, which no mutator reads; None if it is no map."""
    spec = lws.get("spec")
    return {key: spec[key] for key in spec if key != "replicas"} if isinstance(spec, dict) else None


def has_record(lws: Object | None) -> bool:
    """Return whether an object has a record."""
    return annotations(lws).get(EXPANSION) is not None
