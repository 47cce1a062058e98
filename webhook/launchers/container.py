"""What a launcher gives: the fields of the engine container that it writes."""

from dataclasses import dataclass, replace

from intent.command_line.flags import end_of_flags
from intent.command_line.shell import insert
from intent.launch import Launch, in_shell, is_converted, serve_words

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Container:
    """Command, args and ports of one container; None where the author's own stays, empty where none is."""

    command: Words | None = None
    args: Words | None = None
    ports: tuple[int, ...] = ()


def behind_prefix(launch: Launch, launcher: Container) -> Container:
    """Put what prepares the process (`tini --`, `env A=b`) before the launcher.

    So `tini` stays process 1, and the variable reaches the launcher too.
    """
    prefix = launch.command.argv[: launch.command.program]
    return replace(launcher, command=(*prefix, *(launcher.command or ())))


def flagged(launch: Launch, behind: Words) -> Words:
    """Put flags behind the words that start one node, or before their `--`: behind it nothing is a flag.

    What prepares the process is left out (`behind_prefix`).
    """
    words = serve_words(launch)
    at = end_of_flags(words, _arguments(launch))
    return (*words[launch.command.program : at], *behind, *words[at:])


def appended(launch: Launch, behind: Words, *, without: frozenset[int] = frozenset()) -> Container:
    """Keep the author's command and args, with flags behind, and without some; or write `vllm serve`."""
    if in_shell(launch):
        return in_script(launch, (), behind, without=without)
    engine, words = launch.engine, serve_words(launch)
    is_kept = words == (*engine.command, *engine.args) and engine.command
    start = len(engine.command) if is_kept else _arguments(launch)
    ends = end_of_flags(words, _arguments(launch))
    kept = [(word, at < start) for at, word in enumerate(words[:ends]) if at not in without]
    added = [(word, ends < start) for word in behind]
    rest = [(word, ends + at < start) for at, word in enumerate(words[ends:])]
    placed = (*kept, *added, *rest)
    command = tuple(word for word, is_command in placed if is_command)
    return Container(command, tuple(word for word, is_command in placed if not is_command))


def _arguments(launch: Launch) -> int:
    """Say where the engine's own arguments begin, in the words that start it."""
    command = launch.command
    if command.kind == "subcommand":
        return 2
    return command.program + 2 if is_converted(launch) else command.arguments


def in_script(
    launch: Launch,
    before: Words,
    behind: Words,
    *,
    without: frozenset[int] = frozenset(),
    text_only: bool = False,
) -> Container:
    """Write into a script: words before the engine, and behind its last flag or the items of its `"$@"`.

    Words of the engine that are to go are items; those that stand in the script stay (`scripted`).
    """
    shell = launch.command.shell
    if shell is None or shell.script is None:
        return Container()
    engine, script = launch.engine, shell.script
    gone = {shell.index + 2 + at - len(script.argv) for at in without if at >= len(script.argv)}
    items = [word for at, word in enumerate((*engine.command, *engine.args)) if at not in gone]
    is_item = script.rest and not script.ended and shell.index + 1 < len(items) and not text_only
    text = "".join(f" {word}" for word in behind)
    items[shell.index] = insert(script, " ".join((*before, "")), "" if is_item else text)
    if is_item:
        at = end_of_flags(items, shell.index + 2)
        items[at:at] = behind
    ends = len(engine.command) - sum(at < len(engine.command) for at in gone)
    command, args = tuple(items[:ends]), tuple(items[ends:])
    return Container(_changed(command, engine.command), _changed(args, engine.args))


def scripted(launch: Launch, at: int) -> bool:
    """Whether a word of the engine stands in the text of a script."""
    shell = launch.command.shell
    return in_shell(launch) and shell is not None and shell.script is not None and at < len(shell.script.argv)


def _changed(new: Words, old: Words) -> Words | None:
    return new if new != old else None
