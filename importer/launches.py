"""Launches of several nodes that authors wrote by hand: recognised, and what the engine runs on one node.

    recognised(leader, workers, size)     a `GroupLaunch`, or `StaysError` with the reason

Each template runs one of these, in a list of arguments or in the script of a shell (`importer.script`):

- Ray: `multi-node-serving.sh` of vLLM's images (earlier `ray_init.sh`), `ray start`, `ray symmetric-run`
- vLLM's own: `--nnodes`, `--node-rank`, `--master-addr`, `--headless`; `--data-parallel-address` and ranks
- SGLang's own: `--dist-init-addr`, `--nnodes`, `--node-rank`

A launch is only recognised if every word is, in each pod of the group: ranks, addresses and sizes that are
not those of LWS, or any other command in the script, leave it as it is. What a launcher of ours writes
otherwise, such as another port of Ray, is `PodStart.changed`.
"""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from importer.effects import is_endless
from importer.leaves import Leaf, Tree, items_at, plain
from importer.script import SHELLS, ScriptCommand, commands
from importer.words import OF_LWS, POD_IP, GroupPod, StaysError, references
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


class _Ranks(NamedTuple):
    """What a pod says about its data-parallel ranks."""

    data: int
    local: int
    start: int
    serves: bool
    """Whether a flag says that each pod has an API."""


@dataclass(frozen=True, slots=True)
class PodStart:
    """What one pod starts: a node of Ray, an engine, or both."""

    part: GroupRole
    launcher: str
    engine: tuple[Leaf, ...] = ()
    command: Command | None = None
    changed: tuple[Leaf, ...] = ()
    """Words for which the launcher writes another value, or nothing."""
    env: Mapping[str, Leaf] = field(default_factory=dict)
    """The variables that the script sets for the engine."""
    setup: tuple[Leaf, ...] = ()
    """Shell and script that start the engine behind commands which prepare it."""
    ranks: _Ranks | None = None


@dataclass(frozen=True, slots=True)
class GroupLaunch:
    """What all pods of a group run, as on one node."""

    launcher: str
    """The launcher that does what the author wrote."""
    command: tuple[Leaf, ...]
    args: tuple[Leaf, ...]
    starts: tuple[PodStart, ...]
    """What the leader and the workers start; one, if they have the same template."""


MOST_PODS: Final = 64
"""A group with more pods is not read: each of them is read by itself."""


def recognised(leader: Tree, workers: Tree, size: int) -> GroupLaunch:
    """Return what the engine containers of a group run; `leader` may be that of the workers.

    Raises:
        StaysError: the launch is not recognised.
    """
    first, others = _container(leader), _container(workers)
    containers = [first, *[others] * (min(size, MOST_PODS) - 1)]
    pods = [_start(each, _pod(each.obj, index, size)) for index, each in enumerate(containers)]
    _check_pods(pods, size, is_one=leader is workers)
    launch = _together(pods[0], pods[1], _pod(others.obj, 1, size).env)
    if leader is workers:
        start, other = launch.starts
        launch = replace(launch, starts=(replace(start, changed=start.changed + other.changed),))
    return _runnable(launch, text(first.obj.get("image")))


def _check_pods(pods: Sequence[PodStart], size: int, *, is_one: bool) -> None:
    """Check that all workers start the same, and that what differs between pods is what LWS says of them."""
    if len(pods) < size:
        raise StaysError(f"the group has more than {MOST_PODS} pods")
    first, other = (replace(pod, ranks=None) for pod in pods[:2])
    if any(replace(pod, ranks=None) != other for pod in pods[2:]):
        raise StaysError("the workers do not all start the same")
    if is_one and (first.env, first.setup) != (other.env, other.setup):
        raise StaysError("the script prepares the leader otherwise than the workers")
    _check_ranks(pods)


def _pod(container: Object, index: int, size: int) -> GroupPod:
    """Return what the manifest says about the variables of a container in a pod."""
    env: dict[str, str | None] = {}
    addresses: set[str] = set()
    for entry in map(mapping, listed(container.get("env"))):
        name, source = text(entry.get("name")), mapping(entry.get("valueFrom"))
        path = text(mapping(source.get("fieldRef")).get("fieldPath"))
        env[name] = None if "valueFrom" in entry else text(entry.get("value"))
        if path == _SIZE_OF_LWS:
            env[name] = str(size)
        if path in {"status.podIP", "status.hostIP"}:
            addresses.add(name)
    return GroupPod(index, size, env, frozenset(addresses))


_SIZE_OF_LWS: Final = "metadata.annotations['leaderworkerset.sigs.k8s.io/size']"


def _together(first: PodStart, others: PodStart, variables: Collection[str]) -> GroupLaunch:
    """Return what leader and workers start together; `variables`: those of the workers' container."""
    if first.launcher != others.launcher:
        raise StaysError(f"the leader is launched with {first.launcher}, the workers with {others.launcher}")
    if not first.launcher:
        raise StaysError("nothing joins the nodes: each starts an engine of its own")
    if first.part == "worker" or others.part == "leader" or first.command is None:
        raise StaysError("the leader joins and the workers lead: the other way round is expected")
    if others.command is not None:
        lacks = {name for word in first.engine for name in references(word.value)} - {*variables} - OF_LWS
        if lacks:
            raise StaysError(f"the workers have no variable {min(lacks)}")
        own = (
            word.having(word.value.partition("=")[0])
            for word in _of_workers(first.command, others.command, others.engine)
        )
        others = replace(others, changed=(*others.changed, *own))
    begins = first.command.arguments
    return GroupLaunch(first.launcher, first.engine[:begins], first.engine[begins:], (first, others))


def _check_ranks(pods: Sequence[PodStart]) -> None:
    """Check that the data-parallel ranks of pods follow one another, and that one API serves those of all."""
    ranks = [pod.ranks for pod in pods if pod.ranks is not None]
    if not ranks:
        return
    if len(ranks) < len(pods):
        raise StaysError("only some pods have --data-parallel-address")
    begins = list(accumulate((own.local for own in ranks), initial=0))
    for index, (own, expected) in enumerate(zip(ranks, begins, strict=False)):
        if own.start != expected:
            raise StaysError(f"the ranks of pod {index} begin at {own.start}, and {expected} is expected")
        if index and pods[index].part != "worker" and not own.serves:
            raise StaysError(
                "workers serve an API of their own, and no flag such as --data-parallel-hybrid-lb says so"
            )
    if begins[-1] != ranks[0].data:
        raise StaysError(f"--data-parallel-size is {ranks[0].data}, and the pods have {begins[-1]} ranks")


def _runnable(launch: GroupLaunch, image: str) -> GroupLaunch:
    """Return vLLM's own launch in place of one with Ray, if the image is known to have no Ray."""
    read = read_image(image)
    if launch.launcher not in {RAY_START, RAY_SYMMETRIC} or facts(read).has_ray is not False:
        return launch
    command, args = (tuple(word.value for word in words) for words in (launch.command, launch.args))
    flags = read_command(command, args, read).flags.given
    kept = _without((*launch.command, *launch.args), [flag for flag in flags if flag.name == BACKEND])
    begins = len(command)
    return replace(launch, launcher=VLLM_NATIVE, command=kept[:begins], args=kept[begins:])


def _without(words: Sequence[Leaf], flags: Sequence[Flag]) -> tuple[Leaf, ...]:
    gone = {index for flag in flags for index in range(flag.at, flag.at + flag.width)}
    return tuple(word for index, word in enumerate(words) if index not in gone)


API: Final = frozenset({"host", "port", "served-model-name", "api-key", "api-server-count"})
"""Flags that only the API needs: those of the leader count."""


def _of_workers(first: Command, others: Command, words: Sequence[Leaf]) -> Sequence[Leaf]:
    """Return the workers' flags of an API; check that their engine has no other that the leader's has not."""
    known, more = _settings(first), _settings(others)
    own = {name for name, value in more.items() if known.get(name) != value}
    if different := sorted(own - API):
        raise StaysError(f"leader and workers start different engines: {different[0]} differs")
    return [words[flag.at] for flag in others.flags.given if setting(others, flag) in own]


def engine_settings(words: Sequence[str], image: str = "") -> dict[str, tuple[str, ...]]:
    """Return what the command of an engine sets, by the names of its flags."""
    return _settings(read_command(tuple(words), (), read_image(image)))


def _settings(command: Command) -> dict[str, tuple[str, ...]]:
    """Return what the arguments of an engine set; the last of several flags counts."""
    values = {
        setting(command, flag): command.argv[flag.at + 1 : flag.at + flag.width]
        or tuple(command.argv[flag.at].split("=")[1:])
        for flag in command.flags.given
    }
    bare = tuple(command.argv[index] for index in command.flags.bare) or values.pop(MODEL, ())
    return {**values, "the program": command.argv[command.program : command.arguments], "the model": bare}


# --- one template -------------------------------------------------------------------------------------


class _Container(NamedTuple):
    """A container, and the command that it runs."""

    tree: Tree
    obj: Object
    command: Command


def _container(tree: Tree) -> _Container:
    obj = plain(tree)
    return _Container(tree, obj, _command(obj))


class _Group(NamedTuple):
    """What of a container's group its launch is compared with."""

    image: str
    pod: GroupPod
    devices: tuple[str, ...]
    """The counts of accelerators that the container asks for."""


def _start(container: _Container, pod: GroupPod) -> PodStart:
    """Return what a container starts in a pod."""
    obj, command = container.obj, container.command
    own = items_at(container.tree, "command")
    words = (*own, *items_at(container.tree, "args"))
    limits = mapping(mapping(obj.get("resources")).get("limits"))
    devices = tuple(str(count) for name, count in limits.items() if is_accelerator(name))
    group = _Group(text(obj.get("image")), pod, devices)
    if command.shell is None:
        return _of_command(words, group, has_command=bool(own))
    index = command.shell.index
    before = tuple(word.value for word in words[:index])
    if before[: behind_prefixes(before)] not in {(), ("env",), ("/usr/bin/env",)}:
        raise StaysError(f"{before[0][:60]} starts the shell of the script")
    if any(map(_LOGIN.fullmatch, before)):
        raise StaysError("a login shell reads files of the image first: without -l, the script is read")
    if len(words) > index + 2 and '"$@"' not in words[index].value and '"${@}"' not in words[index].value:
        raise StaysError("arguments follow the script of a shell")
    return _of_script(words[: index + 1], commands(words[index], words[index + 2 :], pod), group)


_LOGIN: Final = re.compile(r"-[A-Za-z]*[li][A-Za-z]*|--login")


def _of_script(shell: tuple[Leaf, ...], lines: Sequence[ScriptCommand], group: _Group) -> PodStart:
    """Return what the commands of a script start together, behind the commands that prepare it."""
    begins = next((index for index, line in enumerate(lines) if not _prepares(line)), len(lines))
    start = _of_commands([line for line in lines[begins:] if line.words[0].value != "set"], group)
    before = lines[:begins]
    if all(line.words[0].value == "set" for line in before):
        return start
    if any(line.env != start.env and line.words[0].value not in _OF_SHELL for line in before):
        raise StaysError("a command before the engine has other variables than the engine")
    unset = {word.value for line in before if line.words[0].value == "unset" for word in line.words}
    if again := sorted(unset & start.env.keys()):
        raise StaysError(f"the script unsets {again[0]}, and sets it again")
    texts = [shlex.join(word.value for word in line.words) for line in before]
    if any(POD_IP in each for each in texts):
        raise StaysError("a command before the engine has the address of the pod")
    ends = [" &&\n" if line.if_succeeds else "\n" for line in lines[1 : begins + 1]]
    script = "".join(text + end for text, end in zip(texts, ends, strict=True)) + 'exec "$@"'
    *flags, own = shell
    return replace(start, setup=(*flags, own.having(script), own.having("sh")))


_OF_SHELL: Final = frozenset({"cd", "mkdir", "set", "ulimit", "umask", "unset"})
"""Commands that do the same with any variables."""


def _prepares(line: ScriptCommand) -> bool:
    """Return whether a command is neither a launch nor an engine, and may stay before one."""
    texts = tuple(word.value for word in line.words)
    is_node = any(each.endswith(_SERVING) for each in texts[:2])
    read = read_command(texts, (), read_image(""))
    return not (is_node or is_endless(texts)) and read.kind == "unknown" and read.shell is None


def _of_commands(lines: Sequence[ScriptCommand], group: _Group) -> PodStart:
    """Return what commands start: Ray, then on the leader the engine."""
    starts: list[PodStart] = []
    for line in lines:
        if not is_endless([word.value for word in line.words]) or not starts or starts[-1].engine:
            starts.append(replace(_of_command(line.words, group, has_command=True), env=line.env))
    nodes = [start for start in starts if not start.engine]
    engines = [start for start in starts if start.engine]
    if len(nodes) > 1 or len(engines) > 1 or not starts:
        raise StaysError("the script starts no engine, or several")
    if not nodes:
        return engines[0]
    if not engines:
        if nodes[0].part == "leader":
            raise StaysError("the script starts a head of Ray and no engine")
        return nodes[0]
    if nodes[0].part != "leader" or engines[0].launcher:
        raise StaysError("the script launches the nodes in two ways")
    if own := sorted(dict(nodes[0].env.items() - engines[0].env.items())):
        raise StaysError(f"{own[0]} is a variable of Ray, and not of the engine")
    changed = (*nodes[0].changed, *engines[0].changed)
    return replace(engines[0], part="leader", launcher=RAY_START, changed=changed)


def _of_command(words: tuple[Leaf, ...], group: _Group, *, has_command: bool) -> PodStart:
    """Read a command: of Ray, or of an engine."""
    texts = tuple(word.value for word in words)
    if len(texts) > 1 and texts[0] in SHELLS and texts[1].endswith(_SERVING):
        texts, words = texts[1:], words[1:]
    if texts[:1] and texts[0].endswith(_SERVING):
        return _ray_node(words[2:], _SERVING_FLAGS, group, leads=texts[1:2] == ("leader",))
    if texts[:2] == ("ray", "start"):
        return _ray_node(words[2:], _RAY_FLAGS, group, leads="--head" in texts)
    if texts[:2] == ("ray", "symmetric-run") and END in texts:
        end = texts.index(END)
        changed = _changed(words[2:end], _SYMMETRIC_FLAGS, group)
        engine = _engine(words[end + 1 :], group.image, has_command=True)
        return replace(engine, part="any", launcher=RAY_SYMMETRIC, changed=changed)
    return _native(words, group, has_command=has_command)


# --- flags --------------------------------------------------------------------------------------------


class _Form(NamedTuple):
    """The values of a flag by which nodes are launched."""

    values: str = ""
    """The form of the values that are understood; empty for a flag without a value."""
    ours: str = r".*"
    """The values with which a launcher of ours does the same."""


_SERVING: Final = ("multi-node-serving.sh", "ray_init.sh")
"""The script of vLLM's images that starts Ray, with its earlier name."""
_ADDRESS: Final = r"\$\(LWS_LEADER_ADDRESS\)(?::\d{1,5})?"
_OWN_ADDRESS: Final = "own"
"""The form of a variable that is the address of the pod, which Ray takes by itself."""
_NUMBER: Final = r"\d{1,12}"
_NOTHING: Final = r"(?!)"
_MASTER_PORT: Final = "29501"
_FLAGS: Final[Mapping[str, _Form]] = {
    **dict.fromkeys(("head", "block", "disable-usage-stats", HEADLESS), _Form()),
    **dict.fromkeys(("port", "ray_port"), _Form(_NUMBER, "6379")),
    **dict.fromkeys(("address", "ray_address"), _Form(_ADDRESS, r"[^:]*(:6379)?")),
    **dict.fromkeys(
        (
            *("num-gpus", "num-cpus", "dashboard-port", "object-store-memory", "metrics-export-port"),
            *("ray-client-server-port", "node-manager-port", "object-manager-port", "min-worker-port"),
            *("max-worker-port", "ray_init_timeout"),
        ),
        _Form(_NUMBER, _NOTHING),
    ),
    **dict.fromkeys(("dashboard-host", "include-dashboard", "temp-dir", "resources"), _Form(r".*", _NOTHING)),
    **dict.fromkeys(("ray_cluster_size", "min-nodes", NNODES, NODE_RANK, START_RANK), _Form(_NUMBER)),
    "node-ip-address": _Form(_OWN_ADDRESS),
    "master-port": _Form(_MASTER_PORT),
    "master-addr": _Form(_ADDRESS, r"[^:]*"),
    "dist-init-addr": _Form(_ADDRESS, r"[^:]*:20000"),
    ADDRESS: _Form(_ADDRESS),
}
_OF_SIZE: Final = frozenset({"ray_cluster_size", "min-nodes", NNODES})
"""Flags whose value is the size of the group."""
_SYMMETRIC_FLAGS: Final = frozenset(
    {"address", "min-nodes", "num-gpus", "num-cpus", "disable-usage-stats", "block"}
)
_NATIVE: Final[Mapping[str, frozenset[str]]] = {
    "vllm": frozenset({NNODES, NODE_RANK, "master-addr", "master-port", HEADLESS, ADDRESS, START_RANK}),
    "sglang": frozenset({NNODES, NODE_RANK, "dist-init-addr"}),
}
"""The flags with which an engine launches the nodes itself: a launcher of ours adds the same."""
_SERVING_FLAGS: Final = _FLAGS.keys() - _NATIVE["vllm"] - _NATIVE["sglang"] - {"min-nodes"}
_RAY_FLAGS: Final = frozenset(name for name in _SERVING_FLAGS if "_" not in name)
_LAUNCHERS: Final = {"vllm": VLLM_NATIVE, "sglang": SGLANG}


def _is_ours(name: str, value: str, group: _Group) -> bool:
    """Return whether a launcher of ours does the same as a flag with this value."""
    form, pod = _FLAGS[name], group.pod
    value = value if form.values == _ADDRESS else pod.value(value)
    is_own = form.values == _OWN_ADDRESS and (value == POD_IP or value[2:-1] in pod.addresses)
    if not (is_own or re.fullmatch(form.values, value)):
        raise StaysError(f"--{name} {value[:60]} is not what LWS sets")
    if name in _OF_SIZE and int(value) != pod.size:
        raise StaysError(f"--{name} is {value}, and the size of the group {pod.size}")
    if name == NODE_RANK and int(value) != pod.index:
        raise StaysError(f"--{name} {value} is the rank of one pod: write $(LWS_WORKER_INDEX)")
    return value in group.devices if name == "num-gpus" else re.fullmatch(form.ours, value) is not None


def _changed(words: Sequence[Leaf], known: Collection[str], group: _Group) -> tuple[Leaf, ...]:
    """Check the flags of a command of Ray, and return those that a launcher writes otherwise."""
    changed: list[Leaf] = []
    rest = iter(words)
    for word in rest:
        flag, _, value = word.value.partition("=")
        name = flag.removeprefix("--")
        if name not in known or name == flag:
            raise StaysError(f"{flag[:60]} of Ray is not recognised")
        if _FLAGS[name].values and not value:
            value = next((each.value for each in rest), "")
        if not _is_ours(name, value, group):
            changed.append(word.having(f"{flag}={value}"))
    return tuple(changed)


def _ray_node(flags: Sequence[Leaf], known: Collection[str], group: _Group, *, leads: bool) -> PodStart:
    changed = _changed(flags, known, group)
    joins = any("LWS_LEADER_ADDRESS" in word.value for word in flags)
    if leads == joins:
        raise StaysError("a worker of Ray joins $(LWS_LEADER_ADDRESS), and a head joins nothing")
    return PodStart("leader" if leads else "worker", RAY_START, changed=changed)


# --- engines ------------------------------------------------------------------------------------------


def _engine(words: tuple[Leaf, ...], image: str, *, has_command: bool) -> PodStart:
    texts = tuple(word.value for word in words)
    read = read_command(texts if has_command else (), () if has_command else texts, read_image(image))
    if unknown := next((each for each in texts if POD_IP in each), ""):
        raise StaysError(f"{unknown[:60]} is the address of the pod: name a variable of the container for it")
    if read.shell or (not read.engine and not read.within):
        shown = " ".join(texts[:2])[:60] or "the entrypoint of the image"
        raise StaysError(f"{shown} is no known engine")
    return PodStart("any", "", words, read)


def _native(words: tuple[Leaf, ...], group: _Group, *, has_command: bool) -> PodStart:
    """Read an engine, and drop the flags by which it launches the nodes itself."""
    start = _engine(words, group.image, has_command=has_command)
    read = start.command
    if read is None or read.kind != "distributed":
        return start
    known, flags = _NATIVE.get(read.within, frozenset()), read.flags
    if not (flags.last(NNODES) or flags.last(ADDRESS)) or flags.last(DATA_BACKEND):
        raise StaysError("the flags by which the engine launches the nodes are not recognised")
    # a port that is not the launcher's own stays: the launcher leaves it to the author
    dropped = [
        flag
        for flag in flags.given
        if flag.name in known and (flag.name != "master-port" or flag.value == _MASTER_PORT)
    ]
    changed = tuple(
        words[flag.at].having(f"--{flag.name}={flag.value}")
        for flag in dropped
        if not _is_ours(flag.name, flag.value or "", group)
    )
    plain = _engine(_without(words, dropped), group.image, has_command=has_command)
    if plain.command is None or plain.command.kind == "distributed":
        raise StaysError("flags remain by which the engine launches the nodes itself")
    part: GroupRole = "worker" if flags.last(HEADLESS) else "any"
    ranks = _ranks(read, group.pod) if flags.last(ADDRESS) else None
    return replace(plain, part=part, launcher=_LAUNCHERS[read.within], changed=changed, ranks=ranks)


def _ranks(command: Command, pod: GroupPod) -> _Ranks:
    """Read the data-parallel ranks of a pod; without a local size, all pods have the same number."""
    flags, size = command.flags, pod.size or 1
    sizes: dict[str, int] = {}
    for name in (DATA, LOCAL_DATA, START_RANK, RANK):
        if flag := flags.last(name):
            value = pod.value(flag.value or "")
            if not re.fullmatch(_NUMBER, value):
                raise StaysError(f"--{name} {value[:60]} is not a number that the manifest tells")
            sizes[name] = int(value)
    data = sizes.get(DATA, 1)
    local = 1 if RANK in sizes else sizes.get(LOCAL_DATA, data // size)
    start = sizes.get(RANK, sizes.get(START_RANK, 0))
    return _Ranks(data, local, start, serves=any(flags.last(name) for name in ASKED))


def _command(container: Object) -> Command:
    command, args = strings(container.get("command")), strings(container.get("args"))
    return read_command(command, args, read_image(text(container.get("image"))))


def is_launch(container: Object) -> bool:
    """Return whether a container launches several nodes, or has parts of such a launch."""
    return _command(container).kind == "distributed"
