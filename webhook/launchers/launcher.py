"""The row of a launcher, the fields of the engine container that it writes, and how flags enter a command."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace

from intent import Object
from intent.command_line.flags import end_of_flags
from intent.command_line.shell import insert
from intent.launch import Launch, LaunchPlan, in_shell, serve_arguments
from intent.lws import Engine

Args = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Container:
    """Command, args and ports of one container; None keeps the author's, empty removes it."""

    command: Args | None = None
    args: Args | None = None
    ports: tuple[int, ...] = ()


def with_flags(launch: Launch, flags: Args, first: Args = ()) -> Engine:
    """Return the engine of one node with `first` before its arguments, and `flags` after its last flag."""
    engine, argv, index = launch.engine, launch.command.argv, launch.command.arguments
    if in_shell(launch):
        after = (*first, *flags)
        script = in_script(launch, (), after if takes_items(launch) else tuple(map(shlex.quote, after)))
        command = engine.command if script.command is None else script.command
        return replace(engine, command=command, args=engine.args if script.args is None else script.args)
    end, start = end_of_flags(argv, index), len(engine.command) if launch.command.shell is None else index
    words = (*argv[:index], *first, *argv[index:end], *flags, *argv[end:])
    start += (len(first) if index < start else 0) + (len(flags) if end < start else 0)
    return replace(engine, command=words[:start], args=words[start:])


def wrapped(launch: Launch, command: Args, args: Args, after: Args, ports: tuple[int, ...]) -> Container:
    """Put a launcher ahead of the program that starts one node, and `after` after its last flag.

    That is before a `--`. In the script of a shell `command` is quoted; `args` may have variables.
    """
    if in_shell(launch):
        before = (*map(shlex.quote, command), *args)
        return replace(in_script(launch, before, after), ports=ports)
    words, start = serve_arguments(launch)
    end = end_of_flags(words, start)
    engine = (*words[launch.command.program : end], *after, *words[end:])
    return behind_prefix(launch, Container(command, (*args, *engine), ports))


def behind_prefix(launch: Launch, launcher: Container) -> Container:
    """Put the author's prefix (`tini --`, `env A=b`) before the launcher's command.

    So `tini` stays process 1, and the launcher gets the variable too.
    """
    prefix = launch.command.argv[: launch.command.program]
    return replace(launcher, command=(*prefix, *(launcher.command or ())))


def appended(launch: Launch, after: Args, *, without: frozenset[int] = frozenset()) -> Container:
    """Return command and args with `after` added and the arguments at `without` removed.

    The author's split into command and args is kept, unless the launch is converted to `vllm serve`.
    """
    if in_shell(launch):
        return in_script(launch, (), after, without=without)
    engine, (args, first) = launch.engine, serve_arguments(launch)
    is_kept = args == (*engine.command, *engine.args) and engine.command
    start = len(engine.command) if is_kept else first
    ends = end_of_flags(args, first)
    kept = [(arg, index < start) for index, arg in enumerate(args[:ends]) if index not in without]
    added = [(arg, ends < start) for arg in after]
    rest = [(arg, ends + index < start) for index, arg in enumerate(args[ends:])]
    placed = (*kept, *added, *rest)
    command = tuple(arg for arg, is_command in placed if is_command)
    return Container(command, tuple(arg for arg, is_command in placed if not is_command))


def in_script(
    launch: Launch,
    before: Args,
    after: Args,
    *,
    without: frozenset[int] = frozenset(),
    text_only: bool = False,
) -> Container:
    """Insert `before` ahead of the engine in a shell script, and `after` after its last flag.

    If the script ends in `"$@"`, `after` goes after the list items instead, unless `text_only`. Arguments at
    `without` are removed if they are list items; those in the text of the script stay (`scripted`).
    """
    shell = launch.command.shell
    if shell is None or shell.script is None:
        return Container()
    engine, script = launch.engine, shell.script
    gone = {shell.index + 2 + index - len(script.argv) for index in without if index >= len(script.argv)}
    items = [arg for index, arg in enumerate((*engine.command, *engine.args)) if index not in gone]
    is_item = takes_items(launch) and not text_only
    text = "".join(f" {arg}" for arg in after)
    items[shell.index] = insert(script, " ".join((*before, "")), "" if is_item else text)
    if is_item:
        end = end_of_flags(items, shell.index + 2)
        items[end:end] = after
    ends = len(engine.command) - sum(index < len(engine.command) for index in gone)
    command, args = tuple(items[:ends]), tuple(items[ends:])
    return Container(_changed(command, engine.command), _changed(args, engine.args))


def takes_items(launch: Launch) -> bool:
    """Return whether flags after the last one of a script are list items: it ends in `"$@"`."""
    shell, engine = launch.command.shell, launch.engine
    if shell is None or shell.script is None:
        return False
    is_open = shell.script.rest and not shell.script.ended
    return is_open and shell.index + 1 < len(engine.command) + len(engine.args)


def scripted(launch: Launch, index: int) -> bool:
    """Return whether the argument at `index` is in the text of a script, not a list item."""
    shell = launch.command.shell
    return (
        in_shell(launch) and shell is not None and shell.script is not None and index < len(shell.script.argv)
    )


def _changed(new: Args, old: Args) -> Args | None:
    return new if new != old else None


# --- the row ------------------------------------------------------------------------------------------

POD_IP: Object = {"fieldRef": {"fieldPath": "status.podIP"}}
HOST_IP: Object = {"name": "VLLM_HOST_IP", "valueFrom": POD_IP}
"""The address that vLLM advertises: of several it may choose one that other pods cannot reach."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """How the pods of a group start one engine."""

    write: Callable[[Launch, LaunchPlan], Container]
    """Returns the engine container of one template of a plan."""
    summary: str = ""
    """One line for the documentation."""
    engines: tuple[str, ...] = ("vllm",)
    """Engines that it starts."""
    on_request: tuple[str, ...] = ()
    """Engines that it starts only if the annotation names this launcher."""
    executors: tuple[str, ...] = ()
    """Supported values of `--distributed-executor-backend`; empty if the engine has no such flag."""
    needs: str = ""
    """Requirement on the image, for messages."""
    runs: Callable[[Launch], bool | None] = lambda _launch: True
    """Returns whether the image meets `needs`; None if that is unknown."""
    takes: Callable[[Launch], bool] = lambda _launch: True
    """Returns whether it can rewrite this command line."""
    spreads: bool = False
    """Ranks are spread evenly over the pods; otherwise the group's accelerators are one pool."""
    port: int = 0
    """Port on the leader where the pods of a group connect."""
    splits: bool = False
    """Leader and workers run different commands, unless all of them serve, so a shared template is split."""
    answers: frozenset[str] = frozenset()
    """The paths that workers answer on the API port although they serve nothing, so that probes stay."""
    resolves: bool = True
    """It may exit if the leader's name does not resolve at once, so an init container waits for DNS."""
    env: Callable[[Launch], tuple[Object, ...]] = lambda _launch: ()
    """Returns environment variables for the engine container, as items of `env`."""

    @property
    def uses_ray(self) -> bool:
        """Return whether Ray starts the workers."""
        return "ray" in self.executors
