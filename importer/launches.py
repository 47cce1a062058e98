"""Launches of several nodes that authors wrote by hand: recognised, and what the engine runs on one node.

    recognised(leader, workers, size)     a `GroupLaunch`, or a `Stays` with the reason

Each template runs one of these, in a list of arguments or in the script of a shell:

- Ray: `multi-node-serving.sh` of vLLM's images (earlier `ray_init.sh`), `ray start`, `ray symmetric-run`
- vLLM's own: `--nnodes`, `--node-rank`, `--master-addr`, `--headless`
- SGLang's own: `--dist-init-addr`, `--nnodes`, `--node-rank`

A launch is only recognised if every word is: ranks, addresses and sizes that are not those of LWS, or any
other command in the script, leave it as it is. What a launcher of ours writes otherwise, such as another port
of Ray, is `GroupLaunch.changed`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from intent import Object
from intent.accelerators import is_accelerator
from intent.command_line.command import Command, read_command
from intent.command_line.flags import BACKEND, END, MODEL, Flag
from intent.command_line.merge import setting
from intent.command_line.shell import steps
from intent.image import facts, read_image
from intent.shapes import mapping, strings, text

GroupRole = Literal["leader", "worker", "any"]
RAY_START: Final = "ray-start"
RAY_SYMMETRIC: Final = "ray-symmetric"
VLLM_NATIVE: Final = "vllm-native"
SGLANG: Final = "sglang"


class Word(NamedTuple):
    """An argument, and the item of command and args that it stands in."""

    text: str
    item: int


@dataclass(frozen=True, slots=True)
class GroupLaunch:
    """What all pods of a group run, as on one node."""

    launcher: str
    """The launcher that does what the author wrote."""
    command: tuple[Word, ...]
    args: tuple[Word, ...]
    changed: tuple[tuple[Word, ...], tuple[Word, ...]] = ((), ())
    """Words of leader and workers for which the launcher writes another value, or nothing."""


class Stays(NamedTuple):
    """A launch that is not recognised."""

    why: str


@dataclass(frozen=True, slots=True)
class _Start:
    """What one template starts: a node of Ray, an engine, or both."""

    part: GroupRole
    launcher: str
    engine: tuple[Word, ...] = ()
    command: Command | None = None
    changed: tuple[Word, ...] = ()


class _StaysError(Exception):
    """The launch is not recognised. The message is the reason."""


def recognised(leader: Object, workers: Object, size: int) -> GroupLaunch | Stays:
    """Return what the engine containers of a group run; `leader` may be that of the workers."""
    try:
        first = _start(leader, size, leads=True)
        others = first if leader is workers else _start(workers, size, leads=False)
        return _runnable(_together(first, others, is_one=leader is workers), text(leader.get("image")))
    except _StaysError as error:
        return Stays(str(error))


def _together(first: _Start, others: _Start, *, is_one: bool) -> GroupLaunch:
    if first.launcher != others.launcher:
        raise _StaysError(f"the leader is launched with {first.launcher}, the workers with {others.launcher}")
    if is_one and first.part != "any":
        raise _StaysError("all pods of a group run the same, and it is for one part of them")
    if first.part == "worker" or others.part == "leader" or first.command is None:
        raise _StaysError("the leader joins and the workers lead: the other way round is expected")
    changed = others.changed
    if others.command is not None:
        changed += tuple(others.engine[flag.at] for flag in _of_workers(first.command, others.command))
    at = first.command.arguments
    return GroupLaunch(first.launcher, first.engine[:at], first.engine[at:], (first.changed, changed))


def _runnable(made: GroupLaunch, image: str) -> GroupLaunch:
    """Return vLLM's own launch in place of one with Ray, if the image is known to have no Ray."""
    read = read_image(image)
    if made.launcher not in {RAY_START, RAY_SYMMETRIC} or facts(read).has_ray is not False:
        return made
    texts = [tuple(one.text for one in words) for words in (made.command, made.args)]
    flags = read_command(texts[0], texts[1], read).flags.given
    gone = {at for flag in flags if flag.name == BACKEND for at in range(flag.at, flag.at + flag.width)}
    kept = tuple(one for at, one in enumerate((*made.command, *made.args)) if at not in gone)
    return replace(
        made, launcher=VLLM_NATIVE, command=kept[: len(made.command)], args=kept[len(made.command) :]
    )


API: Final = frozenset({"host", "port", "served-model-name", "api-key", "api-server-count"})
"""Flags that only the API needs: those of the leader count."""


def _of_workers(first: Command, others: Command) -> tuple[Flag, ...]:
    """Return the workers' flags of an API; check that their engine has no other that the leader's has not."""
    known, more = _settings(first), _settings(others)
    own = {name for name, value in more.items() if known.get(name) != value}
    if different := sorted(own - API):
        raise _StaysError(f"leader and workers start different engines: {different[0]} differs")
    return tuple(flag for flag in others.flags.given if setting(others, flag) in own)


def engine_settings(words: Sequence[str], image: str = "") -> dict[str, tuple[str, ...]]:
    """Return what the command of an engine sets, by the names of its flags."""
    return _settings(read_command(tuple(words), (), read_image(image)))


def _settings(command: Command) -> dict[str, tuple[str, ...]]:
    """Return what the arguments of an engine set; the last of several flags counts."""
    found = {
        setting(command, flag): command.argv[flag.at + 1 : flag.at + flag.width]
        or tuple(command.argv[flag.at].split("=")[1:])
        for flag in command.flags.given
    }
    bare = tuple(command.argv[at] for at in command.flags.bare) or found.pop(MODEL, ())
    return {**found, "the program": command.argv[command.program : command.arguments], "the model": bare}


# --- one template -------------------------------------------------------------------------------------


def _start(container: Object, size: int, *, leads: bool) -> _Start:
    """Read what a container starts."""
    command, args = strings(container.get("command")), strings(container.get("args"))
    image = text(container.get("image"))
    words = tuple(Word(one, at) for at, one in enumerate((*command, *args)))
    read = read_command(command, args, read_image(image))
    group = _Group(image, size, leads, _devices(container))
    if read.shell is None:
        return _of_command(words, group, has_command=bool(command))
    at = read.shell.index
    if len(words) > at + 1:
        raise _StaysError("arguments follow the script of a shell")
    lines = steps(words[at].text)
    if lines is None:
        raise _StaysError("the script is more than commands one after the other, or the shell expands a word")
    return _joined([one for line in lines if (one := _of_line(line, at, group))])


def _joined(found: Sequence[_Start]) -> _Start:
    """Return what the commands of a script start together: Ray, then on the leader the engine."""
    nodes = [one for one in found if not one.engine]
    engines = [one for one in found if one.engine]
    if len(nodes) > 1 or len(engines) > 1 or not found:
        raise _StaysError("the script starts no engine, or several")
    if not nodes:
        return engines[0]
    if not engines:
        if nodes[0].part == "leader":
            raise _StaysError("the script starts a head of Ray and no engine")
        return nodes[0]
    if nodes[0].part != "leader" or engines[0].launcher:
        raise _StaysError("the script launches the nodes in two ways")
    changed = (*nodes[0].changed, *engines[0].changed)
    return replace(engines[0], part="leader", launcher=RAY_START, changed=changed)


WITHOUT_EFFECT: Final = frozenset({"set", "true", ":"})
"""Commands of scripts on which nothing depends: `set` ends a script at an error."""
_WAIT: Final = re.compile(r"sleep [0-9.]+[sm]?|ray status")
"""Commands that wait for Ray, as a launcher does."""


def _of_line(line: tuple[str, ...], item: int, group: "_Group") -> _Start | None:
    if line[0] in WITHOUT_EFFECT or _WAIT.fullmatch(" ".join(line)) or line[:2] == ("ray", "status"):
        return None
    own = line[1:] if line[0] == "exec" else line
    words = tuple(Word(one, item) for one in own)
    return _of_command(words, group, has_command=True)


class _Group(NamedTuple):
    """What of a container's group its launch is compared with."""

    image: str
    size: int
    leads: bool
    devices: tuple[str, ...]
    """The counts of accelerators that the container asks for."""


def _devices(container: Object) -> tuple[str, ...]:
    limits = mapping(mapping(container.get("resources")).get("limits"))
    return tuple(str(count) for name, count in limits.items() if is_accelerator(name))


def _of_command(words: tuple[Word, ...], group: _Group, *, has_command: bool) -> _Start:
    """Read a command: of Ray, or of an engine."""
    texts = tuple(one.text for one in words)
    if texts[:1] and texts[0] in {"bash", "sh"} and texts[1:] and texts[1].endswith(_SERVING):
        texts, words = texts[1:], words[1:]
    if texts[:1] and texts[0].endswith(_SERVING):
        return _ray_node(texts[1:2] == ("leader",), words[2:], _SERVING_FLAGS, group)
    if texts[:2] == ("ray", "start"):
        return _ray_node("--head" in texts, words[2:], _RAY_FLAGS, group)
    if texts[:2] == ("ray", "symmetric-run") and END in texts:
        at = texts.index(END)
        changed = _changed(words[2:at], _SYMMETRIC_FLAGS, group)
        engine = _engine(words[at + 1 :], group.image, has_command=True)
        return replace(engine, part="any", launcher=RAY_SYMMETRIC, changed=changed)
    return _native(words, group, has_command=has_command)


# --- Ray ----------------------------------------------------------------------------------------------

_SERVING: Final = ("multi-node-serving.sh", "ray_init.sh")
"""The script of vLLM's images that starts Ray, with its earlier name."""
_ADDRESS: Final = r"\$\(LWS_LEADER_ADDRESS\)(?::\d{1,5})?"
_SIZE: Final = r"\$\(LWS_GROUP_SIZE\)|\d{1,6}"
_NUMBER: Final = r"\d{1,6}"
_ANYTHING: Final = r".*"
_NOTHING: Final = r"(?!)"
FlagValues = Mapping[str, str]
"""The flags that a command may have, by the form of their values; an empty form is a flag without one."""

_SERVING_FLAGS: Final[FlagValues] = {
    "--ray_cluster_size": _SIZE,
    "--ray_port": _NUMBER,
    "--ray_init_timeout": _NUMBER,
    "--ray_address": _ADDRESS,
}
_RAY_FLAGS: Final[FlagValues] = {
    **dict.fromkeys(("--head", "--block", "--disable-usage-stats"), ""),
    **dict.fromkeys(("--port", "--num-gpus", "--num-cpus", "--dashboard-port"), _NUMBER),
    **dict.fromkeys(("--dashboard-host", "--include-dashboard"), _ANYTHING),
    "--address": _ADDRESS,
}
_SYMMETRIC_FLAGS: Final[FlagValues] = {
    "--address": _ADDRESS,
    "--min-nodes": _SIZE,
    **dict.fromkeys(("--num-gpus", "--num-cpus"), _NUMBER),
    **dict.fromkeys(("--disable-usage-stats", "--block"), ""),
}


_WRITTEN: Final[FlagValues] = {
    **dict.fromkeys(
        ("--head", "--block", "--disable-usage-stats", "--min-nodes", "--ray_cluster_size"), _ANYTHING
    ),
    **dict.fromkeys(("--port", "--ray_port"), "6379"),
    **dict.fromkeys(("--address", "--ray_address"), r"[^:]*(:6379)?"),
    "master-port": "29501",
    "master-addr": r"[^:]*",
    "dist-init-addr": r"[^:]*:20000",
    **dict.fromkeys(("nnodes", "node-rank", "headless"), _ANYTHING),
}
"""The values with which a launcher of ours does the same, of the flags that are not an engine's own."""


def _ray_node(leads: bool, flags: tuple[Word, ...], shape: FlagValues, group: _Group) -> _Start:  # noqa: FBT001 - read from words
    changed = _changed(flags, shape, group)
    joins = any("LWS_LEADER_ADDRESS" in one.text for one in flags)
    if leads == joins:
        raise _StaysError("a worker of Ray joins $(LWS_LEADER_ADDRESS), and a head joins nothing")
    return _Start("leader" if leads else "worker", RAY_START, changed=changed)


def _changed(words: tuple[Word, ...], shape: FlagValues, group: _Group) -> tuple[Word, ...]:
    """Check the flags of a command of Ray, and return those that a launcher writes otherwise."""
    at, found = 0, []
    while at < len(words):
        begun = at
        name, _, value = words[at].text.partition("=")
        form = shape.get(name)
        if form and not value:
            value, at = "".join(one.text for one in words[at + 1 : at + 2]), at + 1
        if form is None or not re.fullmatch(form, value):
            raise _StaysError(f"{words[begun].text[:60]} of Ray is not recognised")
        if form == _SIZE and value.isdecimal() and int(value) != group.size:
            raise _StaysError(f"{name} is {value}, and the size of the group {group.size}")
        is_same = (
            value in group.devices
            if name == "--num-gpus"
            else re.fullmatch(_WRITTEN.get(name, _NOTHING), value)
        )
        if not is_same:
            found.append(Word(f"{name}={value}", words[begun].item))
        at += 1
    return tuple(found)


# --- engines ------------------------------------------------------------------------------------------

_NATIVE: Final[Mapping[str, FlagValues]] = {
    "vllm": {
        "nnodes": _SIZE,
        "node-rank": r"\$\(LWS_WORKER_INDEX\)|\d{1,6}",
        "master-addr": _ADDRESS,
        "master-port": _NUMBER,
        "headless": "",
    },
    "sglang": {
        "nnodes": _SIZE,
        "node-rank": r"\$\(LWS_WORKER_INDEX\)|\d{1,6}",
        "dist-init-addr": _ADDRESS,
    },
}
"""The flags with which an engine launches the nodes itself: a launcher of ours adds the same."""
_LAUNCHERS: Final = {"vllm": VLLM_NATIVE, "sglang": SGLANG}
_BY_RANK: Final = frozenset({"data-parallel-address", "data-parallel-start-rank", "data-parallel-rank"})


def _engine(words: tuple[Word, ...], image: str, *, has_command: bool) -> _Start:
    texts = tuple(one.text for one in words)
    read = read_command(texts if has_command else (), () if has_command else texts, read_image(image))
    if read.shell or (not read.engine and not read.within):
        raise _StaysError(f"{' '.join(texts[:2])[:60] or 'the entrypoint of the image'} is no known engine")
    return _Start("any", "", words, read)


def _native(words: tuple[Word, ...], group: _Group, *, has_command: bool) -> _Start:
    """Read an engine, and drop the flags by which it launches the nodes itself."""
    start = _engine(words, group.image, has_command=has_command)
    read = start.command
    if read is None or read.kind != "distributed":
        return start
    shape = _NATIVE.get(read.within)
    dropped = [flag for flag in read.flags.given if shape and flag.name in shape]
    foreign = next((flag for flag in read.flags.given if flag.name in _BY_RANK), None)
    if shape is None or foreign or read.flags.last("nnodes") is None:
        named = foreign.name if foreign else "the launch"
        raise _StaysError(
            f"{named} is not recognised: it starts data-parallel ranks, or is of another engine"
        )
    for flag in dropped:
        _check_native(flag, shape[flag.name], group.size, leads=group.leads)
    gone = {at for flag in dropped for at in range(flag.at, flag.at + flag.width)}
    kept = tuple(one for at, one in enumerate(words) if at not in gone)
    plain = _engine(kept, group.image, has_command=has_command)
    if plain.command is None or plain.command.kind == "distributed":
        raise _StaysError("flags remain by which the engine launches the nodes itself")
    part: GroupRole = "worker" if read.flags.last("headless") else "any"
    changed = tuple(
        Word(f"--{flag.name}={flag.value}", words[flag.at].item)
        for flag in dropped
        if not re.fullmatch(_WRITTEN[flag.name], flag.value or "")
    )
    return replace(plain, part=part, launcher=_LAUNCHERS[read.within], changed=changed)


def _check_native(flag: Flag, form: str, size: int, *, leads: bool) -> None:
    value = flag.value or ""
    if not re.fullmatch(form, value):
        raise _StaysError(f"--{flag.name} {value[:60]} is not what LWS sets")
    if flag.name == "nnodes" and value.isdecimal() and int(value) != size:
        raise _StaysError(f"--nnodes is {value}, and the size of the group {size}")
    rank = "0" if leads else "1"
    if flag.name == "node-rank" and value.isdecimal() and (value != rank or (size != 2 and not leads)):
        raise _StaysError(f"--node-rank {value} is the rank of one pod: write $(LWS_WORKER_INDEX)")


def is_launch(container: Object) -> bool:
    """Return whether a container launches several nodes, or has parts of such a launch."""
    command, args = strings(container.get("command")), strings(container.get("args"))
    return read_command(command, args, read_image(text(container.get("image")))).kind == "distributed"
