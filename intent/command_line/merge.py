"""Arguments of an engine merged by flag: those of a template under those of an author.

    by_flag     the author's flags replace those of the template that set the same thing; others stay
    replaced    the author's arguments alone
    appended    the template's arguments, then the author's

Each function takes two containers that both have `args`, base and over (`intent.merge.MergeArguments`).
`by_flag` is the default for the command of a known engine. Any other command, and a script, gets `replaced`:
without its flags, one cannot tell which of them set the same thing.
"""

from collections.abc import Mapping
from typing import Final

from intent import Object
from intent.command_line.command import Command, read_command
from intent.command_line.flags import END, MODEL, Flag
from intent.image import read_image
from intent.merge import MergeArguments, replaced


def by_flag(base: Object, over: Object) -> list[str]:
    """Return the arguments of the base that `over` does not set otherwise, then those of `over`.

    The positional model of `over` comes first, as engines document it: after a flag that takes any number of
    values it would be one of them.
    """
    command = tuple(over.get("command") or base.get("command") or ())
    image = read_image(over.get("image") or base.get("image") or "")
    below, above = (read_command(command, tuple(container["args"]), image) for container in (base, over))
    if not (_is_plain(below) and _is_plain(above) and below.engine == above.engine):
        return replaced(base, over)
    start = len(below.argv) - len(base["args"])
    gone = {index - start for index in _overridden(below, above)}
    kept = [arg for index, arg in enumerate(base["args"]) if index not in gone]
    first = len(above.argv) - len(over["args"])
    named = {index - first for index in above.flags.bare[:1] if index >= first}
    model = [arg for index, arg in enumerate(over["args"]) if index in named]
    rest = [arg for index, arg in enumerate(over["args"]) if index not in named]
    end = kept.index(END) if END in kept else len(kept)
    return [*model, *kept[:end], *rest, *([] if END in rest else kept[end:])]


def appended(base: Object, over: Object) -> list[str]:
    """Return the arguments of both."""
    return [*base["args"], *over["args"]]


MODES: Final[Mapping[str, MergeArguments]] = {"merge": by_flag, "replace": replaced, "append": appended}
"""The words of a template's `args`."""
DEFAULT_MODE: Final = "merge"


def _is_plain(command: Command) -> bool:
    return bool(command.engine) and command.shell is None


def _overridden(below: Command, above: Command) -> set[int]:
    """Return the indexes of arguments of the base that set what `above` sets too, values included."""
    settings = {setting(above, flag) for flag in above.flags.given}
    if above.flags.bare:
        settings.add(MODEL)
    flags = [flag for flag in below.flags.given if setting(below, flag) in settings]
    indexes = {index for flag in flags for index in range(flag.at, flag.at + flag.width)}
    return indexes | set(below.flags.bare[:1]) if MODEL in settings else indexes


def setting(command: Command, flag: Flag) -> str:
    """Return what a flag sets: `--no-enforce-eager` sets the same as `--enforce-eager`."""
    name = flag.name if flag.name[0] != "-" else command.argv[flag.at].partition("=")[0]
    dashed = name.lstrip("-").replace("_", "-") if command.engine == "vllm" else name.lstrip("-")
    return dashed.removeprefix("no-")
