"""Take an object apart, and fill it again: with the content in a record, or with the templates themselves."""

from dataclasses import replace
from typing import NamedTuple

from intent import Object, budget
from intent.template import Templates
from webhook.overlay.base import NO_BASE, Base
from webhook.overlay.patch import patch
from webhook.overlay.revert import Layer, Reverted
from webhook.templates.content import bypassed, content, key_of
from webhook.templates.fill import FilledObject, fill
from webhook.templates.separate import Layers, separate, with_group


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
