"""Take an object apart, and fill it again: with the content in a record, or with the templates themselves.

What templates added is taken out by the same merge as what concerns inject (`webhook.overlay.revert`), as a
layer of its own: by unit, with edits of arguments made to the author's, and with a leader that follows the
workers.
"""

from dataclasses import replace
from typing import NamedTuple

from intent import Object, budget
from intent.template import Templates
from webhook.overlay.base import NO_BASE, Base
from webhook.overlay.group import LEADER, WORKER, group_of, with_group
from webhook.overlay.patch import patch
from webhook.overlay.record import Record
from webhook.overlay.revert import NO_LAYER, Layer, Reverted, layer, revert, without_mounted
from webhook.templates.content import bypassed, content, key_of
from webhook.templates.fill import FilledObject, fill


class Layers(NamedTuple):
    """What the write before injected into an object: concerns, and below them templates."""

    concerns: Layer = NO_LAYER
    templates: Layer = NO_LAYER


def layers(record: Record, stored: Object) -> Layers:
    """Return what the write before injected into the stored object, whose record this is."""
    base, concerns = record.base or NO_BASE, layer(stored, record.put_on, record.was, record.leader)
    if not base.put_on:
        return Layers(concerns)
    ours = {WORKER: concerns.ours[WORKER]} if concerns.is_made else concerns.ours
    return Layers(concerns, layer(with_group(stored, ours), base.put_on, base.was))


def separate(found: Reverted, before: Layers, file: Object) -> Reverted:
    """Take out what templates added; `found` is the object without what concerns injected."""
    concerns, below = before
    if not below.base:
        return found
    base, ours = below.base, below.ours
    if concerns.is_made and LEADER in group_of(found.original):  # it is made no more, from filled workers
        base, ours = ({**one, LEADER: one[WORKER]} for one in (base, ours))
    base = {name: one for name, one in base.items() if name not in found.exported}
    made = revert(found.original, replace(below, base=base, ours=ours), file)
    edits = found.edits if made.edits is None else made.edits
    return replace(made, original=without_mounted(made, below.put_on), edits=edits)


class WriteContext(NamedTuple):
    """What is known of a write: the old object, what both records say of templates, and the writer's file."""

    old: Object | None
    base: Base | None
    stored: FilledObject | None
    """The old object, filled; None without a record."""
    file: Object
    layers: Layers
    """What the write before injected into the object."""
    then: Layer
    """What concerns injected into the old object."""
    is_stored: bool
    """Whether the object is the old one of a write."""


def refill(
    found: Reverted, around: WriteContext, templates: Templates | None
) -> tuple[Reverted, FilledObject]:
    """Take what templates added out of an object, and fill it again: from a record, or from the templates.

    The content of the stored record counts, unless it bypassed the webhooks; that of a record that a write
    brings only if it adds nothing to the object, or if no template was read for this write, as for /validate,
    which changes nothing. What was added to the stored object is added again if the rules of this release add
    the same to both objects: a release that merges differently changes nothing (P1).
    """
    mine = around.base or NO_BASE
    stored = None if bypassed(around.old) else around.stored
    like = with_group(around.old, around.then.ours) if around.old else None
    parts = separate(found, around.layers, around.file)
    key = key_of(parts.original)
    if key is None or budget.of_leaderworkerset(parts.original):
        return fill(found, parts, NO_BASE)
    known = [base for base in (stored.base if stored else NO_BASE, mine) if base.key == key]
    kept = _kept(known)
    if kept is not None:
        reverted, filling = fill(found, parts, kept, found.original if around.is_stored else like)
        source = stored if stored and kept is stored.base else None
        was_right = around.layers.concerns.base if around.is_stored else source and not source.errors
        if filling.base == kept and was_right:  # a stricter release refuses nothing of what is stored
            return reverted, replace(filling, errors=())
        if around.is_stored and filling.base != kept:
            again, recorded = fill(found, parts, kept, found.original, is_again=True)
            if not patch(found.original, again.original):
                return again, replace(recorded, anew=filling.base)
        if source and filling.base == source.anew:
            return fill(found, parts, kept, like, is_again=True)
        if kept is not mine or templates is None or not patch(found.original, reverted.original):
            return reverted, filling
    is_read = templates is not None or not known
    reverted, filling = fill(found, parts, content(key, templates) if is_read else known[0], like)
    return reverted, replace(filling, is_read=is_read)


def _kept(known: list[Base]) -> Base | None:
    """Return the first base with content, so that templates are not read again."""
    return next((base for base in known if base.has_content), None)
