"""Take an object apart that templates filled: what its author wrote, without what was put under it.

It is reverted like what concerns inject (`webhook.overlay.revert`), as a layer of its own: by unit, with
edits of arguments made to the author's, and with a leader that follows the workers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from intent import Object
from intent.shapes import mapping
from webhook.overlay.base import NO_BASE, Base
from webhook.overlay.overlay import COPY, Overlay
from webhook.overlay.record import Record
from webhook.overlay.revert import Reverted, is_exported, revert, without_mounted

LEADER: Final = "leaderTemplate"
WORKER: Final = "workerTemplate"


@dataclass(frozen=True, slots=True)
class Separated:
    """An object without what an earlier write put under it."""

    author: Object
    leader: Callable[[Object], Object] | None = None
    """Returns the leader's template, from that of the workers, if it is a copy of theirs with edits."""
    kept: Overlay | None = None


def separate(found: Reverted, old: Object | None, record: Record, stored: Record, file: Object) -> Separated:
    """Revert what templates added, in the same way as what concerns inject (`webhook.overlay.revert`).

    `found` is the object and `old` the stored one, both without what concerns injected.
    """
    base = record.base
    if base is None or not base.put_on:
        return Separated(found.original, found.copied)
    before = partial(_layer, stored)
    made = revert(
        found.original, old, _not_exported(_layer(record, found.original), record, file), before, file
    )
    copied = found.copied if made.copied is None else made.copied
    return Separated(without_mounted(made, _whole(base)), copied, made.kept)


def _layer(record: Record, live: Object | None = None) -> Record:
    """Return what templates added as a record. A leader that is no copy any more had the workers' part."""
    base = record.base or NO_BASE
    put_on, was = base.put_on, base.was
    is_new = LEADER in group_of(live or {}) and COPY in template_of(record.put_on, LEADER)
    if is_new and LEADER not in group_of(put_on):
        put_on, was = (
            with_group(one, {**group_of(one), LEADER: template_of(one, WORKER)}) for one in (put_on, was)
        )
    return Record(put_on, was)


def _not_exported(layer: Record, record: Record, file: Object) -> Record:
    """Return a layer without the templates whose author exported them: all of them is theirs."""
    names = [
        name
        for name in (LEADER, WORKER)
        if is_exported(template_of(record.put_on, name), template_of(file, name))
    ]
    if not names:
        return layer
    group = {name: part for name, part in group_of(layer.put_on).items() if name not in names}
    return replace(layer, put_on=with_group(layer.put_on, group))


def _whole(base: Base) -> Overlay:
    """Return the content as an overlay of both templates."""
    pods = {WORKER: base.pods, LEADER: base.of_leader[0]}
    return {"spec": {"leaderWorkerTemplate": pods}}


# --- parts of an object ------------------------------------------------------------------------------


def group_of(lws: Object) -> Object:
    """Return the LeaderWorkerTemplate of an object or an overlay."""
    return mapping(mapping(lws.get("spec")).get("leaderWorkerTemplate"))


def template_of(lws: Object, field: str) -> Object:
    """Return a pod template of an object or an overlay."""
    return mapping(group_of(lws).get(field))


def with_group(lws: Object, group: Object) -> Object:
    """Return an object with another LeaderWorkerTemplate."""
    return {**lws, "spec": {**mapping(lws.get("spec")), "leaderWorkerTemplate": group}}
