"""Revert a record: return what the author wrote, given an object with injected fields that may be edited.

Ownership is decided by unit: command, args and the probes that a launch removes; a volume and its mounts; the
leader's template as a copy of the workers'. The rules, in this order:

1. What the writer's own file holds is the author's (`webhook.overlay.written`).
2. What is as it was injected is reverted: the author's value is restored, or the field is removed.
3. An edit of launched arguments is made to the author's own (`webhook.overlay.arguments`), in both templates.
   An edit of what the launcher wrote stays as it is (`Reverted.kept`).
4. Arguments that no launcher wrote come from a file: the author's, and with them the whole container.
5. Any other edited value is the author's. A volume stays while a container mounts it.

A leader that is a copy is no part of the original. It is copied again, with the edits that were made to it
alone (`Reverted.leader`).

In this example the launch starts `vllm serve -tp=8` with Ray, and the live object has `-tp=16`. The launch is
removed, and the author's own arguments get the edit:

    >>> put_on = {"name": "x", "command": ["ray"], "args": ["symmetric-run", "--", "vllm", "serve", "-tp=8"]}
    >>> was = {"name": "x", "command": ["vllm", "serve"], "args": ["-tp=8"]}
    >>> now = {"name": "x", "command": ["ray"], "args": ["symmetric-run", "--", "vllm", "serve", "-tp=16"]}
    >>> live, injected, replaced = (
    ...     {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [one]}}}}}
    ...     for one in (now, put_on, was)
    ... )
    >>> found = revert(live, None, Record(injected, replaced), lambda: Record({}, {}), {})
    >>> found.original["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
    [{'name': 'x', 'command': ['vllm', 'serve'], 'args': ['-tp=16']}]
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Final

from intent import Object
from intent.annotations import EXPANSION, PREFIX
from intent.shapes import annotations, listed, mapping, text
from webhook.overlay.canonical import canonical
from webhook.overlay.difference import difference
from webhook.overlay.fields import (
    ARGUMENTS,
    FieldOrigin,
    Origins,
    Recorded,
    arguments,
    revert_fields,
    with_arguments,
)
from webhook.overlay.keyed import by_identity, same
from webhook.overlay.overlay import COPY, NOTHING, Overlay, merge
from webhook.overlay.record import Record
from webhook.overlay.taken_over import Counterparts, taken_over
from webhook.overlay.volumes import (
    mounted_volumes,
    names_of,
    with_volumes,
    without_edited_volumes,
    without_volumes,
)

_LEADER: Final = "leaderTemplate"
_WORKER: Final = "workerTemplate"


@dataclass(frozen=True, eq=False)
class Reverted:
    """An object without what was injected."""

    original: Object
    copied: Callable[[Object], Object] | None = None
    """Returns the leader's template from that of the workers: a copy, with edits; None if it is no copy."""
    kept: Overlay = field(default_factory=dict)
    """Edited launches that stay: `leaderWorkerTemplate` with command and args of containers."""
    mounted: dict[str, frozenset[str]] = field(default_factory=dict)
    """By template, injected volumes that are part of the original: the author mounts them."""

    @cached_property
    def leader(self) -> Object | None:
        """What the leader's template is made from: the workers' with edits of the leader; None: no copy."""
        return None if self.copied is None else self.copied(_group(self.original)[_WORKER])

    @property
    def edits(self) -> Overlay:
        """What the leader has by edits of its own, as an overlay of the object."""
        if self.leader is None:
            return NOTHING
        made = difference(_group(self.original)[_WORKER], self.leader)
        return {"spec": {"leaderWorkerTemplate": {_LEADER: made}}}


@dataclass(frozen=True, slots=True)
class _Template:
    """A pod template, the same without what was injected, and the origin of each launch by container."""

    live: Object
    file: Object
    original: Object
    origins: Origins
    is_copy: bool


def revert(
    live: Object, old: Object | None, record: Record, before: Callable[[], Record], file: Object
) -> Reverted:
    """Revert the record of an object.

    `old` is the stored object (None on CREATE) and `before` reads its record; `file` is what of `live` the
    writer's file holds, empty if that is not known.
    """
    if not record.put_on:
        return Reverted(live)
    record = _of_renamed(record, _group(old), _group(live)) if old else record
    worker, leader = (_template(name, live, record, file) for name in (_WORKER, _LEADER))
    copied = None
    if worker and leader and leader.is_copy:
        leader = _with_own_edits(leader, worker, old, before)
        if _holds_image(leader.file):
            then = _template(_LEADER, old, before(), NOTHING)
            around = Counterparts(leader.file, then and then.original, worker.original, worker.file)
            leader = replace(leader, original=taken_over(leader.original, around))
        elif not _is_written(leader) and not _differ(worker, leader):
            worker = _with_one_launch(worker, leader)
            copied = partial(_followed, leader.live, partial(_edits, worker, leader, old, before))
    top = Recorded(_without_templates(record.put_on), record.was, file)
    original = revert_fields(live, top, {})
    templates = {_WORKER: worker, _LEADER: leader}
    mounted = {name: mounted_volumes(one.original, one.live) for name, one in templates.items() if one}
    made = {name: with_volumes(one.original, mounted[name]) for name, one in templates.items() if one}
    if made:
        group = {**_group(live), **made}
        if copied is not None:
            del group[_LEADER]
        original = {**original, "spec": {**original["spec"], "leaderWorkerTemplate": group}}
    kept = {name: found for name, one in templates.items() if one and (found := _kept(one))}
    return Reverted(
        original, copied, kept, {name: names_of(found) for name, found in mounted.items() if found}
    )


def without_mounted(reverted: Reverted, wish: Overlay) -> Object:
    """Return the original without the injected volumes that it mounts and that are wished for again."""
    templates, made = _group(reverted.original), {}
    for name, mounted in reverted.mounted.items():
        spec = mapping(mapping(_group(wish).get(name)).get("spec"))
        again = mounted & by_identity("volumes", spec.get("volumes")).keys()
        if again and name in templates:
            made[name] = without_volumes(templates[name], again)
    if not made:
        return reverted.original
    spec = {**reverted.original["spec"], "leaderWorkerTemplate": {**templates, **made}}
    return {**reverted.original, "spec": spec}


def with_kept(result: Object, reverted: Reverted) -> Object:
    """Return an object with the edited launches that stay, in the templates that it has."""
    kept = {name: template for name, template in reverted.kept.items() if name in _group(result)}
    return merge(result, {"spec": {"leaderWorkerTemplate": kept}}) if kept else result


def with_own_leader(reverted: Reverted) -> Reverted:
    """Return the same with an edited leader as a template of its author, where it is not copied any more."""
    group = _group(reverted.original)
    if reverted.leader is None or canonical(reverted.leader) == canonical(group.get(_WORKER)):
        return reverted
    spec = {**reverted.original["spec"], "leaderWorkerTemplate": {**group, _LEADER: reverted.leader}}
    return replace(reverted, original={**reverted.original, "spec": spec}, copied=None)


def _of_renamed(record: Record, before: Object, after: Object) -> Record:
    """Return the record with the new names of containers that this write renamed, which keep their part."""
    pairs = ((mapping(before.get(name)), mapping(after.get(name))) for name in (_WORKER, _LEADER))
    if all(_containers(then).keys() == _containers(now).keys() for then, now in pairs):
        return record
    put_on, was = (_with_renamed(overlay, before, after) for overlay in (record.put_on, record.was))
    is_same = put_on is record.put_on and was is record.was
    return record if is_same else replace(record, put_on=put_on, was=was)


def _with_renamed(overlay: Overlay, before: Object, after: Object) -> Overlay:
    for name in (_WORKER, _LEADER):
        then, now = mapping(before.get(name)), mapping(after.get(name))
        template = mapping(_group(overlay).get(name))
        renamed = _renamed(template, then, now) if template and then and now else template
        if renamed is not template:
            spec = {**overlay["spec"], "leaderWorkerTemplate": {**_group(overlay), name: renamed}}
            overlay = {**overlay, "spec": spec}
    return overlay


def _template(name: str, live: Object | None, record: Record, file: Object) -> _Template | None:
    """Revert a pod template; None if the object or the record has none."""
    template, put_on = _group(live).get(name), _group(record.put_on).get(name)
    if not isinstance(template, dict) or not isinstance(put_on, dict):
        return None
    held, origins = mapping(_group(file).get(name)), Origins()
    if is_exported(put_on, held) or (_is_withdrawn(live) and _holds_launch(put_on, held)):
        return _Template(template, held, template, origins, is_copy=False)
    put_on = without_edited_volumes(put_on, template, held)
    was = mapping(_group(record.was).get(name))
    original = revert_fields(template, Recorded(put_on, was, held), origins)
    return _Template(template, held, original, origins, COPY in put_on)


def is_exported(put_on: Overlay, file: Object) -> bool:
    """Return whether a file holds labels of ours that were injected: its author exported the template."""
    labels = (mapping(mapping(one.get("metadata")).get("labels")) for one in (put_on, file))
    return any(key.startswith(PREFIX) for key in frozenset.intersection(*map(frozenset, labels)))


def _is_withdrawn(lws: Object | None) -> bool:
    """Return whether an object has no annotation of ours but the record, so that this is as it was sent.

    With others, admission may have replaced values of this very write: command and args of a file.
    """
    return not any(key.startswith(PREFIX) and key != EXPANSION for key in annotations(lws))


def _holds_launch(put_on: Overlay, file: Object) -> bool:
    """Return whether a file holds a whole launch as it was injected: its author exported the template."""
    held = _containers(file)
    launches = (
        (held.get(name, NOTHING), [key for key in ARGUMENTS if item.get(key) is not None], item)
        for name, item in _containers(put_on).items()
    )
    return any(keys and all(same(one.get(key), item[key]) for key in keys) for one, keys, item in launches)


def _kept(template: _Template) -> Overlay:
    """Return command and args of the edited launches that stay."""
    live = _containers(template.live)
    kept = [
        {"name": name, **{key: live[name].get(key) for key in ARGUMENTS}}
        for name, origin in template.origins.items()
        if origin == "kept"
    ]
    return {"spec": {"containers": kept}} if kept else {}


# --- the leader's template as a copy of the workers' ----------------------------------------------------


def _holds_image(template: Object) -> bool:
    """Return whether a file holds a pod template of its own, not only some fields of one."""
    return any("image" in item for item in _containers(template).values())


def _is_written(template: _Template) -> bool:
    """Return whether the template has arguments from a file, so that it is no copy."""
    return "written" in template.origins.values()


def _edited(worker: _Template, leader: _Template, workers: FieldOrigin) -> list[str]:
    """Return the containers whose launch was edited on the leader, and is of this origin on the workers."""
    found = (name for name, origin in leader.origins.items() if origin == "edited")
    return [name for name in found if worker.origins.get(name) == workers]


def _differ(worker: _Template, leader: _Template) -> bool:
    """Return whether both launches were edited, each in its own way: then the leader is no copy any more."""
    leaders, workers = _containers(leader.original), _containers(worker.original)
    edited = _edited(worker, leader, "edited")
    return any(arguments(leaders[name]) != arguments(workers[name]) for name in edited)


def _with_own_edits(
    leader: _Template, worker: _Template, old: Object | None, before: Callable[[], Record]
) -> _Template:
    """Return the leader with the origin of launches whose author's words were edited on it alone: edited."""
    now, workers = _containers(leader.original), _containers(worker.original)
    differ = [
        name
        for name, origin in leader.origins.items()
        if origin == worker.origins.get(name) == "injected"
        and arguments(now[name]) != arguments(workers[name])
    ]
    then = _template(_LEADER, old, before(), NOTHING) if differ else None
    known = _containers(then.original) if then else {}
    edited: Origins = {
        name: "edited" for name in differ if name in known and arguments(known[name]) != arguments(now[name])
    }
    return replace(leader, origins=leader.origins | edited) if edited else leader


def _with_one_launch(worker: _Template, leader: _Template) -> _Template:
    """Return the workers' template with the edit of the leader's launch."""
    edited = _edited(worker, leader, "injected")
    return replace(worker, original=_with_arguments(worker.original, leader.original, edited))


def _followed(leader: Object, edits: Callable[[], Overlay], workers: Object) -> Object:
    """Return a workers' template with what was edited on the live leader alone, before or in this write."""
    found = merge(workers, edits(), first=())
    return with_volumes(found, mounted_volumes(found, leader))


def _edits(worker: _Template, leader: _Template, old: Object | None, before: Callable[[], Record]) -> Overlay:
    """Return what was edited on the leader alone.

    The leader is compared with what the workers had before this write. So a field that was removed from the
    leader does not come back where the write removes it from the workers, and templates put it back there.
    """
    if leader.original == worker.original:
        return NOTHING
    was_copy = COPY in mapping(_group(before().put_on).get(_LEADER))
    then = _template(_WORKER, old, before(), NOTHING) if was_copy else None
    workers = then.original if then else worker.original
    now = _with_arguments(leader.original, workers, leader.origins)
    return difference(*(_renamed(one, workers, worker.original) for one in (workers, now)))


def _renamed(template: Object, before: Object, after: Object) -> Object:
    """Return the template with the new name of the one container that was renamed between two others."""
    had, has = _containers(before).keys(), _containers(after).keys()
    if len(had - has) != 1 or len(has - had) != 1 or not (has - had).isdisjoint(_containers(template)):
        return template
    (old,), (new,) = had - has, has - had
    spec = mapping(template.get("spec"))
    items = [
        {**item, "name": new} if text(mapping(item).get("name")) == old else item
        for item in listed(spec.get("containers"))
    ]
    return {**template, "spec": {**spec, "containers": items}}


def _with_arguments(template: Object, source: Object, names: Collection[str]) -> Object:
    """Return the template with command and args of these containers as in another template."""
    sources = _containers(source)
    if not names or not sources:
        return template
    spec = mapping(template.get("spec"))
    items = [
        with_arguments(item, arguments(sources[name]))
        if (name := text(mapping(item).get("name"))) and name in names and name in sources
        else item
        for item in listed(spec.get("containers"))
    ]
    return {**template, "spec": {**spec, "containers": items}}


# --- parts of an object ---------------------------------------------------------------------------------


def _group(lws: Object | None) -> Object:
    return mapping(mapping(mapping(lws).get("spec")).get("leaderWorkerTemplate"))


def _without_templates(put_on: Overlay) -> Overlay:
    """Return the overlay of the fields outside of the pod templates."""
    templates = (_LEADER, _WORKER)
    spec = mapping(put_on.get("spec"))
    group = {key: value for key, value in _group(put_on).items() if key not in templates}
    return {**put_on, "spec": {**spec, "leaderWorkerTemplate": group}} if "spec" in put_on else put_on


def _containers(template: Object) -> dict[str, Object]:
    return by_identity("containers", mapping(template.get("spec")).get("containers"))
