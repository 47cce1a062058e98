"""What a launcher gives: the fields of the engine container that it writes."""

from dataclasses import dataclass

from intent.launch import Launch, in_shell, is_converted, serve_words
from intent.shell import insert

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Container:
    """Command, args and ports of one container; None where the author's own stays, empty where none is."""

    command: Words | None = None
    args: Words | None = None
    ports: tuple[int, ...] = ()


def appended(launch: Launch, behind: Words, *, without: frozenset[int] = frozenset()) -> Container:
    """Keep the author's command and args, with words behind, and without some; or write `vllm serve`."""
    if in_shell(launch):
        return in_script(launch, (), behind)
    engine, words = launch.engine, serve_words(launch)
    if words == (*engine.command, *engine.args) and engine.command:
        start = len(engine.command)
    else:
        start = _arguments(launch)
    kept = tuple(word for at, word in enumerate(words) if at not in without)
    start -= sum(at < start for at in without)
    return Container(kept[:start], (*kept[start:], *behind))


def _arguments(launch: Launch) -> int:
    """Say where the engine's own arguments begin, in the words that start it."""
    command = launch.command
    if command.kind == "subcommand":
        return 2
    return command.program + 2 if is_converted(launch) else command.arguments


def in_script(launch: Launch, before: Words, behind: Words, *, text_only: bool = False) -> Container:
    """Write into a script: words before the engine, and behind its last one or the items of its `"$@"`."""
    shell = launch.command.shell
    if shell is None or shell.script is None:
        return Container()
    engine = launch.engine
    items = [*engine.command, *engine.args]
    follows = shell.script.rest and shell.index + 1 < len(items) and not text_only
    text = "".join(f" {word}" for word in behind)
    items[shell.index] = insert(shell.script, " ".join((*before, "")), "" if follows else text)
    if follows:
        items += behind
    command, args = tuple(items[: len(engine.command)]), tuple(items[len(engine.command) :])
    return Container(_changed(command, engine.command), _changed(args, engine.args))


def _changed(new: Words, old: Words) -> Words | None:
    return new if new != old else None
