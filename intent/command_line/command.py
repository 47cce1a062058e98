"""The command line of a container: its kind, arguments and flags. Parsed once, then passed on.

`command` and `args` are one list of arguments; without a command the image's entrypoint precedes them.
Prefixes that only prepare a process (`exec`, `env K=V`, `tini --`) are skipped in parsing and always kept.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from intent.command_line.dialects import LMDEPLOY, SGLANG, TENSORRT, VLLM
from intent.command_line.flags import DISTRIBUTED, NO_FLAGS, Dialect, Flags, read_flags
from intent.command_line.programs import ASSIGNMENT, Program, behind_prefixes, program
from intent.command_line.shell import Script, read_script
from intent.image import Image, read_image

ENGINES: Final[dict[Program, str]] = {
    **dict.fromkeys(("flags", "subcommand", "serve", "module", "interpreter"), "vllm"),
    **{name: name for name in ("sglang", "lmdeploy", "tensorrt-llm")},
}
"""The engine that each kind of command starts on one node."""
DIALECTS: Final[dict[Program, Dialect]] = {
    "sglang": SGLANG,
    "lmdeploy": LMDEPLOY,
    "tensorrt-llm": TENSORRT,
}

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash"})
_SHELL_FLAG: Final = re.compile(r"[-+]([A-Za-z]+)|--(?:login|norc|noprofile|posix)")
_LOGIN: Final = re.compile(r"-[A-Za-z]*l[A-Za-z]*|--login")

_LAUNCHES: Final = (
    "\nray\nsymmetric-run\n",
    "/ray\nsymmetric-run\n",
    "\nray\nstart\n",
    "/ray\nstart\n",
    "ray.scripts.symmetric_run\n",
    "multi-node-serving.sh\n",
    "run_cluster.sh\n",
    "mpirun\n",
    "torchrun\n",
    "trtllm-llmapi-launch\n",
    "LWS_LEADER_ADDRESS",
    "LWS_WORKER_INDEX",
)
"""Signs, in arguments joined by line ends, that the author launches the nodes."""
_RAY: Final = re.compile(
    r"\bray\s+(?:symmetric-run|start)\b|\bray\.scripts\.symmetric_run\b|\bmulti-node-serving\.sh\b"
    r"|\brun_cluster\.sh\b"
)
_SCRIPT_LAUNCHES: Final = re.compile(
    f"{_RAY.pattern}"
    r"|\bmpirun\b|\btorchrun\b|\btrtllm-llmapi-launch\b|LWS_LEADER_ADDRESS|LWS_WORKER_INDEX"
    r"|--nnodes\b|--node[-_]rank\b|--headless\b|--data[-_]parallel[-_](?:address|start[-_]rank)\b"
    r"|--(?:dist|nccl)[-_]init[-_]addr\b"
)
_SCRIPT_ENGINES: Final = re.compile(
    r"\bvllm\s+serve\b|\bvllm\.entrypoints\b|\bsglang\b|\blmdeploy\s+serve\b|\btrtllm-serve\b"
)


_REST: Final = frozenset({"$@", "${@}"})
"""The list items after the script, unquoted from `"$@"`."""
MOST_WORDS: Final = 10_000
"""Longer command lines are not parsed: admission has a deadline, and no engine takes as many arguments."""


@dataclass(frozen=True, slots=True)
class Shell:
    """The script of a `sh -c`."""

    index: int
    """The index of the script among the container's arguments."""
    script: Script | None = None
    """None: the script is too complex."""
    kept: bool = True
    """Whether the shell must stay; if not, the arguments alone have the same effect."""


@dataclass(frozen=True, slots=True)
class Command:
    """One parsed command line."""

    kind: Program
    argv: tuple[str, ...]
    """All arguments, prefixes included; for a script, those of the engine's simple command."""
    program: int = 0
    """The index of the engine's program."""
    arguments: int = 0
    """The index of the first argument of the engine."""
    flags: Flags = NO_FLAGS
    shell: Shell | None = None
    engine: str = ""
    """The engine of which it starts one node; empty if the command is not understood."""
    started: str = ""
    """The engine that it starts, on one node or in a launch by its author; empty if it is not known."""


def looks_like_engine(command: Sequence[str], args: Sequence[str], image: str) -> bool:
    """Return whether the command of a container starts a known inference engine."""
    read = read_command(tuple(command), tuple(args), read_image(image))
    return _names_engine(read) if read.kind == "complex" else read.kind != "unknown"


def _names_engine(command: Command) -> bool:
    """Return whether a script that is not understood names a known engine."""
    return command.shell is not None and _SCRIPT_ENGINES.search(command.argv[command.shell.index]) is not None


def read_command(command: tuple[str, ...], args: tuple[str, ...], image: Image) -> Command:
    """Parse command and args of a container."""
    words = command + args
    if len(words) > MOST_WORDS:
        return Command("unknown", words)
    entrypoint: tuple[Program, int] | None = None
    if image.is_vllm and not command:
        entrypoint = ("subcommand", 1) if words[:1] == ("serve",) else ("flags", 0)
    text = "\n".join(("", *words, ""))
    if any(map(text.__contains__, _LAUNCHES)):
        own = _direct(words, 0, entrypoint) if entrypoint else None
        return own if own and own.kind == "distributed" else _launched(words)
    head = behind_prefixes(words)
    if (index := _script_index(words, head)) is not None:
        return _in_shell(words, head, index)
    known = program(words, head)
    if entrypoint and known[0] == "unknown":
        return _direct(words, 0, entrypoint)
    return _direct(words, head, known)


def own_launch(command: Command, items: tuple[str, ...]) -> str:
    """Return the words by which a command launches the nodes itself, as its author wrote them.

    `items` are those of command and args.
    """
    launch = _SCRIPT_LAUNCHES.search(" ".join(items))
    flags = (command.argv[flag.at] for flag in command.flags.given if flag.name in DISTRIBUTED)
    return launch[0] if launch else next(flags, "").partition("=")[0]


def in_ray(items: tuple[str, ...]) -> bool:
    """Return whether command and args start Ray, which runs the engine on the leader alone."""
    return _RAY.search(" ".join(items)) is not None


def _launched(words: tuple[str, ...]) -> Command:
    """Parse a command that launches nodes itself, and the flags of the engine after it or in its script."""
    index = _anywhere(words)
    if index is not None:
        return replace(_direct(words, index), kind="distributed", engine="")
    script = _script_index(words, behind_prefixes(words))
    parsed = None if script is None else read_script(words[script], _anywhere)
    if script is None or parsed is None:
        return Command("distributed", words, shell=None if script is None else Shell(script))
    inside = _launched(parsed.argv + (words[script + 2 :] if parsed.rest else ()))
    return replace(inside, shell=Shell(script, parsed))


def _anywhere(words: tuple[str, ...]) -> int | None:
    """Return the index of the first program that is an engine; None if there is none."""
    return next((index for index in range(len(words)) if program(words, index)[0] != "unknown"), None)


def _direct(words: tuple[str, ...], head: int, known: tuple[Program, int] | None = None) -> Command:
    """Parse arguments that start a program directly: the one at an index, or a `known` one, and its flags."""
    kind, arguments = known or program(words, head)
    flags, engine = read_flags(words, arguments, DIALECTS.get(kind, VLLM)), ENGINES.get(kind, "")
    for flag in flags.given:
        if flag.name in DISTRIBUTED and _is_marked(flag.at, words, kind):
            return Command("distributed", words, head, arguments, flags, started=engine)
    return Command(kind, words, head, arguments, flags, engine=engine, started=engine)


def _is_marked(index: int, words: tuple[str, ...], kind: Program) -> bool:
    """Return whether a flag has vLLM's meaning: `-n` and `-r` of another program may mean anything."""
    return ENGINES.get(kind) == "vllm" or words[index].startswith("--")


def _script_index(words: tuple[str, ...], head: int) -> int | None:
    """Return the index of the script of a `sh -c`; None for other uses of a shell."""
    if head >= len(words) or words[head].rpartition("/")[2] not in _SHELLS:
        return None
    index, asked = head + 1, False
    while index < len(words) and (word := words[index])[:1] in {"-", "+"}:
        flag = _SHELL_FLAG.fullmatch(word)
        if flag is None:
            return None
        letters = flag[1] or ""
        asked = asked or "c" in letters
        index += 2 if "o" in letters.lower() else 1
    return index if asked and index < len(words) else None


def _in_shell(words: tuple[str, ...], head: int, index: int) -> Command:
    """Parse the script, and the items after it, which are `$0` and `"$@"`."""
    behind = words[index + 2 :]
    if _SCRIPT_LAUNCHES.search(words[index]):
        return _launched(words)
    script = read_script(words[index], partial(_engine_word, behind))
    if script is None or (behind and not script.rest):
        return Command("complex", words, shell=Shell(index))
    is_login = any(map(_LOGIN.fullmatch, words[head + 1 : index]))
    if script.simple and not is_login and not words[index + 1 :]:
        return _unwrapped(words[:head], script, index)
    read = _direct(script.argv + behind, script.program)
    return replace(read, shell=Shell(index, script))


def _unwrapped(prefix: tuple[str, ...], script: Script, index: int) -> Command:
    """Parse a script that is one plain command, without the shell and its `exec`."""
    own = script.argv[1:] if script.argv[0] == "exec" else script.argv
    words = prefix + own
    return replace(_direct(words, behind_prefixes(words)), shell=Shell(index, script, kept=False))


def _engine_word(behind: tuple[str, ...], words: tuple[str, ...]) -> int | None:
    """Return the index of the engine in a simple command, after assignments and prefixes; None if absent.

    The engine may be in `"$@"`: the list items after the script.
    """
    index = 0
    while index < len(words) and ASSIGNMENT.match(words[index]):
        index += 1
    index += behind_prefixes(words[index:])
    if len(words) == index + 1 and words[index] in _REST:
        words = (*words[:index], *behind)
    return None if program(words, index)[0] == "unknown" else index
