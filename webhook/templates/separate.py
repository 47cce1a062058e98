"""What an object was before a write, taken from its record: the layer of the concerns, and that of templates.

What templates added is taken out by the same merge as what concerns inject (`webhook.overlay.revert`), as a
layer of its own: by unit, with edits of arguments made to the author's, and with a leader that follows the
workers.
"""

from dataclasses import replace
from typing import NamedTuple

from intent import Object
from intent.shapes import mapping
from webhook.overlay.base import NO_BASE
from webhook.overlay.record import Record
from webhook.overlay.revert import (
    LEADER,
    NO_LAYER,
    WORKER,
    Layer,
    Reverted,
    group_of,
    is_exported,
    layer,
    revert,
    without_mounted,
)


class Layers(NamedTuple):
    """What the write before injected into an object: concerns, and below them templates."""

    concerns: Layer = NO_LAYER
    templates: Layer = NO_LAYER


def layers(record: Record, stored: Object) -> Layers:
    """Return what the write before injected into the stored object, whose record this is."""
    if not record.put_on:
        return Layers()
    base, concerns = record.base or NO_BASE, layer(stored, record.put_on, record.was)
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
    copied = found.copied if made.copied is None else made.copied
    return replace(made, original=without_mounted(made, below.put_on), copied=copied)


# --- parts of an object ------------------------------------------------------------------------------


def template_of(lws: Object, field: str) -> Object:
    """Return a pod template of an object or an overlay."""
    return mapping(group_of(lws).get(field))


def with_group(lws: Object, group: Object) -> Object:
    """Return an object with another LeaderWorkerTemplate."""
    return {**lws, "spec": {**mapping(lws.get("spec")), "leaderWorkerTemplate": group}}
