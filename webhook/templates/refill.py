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
from webhook.overlay.group import LEADER, WORKER, group_of, template_of, with_group
from webhook.overlay.patch import patch
from webhook.overlay.record import Record
from webhook.overlay.revert import NO_LAYER, Layer, Reverted, is_exported, layer, revert, without_mounted
from webhook.templates.content import bypassed, content, key_of
from webhook.templates.fill import FilledObject, fill


class Layers(NamedTuple):
    """What the write before injected into an object: concerns, and below them templates."""

    concerns: Layer = NO_LAYER
    templates: Layer = NO_LAYER


def layers(record: Record, stored: Object) -> Layers:
    """Return what the write before injected into the stored object, whose record this is."""
    if not record.put_on:
        return Layers()
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
    theirs = [name for name in base if is_exported(concerns, name, template_of(file, name))]
    base = {name: one for name, one in base.items() if name not in theirs}
    made = revert(found.original, replace(below, base=base, ours=ours), file)
    edits = found.edits if made.edits is None else made.edits
    return replace(made, original=without_mounted(made, below.put_on), edits=edits)


class WriteContext(NamedTuple):
    """What is known of a write: the old object, what both records say of templates, and the writer's file."""

    old: Object | None
    base: Base | None
    stored: Base | None
    file: Object
    layers: Layers
    """What the write before injected into the object."""
    then: Layer
    """What concerns injected into the old object."""


def refill(
    found: Reverted, around: WriteContext, templates: Templates | None
) -> tuple[Reverted, FilledObject]:
    """Take what templates added out of an object, and fill it again: from a record, or from the templates.

    The content of the stored record counts, unless it bypassed the webhooks; that of a record that a write
    brings only if it adds nothing to the object, or if no template was read for this write, as for /validate,
    which changes nothing.
    """
    mine = around.base or NO_BASE
    before = NO_BASE if bypassed(around.old) else around.stored or NO_BASE
    then = None if around.old is None else with_group(around.old, around.then.ours)
    parts = separate(found, around.layers, around.file)
    key = key_of(parts.original)
    if key is None or budget.of_leaderworkerset(parts.original):
        return fill(found, parts, NO_BASE, mine, then)
    known = [base for base in (before, mine) if base.key == key]
    kept = _kept(known)
    if kept is not None:
        filled = fill(found, parts, kept, kept, then)
        if kept is before or templates is None or not patch(found.original, filled[0].original):
            return filled
    if templates is None and known:
        return fill(found, parts, known[0], mine, then)
    made, filling = fill(found, parts, content(key, templates), before, then)
    return made, replace(filling, is_read=True)


def _kept(known: list[Base]) -> Base | None:
    """Return the first base with content, so that templates are not read again."""
    return next((base for base in known if base.has_content), None)
