"""Take an object apart, and fill it again: with the content in a record, or with the templates themselves.

What templates added is taken out by the same merge as what concerns inject (`webhook.overlay.revert`), as a
layer of its own: by unit, with edits of arguments made to the author's, and with a leader that follows the
workers.
"""

from dataclasses import replace

from intent import Object, budget
from intent.template import Templates
from webhook.overlay.base import NO_BASE, Base
from webhook.overlay.overlay import (
    LEADER,
    WORKER,
    containers_of,
    group_of,
    pod_of,
    template_of,
    templates_of,
    with_group,
    without_containers,
)
from webhook.overlay.patch import patch
from webhook.overlay.revert import Layers, Reverted, revert, without_mounted
from webhook.templates.content import content, key_of
from webhook.templates.fill import FilledObject, fill


def separate(found: Reverted, before: Layers, file: Object) -> Reverted:
    """Take out what templates added too; `found` is the object without what concerns injected."""
    concerns, below = before
    if not below.base:
        return found
    base, ours, added = below.base, below.ours, below.added
    if concerns.is_made and LEADER in group_of(found.original):  # it is made no more, from filled workers
        base, ours, added = ({**one, LEADER: one[WORKER]} for one in (base, ours, added))
    base = {name: one for name, one in base.items() if name not in found.exported}
    made = revert(found.original, replace(below, base=base, ours=ours), file)
    added = {name: _edited_of_templates(name, names, made.original, file) for name, names in added.items()}
    original = without_mounted(made, below.put_on)
    group = dict(group_of(original))
    for name in templates_of(original).keys() & added.keys():
        group[name] = _without_unedited(group[name], added[name])
    names = made.kept.keys() | found.kept.keys()
    return replace(
        found,
        original=with_group(original, group) if group else original,
        added=added,
        edits=found.edits if made.edits is None else made.edits,
        kept={name: [*made.kept.get(name, ()), *found.kept.get(name, ())] for name in names},
    )


def _edited_of_templates(name: str, added: frozenset[str], original: Object, file: Object) -> frozenset[str]:
    """Return those containers that templates gave whose author has edits of them, or nothing."""
    there, held = (containers_of(template_of(one, name)) for one in (original, file))
    return frozenset(key for key in added - held.keys() if key in there and "image" not in there[key])


def _without_unedited(template: Object, names: frozenset[str]) -> Object:
    """Return the template without those of the containers that were not edited."""
    bare = [key for key, one in containers_of(template).items() if key in names and one.keys() == {"name"}]
    left = without_containers(template, bare)
    return {key: one for key, one in left.items() if key != "spec"} if bare and not pod_of(left) else left


def refill(
    parts: Reverted, filled: Object, mine: Base, stored: FilledObject | None, templates: Templates | None
) -> tuple[Reverted, FilledObject]:
    """Fill an object again: from a record, or from the templates; `parts` is it without what these added.

    The content in the stored record counts. That of a record that a write brings (`mine`) counts only if it
    adds nothing to the object, or if no template was read for this write, as for /validate, which changes
    nothing. What is recorded is added again to the stored object if it has that, and to the live one if the
    rules of this release add the same to both: a release that merges differently changes nothing (P1).
    """
    key = key_of(parts.original)
    if key is None or budget.of_leaderworkerset(parts.original):
        return fill(parts, NO_BASE)
    like = stored.filled if stored else None
    known = [base for base in (stored.base if stored else NO_BASE, mine) if base.key == key]
    kept = _kept(known)
    if stored and kept is stored.base:

        def stands(anew: Base, again: Object) -> bool:
            return anew == stored.anew or (filled is like and not patch(filled, again))

        return fill(parts, kept, like, stands)
    if kept is not None:
        made = fill(parts, kept, like)
        if templates is None or not patch(filled, made[1].filled):
            return made
    is_read = templates is not None or not known
    reverted, filling = fill(parts, content(key, templates) if is_read else known[0], like)
    return reverted, replace(filling, is_read=is_read)


def _kept(known: list[Base]) -> Base | None:
    """Return the first base with content, so that templates are not read again."""
    return next((base for base in known if base.has_content), None)
