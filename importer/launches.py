"""Launches of several nodes that authors wrote by hand: recognised, and what the engine runs on one node.

    recognised(leader, workers, size)     a `GroupLaunch`, or a `Stays` with the reason

Each template runs one of these, in a list of arguments or in the script of a shell (`importer.script`):

- Ray: `multi-node-serving.sh` of vLLM's images (earlier `ray_init.sh`), `ray start`, `ray symmetric-run`
- vLLM's own: `--nnodes`, `--node-rank`, `--master-addr`, `--headless`; `--data-parallel-address` and ranks
- SGLang's own: `--dist-init-addr`, `--nnodes`, `--node-rank`

A launch is only recognised if every word is, in each pod of the group: ranks, addresses and sizes that are
not those of LWS, or any other command in the script, leave it as it is. What a launcher of ours writes
otherwise, such as another port of Ray, is `GroupLaunch.changed`.
"""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from importer.script import (
    OF_LWS,
    POD_IP,
    SHELLS,
    GroupPod,
    ScriptCommand,
    UnknownScriptError,
    Word,
    commands,
    is_endless,
    references,
)
from intent import Object
from intent.accelerators import is_accelerator
from intent.command_line.command import Command, read_command
from intent.command_line.flags import (
    ADDRESS,
    BACKEND,
    DATA,
    DATA_BACKEND,
    END,
    HEADLESS,
    LOCAL_DATA,
    MODEL,
    NNODES,
    NODE_RANK,
    RANK,
    START_RANK,
    Flag,
)
from intent.command_line.merge import setting
from intent.command_line.programs import behind_prefixes
from intent.image import facts, read_image
from intent.ranks import ASKED
from intent.shapes import listed, mapping, strings, text

GroupRole = Literal["leader", "worker", "any"]
RAY_START: Final = "ray-start"
RAY_SYMMETRIC: Final = "ray-symmetric"
VLLM_NATIVE: Final = "vllm-native"
SGLANG: Final = "sglang"


@dataclass(frozen=True, slots=True)
class GroupLaunch:
    """What all pods of a group run, as on one node."""

    launcher: str
    """The launcher that does what the author wrote."""
    command: tuple[Word, ...]
    args: tuple[Word, ...]
    changed: tuple[tuple[Word, ...], tuple[Word, ...]] = ((), ())
    """Words of leader and workers for which the launcher writes another value, or nothing."""
    env: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    """The variables that the scripts of leader and workers set for the engine."""
    setup: tuple[tuple[Word, ...], tuple[Word, ...]] = ((), ())
    """Shell and script of leader and workers that start the engine behind commands which prepare it."""


class Stays(NamedTuple):
    """A launch that is not recognised."""

    why: str


class _Ranks(NamedTuple):
    """What a pod says about its data-parallel ranks."""

    data: int
    local: int
    start: int
    serves: bool
    """Whether a flag says that each pod has an API."""


@dataclass(frozen=True, slots=True)
class _Start:
    """What one pod starts: a node of Ray, an engine, or both."""

    part: GroupRole
    launcher: str
    engine: tuple[Word, ...] = ()
    command: Command | None = None
    changed: tuple[Word, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    setup: tuple[Word, ...] = ()
    ranks: _Ranks | None = None


class _StaysError(Exception):
    """The launch is not recognised. The message is the reason."""


MOST_PODS: Final = 64
"""A group with more pods is not read: each of them is read by itself."""


def recognised(leader: Object, workers: Object, size: int) -> GroupLaunch | Stays:
    """Return what the engine containers of a group run; `leader` may be that of the workers."""
    others = workers, _command(workers)
    containers = [(leader, _command(leader)), *[others] * (min(size, MOST_PODS) - 1)]
    try:
        pods = [
            _start(container, command, _pod(container, index, size))
            for index, (container, command) in enumerate(containers)
        ]
        _check_pods(pods, size, is_one=leader is workers)
        launch = _together(pods[0], pods[1], _pod(workers, 1, size).env)
        return _runnable(launch, text(leader.get("image")))
    except (_StaysError, UnknownScriptError) as error:
        return Stays(str(error))


def _check_pods(pods: Sequence[_Start], size: int, *, is_one: bool) -> None:
    """Check that all workers start the same, and that what differs between pods is what LWS says of them."""
    if len(pods) < size:
        raise _StaysError(f"the group has more than {MOST_PODS} pods")
    first, other = (replace(pod, ranks=None) for pod in pods[:2])
    if any(replace(pod, ranks=None) != other for pod in pods[2:]):
        raise _StaysError("the workers do not all start the same")
    if is_one and (first.env, first.setup) != (other.env, other.setup):
        raise _StaysError("the script prepares the leader otherwise than the workers")
    _check_ranks(pods)


def _pod(container: Object, index: int, size: int) -> GroupPod:
    """Return what the manifest says about the variables of a container in a pod."""
    env = {text(entry.get("name")): entry for entry in map(mapping, listed(container.get("env")))}
    fields = {
        name: text(mapping(mapping(entry.get("valueFrom")).get("fieldRef")).get("fieldPath"))
        for name, entry in env.items()
    }
    values = {name: None if "valueFrom" in entry else text(entry.get("value")) for name, entry in env.items()}
    sizes = [name for name, path in fields.items() if path == _SIZE_OF_LWS]
    known = values | dict.fromkeys(sizes, str(size))
    addresses = frozenset(name for name, path in fields.items() if path in {"status.podIP", "status.hostIP"})
    return GroupPod(index, size, known, addresses)


_SIZE_OF_LWS: Final = "metadata.annotations['leaderworkerset.sigs.k8s.io/size']"


def _together(first: _Start, others: _Start, variables: Collection[str]) -> GroupLaunch:
    """Return what leader and workers start together; `variables`: those of the workers' container."""
    if first.launcher != others.launcher:
        raise _StaysError(f"the leader is launched with {first.launcher}, the workers with {others.launcher}")
    if not first.launcher:
        raise _StaysError("nothing joins the nodes: each starts an engine of its own")
    if first.part == "worker" or others.part == "leader" or first.command is None:
        raise _StaysError("the leader joins and the workers lead: the other way round is expected")
    changed = others.changed
    if others.command is not None:
        _check_references(first.engine, variables)
        own = (others.engine[flag.at] for flag in _of_workers(first.command, others.command))
        changed += tuple(word._replace(text=word.text.partition("=")[0]) for word in own)
    at = first.command.arguments
    words = first.engine[:at], first.engine[at:]
    return GroupLaunch(
        first.launcher,
        *words,
        (first.changed, changed),
        (first.env, others.env),
        (first.setup, others.setup),
    )


def _check_references(engine: Sequence[Word], variables: Collection[str]) -> None:
    """Check that workers that run the engine have the variables in the leader's words, which they get."""
    named = {name for word in engine for name in references(word.text)}
    if lacks := sorted(named - set(variables) - OF_LWS):
        raise _StaysError(f"the workers have no variable {lacks[0]}")


def _check_ranks(pods: Sequence[_Start]) -> None:
    """Check that the data-parallel ranks of pods follow one another, and that one API serves those of all."""
    ranks = [pod.ranks for pod in pods if pod.ranks is not None]
    if not ranks:
        return
    if len(ranks) < len(pods):
        raise _StaysError("only some pods have --data-parallel-address")
    begins = list(accumulate((own.local for own in ranks), initial=0))
    for index, (own, expected) in enumerate(zip(ranks, begins, strict=False)):
        if own.start != expected:
            raise _StaysError(f"the ranks of pod {index} begin at {own.start}, and {expected} is expected")
        if index and pods[index].part != "worker" and not own.serves:
            raise _StaysError(
                "workers serve an API of their own, and no flag such as --data-parallel-hybrid-lb says so"
            )
    if begins[-1] != ranks[0].data:
        raise _StaysError(f"--data-parallel-size is {ranks[0].data}, and the pods have {begins[-1]} ranks")


def _runnable(launch: GroupLaunch, image: str) -> GroupLaunch:
    """Return vLLM's own launch in place of one with Ray, if the image is known to have no Ray."""
    read = read_image(image)
    if launch.launcher not in {RAY_START, RAY_SYMMETRIC} or facts(read).has_ray is not False:
        return launch
    texts = [tuple(word.text for word in words) for words in (launch.command, launch.args)]
    flags = read_command(texts[0], texts[1], read).flags.given
    gone = {index for flag in flags if flag.name == BACKEND for index in range(flag.at, flag.at + flag.width)}
    kept = tuple(word for index, word in enumerate((*launch.command, *launch.args)) if index not in gone)
    return replace(
        launch, launcher=VLLM_NATIVE, command=kept[: len(launch.command)], args=kept[len(launch.command) :]
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


def _start(container: Object, command: Command, pod: GroupPod) -> _Start:
    """Return what a container starts in a pod."""
    own = strings(container.get("command"))
    words = tuple(Word(word, index) for index, word in enumerate((*own, *strings(container.get("args")))))
    group = _Group(text(container.get("image")), pod, _devices(container))
    if command.shell is None:
        return _of_command(words, group, has_command=bool(own))
    index = command.shell.index
    before = tuple(word.text for word in words[:index])
    if before[: behind_prefixes(before)] not in {(), ("env",), ("/usr/bin/env",)}:
        raise _StaysError(f"{before[0][:60]} starts the shell of the script")
    if any(map(_LOGIN.fullmatch, before)):
        raise _StaysError("a login shell reads files of the image first: without -l, the script is read")
    if len(words) > index + 2 and '"$@"' not in words[index].text and '"${@}"' not in words[index].text:
        raise _StaysError("arguments follow the script of a shell")
    return _joined(words[: index + 1], commands(words[index].text, index, words[index + 2 :], pod), group)


_LOGIN: Final = re.compile(r"-[A-Za-z]*[li][A-Za-z]*|--login")


def _joined(shell: tuple[Word, ...], lines: Sequence[ScriptCommand], group: "_Group") -> _Start:
    """Return what the commands of a script start together, behind the commands that prepare it."""
    begins = next((index for index, line in enumerate(lines) if not _prepares(line)), len(lines))
    start = _together_started([line for line in lines[begins:] if line.words[0].text != "set"], group)
    before = lines[:begins]
    if all(line.words[0].text == "set" for line in before):
        return start
    if any(line.env != start.env and line.words[0].text not in _OF_SHELL for line in before):
        raise _StaysError("a command before the engine has other variables than the engine")
    texts = [shlex.join(word.text for word in line.words) for line in before]
    if any(POD_IP in each for each in texts):
        raise _StaysError("a command before the engine has the address of the pod")
    ends = [" &&\n" if line.if_succeeds else "\n" for line in lines[1 : begins + 1]]
    script = "".join(text + end for text, end in zip(texts, ends, strict=True)) + 'exec "$@"'
    *flags, own = shell
    return replace(start, setup=(*flags, own._replace(text=script), own._replace(text="sh")))


_OF_SHELL: Final = frozenset({"cd", "mkdir", "set", "ulimit", "umask", "unset"})
"""Commands that do the same with any variables."""


def _together_started(lines: Sequence[ScriptCommand], group: "_Group") -> _Start:
    """Return what commands start: Ray, then on the leader the engine."""
    starts: list[_Start] = []
    for line in lines:
        if not is_endless([word.text for word in line.words]) or not starts or starts[-1].engine:
            starts.append(replace(_of_command(line.words, group, has_command=True), env=line.env))
    nodes = [start for start in starts if not start.engine]
    engines = [start for start in starts if start.engine]
    if len(nodes) > 1 or len(engines) > 1 or not starts:
        raise _StaysError("the script starts no engine, or several")
    if not nodes:
        return engines[0]
    if not engines:
        if nodes[0].part == "leader":
            raise _StaysError("the script starts a head of Ray and no engine")
        return nodes[0]
    if nodes[0].part != "leader" or engines[0].launcher:
        raise _StaysError("the script launches the nodes in two ways")
    if own := sorted(dict(nodes[0].env.items() - engines[0].env.items())):
        raise _StaysError(f"{own[0]} is a variable of Ray, and not of the engine")
    changed = (*nodes[0].changed, *engines[0].changed)
    return replace(engines[0], part="leader", launcher=RAY_START, changed=changed)


def _prepares(line: ScriptCommand) -> bool:
    """Return whether a command is neither a launch nor an engine, and may stay before one."""
    texts = tuple(word.text for word in line.words)
    is_node = any(each.endswith(_SERVING) for each in texts[:2])
    read = read_command(texts, (), read_image(""))
    return not (is_node or is_endless(texts)) and read.kind == "unknown" and read.shell is None


class _Group(NamedTuple):
    """What of a container's group its launch is compared with."""

    image: str
    pod: GroupPod
    devices: tuple[str, ...]
    """The counts of accelerators that the container asks for."""


def _devices(container: Object) -> tuple[str, ...]:
    limits = mapping(mapping(container.get("resources")).get("limits"))
    return tuple(str(count) for name, count in limits.items() if is_accelerator(name))


def _of_command(words: tuple[Word, ...], group: _Group, *, has_command: bool) -> _Start:
    """Read a command: of Ray, or of an engine."""
    texts = tuple(one.text for one in words)
    if len(texts) > 1 and texts[0] in SHELLS and texts[1].endswith(_SERVING):
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
_OWN_ADDRESS: Final = "own"
"""The form of a variable that is the address of the pod, which Ray takes by itself."""
_NUMBER: Final = r"\d{1,12}"
_OF_SIZE: Final = frozenset({"--ray_cluster_size", "--min-nodes", NNODES})
"""Flags whose value is the size of the group."""
_ANYTHING: Final = r".*"
_MASTER_PORT: Final = "29501"
_NOTHING: Final = r"(?!)"
FlagValues = Mapping[str, str]
"""The flags that a command may have, by the form of their values; an empty form is a flag without one."""

_RAY_FLAGS: Final[FlagValues] = {
    **dict.fromkeys(("--head", "--block", "--disable-usage-stats"), ""),
    **dict.fromkeys(
        ("--port", "--num-gpus", "--num-cpus", "--dashboard-port", "--object-store-memory"), _NUMBER
    ),
    **dict.fromkeys(("--metrics-export-port", "--ray-client-server-port", "--node-manager-port"), _NUMBER),
    **dict.fromkeys(("--object-manager-port", "--min-worker-port", "--max-worker-port"), _NUMBER),
    **dict.fromkeys(("--dashboard-host", "--include-dashboard", "--temp-dir", "--resources"), _ANYTHING),
    "--address": _ADDRESS,
    "--node-ip-address": _OWN_ADDRESS,
}
_SERVING_FLAGS: Final[FlagValues] = {
    **_RAY_FLAGS,
    "--ray_cluster_size": _NUMBER,
    "--ray_port": _NUMBER,
    "--ray_init_timeout": _NUMBER,
    "--ray_address": _ADDRESS,
}
_SYMMETRIC_FLAGS: Final[FlagValues] = {
    "--address": _ADDRESS,
    "--min-nodes": _NUMBER,
    **dict.fromkeys(("--num-gpus", "--num-cpus"), _NUMBER),
    **dict.fromkeys(("--disable-usage-stats", "--block"), ""),
}


_WRITTEN: Final[FlagValues] = {
    **dict.fromkeys(
        ("--head", "--block", "--disable-usage-stats", "--min-nodes", "--ray_cluster_size"), _ANYTHING
    ),
    **dict.fromkeys(("--port", "--ray_port"), "6379"),
    **dict.fromkeys(("--address", "--ray_address"), r"[^:]*(:6379)?"),
    "master-port": _MASTER_PORT,
    "master-addr": r"[^:]*",
    "dist-init-addr": r"[^:]*:20000",
    **dict.fromkeys((NNODES, NODE_RANK, HEADLESS, ADDRESS, START_RANK, "--node-ip-address"), _ANYTHING),
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
        value = value if form == _ADDRESS else group.pod.value(value)
        if form is None or not _has_form(value, form, group.pod):
            raise _StaysError(f"{name[:60]} of Ray is not recognised, or its value")
        if name in _OF_SIZE and int(value) != group.pod.size:
            raise _StaysError(f"{name} is {value}, and the size of the group {group.pod.size}")
        is_same = (
            value in group.devices
            if name == "--num-gpus"
            else re.fullmatch(_WRITTEN.get(name, _NOTHING), value)
        )
        if not is_same:
            found.append(Word(f"{name}={value}", words[begun].item))
        at += 1
    return tuple(found)


def _has_form(value: str, form: str, pod: GroupPod) -> bool:
    if form == _OWN_ADDRESS:
        return value == POD_IP or value[2:-1] in pod.addresses
    return re.fullmatch(form, value) is not None


# --- engines ------------------------------------------------------------------------------------------

_NATIVE: Final[Mapping[str, FlagValues]] = {
    "vllm": {
        NNODES: _NUMBER,
        NODE_RANK: _NUMBER,
        "master-addr": _ADDRESS,
        "master-port": _MASTER_PORT,
        HEADLESS: "",
        ADDRESS: _ADDRESS,
        START_RANK: _NUMBER,
    },
    "sglang": {NNODES: _NUMBER, NODE_RANK: _NUMBER, "dist-init-addr": _ADDRESS},
}
"""The flags with which an engine launches the nodes itself: a launcher of ours adds the same."""
_KEPT: Final = frozenset({"master-port"})
"""Those of them that the launcher leaves to the author: another value than its own stays."""
_LAUNCHERS: Final = {"vllm": VLLM_NATIVE, "sglang": SGLANG}


def _engine(words: tuple[Word, ...], image: str, *, has_command: bool) -> _Start:
    texts = tuple(one.text for one in words)
    read = read_command(texts if has_command else (), () if has_command else texts, read_image(image))
    if unknown := next((one for one in texts if POD_IP in one), ""):
        raise _StaysError(
            f"{unknown[:60]} is the address of the pod: name a variable of the container for it"
        )
    if read.shell or (not read.engine and not read.within):
        raise _StaysError(f"{' '.join(texts[:2])[:60] or 'the entrypoint of the image'} is no known engine")
    return _Start("any", "", words, read)


def _native(words: tuple[Word, ...], group: _Group, *, has_command: bool) -> _Start:
    """Read an engine, and drop the flags by which it launches the nodes itself."""
    start = _engine(words, group.image, has_command=has_command)
    read = start.command
    if read is None or read.kind != "distributed":
        return start
    shape, flags = _NATIVE.get(read.within, {}), read.flags
    if not (flags.last(NNODES) or flags.last(ADDRESS)) or flags.last(DATA_BACKEND):
        raise _StaysError("the flags by which the engine launches the nodes are not recognised")
    dropped = [
        flag
        for flag in flags.given
        if flag.name in shape and not (flag.name in _KEPT and flag.value != _WRITTEN[flag.name])
    ]
    for flag in dropped:
        _check_native(flag, shape[flag.name], group.pod)
    gone = {at for flag in dropped for at in range(flag.at, flag.at + flag.width)}
    kept = tuple(one for at, one in enumerate(words) if at not in gone)
    plain = _engine(kept, group.image, has_command=has_command)
    if plain.command is None or plain.command.kind == "distributed":
        raise _StaysError("flags remain by which the engine launches the nodes itself")
    part: GroupRole = "worker" if flags.last(HEADLESS) else "any"
    changed = tuple(
        Word(f"--{flag.name}={flag.value}", words[flag.at].item)
        for flag in dropped
        if not re.fullmatch(_WRITTEN[flag.name], flag.value or "")
    )
    ranks = _ranks(read, group.pod) if flags.last(ADDRESS) else None
    return replace(plain, part=part, launcher=_LAUNCHERS[read.within], changed=changed, ranks=ranks)


def _check_native(flag: Flag, form: str, pod: GroupPod) -> None:
    value = flag.value or ""
    value = value if form == _ADDRESS else pod.value(value)
    if not re.fullmatch(form, value):
        raise _StaysError(f"--{flag.name} {value[:60]} is not what LWS sets")
    if flag.name == NNODES and int(value) != pod.size:
        raise _StaysError(f"--nnodes is {value}, and the size of the group {pod.size}")
    if flag.name == NODE_RANK and int(value) != pod.index:
        raise _StaysError(f"--node-rank {value} is the rank of one pod: write $(LWS_WORKER_INDEX)")


def _ranks(command: Command, pod: GroupPod) -> _Ranks:
    """Read the data-parallel ranks of a pod; without a local size, all pods have the same number."""
    flags = command.flags
    serves = any(flags.last(name) for name in ASKED)
    texts = {name: flags.last(name) for name in (DATA, LOCAL_DATA, START_RANK, RANK)}
    values = {name: pod.value(flag.value or "") for name, flag in texts.items() if flag}
    if wrong := next((name for name, value in values.items() if not re.fullmatch(_NUMBER, value)), None):
        raise _StaysError(f"--{wrong} {values[wrong][:60]} is not a number that the manifest tells")
    sizes = {name: int(value) for name, value in values.items()}
    data = sizes.get(DATA, 1)
    local = 1 if RANK in sizes else sizes.get(LOCAL_DATA, data // pod.size)
    return _Ranks(data, local, sizes.get(RANK, sizes.get(START_RANK, 0)), serves)


def _command(container: Object) -> Command:
    command, args = strings(container.get("command")), strings(container.get("args"))
    return read_command(command, args, read_image(text(container.get("image"))))


def loaded(container: Object) -> tuple[str, ...]:
    """Return the model that the engine of a container loads; empty if it is not known."""
    read = _command(container)
    return _settings(read)["the model"] if read.started else ()


def is_launch(container: Object) -> bool:
    """Return whether a container launches several nodes, or has parts of such a launch."""
    return _command(container).kind == "distributed"
