"""What an author wants now: a three-way merge of what was stored, what they wrote then, and a write.

    base     the object as it was stored: `ours` with what was injected
    ours     what its author wrote then: `base` without what its record says (`layer`)
    theirs   the live object
    file     what of the live object the writer's own file holds (`webhook.overlay.written`), if it is known

`webhook.overlay.merge3` merges one template. What is decided here concerns both, or the whole object:

- An edit of launched arguments is made to the author's own, in both templates; an edit of the launcher's
  words stays (`Reverted.kept`).
- A leader's template that was made from the workers' is no part of the original. It is made again, with what
  was edited on it alone (`Reverted.leader`).
- A template that was exported with what was injected is its author's as a whole.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from intent import Object
from intent.annotations import EXPANSION, PREFIX
from intent.shapes import annotations, labels, listed, mapping, text
from intent.tree import (
    COPY,
    NOTHING,
    PATCH,
    Overlay,
    by_identity,
    difference,
    digest_of_file,
    equivalent,
    is_keyed,
    merge,
    same,
)
from webhook.overlay.base import NO_BASE
from webhook.overlay.merge3 import (
    Launches,
    Origin,
    Renaming,
    Sides,
    arguments,
    carried,
    launched,
    launcher_words,
    lost_volumes,
    merge3,
    merge_template,
    renamed,
    volume_of,
    with_arguments,
    with_name,
    without_edits,
)
from webhook.overlay.overlay import (
    ARGUMENTS,
    INIT,
    LEADER,
    WORKER,
    common,
    containers_of,
    group_of,
    init_containers_of,
    pod_of,
    remainder,
    template_of,
    templates_of,
    with_containers,
    with_group,
)
from webhook.overlay.record import Record


class Edit(NamedTuple):
    """An edit of a container that stays, as an overlay; and the init container that it was made to."""

    overlay: Object
    injected: Object = NOTHING

    def on(self, spec: Object) -> Object | None:
        """Return the edit of the container that a pod has now; None if it has none.

        An init container with another image, command or args does not run with those of the one before, and
        it mounts no volume that the pod does not have.
        """
        there = by_identity(self.field, spec.get(self.field)).get(self.overlay["name"])
        if there is None or self.field != INIT:
            return None if there is None else self.overlay
        is_alike = all(same(there[key], self.injected.get(key)) for key in _RUN if key in there)
        edit = {key: value for key, value in self.overlay.items() if is_alike or key not in _RUN}
        if "volumeMounts" in edit:
            known = by_identity("volumes", spec.get("volumes"))
            mounts = (
                mount for mount in listed(edit["volumeMounts"]) if PATCH in mount or volume_of(mount) in known
            )
            edit["volumeMounts"] = [*mounts]
        return edit

    @property
    def field(self) -> str:
        """Return the list that has the container."""
        return INIT if self.injected else "containers"


_RUN: Final = ("image", *ARGUMENTS)


@dataclass(frozen=True, eq=False)
class Reverted:
    """An object without what was injected."""

    original: Object
    edits: Overlay | None = None
    """What a leader's template that is a copy has by edits of its own; None if it is no copy."""
    kept: dict[str, list[Edit]] = field(default_factory=dict)
    """By template, edits that stay beside the original: of launches, as command and args of containers, and
    of init containers that were injected."""
    mounted: dict[str, frozenset[str]] = field(default_factory=dict)
    """By template, injected volumes that stay in `original`, since its containers mount them."""
    exported: frozenset[str] = frozenset()
    """The templates that the writer's file holds as they were injected: they are its author's as a whole."""
    added: dict[str, frozenset[str]] = field(default_factory=dict)
    """By template, containers that templates gave as a whole: `original` has the edits of them."""

    @cached_property
    def leader(self) -> Object | None:
        """What the leader's template is made from: the copy with edits of the leader; None: no copy."""
        return None if self.edits is None else merge(self.copy, self.edits, first=())

    @property
    def copy(self) -> Object:
        """Return the leader's template without edits: the workers', or what templates made of that."""
        templates = templates_of(self.original)
        return mapping(templates.get(LEADER, templates[WORKER]))

    @property
    def delta(self) -> Overlay:
        """What that leader's template has beside the copy, which may have got the same edits."""
        return NOTHING if self.leader is None else difference(self.copy, self.leader)

    @property
    def launches(self) -> dict[str, list[str]]:
        """Return the names of the containers whose edited launch stays, by template."""
        names = (
            (name, [edit.overlay["name"] for edit in edits if not edit.injected])
            for name, edits in self.kept.items()
        )
        return {name: containers for name, containers in names if containers}

    def of_injected(self) -> "Reverted":
        """Return the same with those edits alone that stay of injected init containers."""
        kept = {name: [edit for edit in edits if edit.injected] for name, edits in self.kept.items()}
        return replace(self, kept=kept)

    def edited(self, lws: Object) -> Overlay:
        """Return the edits that stay of containers that an object has, as an overlay."""
        templates: Object = {}
        for name, edits in self.kept.items():
            spec, known = pod_of(template_of(lws, name)), dict[str, list[Object]]()
            for edit in edits:
                if overlay := edit.on(spec):
                    known.setdefault(edit.field, []).append(overlay)
            templates |= {name: {"spec": known}} if known else {}
        return {"spec": {"leaderWorkerTemplate": templates}} if templates else {}


@dataclass(frozen=True, slots=True)
class Layer:
    """What the write before injected into an object, and its templates with it and without it."""

    put_on: Overlay = field(default_factory=dict)
    base: Object = field(default_factory=dict)
    ours: Object = field(default_factory=dict)
    launches: dict[str, Launches] = field(default_factory=dict)
    """By template, the origins of launches in `base`."""
    is_plain: bool = False
    """Whether the leader's template is as it was made, without edits: the workers' may have changed since."""
    added: dict[str, frozenset[str]] = field(default_factory=dict)
    """By template, the containers that templates gave as a whole: `ours` has their names, and the edits."""
    made: Object = field(default_factory=dict)
    """The leader's template, if templates made it from the workers', without edits of its own."""
    below: "Layer | None" = None
    """What templates added, below what concerns injected."""

    @property
    def origins(self) -> frozenset[Origin]:
        """Return where the arguments of launched containers come from."""
        return frozenset(origin for launches in self.launches.values() for origin in launches.values())

    @property
    def is_made(self) -> bool:
        """Return whether the leader's template was made from the workers', with edits of its own."""
        return COPY in template_of(self.put_on, LEADER) and LEADER in self.base


def layer(stored: Object, put_on: Overlay, was: Overlay, leader: str = "") -> Layer:
    """Return what was injected into the stored object, by the values that it replaced.

    `leader` is the digest of a leader's template without edits of its own. Of a container with an image,
    which only templates give, the author has the name: so an edit of it is like one of their own container.
    """
    base, ours, launches = templates_of(stored), Object(), dict[str, Launches]()
    added, is_plain = dict[str, frozenset[str]](), False
    for name, template in base.items():
        injected = template_of(put_on, name)
        author = _replaced(name, template_of(was, name), injected)
        own, items = containers_of(author), containers_of(injected).items()
        added[name] = frozenset(key for key, container in items if "image" in container and key not in own)
        if added[name]:
            names = [{"name": key} for key in sorted(added[name], key=str)]
            author = merge(author, {"spec": {"containers": names}})
        sides = without_edits(Sides(injected, author, template), injected)
        ours[name], launches[name] = merge_template(sides, {})
        is_plain = name == LEADER and bool(leader) and leader == digest_of_file(sides.theirs)
    return Layer(put_on, base, ours, launches, is_plain, added)


def _replaced(field: str, was: Any, put_on: Any) -> Any:
    """Return the values that were replaced, of injected fields alone: a forged record may say more."""
    if isinstance(was, dict) and isinstance(put_on, dict):
        known = ((key, value) for key, value in was.items() if value is not None and key in put_on)
        return {key: _replaced(key, value, put_on[key]) for key, value in known}
    if is_keyed(field, was) and is_keyed(field, put_on):
        items, then = by_identity(field, put_on), by_identity(field, was)
        return [_replaced("", item, items[key]) for key, item in then.items() if key in items]
    return merge(NOTHING, was) if isinstance(was, dict) else was


def layer_of(record: Record, stored: Object) -> Layer:
    """Return what the write before injected into the stored object, whose record this is."""
    base, concerns = record.base or NO_BASE, layer(stored, record.put_on, record.was, record.leader)
    if not base.put_on:
        return concerns
    ours = {name: pod for name, pod in concerns.ours.items() if name == WORKER or not concerns.is_made}
    below = layer(with_group(stored, ours), base.put_on, base.was)
    made = merge(below.ours.get(WORKER, NOTHING), template_of(base.put_on, LEADER)) if below.is_made else {}
    return replace(concerns, made=made, below=replace(below, made=made))


# --- the object ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Template:
    """The sides of a pod template, what its author wants, and the origin of each launch by container."""

    sides: Sides
    original: Object
    launches: Launches
    renamed: Renaming | None = None
    mounted: frozenset[str] = frozenset()
    is_exported: bool = False


def revert(live: Object, before: Layer, file: Object) -> Reverted:
    """Return what the author of an object wants; `file` is what of it the writer's file holds, if known."""
    if not before.put_on:
        return Reverted(live)
    worker = _template(WORKER, live, before, file)
    leader = _template(LEADER, live, before, file, worker.renamed if worker and before.is_made else None)
    edits = None
    if worker and leader and before.is_made and not leader.is_exported:
        if any("image" in container for container in containers_of(mapping(leader.sides.file)).values()):
            leader = _taken_over(leader, worker)
        elif changed := _with_one_launch(worker, leader):
            worker, edits = changed, _edits(worker, leader, before)
    elif worker and leader and before.made:
        worker = _with_one_launch(worker, leader) or worker
    templates = {name: pod for name, pod in ((WORKER, worker), (LEADER, leader)) if pod}
    others = {key: value for key, value in group_of(before.put_on).items() if key not in (LEADER, WORKER)}
    outside = with_group(before.put_on, others) if "spec" in before.put_on else before.put_on
    original = merge3("", Sides(outside, None, live, file or None), {}) or live
    if templates:
        group = {**group_of(live), **{name: pod.original for name, pod in templates.items()}}
        is_empty = leader and containers_of(leader.sides.ours) and not containers_of(leader.original)
        if edits is not None or is_empty:  # no template is valid without a container
            del group[LEADER]
        original = with_group(original, group)
    edited = ((name, _kept(pod, template_of(before.put_on, name))) for name, pod in templates.items())
    kept = {name: edits for name, edits in edited if edits}
    mounted = {name: pod.mounted for name, pod in templates.items() if pod.mounted}
    exported = frozenset(name for name, pod in templates.items() if pod.is_exported)
    return Reverted(original, edits, kept, mounted, exported)


def _template(
    name: str, live: Object, before: Layer, file: Object, as_worker: Renaming | None = None
) -> _Template | None:
    """Merge a pod template; None if nothing was injected, or it is gone."""
    template = group_of(live).get(name)
    if not isinstance(template, dict) or name not in before.base:
        return None
    held, put_on = template_of(file, name), template_of(before.put_on, name)
    sides = Sides(before.base[name], before.ours[name], template, held or None)
    if held and (_is_exported(sides) or (_is_withdrawn(live) and _holds_launch(sides))):
        return _Template(sides, template, {}, is_exported=True)
    original, launches, renaming = sides.ours, before.launches.get(name, {}), None
    if held or template is not before.base[name]:
        there = containers_of(sides.base)  # past the webhooks, a container may have got another name
        launches = {key: origin for key, origin in launches.items() if key in there}
        renaming = renamed(sides, before.added.get(name, ())) or as_worker
        if renaming:
            old, new = renaming
            sides = Sides(*(with_name(side, old, new) if isinstance(side, dict) else side for side in sides))
            launches = {new if key == old else key: origin for key, origin in launches.items()}
        mine = launches if name == LEADER else {}
        original, launches = merge_template(without_edits(sides, put_on), launches)
        now, then = containers_of(original), containers_of(sides.ours)
        plain = (key for key in now if mine.get(key) == "written" and not launcher_words(arguments(now[key])))
        launches |= dict.fromkeys(plain, "written")  # a leader of its author's stays theirs when it is edited
        for key, origin in launches.items():  # the field that no launch replaces may be edited too
            if origin == "injected" and key in now and arguments(now[key]) != arguments(then[key]):
                launches[key] = "edited"
    lost = lost_volumes(original, template)
    original = merge(original, {"spec": {"volumes": lost}}) if lost else original
    return _Template(sides, original, launches, renaming, frozenset(map(volume_of, lost)))


def _is_exported(sides: Sides) -> bool:
    """Return whether a file holds labels of ours that were injected: its author exported the template."""
    base, ours, held = map(labels, (sides.base, sides.ours, sides.file))
    return any(key.startswith(PREFIX) for key in (base.keys() - ours.keys()) & held.keys())


def _is_withdrawn(lws: Object | None) -> bool:
    """Return whether an object has no annotation of ours but the record, so that this is as it was sent.

    With others, admission may have replaced values of this very write: command and args of a file.
    """
    return not any(key.startswith(PREFIX) and key != EXPANSION for key in annotations(lws))


def _holds_launch(sides: Sides) -> bool:
    """Return whether a file holds a whole launch as it was injected: its author exported the template."""
    base, file = containers_of(sides.base), containers_of(mapping(sides.file))
    held = (name for name in launched(sides) if name in file)
    return any(all(same(file[name].get(key), base[name].get(key)) for key in ARGUMENTS) for name in held)


def _kept(template: _Template, put_on: Object) -> list[Edit]:
    """Return the edits that are none of the author's: of launches, and of injected init containers."""
    live = containers_of(template.sides.theirs)
    kept = [
        Edit({"name": name, **{key: live[name].get(key) for key in ARGUMENTS}})
        for name, origin in template.launches.items()
        if origin == "kept"
    ]
    theirs = template.sides.theirs
    if same(pod_of(put_on).get(INIT), pod_of(theirs).get(INIT)):
        return kept
    injected, now, own = map(init_containers_of, (put_on, theirs, template.original))
    whole = (name for name, item in injected.items() if "image" in item and name in now and name not in own)
    edits = ((name, difference(injected[name], now[name])) for name in whole)
    return kept + [Edit({"name": name, **edit}, injected[name]) for name, edit in edits if edit]


# --- the leader's template as a copy of the workers' ----------------------------------------------------


def _taken_over(leader: _Template, worker: _Template) -> _Template:
    """Return the leader's template as that of a file: without the rest of the copy that it was.

    The file holds what its author wrote, and what they added to both templates.
    """
    held = mapping(leader.sides.file)
    mine = mapping(worker.sides.file)
    both = common(leader.original, remainder(worker.original, mine))
    file = merge(carried(both, mine, held), held)
    original = merge3("", Sides(leader.sides.ours, None, leader.original, file), {})
    return replace(leader, original=original)


def _with_one_launch(worker: _Template, leader: _Template) -> _Template | None:
    """Return the workers' template with the edits of the leader's launches; None if the leader is no copy.

    A file has its arguments then, its engine has another name, or both launches were edited, each in its own
    way.
    """
    if leader.renamed != worker.renamed and leader.renamed and leader.renamed[1] in leader.launches:
        return None
    leaders, workers = containers_of(leader.original), containers_of(worker.original)
    if "written" in leader.launches.values():
        return None
    then, now = containers_of(leader.sides.ours), containers_of(worker.sides.ours)
    edited = [name for name, origin in leader.launches.items() if origin == "edited" and name in workers]
    known = [name for name in edited if name in now and arguments(then[name]) == arguments(now[name])]
    stored = [name for name in known if arguments(workers[name]) == arguments(now[name])]
    shared = {"injected": edited, "written": stored}  # written past the webhooks, and not by this write
    own = [name for name in edited if name not in shared.get(worker.launches.get(name, "injected"), ())]
    if any(arguments(leaders[name]) != arguments(workers[name]) for name in own):
        return None
    rest = [name for name in known if name not in own]
    return replace(worker, original=_with_arguments(worker.original, leader.original, rest))


def _edits(worker: _Template, leader: _Template, before: Layer) -> Overlay:
    """Return what the leader's template has by edits of its own.

    The leader is compared with the template that it was made from before this write. So a field that the
    leader lost earlier does not come back where this write removes it from the workers, and templates put it
    back there. Edits of a template that templates made lie over what these add.
    """
    then, now = (leader if before.is_plain else worker).sides.ours, worker.original
    edited, stored = leader.original, leader.sides.ours
    if before.made:
        then = with_name(before.made, *worker.renamed) if worker.renamed else before.made
        now = merge(worker.sides.theirs, difference(worker.sides.base, then))
        edited, stored = leader.sides.theirs, leader.sides.base
    edits = difference(then, _with_arguments(edited, then, leader.launches))
    return carried(edits, then, now, stored)


def _with_arguments(template: Object, source: Object, names: Collection[str]) -> Object:
    """Return the template with command and args of these containers as in another template."""
    sources = {name: container for name, container in containers_of(source).items() if name in names}

    def launched_alike(container: Object) -> Object:
        other = sources.get(text(container.get("name")))
        return with_arguments(container, arguments(other)) if other else container

    return with_containers(template, launched_alike) if sources else template


def is_torn(live: Object, before: Layer) -> bool:
    """Return whether a write took a launch out of an object, and left another, or an injected init container.

    An ejection does not: it keeps what was injected as a whole, edited or not.
    """
    launched_before = {name: launches for name, launches in before.launches.items() if launches}
    pods = [_template(name, live, before, {}) for name in launched_before]
    now = {origin for pod in pods for origin in (pod.launches.values() if pod else ("written",))}
    is_left = now > {"written"} or any(
        init_containers_of(template).keys() & init_containers_of(template_of(live, name)).keys()
        for name, template in templates_of(before.put_on).items()
    )
    return "written" in now - before.origins and is_left


# --- what is done with it --------------------------------------------------------------------------------


def without_mounted(reverted: Reverted, wish: Overlay) -> Object:
    """Return the original without the volumes that only its mounts keep and that are wished for again."""
    group = dict(group_of(reverted.original))
    for name, mounted in reverted.mounted.items():
        spec = pod_of(template_of(wish, name))
        again = mounted & by_identity("volumes", spec.get("volumes")).keys()
        if again and name in group:
            left = [volume for volume in group[name]["spec"]["volumes"] if volume_of(volume) not in again]
            template = merge(group[name], {"spec": {"volumes": None}})
            group[name] = merge(template, {"spec": {"volumes": left}}) if left else template
    return with_group(reverted.original, group) if reverted.mounted else reverted.original


def with_kept(result: Object, reverted: Reverted) -> Object:
    """Return an object with the edits that stay: of launches, and of containers, where it has these."""
    return merge(result, edited, first=()) if (edited := reverted.edited(result)) else result


def with_edits(reverted: Reverted) -> Reverted:
    """Return the same with an edited leader's template, which is its author's, or which templates made."""
    if reverted.leader is None or equivalent(reverted.leader, reverted.copy):
        return reverted
    group = {**group_of(reverted.original), LEADER: reverted.leader}
    return replace(reverted, original=with_group(reverted.original, group), edits=None)
