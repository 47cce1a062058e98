"""Command and args of a container as one value of the three-way merge (`webhook.overlay.revert`)."""

from collections.abc import Collection
from typing import Any, Final, Literal

from intent import Object
from intent.shapes import listed, strings
from intent.tree import same
from webhook.overlay.arguments import Arguments, transferred
from webhook.overlay.written import Named

LAUNCHER_WORDS: Final = ("symmetric-run", "ray start", "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX")
"""Text that only a launcher, or an author with a launch of their own, writes into command and args."""
_LAUNCHER_PROGRAMS: Final = frozenset({"ray", "/bin/sh"})
"""Programs that a launcher starts in place of the engine."""
ARGUMENTS: Final = ("command", "args")

Origin = Literal["injected", "edited", "kept", "written"]
"""Where the arguments of a launched container come from: they are as injected; their edit was made to the
author's; their edit stays as it is; a file holds them."""
Launches = dict[str, Origin]
"""The origin of each launch by the name of its container."""


def launch3(
    launched: Collection[str], base: Object, ours: Object, theirs: Object, file: Object
) -> tuple[Arguments, Origin]:
    """Return the author's command and args, and where those of the container come from.

    `launched` are the fields that a launch replaced; the other one is the author's in any case.
    """
    same_fields = {key: theirs.get(key) for key in ARGUMENTS if key not in launched}
    now, injected, author = (arguments({**one, **same_fields}) for one in (theirs, base, ours))
    is_noted = all(key in file and not isinstance(file[key], Named) for key in launched)
    if now == injected and not is_noted:
        return author, "injected"
    mine = _written(launched, base, ours, theirs, file)
    if all(theirs.get(key) in (base.get(key), ours.get(key)) for key in launched):
        return (mine if file else author), "written"
    if file and not is_launched(mine):
        return mine, "written"
    edited = transferred(author, injected, now)
    if edited is not None:
        return edited, "edited"
    is_edit = is_launched(mine) and not set(launched) <= file.keys()
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


def is_launched(found: Arguments) -> bool:
    """Return whether command or args, or a script in them, were written by a launcher."""
    return any(mark in word for words in found if words for word in words for mark in LAUNCHER_WORDS)


def arguments(container: Object) -> Arguments:
    """Return command and args of a container."""
    return Arguments(_strings(container.get("command")), _strings(container.get("args")))


def with_arguments(container: Object, found: Arguments) -> Object:
    """Return the container with command and args."""
    given = {key: list(value) for key, value in zip(ARGUMENTS, found, strict=True) if value is not None}
    return {key: value for key, value in container.items() if key in given or key not in ARGUMENTS} | given


def _strings(value: Any) -> tuple[str, ...] | None:
    return strings(value) if isinstance(value, list) else None
