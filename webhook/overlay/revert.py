"""What an author wants now: a three-way merge of what was stored, what they wrote then, and a write.

    base     the object as it was stored: `ours` with what was injected
    ours     what its author wrote then: `base` without what its record says (`layer`)
    theirs   the live object
    file     what of the live object the writer's own file holds (`webhook.overlay.written`), if it is known

`webhook.overlay.merge3` merges one template, field by field. What is decided here are units:

- Command and args are one value. An edit of launched arguments is made to the author's own
  (`webhook.overlay.launch`), in both templates; an edit of the launcher's words stays (`Reverted.kept`).
- A volume and its mounts are one, and a volume stays while a container mounts it.
- A leader's template that was made from the workers' is no part of the original. It is made again, with what
  was edited on it alone (`Reverted.leader`).
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from intent import Object
from intent.annotations import EXPANSION, PREFIX
from intent.shapes import annotations, listed, mapping, text
from intent.tree import (
    COPY,
    NOTHING,
    Overlay,
    by_identity,
    canonical,
    difference,
    digest_of_file,
    equivalent,
    is_keyed,
    merge,
    same,
)
from webhook.overlay.edits import carried
from webhook.overlay.group import (
    LEADER,
    WORKER,
    containers_of,
    group_of,
    pod_of,
    template_of,
    templates_of,
    with_group,
)
from webhook.overlay.launch import ARGUMENTS, Launches, arguments, is_launched, with_arguments
from webhook.overlay.merge3 import Sides, merge3
from webhook.overlay.overlay import remainder


@dataclass(frozen=True, eq=False)
class Reverted:
    """An object without what was injected."""

    original: Object
    edits: Overlay | None = None
    """What a leader's template that is a copy has by edits of its own; None if it is no copy."""
    kept: Overlay = field(default_factory=dict)
    """Edited launches that stay: `leaderWorkerTemplate` with command and args of containers."""
    inner: Overlay = field(default_factory=dict)
    """Edits of containers that were injected as a whole: `leaderWorkerTemplate` with these containers."""
    mounted: dict[str, frozenset[str]] = field(default_factory=dict)
    """By template, injected volumes that stay in `original`, since its containers mount them."""
    exported: frozenset[str] = frozenset()
    """The templates that the writer's file holds as they were injected: they are its author's as a whole."""

    @cached_property
    def leader(self) -> Object | None:
        """What the leader's template is made from: the workers' with edits of the leader; None: no copy."""
        return None if self.edits is None else merge(group_of(self.original)[WORKER], self.edits, first=())

    @property
    def delta(self) -> Overlay:
        """What that leader's template has beside the workers', which may have got the same edits."""
        return NOTHING if self.leader is None else difference(group_of(self.original)[WORKER], self.leader)


# --- templates -------------------------------------------------------------------------------------------


Renaming = tuple[str, str]
"""The old and the new name of a container."""


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

    @property
    def is_made(self) -> bool:
        """Return whether the leader's template was made from the workers', with edits of its own."""
        return COPY in template_of(self.put_on, LEADER) and LEADER in self.base


NO_LAYER: Final = Layer()


@dataclass(frozen=True, slots=True)
class _Template:
    """The sides of a pod template, what its author wants, and the origin of each launch by container."""

    sides: Sides
    original: Object
    launches: Launches
    renamed: Renaming | None = None
    is_copy: bool = False
    mounted: frozenset[str] = frozenset()
    is_exported: bool = False

    @property
    def held(self) -> Object:
        """Return what of it the writer's file holds."""
        return mapping(self.sides.file)


def revert(live: Object, before: Layer, file: Object) -> Reverted:
    """Return what the author of an object wants; `file` is what of it the writer's file holds, if known."""
    if not before.base:
        return Reverted(live)
    worker = _template(WORKER, live, before, file)
    renamed = worker.renamed if worker and before.is_made else None
    leader = _template(LEADER, live, before, file, renamed)
    edits = None
    if worker and leader and leader.is_copy:
        if any("image" in one for one in containers_of(leader.held).values()):
            leader = _taken_over(leader, worker)
        elif one := _with_one_launch(worker, leader):
            then = leader if before.is_plain else worker
            worker, edits = one, _edits(worker, leader, then.sides.ours)
    top = merge3("", Sides(_without_templates(before.put_on), None, live, file or None), {})
    templates = {name: one for name, one in ((WORKER, worker), (LEADER, leader)) if one}
    original = live if top is None else top
    if templates:
        group = {**group_of(live), **{name: one.original for name, one in templates.items()}}
        is_empty = leader and containers_of(leader.sides.ours) and not containers_of(leader.original)
        if edits is not None or is_empty:  # no template is valid without a container
            del group[LEADER]
        original = with_group(original, group)
    kept = {name: found for name, one in templates.items() if (found := _kept(one))}
    inner = {name: found for name, one in templates.items() if (found := _inner(one, before.put_on, name))}
    mounted = {name: one.mounted for name, one in templates.items()}
    exported = frozenset(name for name, one in templates.items() if one.is_exported)
    return Reverted(original, edits, kept, inner, mounted, exported)


def layer(stored: Object, put_on: Overlay, was: Overlay, leader: str = "") -> Layer:
    """Return what was injected into the stored object, by the values that it replaced.

    `leader` is the digest of a leader's template without edits of its own.
    """
    base, ours, launches = templates_of(stored), Object(), dict[str, Launches]()
    for name, template in base.items():
        injected = template_of(put_on, name)
        sides = Sides(injected, _replaced(name, template_of(was, name), injected), template)
        ours[name], launches[name] = _merged(sides, {})
    is_plain = bool(leader) and leader == digest_of_file(base.get(LEADER))
    return Layer(put_on, base, ours, launches, is_plain)


def _replaced(field: str, was: Any, put_on: Any) -> Any:
    """Return the values that were replaced, of injected fields alone: a forged record may say more."""
    if isinstance(was, dict) and isinstance(put_on, dict):
        known = ((key, value) for key, value in was.items() if value is not None and key in put_on)
        return {key: _replaced(key, value, put_on[key]) for key, value in known}
    if is_keyed(field, was) and is_keyed(field, put_on):
        items = by_identity(field, put_on)
        return [
            _replaced("", item, items[key]) for key, item in by_identity(field, was).items() if key in items
        ]
    return merge(NOTHING, was) if isinstance(was, dict) else was


def _template(
    name: str, live: Object, before: Layer, file: Object, renamed: Renaming | None = None
) -> _Template | None:
    """Merge a pod template; None if nothing was injected, or it is gone."""
    template = group_of(live).get(name)
    if not isinstance(template, dict) or name not in before.base:
        return None
    held = template_of(file, name)
    sides = Sides(before.base[name], before.ours[name], template, held or None)
    if _is_exported(before, name, held) or (_is_withdrawn(live) and _holds_launch(sides)):
        return _Template(sides, template, {}, is_exported=True)
    is_stored = template is before.base[name] and not held
    renamed = None if is_stored else _renamed(sides) or renamed
    if renamed:
        sides = Sides(*(with_name(one, *renamed) if isinstance(one, dict) else one for one in sides))
    made, launches = sides.ours, before.launches.get(name, {})
    if not is_stored:
        made, launches = _merged(sides, launches)
    now, then = containers_of(made), containers_of(sides.ours)
    for one, origin in launches.items():  # the field that no launch replaces may be edited too
        if origin == "injected" and one in now and arguments(now[one]) != arguments(then[one]):
            launches[one] = "edited"
    lost = _lost_volumes(made, template)
    made = merge(made, {"spec": {"volumes": lost}}) if lost else made
    mounted = frozenset(one["name"] for one in lost)
    return _Template(sides, made, launches, renamed, name == LEADER and before.is_made, mounted)


def _merged(sides: Sides, before: Launches) -> tuple[Object, Launches]:
    """Merge a pod template; return the origins of launches too, which may be those of the write before."""
    found = Launches()
    made = merge3("", _with_edited_volumes(sides), found)
    there, launches = containers_of(sides.theirs), Launches()
    for name in _launched(sides):
        origin = found.get(name, "injected") if name in there else "written"
        launches[name] = before.get(name, origin) if origin == "injected" else origin
    return {} if made is None else made, launches


def _launched(sides: Sides) -> list[str]:
    """Return the names of the containers that were launched."""
    base, ours = containers_of(sides.base), containers_of(sides.ours)
    return [name for name in ours if arguments(ours[name]) != arguments(base.get(name, ours[name]))]


def _with_edited_volumes(sides: Sides) -> Sides:
    """Return the sides without the mounts of added volumes that were edited: both are the author's."""
    base, ours, theirs, file = (by_identity("volumes", pod_of(mapping(one)).get("volumes")) for one in sides)
    added = base.keys() - ours.keys() - file.keys()
    edited = {name for name in added if name in theirs and not equivalent(theirs[name], base[name])}
    if not edited:
        return sides
    spec = pod_of(sides.base)
    containers = [
        {
            **item,
            "volumeMounts": [
                one
                for one in listed(item.get("volumeMounts"))
                if text(mapping(one).get("name")) not in edited
            ],
        }
        for item in map(mapping, listed(spec.get("containers")))
    ]
    return sides._replace(base={**sides.base, "spec": {**spec, "containers": containers}})


def _renamed(sides: Sides) -> Renaming | None:
    """Return the old and the new name of the one container that the write renamed, which keeps its part."""
    base, theirs = containers_of(sides.base), containers_of(sides.theirs)
    gone, new = ([*one.keys() - other.keys()] for one, other in ((base, theirs), (theirs, base)))
    if len(gone) != 1 or len(new) != 1:  # others too: the one with a launch
        launched = _launched(sides)
        gone = [name for name in gone if name in launched]
        new = [name for name in new if is_launched(arguments(theirs[name]))]
    return (gone[0], new[0]) if len(gone) == len(new) == 1 else None


def with_name(template: Object, old: str, name: str) -> Object:
    """Return a template with another name of one container."""
    spec = pod_of(template)
    items = [
        {**one, "name": name} if text(mapping(one).get("name")) == old else one
        for one in listed(spec.get("containers"))
    ]
    return {**template, "spec": {**spec, "containers": items}} if items else template


def _is_exported(before: Layer, name: str, file: Object) -> bool:
    """Return whether a file holds labels of ours that were injected: its author exported the template."""
    base, ours, held = (
        mapping(mapping(one.get("metadata")).get("labels"))
        for one in (mapping(before.base.get(name)), mapping(before.ours.get(name)), file)
    )
    return any(key.startswith(PREFIX) for key in (base.keys() - ours.keys()) & held.keys())


def _is_withdrawn(lws: Object | None) -> bool:
    """Return whether an object has no annotation of ours but the record, so that this is as it was sent.

    With others, admission may have replaced values of this very write: command and args of a file.
    """
    return not any(key.startswith(PREFIX) and key != EXPANSION for key in annotations(lws))


def _holds_launch(sides: Sides) -> bool:
    """Return whether a file holds a whole launch as it was injected: its author exported the template."""
    base, file = containers_of(sides.base), containers_of(mapping(sides.file))
    held = (name for name in _launched(sides) if name in file)
    return any(all(same(file[name].get(key), base[name].get(key)) for key in ARGUMENTS) for name in held)


def _kept(template: _Template) -> Overlay:
    """Return command and args of the edited launches that stay."""
    live = containers_of(template.sides.theirs)
    kept = [
        {"name": name, **{key: live[name].get(key) for key in ARGUMENTS}}
        for name, origin in template.launches.items()
        if origin == "kept"
    ]
    return {"spec": {"containers": kept}} if kept else {}


def _inner(template: _Template, put_on: Overlay, name: str) -> Overlay:
    """Return the edits of containers that were injected as a whole, which are none of the author's."""
    live, own = containers_of(template.sides.theirs), containers_of(template.original)
    added = containers_of(template_of(put_on, name))
    whole = (key for key, one in added.items() if "image" in one and key in live and key not in own)
    edited = ((key, difference(added[key], live[key])) for key in whole if not same(added[key], live[key]))
    items = [{"name": key, **found} for key, found in edited if found]
    return {"spec": {"containers": items}} if items else {}


# --- the leader's template as a copy of the workers' ----------------------------------------------------


def _taken_over(leader: _Template, worker: _Template) -> _Template:
    """Return the leader's template of a file, without what is left of the copy.

    What the workers have and their file does not, another webhook adds to every template.
    """
    added = carried(remainder(worker.original, worker.held), worker.held, leader.held)
    file = merge(added, leader.held)
    made = merge3("", Sides(leader.sides.ours, None, leader.original, file), {})
    return replace(leader, original=made)


def _with_one_launch(worker: _Template, leader: _Template) -> _Template | None:
    """Return the workers' template with the edits of the leader's launches; None if the leader is no copy.

    A file has its arguments then, its engine has another name, or both launches were edited, each in its own
    way.
    """
    if leader.renamed != worker.renamed and leader.renamed and leader.renamed[1] in leader.launches:
        return None
    leaders, workers = containers_of(leader.original), containers_of(worker.original)
    edited = [name for name, origin in leader.launches.items() if origin == "edited" and name in workers]
    own = [name for name in edited if worker.launches.get(name, "injected") != "injected"]
    if "written" in leader.launches.values() or any(
        arguments(leaders[name]) != arguments(workers[name]) for name in own
    ):
        return None
    then, now = containers_of(leader.sides.ours), containers_of(worker.sides.ours)
    known = (name for name in edited if arguments(then[name]) == arguments(now[name]))
    rest = [name for name in known if name not in own]
    return replace(worker, original=_with_arguments(worker.original, leader.original, rest))


def _edits(worker: _Template, leader: _Template, workers: Object) -> Overlay:
    """Return what the leader's template has by edits of its own.

    The leader is compared with `workers`, the template that it was made from before this write. So a field
    that was removed from the leader does not come back where the write removes it from the workers, and
    templates put it back there.
    """
    edits = difference(workers, _with_arguments(leader.original, workers, leader.launches))
    return carried(edits, workers, worker.original)


def _with_arguments(template: Object, source: Object, names: Collection[str]) -> Object:
    """Return the template with command and args of these containers as in another template."""
    sources = containers_of(source)
    if not names or not sources:
        return template
    spec = pod_of(template)
    items = [
        with_arguments(item, arguments(sources[name]))
        if (name := text(mapping(item).get("name"))) and name in names and name in sources
        else item
        for item in listed(spec.get("containers"))
    ]
    return {**template, "spec": {**spec, "containers": items}}


# --- what is done with it --------------------------------------------------------------------------------


def without_mounted(reverted: Reverted, wish: Overlay) -> Object:
    """Return the original without the volumes that only its mounts keep and that are wished for again."""
    templates, made = group_of(reverted.original), {}
    for name, mounted in reverted.mounted.items():
        spec = pod_of(template_of(wish, name))
        again = mounted & by_identity("volumes", spec.get("volumes")).keys()
        if again and name in templates:
            left = [
                one
                for one in templates[name]["spec"]["volumes"]
                if text(mapping(one).get("name")) not in again
            ]
            spec = {key: value for key, value in templates[name]["spec"].items() if key != "volumes"}
            made[name] = {**templates[name], "spec": {**spec, "volumes": left} if left else spec}
    if not made:
        return reverted.original
    return with_group(reverted.original, {**templates, **made})


def _lost_volumes(template: Object, live: Object) -> list[Object]:
    """Return the volumes of the live template that another one mounts and lacks: none goes while mounted."""
    spec = pod_of(template)
    known, found = (by_identity("volumes", pod_of(one).get("volumes")) for one in (template, live))
    lost = {name: found[name] for name in found.keys() - known.keys()}
    mounts = (
        text(mapping(mount).get("name"))
        for field in ("containers", "initContainers")
        for container in listed(spec.get(field))
        for mount in (listed(mapping(container).get("volumeMounts")) if lost else ())
    )
    return [lost[name] for name in dict.fromkeys(mounts) if name in lost]


def with_kept(result: Object, reverted: Reverted) -> Object:
    """Return an object with the edited launches that stay, and edits of containers, where it has these."""
    kept = {name: template for name, template in reverted.kept.items() if name in group_of(result)}
    result = merge(result, {"spec": {"leaderWorkerTemplate": kept}}) if kept else result
    inner = {
        name: {"spec": {"containers": items}}
        for name, template in reverted.inner.items()
        if (there := containers_of(template_of(result, name)))
        and (items := [one for one in template["spec"]["containers"] if one["name"] in there])
    }
    return merge(result, {"spec": {"leaderWorkerTemplate": inner}}, first=()) if inner else result


def with_own_leader(reverted: Reverted) -> Reverted:
    """Return the same with an edited leader as a template of its author, where it is not copied any more."""
    group = group_of(reverted.original)
    if reverted.leader is None or canonical(reverted.leader) == canonical(group.get(WORKER)):
        return reverted
    original = with_group(reverted.original, {**group, LEADER: reverted.leader})
    return replace(reverted, original=original, edits=None)


def _without_templates(put_on: Overlay) -> Overlay:
    """Return the overlay of the fields outside of the pod templates."""
    spec = mapping(put_on.get("spec"))
    group = {key: value for key, value in group_of(put_on).items() if key not in (LEADER, WORKER)}
    return {**put_on, "spec": {**spec, "leaderWorkerTemplate": group}} if "spec" in put_on else put_on
