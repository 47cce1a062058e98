"""The three-way merge of one pod template: what was stored, what its author wrote then, and a write.

    base     the template as it was stored: `ours` with what was injected
    ours     what its author wrote then
    theirs   the live template
    file     what of the live template the writer's own file holds (`webhook.overlay.written`), if it is known

By field: what is as it was stored is as its author wrote it; anything else is the author's from now on. So is
a field that admission added, if the file holds it. Command and args are one value (`launch3`),
and so is each value of `WHOLE`. An init container that was injected goes with its edits (`without_edits`).

In this example the launch starts `vllm serve -tp=8` with Ray, and the live object has `-tp=16`. The launch is
removed, and the author's own arguments get the edit:

    >>> ours = {"name": "x", "command": ["vllm", "serve"], "args": ["-tp=8"]}
    >>> base = {"name": "x", "command": ["ray"], "args": ["symmetric-run", "--", "vllm", "serve", "-tp=8"]}
    >>> live = {"name": "x", "command": ["ray"], "args": ["symmetric-run", "--", "vllm", "serve", "-tp=16"]}
    >>> merge3("", Sides(*({"containers": [container]} for container in (base, ours, live))), {})
    {'containers': [{'name': 'x', 'command': ['vllm', 'serve'], 'args': ['-tp=16']}]}
"""

from collections.abc import Collection, Iterator
from typing import Any, Final, Literal, NamedTuple

from intent import Object
from intent.merge import UNIONS
from intent.shapes import containers_of as all_containers_of
from intent.shapes import listed, mapping, strings, text
from intent.tree import (
    NOTHING,
    PATCH,
    Overlay,
    are_items,
    by_identity,
    equivalent,
    identity,
    index,
    is_keyed,
    keys_of,
    same,
)
from webhook.overlay.arguments import Arguments, transferred
from webhook.overlay.overlay import (
    ARGUMENTS,
    INIT,
    WHOLE,
    containers_of,
    init_containers_of,
    pod_of,
    with_containers,
)
from webhook.overlay.written import Named, Unread

RAY: Final = frozenset({"symmetric-run", "ray start"})
"""Text of a launch that starts Ray. One that starts it in another way is another launch, not an edit."""
LAUNCHER_WORDS: Final = RAY | {"LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX"}
"""Text that only a launcher, or an author with a launch of their own, writes into command and args."""
_LAUNCHER_PROGRAMS: Final = frozenset({"ray", "/bin/sh"})
"""Programs that a launcher starts in place of the engine."""

Origin = Literal["injected", "edited", "kept", "written"]
"""Where the arguments of a launched container come from: they are as injected; their edit was made to the
author's; their edit stays as it is; a file holds them."""
Launches = dict[str, Origin]
"""The origin of each launch by the name of its container."""


class Sides(NamedTuple):
    """The values of one field in the three objects, and in the file; None where one lacks it, as in JSON."""

    base: Any = None
    ours: Any = None
    theirs: Any = None
    file: Any = None

    def without(self, keys: Collection[str]) -> "Sides":
        """Return the same maps without these fields."""
        left = [side and {key: value for key, value in side.items() if key not in keys} for side in self]
        return Sides(*left)


def merge3(field: str, sides: Sides, launches: Launches) -> Any:
    """Return what the author wants in a field, None for nothing; note the origin of each launch."""
    base, ours, theirs, file = sides
    if theirs is None:
        return ours if base is None else None
    if base is None or (ours is not None and same(base, ours)):
        return theirs
    if (is_same := same(theirs, base)) and file is None:
        return ours
    if isinstance(theirs, dict) and isinstance(base, dict) and (ours is None or isinstance(ours, dict)):
        return _map(field, sides, launches)
    if is_keyed(field, theirs) and is_keyed(field, base) and (ours is None or isinstance(ours, list)):
        return _items(field, sides, launches)
    return theirs if not is_same or ours is None else ours


def _map(field: str, sides: Sides, launches: Launches) -> Any:
    base, ours, theirs, file = sides
    is_added = ours is None and file is None  # by admission, as a whole
    if field in WHOLE and is_added:
        return None if equivalent(theirs, base) else theirs
    is_unread = isinstance(file, Unread) and ours is not None
    if is_unread and all(same(theirs.get(key), base[key]) for key in base.keys() - ours.keys()):
        sides = sides._replace(file=None)  # an earlier call of this write may have injected them
    mine, held, left = mapping(ours), mapping(sides.file), dict(theirs)
    for key, stored in base.items():
        value = merge3(key, Sides(stored, mine.get(key), theirs.get(key), held.get(key)), launches)
        if value is not None:
            left[key] = value
        elif key in left:
            del left[key]
    left |= {key: value for key, value in mine.items() if key not in base and key not in theirs}
    return None if is_added and all(item in (None, {}, []) for item in left.values()) else left


def _items(field: str, sides: Sides, launches: Launches) -> Any:
    base, ours, file = (by_identity(field, items) for items in (sides.base, sides.ours, sides.file))
    places = {position: key for key, position in index(field, sides.theirs).items()}
    merged = []
    for position, item in enumerate(sides.theirs):
        key = places.get(position)
        if position not in places or key not in base:
            merged.append(item)
            continue
        of_item = Sides(base[key], ours.get(key), item, file.get(key))
        value = _item(field, of_item, launches)
        if value is not None:
            merged.append(value)
    # an empty list that is left of injected items is the author's only if it was
    return None if sides.theirs and not merged and sides.ours != [] else merged


def _item(field: str, sides: Sides, launches: Launches) -> Any:
    base, ours, theirs, file = sides
    if file is None and same(theirs, base):
        return ours
    is_added = ours is None and file is None
    if is_added and field in WHOLE:
        return None if equivalent(theirs, base) else theirs
    if ours is not None and same(base, ours):
        return theirs
    keys = keys_of(field, theirs)
    rest = sides.without(keys)
    left = _container(rest, theirs["name"], launches) if field == "containers" else _map("", rest, launches)
    left = left or {}
    # a container that was injected as a whole goes with what others added to it
    has_lost = field == "containers" and "image" in base and "image" not in left
    if is_added and (not left or has_lost):
        launches.pop(theirs.get("name"), None)
        return None
    whole = keys | left
    return {key: whole[key] for key in theirs if key in whole} | whole


def _container(sides: Sides, name: str, launches: Launches) -> Any:
    """Merge a container: command and args as one value, then the other fields."""
    base, ours, theirs, file = map(mapping, sides)
    launched = [key for key in ARGUMENTS if not same(base.get(key), ours.get(key))]
    if not launched or sides.ours is None:
        return _map("", sides, launches)
    author, origin = launch3(launched, base, ours, theirs, file)
    launches[name] = origin
    rest = sides.without(ARGUMENTS)
    if origin == "written" and rest.ours is not None:  # what a launch removed is the file's to write
        rest = rest._replace(ours=_within(rest.ours, rest.base))
    return with_arguments(_map("", rest, launches) or {}, author)


def _within(value: Any, base: Any) -> Any:
    """Return the fields of a map that another map has too."""
    if not isinstance(value, dict) or not isinstance(base, dict):
        return value
    return {key: _within(member, base[key]) for key, member in value.items() if base.get(key) is not None}


# --- command and args ---------------------------------------------------------------------------------


def launch3(
    launched: Collection[str], base: Object, ours: Object, theirs: Object, file: Object
) -> tuple[Arguments, Origin]:
    """Return the author's command and args, and where those of the container come from.

    `launched` are the fields that a launch replaced; the other one is the author's in any case.
    """
    same_fields = {key: theirs.get(key) for key in ARGUMENTS if key not in launched}
    now, injected, author = (arguments({**container, **same_fields}) for container in (theirs, base, ours))
    is_noted = all(key in file and not isinstance(file[key], Named) for key in launched)
    if now == injected and not is_noted:
        return author, "injected"
    mine = _written(launched, base, ours, theirs, file)
    if all(theirs.get(key) in (base.get(key), ours.get(key)) for key in launched):
        return (mine if file else author), "written"
    if file and not launcher_words(mine):
        return mine, "written"
    edited = transferred(author, injected, now)
    if edited is not None:
        return edited, "edited"
    words = launcher_words(mine)
    is_alike = bool(words) and words & RAY == launcher_words(injected) & RAY
    is_edit = is_alike and not set(launched) <= file.keys()
    return (author, "kept") if is_edit else (mine, "written")


def _written(
    launched: Collection[str], base: Object, ours: Object, theirs: Object, file: Object
) -> Arguments:
    """Return command and args without what is left of the launch, if a file gave the container one of both.

    That is a field that is as injected and that the file does not hold. Where the file is not known, it is a
    program that launchers start, or the arguments of a launch behind the author's own program.
    """
    mine = dict(theirs)
    has_program = "command" in launched and bool(theirs.get("command")) and _program(theirs) == _program(ours)
    for key in launched:
        value = base.get(key)
        if value is None or key in file or not same(theirs.get(key), value):
            continue
        is_launcher = key == "command" and not _LAUNCHER_PROGRAMS.isdisjoint(map(str, listed(value)))
        if file or has_program or is_launcher:
            mine[key] = ours.get(key)
    return arguments(mine)


def _program(container: Object) -> list[Any]:
    return listed(container.get("command"))[:1]


def launcher_words(launch: Arguments) -> frozenset[str]:
    """Return the words of a launcher in command and args, or in a script in them; empty: it wrote none."""
    text = "\n".join(word for words in launch if words for word in words)
    return frozenset(word for word in LAUNCHER_WORDS if word in text)


def arguments(container: Object) -> Arguments:
    """Return command and args of a container."""
    values = (container.get(key) for key in ARGUMENTS)
    return Arguments(*[strings(value) if isinstance(value, list) else None for value in values])


def with_arguments(container: Object, launch: Arguments) -> Object:
    """Return the container with command and args."""
    fields = {key: list(value) for key, value in zip(ARGUMENTS, launch, strict=True) if value is not None}
    return {key: value for key, value in container.items() if key in fields or key not in ARGUMENTS} | fields


# --- a template as a whole ------------------------------------------------------------------------------


Renaming = tuple[str, str]
"""The old and the new name of a container."""


def merge_template(sides: Sides, before: Launches) -> tuple[Object, Launches]:
    """Merge a pod template; return the origins of launches too, which may be those of the write before.

    Arguments that a write past the webhooks brought stay their author's while nobody changes them.
    """
    origins = Launches()
    merged = merge3("", _with_edited_volumes(sides), origins)
    base, there = containers_of(sides.base), containers_of(sides.theirs)
    stay = [name for name in base.keys() & there.keys() if arguments(there[name]) == arguments(base[name])]
    launches = Launches({name: "written" for name in stay if before.get(name) == "written"})
    for name in launched(sides):
        origin = origins.get(name, "injected") if name in there else "written"
        launches[name] = before.get(name, origin) if origin == "injected" else origin
    return {} if merged is None else merged, launches


def launched(sides: Sides) -> list[str]:
    """Return the names of the containers that were launched."""
    base, ours = containers_of(sides.base), containers_of(sides.ours)
    return [name for name in ours if arguments(ours[name]) != arguments(base.get(name, ours[name]))]


def renamed(sides: Sides, added: Collection[str] = ()) -> Renaming | None:
    """Return the old and the new name of the one container that the write renamed, which keeps its part.

    One of those that were `added` is not its author's to rename: a list without it lost what was injected.
    """
    base, theirs = containers_of(sides.base), containers_of(sides.theirs)
    gone = [name for name in base.keys() - theirs.keys() if name not in added]
    new = [*theirs.keys() - base.keys()]
    if len(gone) != 1 or len(new) != 1:  # others too: the one with a launch
        gone = [name for name in launched(sides) if name in gone]
        new = [name for name in new if launcher_words(arguments(theirs[name]))]
    return (gone[0], new[0]) if len(gone) == len(new) == 1 else None


def with_name(template: Object, old: str, name: str) -> Object:
    """Return a template with another name of one container."""
    return with_containers(template, lambda item: {**item, "name": name} if item.get("name") == old else item)


def without_edits(sides: Sides, put_on: Object) -> Sides:
    """Return the sides without edits of init containers that were injected, and that no file holds.

    `put_on` is what was injected into the template. One that got another image and another launch is another
    container: its author's.
    """
    if same(pod_of(mapping(sides.base)).get(INIT), pod_of(sides.theirs).get(INIT)):
        return sides
    base, ours, theirs, file, injected = (init_containers_of(mapping(pod)) for pod in (*sides, put_on))
    edited = {
        name: base[name]
        for name in injected.keys() & base.keys() & theirs.keys() - ours.keys() - file.keys()
        if same(theirs[name].get("image"), injected[name].get("image"))
        or arguments(theirs[name]) == arguments(injected[name])
    }
    return sides._replace(
        theirs=with_containers(sides.theirs, lambda item: edited.get(text(item.get("name")), item), INIT)
    )


def _with_edited_volumes(sides: Sides) -> Sides:
    """Return the sides without the mounts of added volumes that were edited: both are the author's."""
    base, ours, theirs, file = (by_identity("volumes", pod_of(mapping(pod)).get("volumes")) for pod in sides)
    added = base.keys() - ours.keys() - file.keys()
    edited = {name for name in added if name in theirs and not equivalent(theirs[name], base[name])}

    def without_mounts(container: Object) -> Object:
        mounts = listed(container.get("volumeMounts"))
        return {**container, "volumeMounts": [mount for mount in mounts if volume_of(mount) not in edited]}

    return sides._replace(base=with_containers(sides.base, without_mounts)) if edited else sides


def volume_of(mount: Any) -> str:
    """Return the name of the volume of a mount, and that of a volume."""
    return text(mapping(mount).get("name"))


def lost_volumes(template: Object, live: Object) -> list[Object]:
    """Return the volumes of the live template that another one mounts and lacks: none goes while mounted."""
    known, volumes = (by_identity("volumes", pod_of(pod).get("volumes")) for pod in (template, live))
    lost = {name: volumes[name] for name in volumes.keys() - known.keys()}
    containers = (item for _, item in all_containers_of(pod_of(template)) if lost)
    mounted = (volume_of(mount) for item in containers for mount in listed(item.get("volumeMounts")))
    return [lost[name] for name in dict.fromkeys(mounted) if name in lost]


# --- edits of a copy -----------------------------------------------------------------------------------


def carried(
    edits: Overlay, before: Object, now: Object, edited: Object = NOTHING, field: str = ""
) -> Overlay:
    """Return the edits that have a place in `now`; they were made to `before`, which may have lost items.

    An edit of an item goes with the item, one of a probe or a hook with it. Of fields of which one may be
    set, the author's choice stands if it has changed. What `now` has too is no edit, nor what was removed
    from it and, in the same write, from the copy: `edited` is the copy before the write.

    >>> edits = {"containers": [{"name": "logger", "env": [{"name": "A", "value": "1"}]}]}
    >>> carried(edits, {"containers": [{"name": "logger", "image": "a"}]}, {"containers": []})
    {}
    """
    then, chosen = _members(field, before), _members(field, now)
    others = (then | chosen | _members(field, edits)) if then != chosen and chosen else frozenset()
    kept: Overlay = {}
    for key, value in edits.items():
        have, there = before.get(key), now.get(key)
        is_shared = same(value, there) and (value is not None or key in edited)
        if key in others or is_shared or (key in UNIONS and isinstance(have, dict) and there is None):
            continue
        if isinstance(value, dict):
            below = carried(value, mapping(have), mapping(there), mapping(edited.get(key)), key)
            kept |= {key: below} if below or not value else {}
        elif is_keyed(key, value) and are_items(key, value):
            items = [*_carried_items(key, value, have, there, edited.get(key))]
            kept |= {key: items} if items or not value else {}
        else:
            kept[key] = value
    return kept


def _carried_items(field: str, edits: list[Overlay], before: Any, now: Any, edited: Any) -> Iterator[Overlay]:
    then, there, copy = (by_identity(field, items) for items in (before, now, edited))
    for edit in edits:
        key = identity(field, edit)
        if PATCH in edit:
            yield from [edit] if key in there or key not in copy else []
        elif key not in then and key not in there:
            yield edit
        elif key in there:
            keys = keys_of(field, edit)
            left = keys | carried(edit, then.get(key, {}), there[key], copy.get(key, NOTHING), field)
            if left.keys() > keys.keys():
                yield left


def _members(field: str, value: Object) -> frozenset[str]:
    """Return the fields of a value of which only one may be set."""
    members = value.keys() - {"name"} if field == "volumes" else UNIONS.get(field, frozenset())
    return frozenset(members & value.keys())
