"""Fill an object: put the content of its templates under what its author wrote.

    fill       content ⊕ author, and what that added as one overlay
    separate   takes it out again, by the same merge as what concerns inject, as a layer of its own
    refill     fills again: with the content in a record, or with the templates themselves

Everything after it sees the filled object only, so that the fields of a template are checked, launched and
recorded like those of an author. An author's own value always wins, also `0`, `""`, `[]` and `false`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final

import msgspec
import orjson

from catalog.schemas import POD_TEMPLATE, schemas
from intent import Object, budget
from intent.annotations import (
    BASE_REFS,
    MODEL,
    MODEL_NAME,
    NOT_EXPANDED,
    SERVICE,
    UNANSWERED,
    Annotations,
    path,
    read,
)
from intent.container import read_container
from intent.errors import FieldError
from intent.lws import LWT
from intent.merge import merged
from intent.parallelism import SIZES, Parallelism
from intent.read import engine_index, pods_of
from intent.shapes import annotations, labels, listed, metadata, text
from intent.template import Templates
from intent.tree import COPY, difference, merge, replaced
from intent.variables import ROLE_PORT, substituted, variables
from webhook.layout import port_of
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
    with_templates,
    without_containers,
)
from webhook.overlay.patch import patch
from webhook.overlay.put import in_order_of
from webhook.overlay.revert import Layer, Reverted, revert, with_edits, without_mounted
from webhook.templates.content import arguments, content, key_of

UNMATCHED: Final = "FI953"


@dataclass(frozen=True, slots=True)
class FilledObject:
    """An object with the content of its templates."""

    author: Object
    """What its author wrote."""
    filled: Object
    """The same with the content."""
    base: Base
    """The content, and what of it was added; for the record."""
    anew: Base = NO_BASE
    """The content, and what the rules of this release add, which may be other than recorded."""
    errors: tuple[FieldError, ...] = ()
    is_read: bool = False
    """Whether the templates were read for this write, so that the record lacks the content."""
    with_own_leader: Callable[[], tuple[Reverted, "FilledObject"]] | None = None
    """Fills the object with its leader as a template of its author; None without content."""

    @property
    def is_unfilled(self) -> bool:
        """Return whether it names templates whose content is not known."""
        return BASE_REFS in annotations(self.author) and not self.base.has_content

    @property
    def is_wrong(self) -> bool:
        """Return whether the content was put in with errors: then no record holds for it."""
        return bool(self.errors) and self.base.has_content


Stands = Callable[[Base, Object], bool]
"""Whether what is recorded stays, by what the rules add now, and the object with what is recorded."""


# --- filling -----------------------------------------------------------------------------------------


def fill(
    parts: Reverted, base: Base, like: Object | None = None, stands: Stands | None = None
) -> tuple[Reverted, FilledObject]:
    """Put the content of a base under an author's object: as the base records it if that `stands`.

    A list has the order of `like`, if it has the same items.
    """
    if not base.has_content:
        errors = tuple(FieldError(path(BASE_REFS), None, message, code) for code, message in base.faults)
        parts = _without_lost(parts, parts.original)
        author = parts.original
        return parts, FilledObject(author, author, base, errors=errors)
    copied = _copied(parts, base)
    author, below = parts.original, copied.original
    filled, errors = _filled(below, base)
    if (left := _without_lost(parts, filled)) is not parts:
        return fill(left, base, like, stands)
    anew = _recorded(base, copied, filled, is_copied=copied is not parts)
    order = [filled] if like is None else [filled, like]
    whole = replace(parts, original=_put(below, base, order))
    if stands is not None and stands(anew, again := with_edits(whole).original):
        filling = FilledObject(author, again, base, anew)
    else:
        whole = replace(parts, original=_put(below, anew, order))
        filling = FilledObject(author, with_edits(whole).original, anew, anew, errors)

    def with_own_leader() -> tuple[Reverted, FilledObject]:
        return fill(_with_leader(parts), base, like)

    return whole, replace(filling, with_own_leader=with_own_leader)


def _without_lost(parts: Reverted, filled: Object) -> Reverted:
    """Return an author's object without edits of containers that no template gives any more."""
    edits, whole = parts.edits or {}, replace(parts, original=filled)
    templates = {**templates_of(filled), **({LEADER: whole.leader} if whole.leader else {})}
    lost = {name: _imageless(template) for name, template in templates.items()}
    gone = {name: names & lost[name] for name, names in parts.added.items() if name in lost}
    of_edits = (lost.get(LEADER, frozenset()) - _own(parts)) & containers_of(edits).keys()
    if not any((*gone.values(), of_edits)):
        return parts
    return replace(
        parts,
        original=_without(parts.original, gone),
        edits=None if parts.edits is None else without_containers(edits, of_edits),
        added={name: names - gone.get(name, frozenset()) for name, names in parts.added.items()},
    )


def _imageless(template: Object) -> frozenset[str]:
    return frozenset(key for key, container in containers_of(template).items() if "image" not in container)


def _own(parts: Reverted) -> frozenset[str]:
    """Return the containers of the workers that are their author's."""
    names = containers_of(template_of(parts.original, WORKER)).keys()
    return frozenset(names - parts.added.get(WORKER, frozenset()))


def _without(lws: Object, names: Mapping[str, frozenset[str]]) -> Object:
    """Return an object without these containers, by template."""
    return with_templates(lws, lambda name, template: without_containers(template, names.get(name, ())))


def _put(below: Object, base: Base, order: list[Object]) -> Object:
    """Put what a base adds to an object into it, with lists in the order of these objects."""
    return reduce(lambda lws, like: in_order_of(like, lws, base.put_on), order, merge(below, base.put_on))


def _recorded(base: Base, below: Reverted, filled: Object, *, is_copied: bool) -> Base:
    """Return the base with what it added to an object. Of an edit no value is recorded as the author's."""
    put_on = difference(below.original, filled)
    was = replaced(_without(below.original, below.added), put_on)
    if is_copied:
        put_on = merge(put_on, {"spec": {"leaderWorkerTemplate": {LEADER: {}}}})
        put_on["spec"]["leaderWorkerTemplate"][LEADER][COPY] = WORKER
    return msgspec.structs.replace(base, put_on=put_on, was=was)


def _copied(parts: Reverted, base: Base) -> Reverted:
    """Return the author's object with the workers' template for the leader, if templates make them differ."""
    group = group_of(parts.original)
    is_shared = base.leader is not None and pods_of(parts.original)[1] > 1 and group.get(LEADER) is None
    is_copied = is_shared and isinstance(group.get(WORKER), dict)
    return _with_leader(replace(parts, edits=None)) if is_copied else parts


def _with_leader(parts: Reverted) -> Reverted:
    """Return the author's object with a copy of the workers' template, and its edits, for the leader."""
    group = group_of(parts.original)
    leader = parts.leader or group[WORKER]
    original = with_group(parts.original, {**group, LEADER: leader})
    added = {**parts.added, LEADER: _imageless(leader) - _own(parts)}
    return replace(parts, original=original, edits=None, added=added)


def _filled(author: Object, base: Base) -> tuple[Object, tuple[FieldError, ...]]:
    """Return content ⊕ author, with variables replaced, and what is wrong."""
    asked = _asked(author, base)
    is_alone = LEADER not in group_of(author) and pods_of(author)[1] == 1
    bases = {WORKER: (base.pods, base.modes), LEADER: base.of_leader}
    errors: list[FieldError] = []

    def under(field: str, own: Object) -> Object:
        below, modes = bases[LEADER if is_alone else field]
        return _under(below, own, field, _Context(author, asked, modes, errors))

    filled = with_templates(author, under)
    if asked != annotations(author):
        filled = {**filled, "metadata": {**metadata(filled), "annotations": asked}}
    return filled, tuple(errors)


def _asked(author: Object, base: Base) -> Object:
    """Return the author's annotations, with those of templates where the author has none.

    The name of a model belongs to the model, so an author's own model has no name of a template's.
    """
    own = annotations(author)
    blocks = {key: value for key, value in base.annotations.items() if key != MODEL_NAME or MODEL not in own}
    return {**blocks, **own} if blocks.keys() - own.keys() else own


@dataclass(frozen=True, slots=True)
class _Context:
    """What is known of the object whose template is filled; errors are appended."""

    author: Object
    asked: Object
    modes: Mapping[str, str]
    errors: list[FieldError]

    def merge(self, base: Object, own: Object) -> Object:
        """Merge an author's pod template over the templates'."""
        return merged(base, own, partial(arguments, self.modes))


def _under(base: Object, own: Object, field: str, context: _Context) -> Object:
    if b"$(" in orjson.dumps(base):
        base, context = _with_values(base, own, field, context)
    context.errors.extend(_unmatched(field, base, own))
    return context.merge(base, own)


def _with_values(base: Object, own: Object, field: str, context: _Context) -> tuple[Object, _Context]:
    """Replace the variables of templates, also in names of containers, by which they merge."""
    root, (asked, _) = schemas()[POD_TEMPLATE].root, read(context.asked)
    by_name = values(context.author, asked)
    names, _ = substituted({name: name for name in context.modes}, by_name, {})
    context = replace(context, modes={names[name]: mode for name, mode in context.modes.items()})
    if ROLE_PORT in variables(base):
        port = _port(context.merge(substituted(base, by_name, root)[0], own), asked.engine_container)
        by_name |= {ROLE_PORT: str(port)} if port else {}
    base, errors = substituted(base, by_name, root, f"{LWT}.{field}")
    used = {"", *variables(difference(own, context.merge(base, own)))} if errors else set()
    context.errors.extend(_of_templates(error) for name, error in errors if name in used)
    return base, context


def _of_templates(error: FieldError) -> FieldError:
    """Return an error about a variable at the annotation that names the templates."""
    where = error.path.removeprefix(f"{LWT}.")
    return replace(error, path=path(BASE_REFS), message=f"{where} of a template: {error.message}")


# --- filling again ------------------------------------------------------------------------------------


def separate(parts: Reverted, before: Layer, file: Object) -> Reverted:
    """Take out what templates added too; `parts` is the object without what concerns injected."""
    below = before.below
    if below is None:
        return parts
    base, ours, added = below.base, below.ours, below.added
    is_made = before.is_made and WORKER in base
    if is_made and LEADER in group_of(parts.original):  # it is made no more, from filled workers
        base, ours, added = ({**by_field, LEADER: by_field[WORKER]} for by_field in (base, ours, added))
    base = {name: template for name, template in base.items() if name not in parts.exported}
    rest = revert(parts.original, replace(below, base=base, ours=ours), file)
    added = {name: _edited_of_templates(name, names, rest.original, file) for name, names in added.items()}
    original = with_templates(
        without_mounted(rest, below.put_on),
        lambda name, template: _without_unedited(template, added.get(name, frozenset())),
    )
    names = {**rest.kept, **parts.kept}
    return replace(
        parts,
        original=original,
        added=added,
        edits=parts.edits if rest.edits is None else rest.edits,
        kept={name: [*rest.kept.get(name, ()), *parts.kept.get(name, ())] for name in names},
    )


def _edited_of_templates(name: str, added: frozenset[str], original: Object, file: Object) -> frozenset[str]:
    """Return those containers that templates gave whose author has edits of them, or nothing."""
    there, held = (containers_of(template_of(lws, name)) for lws in (original, file))
    return frozenset(key for key in added - held.keys() if key in there and "image" not in there[key])


def _without_unedited(template: Object, names: frozenset[str]) -> Object:
    """Return the template without those of the containers that were not edited."""
    bare = [key for key, item in containers_of(template).items() if key in names and item.keys() == {"name"}]
    left = without_containers(template, bare)
    return {key: value for key, value in left.items() if key != "spec"} if bare and not pod_of(left) else left


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
        refilled = fill(parts, kept, like)
        if templates is None or not patch(filled, refilled[1].filled):
            return refilled
    is_read = templates is not None or not known
    reverted, filling = fill(parts, content(key, templates) if is_read else known[0], like)
    return reverted, replace(filling, is_read=is_read)


def _kept(known: list[Base]) -> Base | None:
    """Return the first base with content, so that templates are not read again."""
    return next((base for base in known if base.has_content), None)


# --- containers --------------------------------------------------------------------------------------


def _unmatched(field: str, base: Object, own: Object) -> Iterator[FieldError]:
    """FI953: a container of the author's is one of the templates', if both have any."""
    theirs, mine = map(containers_of, (base, own))
    if not theirs or not mine or theirs.keys() & mine.keys():
        return
    name, other = next(iter(mine)), ", ".join(map(str, theirs))
    message = f"must be the name of a container of the templates, which have {other}, or both would run"
    yield FieldError(f"{LWT}.{field}.spec.containers[0].name", name, message, UNMATCHED)


# --- the values of variables (`intent.variables`: `NAMES`) --------------------------------------------


def values(author: Object, asked: Annotations) -> dict[str, str]:
    """Return the values of variables by name, as far as an author's object sets them.

    `asked` is what its annotations ask for, with those of templates.
    """
    model, sizes = asked.artifact, asked.parallelism or Parallelism()
    known = {
        "service.name": asked.service,
        "service.namespace": text(metadata(author).get("namespace")),
        "role.name": asked.role_name,
        "group.size": str(pods_of(author)[1]),
        "model.name": (model.name or model.uri.repository) if model else "",
        "model.path": model.argument if model else "",
        **{f"parallelism.{name}": str(getattr(sizes, field) or "") for name, field in SIZES.items()},
    }
    return {name: value for name, value in known.items() if value}


def _port(template: Object, asked: str) -> int:
    """Return the port of the engine's API, the value of `ROLE_PORT`; 0 if there is no engine."""
    containers = listed(pod_of(template).get("containers"))
    position = engine_index(containers, annotations(template), asked)
    return 0 if position is None else port_of(read_container(containers[position], position, "", []))


# --- an object that cannot be filled, as /mutate leaves it ---------------------------------------------
# The API server checks schema and labels before it calls /validate, which has the reason.


def without_null_containers(live: Object) -> Object:
    """Return the object with an empty list in place of each `containers: null`.

    LWS's own webhook writes the null into a template without containers (Go marshals the empty PodSpec), and
    the schema denies it before /validate could say what is wrong.
    """
    group = group_of(live)
    emptied = {
        field: {**group[field], "spec": {**group[field]["spec"], "containers": []}}
        for field in (LEADER, WORKER)
        if pod_of(template_of(live, field)).get("containers", ()) is None
    }
    return with_group(live, {**group, **emptied}) if emptied else live


def with_reason(live: Object, errors: Iterable[FieldError]) -> Object:
    """Return the object with the reason in the label that says that admission did not answer (ADR 13).

    The API server denies that label too, and shows it. So the object of the controller is not stored
    unexpanded even where /validate is not asked.
    """
    reason = next((f"{error.code}: {error.message}" for error in errors), "")
    if not reason or labels(live).get(SERVICE) != UNANSWERED:
        return live
    return merge(live, {"metadata": {"labels": {SERVICE: f"{NOT_EXPANDED}{reason}"}}})
