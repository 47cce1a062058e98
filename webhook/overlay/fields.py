"""Revert the fields of one record: command, args and removed probes as a unit, the rest field by field.

In this pod spec a scheduler was edited after the record was written, so only the command is reverted:

    >>> injected = {"schedulerName": "volcano", "containers": [{"name": "x", "command": ["ray"]}]}
    >>> replaced = {"schedulerName": None, "containers": [{"name": "x", "command": ["vllm"]}]}
    >>> live = {"schedulerName": "other", "containers": [{"name": "x", "command": ["ray"]}]}
    >>> revert_fields(live, Recorded(injected, replaced), {})
    {'schedulerName': 'other', 'containers': [{'name': 'x', 'command': ['vllm']}]}
"""

from collections.abc import Collection
from typing import Any, Final, Literal, NamedTuple

from intent import Object
from intent.shapes import listed, mapping, strings
from webhook.overlay.arguments import Arguments, transferred
from webhook.overlay.canonical import equivalent
from webhook.overlay.keyed import LIST_KEYS, WHOLE, by_identity, identity, index, is_keyed, same
from webhook.overlay.overlay import NOTHING, Overlay, merge
from webhook.overlay.written import Unread

LAUNCHER_WORDS: Final = ("symmetric-run", "ray start", "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX")
"""Text that only a launcher, or an author with a launch of their own, writes into command and args."""
_LAUNCHER_PROGRAMS: Final = frozenset({"ray", "/bin/sh"})
"""Programs that a launcher starts in place of the engine."""
ARGUMENTS: Final = ("command", "args")

FieldOrigin = Literal["injected", "edited", "kept", "written"]
"""Where the arguments of a launched container come from: they are as injected; their edit was made to the
author's; their edit stays as it is; a file holds them."""
Origins = dict[str, FieldOrigin]
"""The origin of each launch by the name of its container."""


class Recorded(NamedTuple):
    """What was injected into a value, what that replaced, and what of the value the writer's file holds."""

    injected: Any
    replaced: Any = None
    file: Any = None


def revert_fields(live: Object, recorded: Recorded, origins: Origins, *, restores: bool = True) -> Object:
    """Revert the fields of a map, and note the origin of each launch.

    If not `restores`, a field that was removed is not restored.
    """
    left = dict(live)
    before = recorded.replaced if isinstance(recorded.replaced, dict) else NOTHING
    file = recorded.file if isinstance(recorded.file, dict) else NOTHING
    for key, value in recorded.injected.items():
        have, was = live.get(key), before.get(key)
        found: Any
        if was is None and file.get(key) is None and same(have, value):
            found = None  # the whole value is new, and as it was injected
        elif isinstance(value, dict) and isinstance(have, dict):
            found = _map(key, have, Recorded(value, was, file.get(key)), origins, restores=restores)
        elif key in LIST_KEYS and isinstance(value, list) and isinstance(have, list):
            found = _items(key, have, Recorded(value, was, file.get(key)), origins)
        elif was is None or not same(have, value) or (value is None and not restores):
            continue  # it was edited, or a file holds it as it was injected
        else:
            found = was
        if found is not None:
            left[key] = found
        else:
            left.pop(key, None)
    return left


def _map(key: str, live: Object, one: Recorded, origins: Origins, *, restores: bool) -> Object | None:
    if isinstance(one.file, Unread) and one.replaced is not None and same(merge(live, one.injected), live):
        one = one._replace(file=None)  # an earlier call of this write may have injected it
    is_new = one.replaced is None and one.file is None
    if is_new and key in WHOLE:
        return live if is_edited(live, one.injected) else None
    left = revert_fields(live, one, origins, restores=restores)
    return None if is_new and _is_bare(left, ()) else left


# --- items of lists -------------------------------------------------------------------------------------


def _items(field: str, live: list[Any], recorded: Recorded, origins: Origins) -> list[Any] | None:
    places, before = index(field, live), by_identity(field, recorded.replaced)
    held = by_identity(field, recorded.file) if recorded.file else NOTHING
    items, gone = list(live), set[int]()
    for item in recorded.injected:
        key = identity(field, item)
        at = places.get(key)
        if at is None and field == "containers" and _launch_of(item):
            at = _renamed(live, recorded.injected)
            origins |= {str(key): "written"} if at is None else {}
        if at is None:
            continue
        is_new = before.get(key) is None and not held.get(key)
        if is_new and field in WHOLE:
            if not is_edited(live[at], item):
                gone.add(at)
            continue
        one = Recorded(_without_keys(field, item), before.get(key), held.get(key))
        revert = _container if field == "containers" else revert_fields
        items[at] = revert(items[at], one, origins)
        if is_new and (_is_bare(items[at], LIST_KEYS[field]) or _lost_image(field, items[at], item)):
            gone.add(at)
            origins.pop(key, None)  # a container that was injected as a whole has no launch of its author's
    left = [item for at, item in enumerate(items) if at not in gone] if gone else items
    return None if gone and not left and not isinstance(recorded.replaced, list) else left


def _lost_image(field: str, left: Object, injected: Overlay) -> bool:
    """Return whether a container was injected as a whole; what others added to it goes with it."""
    return field == "containers" and "image" in injected and "image" not in left


def _renamed(live: list[Any], injected: list[Any]) -> int | None:
    """Return the position of a container that was renamed: it has another name, and a launch."""
    names = {one.get("name") for one in injected}
    launched = (
        at
        for at, one in enumerate(live)
        if isinstance(one, dict) and isinstance(one.get("name"), str) and one["name"] not in names
        if _is_launched(arguments(one))
    )
    return next(launched, None)


# --- command and args -----------------------------------------------------------------------------------


def _container(live: Object, one: Recorded, origins: Origins) -> Object:
    """Revert a container: its launch as a unit, then the other fields."""
    rest = {key: value for key, value in one.injected.items() if key not in ARGUMENTS}
    launch = _launch_of(one.injected)
    if not launch:
        return revert_fields(live, one._replace(injected=rest), origins)
    author, origin = _reverted_launch(live, launch, mapping(one.replaced), mapping(one.file))
    if origin != "injected" and _is_replaced(live, rest):
        author, origin = arguments(live), "written"
    origins[live["name"]] = origin
    left = revert_fields(live, one._replace(injected=rest), origins, restores=origin != "written")
    return with_arguments(left, author)


def _reverted_launch(
    live: Object, launch: Object, before: Object, file: Object
) -> tuple[Arguments, FieldOrigin]:
    """Return the author's command and args, and where those of the container come from."""
    now, injected = arguments(live), arguments({**live, **launch})
    author = arguments({**live, **{key: before.get(key) for key in launch}})
    if now == injected:
        return author, "injected"
    mine = _written(live, launch, before, file)
    if all(live.get(key) in (launch[key], before.get(key)) for key in launch):
        return (mine if file else author), "written"
    if file and not _is_launched(mine):
        return mine, "written"
    edited = transferred(author, injected, now)
    if edited is not None:
        return edited, "edited"
    is_edit = _is_launched(mine) and not launch.keys() <= file.keys()
    return (author, "kept") if is_edit else (mine, "written")


def _written(live: Object, launch: Object, before: Object, file: Object) -> Arguments:
    """Return command and args without what is left of the launch, if a file gave the container one of both.

    That is a field that is as injected and that the file does not hold. Where the file is not known, it is a
    program that launchers start, or the arguments of a launch behind the author's own program.
    """
    mine = dict(live)
    has_program = bool(live.get("command")) and _program(live) == _program(before)
    for key, value in launch.items():
        if value is None or key in file or not same(live.get(key), value):
            continue
        is_launcher = key == "command" and not _LAUNCHER_PROGRAMS.isdisjoint(map(str, listed(value)))
        if file or has_program or is_launcher:
            mine[key] = before.get(key)
    return arguments(mine)


def _is_replaced(live: Object, injected: Overlay) -> bool:
    """Return whether a client replaced the container as a whole: nothing injected into its lists is left."""
    added = [
        (index(key, items), index(key, live.get(key)))
        for key, items in injected.items()
        if is_keyed(key, items)
    ]
    return any(ours for ours, _ in added) and not any(ours.keys() & now for ours, now in added)


def _program(container: Object) -> list[Any]:
    return listed(container.get("command"))[:1]


def _is_launched(found: Arguments) -> bool:
    """Return whether command or args, or a script in them, were written by a launcher."""
    return any(mark in word for words in found if words for word in words for mark in LAUNCHER_WORDS)


def _launch_of(item: Object) -> Object:
    """Return command and args of a container, as far as it has them."""
    return {key: item[key] for key in ARGUMENTS if key in item}


def arguments(container: Object) -> Arguments:
    """Return command and args of a container."""
    return Arguments(_strings(container.get("command")), _strings(container.get("args")))


def with_arguments(container: Object, found: Arguments) -> Object:
    """Return the container with command and args."""
    given = {key: list(value) for key, value in zip(ARGUMENTS, found, strict=True) if value is not None}
    return {key: value for key, value in container.items() if key in given or key not in ARGUMENTS} | given


def _strings(value: Any) -> tuple[str, ...] | None:
    return strings(value) if isinstance(value, list) else None


# --- equality -------------------------------------------------------------------------------------------


def is_edited(live: Object, injected: Overlay) -> bool:
    """Return whether a value differs from the injected one by more than defaults."""
    return not equivalent(live, injected)


def _is_bare(left: Object, keys: Collection[str]) -> bool:
    """Return whether only keys and empty values are left."""
    return all(key in keys or item in (None, {}, []) for key, item in left.items())


def _without_keys(field: str, item: Overlay) -> Overlay:
    return {key: value for key, value in item.items() if key not in LIST_KEYS[field]}
