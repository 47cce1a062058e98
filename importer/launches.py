"""Launches of several nodes that authors wrote by hand: recognised, and what the engine runs on one node.

    recognised(engines, size)     a `PodStart` for each template, or `StaysError` with the reason

Each template runs one of these, in a list of arguments or in the script of a shell (`importer.script`):

- Ray: `multi-node-serving.sh` of vLLM's images (earlier `ray_init.sh`), `ray start`
- vLLM's own: `--nnodes`, `--node-rank`, `--master-addr`, `--headless`; `--data-parallel-address` and ranks
- SGLang's own: `--dist-init-addr`, `--nnodes`, `--node-rank`

A launch is only recognised if every word is, in the leader, the first worker and the last: ranks, addresses
and sizes that are not those of LWS, or any other command in the script, leave it as it is. What a launcher of
ours writes otherwise, such as another port of Ray, is `PodStart.changed`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from importer.leaves import Leaf, Tree, at, items_at, plain
from importer.script import SHELLS, commands, is_endless, shown
from importer.words import OF_LWS, GroupPod, StaysError, references
from intent import Object
from intent.command_line.command import Command, looks_like_engine, read_command
from intent.command_line.flags import (
    ADDRESS,
    BACKEND,
    DATA,
    DATA_BACKEND,
    HEADLESS,
    LOCAL_DATA,
    MODEL,
    NNODES,
    NODE_RANK,
    START_RANK,
    Flag,
)
from intent.command_line.merge import setting
from intent.image import facts, read_image
from intent.ranks import ASKED
from intent.shapes import listed, mapping, strings, text

RAY_START: Final = "ray-start"
VLLM_NATIVE: Final = "vllm-native"
SGLANG: Final = "sglang"


@dataclass(frozen=True, slots=True)
class PodStart:
    """What one pod starts: a node of Ray, an engine, or both."""

    part: Literal["leader", "worker", "any"]
    launcher: str
    engine: tuple[Leaf, ...] = ()
    command: Command | None = None
    changed: tuple[Leaf, ...] = ()
    """Flags for which the launcher writes another value, or nothing."""
    env: Mapping[str, Leaf] = field(default_factory=dict)
    """The variables that the script sets for the engine."""


def recognised(engines: Sequence[Tree], size: int) -> tuple[PodStart, ...]:
    """Return what the engine of each template starts, on one node; nothing if they launch no several nodes.

    Raises:
        StaysError: the launch is not recognised.
    """
    if size < 2 or not engines:
        return ()
    if not all(map(_is_engine, engines)):
        raise StaysError("no engine is known in the containers")
    if all(_command(plain(engine)).kind != "distributed" for engine in engines):
        return ()
    return _together(engines[0], engines[-1], size)


def _together(leader: Tree, workers: Tree, size: int) -> tuple[PodStart, ...]:
    """Return what the leader and the workers start.

    A number in a word is a product, so what holds in the first worker and in the last holds in all.
    """
    first, other, last = (_start(workers if index else leader, index, size) for index in (0, 1, size - 1))
    if last != other:
        raise StaysError("the workers do not all start the same")
    if leader is workers and first.env != other.env:
        raise StaysError("the script sets other variables in the leader than in the workers")
    if not first.launcher or first.launcher != other.launcher:
        raise StaysError("the leader and the workers do not start the nodes in the same way")
    command = first.command
    if first.part == "worker" or other.part == "leader" or command is None:
        raise StaysError("the leader joins and the workers lead: the other way round is expected")
    if other.command is not None:
        variables = {text(mapping(entry).get("name")) for entry in listed(plain(workers).get("env"))}
        named = {name for word in first.engine for name in references(word.value)}
        if lacks := named - variables - OF_LWS:
            raise StaysError(f"the workers have no variable {min(lacks)}")
        known, more = settings(command), settings(other.command)
        if different := sorted(name for name, value in more.items() if known.get(name) != value):
            raise StaysError(f"leader and workers start different engines: {different[0]} differs")
    engine, launcher = first.engine, first.launcher
    image = read_image(text(plain(leader).get("image")))
    if launcher == RAY_START and facts(image).has_ray is False:
        # this launch cannot start: vLLM's own does the same without Ray
        launcher = VLLM_NATIVE
        engine = _without(engine, [flag for flag in command.flags.given if flag.name == BACKEND])
    starts = (first, other)
    return tuple(replace(start, launcher=launcher, engine=engine, command=command) for start in starts)


def settings(command: Command) -> dict[str, tuple[str, ...]]:
    """Return what the arguments of an engine set, by the names of its flags; the last of several counts."""
    values = {
        setting(command, flag): command.argv[flag.at + 1 : flag.at + flag.width]
        or tuple(command.argv[flag.at].split("=")[1:])
        for flag in command.flags.given
    }
    bare = tuple(command.argv[index] for index in command.flags.bare) or values.pop(MODEL, ())
    return {**values, "the program": command.argv[command.program : command.arguments], "the model": bare}


def _named(flag: Leaf) -> Leaf:
    """Return a flag without its value, which may be secret."""
    return flag.having(flag.value.partition("=")[0])


def _without(words: Sequence[Leaf], flags: Sequence[Flag]) -> tuple[Leaf, ...]:
    gone = {index for flag in flags for index in range(flag.at, flag.at + flag.width)}
    return tuple(word for index, word in enumerate(words) if index not in gone)


# --- one template -------------------------------------------------------------------------------------


def _start(container: Tree, index: int, size: int) -> PodStart:
    """Return what a container starts in a pod: Ray, an engine, or on the leader both."""
    obj = plain(container)
    entries = list(map(mapping, listed(obj.get("env"))))
    env = {
        text(each.get("name")): None if "valueFrom" in each else text(each.get("value")) for each in entries
    }
    sources = ((text(each.get("name")), at(each, "valueFrom", "fieldRef", "fieldPath")) for each in entries)
    addresses = frozenset(name for name, place in sources if place in ("status.podIP", "status.hostIP"))
    pod = GroupPod(index, size, env, addresses)
    words = (*items_at(container, "command"), *items_at(container, "args"))
    shell = _command(obj).shell
    if shell is None:
        return _of_command(words, pod, "" if obj.get("command") else text(obj.get("image")))
    before = [word.value for word in words[: shell.index]]
    if not _SHELL.fullmatch(" ".join(before)):
        raise StaysError(f"`{shown(before)}` starts the script: only sh or bash is read, and no login shell")
    if words[shell.index + 1 :]:
        raise StaysError("arguments follow the script of a shell")
    starts: list[PodStart] = []
    for line in commands(words[shell.index], pod):
        if not is_endless([word.value for word in line.words]) or not starts or starts[-1].engine:
            starts.append(replace(_of_command(line.words, pod), env=line.env))
    return _of_script(starts)


_SHELL: Final = re.compile(rf"(?:{'|'.join(SHELLS)})(?: (?:[-+](?![A-Za-z]*[il])[A-Za-z]+|pipefail))*")


def _of_script(starts: Sequence[PodStart]) -> PodStart:
    """Return what the commands of a script start together."""
    nodes, engines = ([start for start in starts if bool(start.engine) is has] for has in (False, True))
    if len(nodes) + len(engines) == 1 and not (nodes and nodes[0].part == "leader"):
        return starts[0]
    if len(nodes) != 1 or len(engines) != 1 or nodes[0].part != "leader" or engines[0].launcher:
        raise StaysError("the script does not start one engine, on the leader after a head of Ray")
    (node,), (engine,) = nodes, engines
    if own := sorted(dict(node.env.items() - engine.env.items())):
        raise StaysError(f"{own[0]} is a variable of Ray, and not of the engine")
    return replace(engine, part="leader", launcher=RAY_START, changed=(*node.changed, *engine.changed))


_SERVING: Final = ("multi-node-serving.sh", "ray_init.sh")
"""The script of vLLM's images that starts Ray, with its earlier name."""


def _of_command(words: Sequence[Leaf], pod: GroupPod, entrypoint: str = "") -> PodStart:
    """Read a command, of Ray or of an engine; `entrypoint` is the image, if that reads the words."""
    if len(words) > 1 and words[0].value in SHELLS and words[1].value.endswith(_SERVING):
        words = words[1:]
    texts = tuple(word.value for word in words)
    if texts[:1] and texts[0].endswith(_SERVING):
        return _ray_node(words[2:], pod, leads=texts[1:2] == ("leader",))
    if texts[:2] == ("ray", "start"):
        return _ray_node(words[2:], pod, leads="--head" in texts)
    return _native(words, pod, entrypoint)


# --- flags --------------------------------------------------------------------------------------------

_PORTS: Final = {"address": "6379", "ray_address": "6379", "dist-init-addr": "20000"}
"""The ports on the leader where launchers of ours connect."""
_ADDRESSES: Final = _PORTS.keys() | {"master-addr", ADDRESS}
_ADDRESS: Final = re.compile(r"\$\(LWS_LEADER_ADDRESS\)(?::(\d{1,5}))?")
_SAME: Final = {
    **dict.fromkeys(("ray_cluster_size", NNODES), "$(LWS_GROUP_SIZE)"),
    NODE_RANK: "$(LWS_WORKER_INDEX)",
    **dict.fromkeys(("head", "block", "disable-usage-stats", HEADLESS), ""),
    **dict.fromkeys(("port", "ray_port"), _PORTS["address"]),
    "master-port": "29501",
}
"""Flags with the value that launchers of ours give them; a variable of LWS has to be the value."""
_NATIVE: Final[Mapping[str, frozenset[str]]] = {
    "vllm": frozenset({NNODES, NODE_RANK, "master-addr", "master-port", HEADLESS, ADDRESS, START_RANK}),
    "sglang": frozenset({NNODES, NODE_RANK, "dist-init-addr"}),
}
"""The flags with which an engine launches the nodes itself: a launcher of ours adds the same."""
_LAUNCHERS: Final = {"vllm": VLLM_NATIVE, "sglang": SGLANG}


def _is_same(name: str, value: str, pod: GroupPod) -> bool:
    """Return whether a launcher of ours does the same as a flag with this value."""
    if name in _ADDRESSES:
        address = _ADDRESS.fullmatch(value)
        if address is None:
            raise StaysError(f"--{name} {value[:60]} is not what LWS sets")
        return address[1] in {None, _PORTS.get(name)}
    value, same = pod.value(value), _SAME.get(name)
    if same and references(same) and value != pod.value(same):
        raise StaysError(f"--{name} is {value[:60]}, and {same} is {pod.value(same)}: write that")
    if name == "node-ip-address":
        return value[2:-1] in pod.addresses
    return name == START_RANK or (same is not None and value == pod.value(same))


def _changed(words: Sequence[Leaf], pod: GroupPod) -> tuple[Leaf, ...]:
    """Return the flags of a command of Ray that a launcher writes otherwise, or not at all."""
    changed: list[Leaf] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, has_value, value = word.value.partition("=")
        if not flag.startswith("--"):
            raise StaysError(f"{flag[:60]} is no flag of Ray")
        if not has_value and rest and not rest[0].value.startswith("--"):
            value = rest.pop(0).value
        if not _is_same(flag[2:], value, pod):
            changed.append(_named(word))
    return tuple(changed)


def _ray_node(flags: Sequence[Leaf], pod: GroupPod, *, leads: bool) -> PodStart:
    if leads == any("LWS_LEADER_ADDRESS" in word.value for word in flags):
        raise StaysError("a worker of Ray joins $(LWS_LEADER_ADDRESS), and a head joins nothing")
    return PodStart("leader" if leads else "worker", RAY_START, changed=_changed(flags, pod))


# --- engines ------------------------------------------------------------------------------------------


def _engine(words: Sequence[Leaf], entrypoint: str) -> PodStart:
    texts = tuple(word.value for word in words)
    read = read_command((), texts, read_image(entrypoint))
    if read.shell or not read.started:
        raise StaysError(f"{shown(texts) or 'the entrypoint of the image'} is no known engine")
    return PodStart("any", "", tuple(words), read)


def _native(words: Sequence[Leaf], pod: GroupPod, entrypoint: str) -> PodStart:
    """Read an engine, and drop the flags by which it launches the nodes itself."""
    start = _engine(words, entrypoint)
    read = start.command
    if read is None or read.kind != "distributed":
        return start
    known, flags = _NATIVE.get(read.started, frozenset()), read.flags
    if not (flags.last(NNODES) or flags.last(ADDRESS)) or flags.last(DATA_BACKEND):
        raise StaysError("the flags by which the engine launches the nodes are not recognised")
    ours = [flag for flag in flags.given if flag.name in known]
    other = [flag for flag in ours if not _is_same(flag.name, flag.value or "", pod)]
    # a port that is not the launcher's own stays: the launcher leaves it to the author
    dropped = [flag for flag in ours if flag.name != "master-port" or flag not in other]
    plain_start = _engine(_without(words, dropped), entrypoint)
    if plain_start.command is None or plain_start.command.kind == "distributed":
        raise StaysError("flags remain by which the engine launches the nodes itself")
    if flags.last(ADDRESS):
        _check_ranks(read, pod)
    changed = tuple(_named(words[flag.at]) for flag in other if flag in dropped)
    part: Literal["worker", "any"] = "worker" if flags.last(HEADLESS) else "any"
    return replace(plain_start, part=part, launcher=_LAUNCHERS[read.started], changed=changed)


def _check_ranks(command: Command, pod: GroupPod) -> None:
    """Check that the pods share the data-parallel ranks evenly, in their order, and that one API has all."""
    flags, index, size = command.flags, pod.index or 0, pod.size or 1
    sizes: dict[str, int] = {}
    for flag in filter(None, map(flags.last, (DATA, LOCAL_DATA, START_RANK))):
        value = pod.value(flag.value or "")
        if not re.fullmatch(r"\d{1,12}", value):
            raise StaysError(f"--{flag.name} {value[:60]} is not a number that the manifest tells")
        sizes[flag.name] = int(value)
    data = sizes.get(DATA, 1)
    local, begins = sizes.get(LOCAL_DATA, data // size), sizes.get(START_RANK, 0)
    if local * size != data:
        raise StaysError(f"--{DATA} is {data}, and the pods have {local * size} ranks")
    if begins != local * index:
        raise StaysError(f"the ranks of pod {index} begin at {begins}, and {local * index} is expected")
    if index and not flags.last(HEADLESS) and not any(map(flags.last, ASKED)):
        raise StaysError(
            "workers serve an API of their own, and no flag such as --data-parallel-hybrid-lb says so"
        )


def _is_engine(container: Tree) -> bool:
    """Return whether a container starts an engine that is known, by words that are all texts."""
    obj = mapping(plain(container))
    command, args = words = obj.get("command"), obj.get("args")
    is_read = all(isinstance(each, list | None) and len(strings(each)) == len(each or ()) for each in words)
    return is_read and looks_like_engine(strings(command), strings(args), text(obj.get("image")))


def _command(container: Object) -> Command:
    command, args = strings(container.get("command")), strings(container.get("args"))
    return read_command(command, args, read_image(text(container.get("image"))))
