"""The launch of each pod template: image, command, parallel sizes and port, and the launcher chosen for it.

Facts derived from an `Intent`, computed once per mutation and once per validation.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from catalog.engines import DEFAULT_PORT, PRODUCTS, Engines
from intent.accelerators import GPUS
from intent.annotations import path
from intent.command_line.command import Command, read_command
from intent.command_line.flags import (
    CHANGES_SIZES,
    CONFIG,
    DATA,
    DEVICE,
    LOCAL_DATA,
    MODEL,
    PIPELINE,
    PORT,
    SHARED_DATA,
    SIZES,
    TENSOR,
    Flag,
    resolve,
)
from intent.image import Image, ImageFacts, facts, read_image
from intent.lws import Engine, Intent, Template
from intent.served import LEADERS, Serving
from intent.settings import Settings


@dataclass(frozen=True, slots=True)
class Launch:
    """The engine that one template starts."""

    template: Template
    engine: Engine
    image: Image
    facts: ImageFacts
    command: Command
    pods: int = 1
    """The size of the group."""

    @property
    def leads(self) -> bool:
        """Whether it is the launch of a leader template."""
        return self.template.field == "leaderTemplate"


@dataclass(frozen=True, slots=True)
class Decision:
    """How one LeaderWorkerSet is laid out and launched, as far as several concerns depend on it."""

    launcher: str = ""
    """The launcher that is written; empty if none is."""
    splits: bool = False
    """Whether the leader gets a copy of the workers' template."""
    port: int = 0
    """The port to which the leader's API moves behind a sidecar; 0 if it stays."""
    older: bool | None = None
    """Whether vLLM gets the flags of data parallelism alone, and not `--nnodes`.

    None without data parallelism, and in records of releases that chose by `--nnodes` alone.
    """
    serving: Serving = LEADERS
    paths: bool = False
    """Whether the paths of probes decide what becomes of them: not only the API answers some."""


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The launches of one LeaderWorkerSet, the launcher chosen for them, and the reason for the choice."""

    launcher: str
    """The chosen launcher, written or not."""
    launches: tuple[Launch, ...] = ()
    why: str = ""
    """The deciding fact or annotation, for messages."""
    code: str = ""
    """The code of the warning about the choice; empty for none."""
    starts: bool = True
    """False if the image is known not to run the launcher: then nothing is written."""
    at: int = 0
    """Index of the template whose image decided."""
    rewritten: bool = False
    """Whether the launcher is written: into all templates, or into none."""
    older: bool | None = None
    """That of the `Decision`, as `paths` is."""
    paths: bool = False

    @property
    def leader(self) -> Launch:
        """The launch of the leader; `ray symmetric-run` runs the engine's command only there."""
        return self.launches[0]

    @property
    def worker(self) -> Launch:
        """The launch of the workers, and of the leader if it has no template of its own."""
        return self.launches[-1]


class Sizes(NamedTuple):
    """The parallel sizes of one engine."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    context: int = 1

    @property
    def accelerators(self) -> int:
        """The number of accelerators that the engine needs over all nodes."""
        return self.tensor * self.pipeline * self.data * self.context


def read_launches(intent: Intent, settings: Settings) -> Iterator[Launch]:
    """Read the launch of each template; equal commands of leader and workers are read once."""
    read: dict[tuple[object, ...], Launch] = {}
    for template, engine in ((item, item.engine) for item in intent.templates if item.engine):
        words = engine.image, engine.command, engine.args
        if words in read:
            read[words] = replace(read[words], template=template, engine=engine)
        else:
            read[words] = read_launch(template, engine, settings.engines, intent.size)
        yield read[words]


def read_launch(template: Template, engine: Engine, engines: Engines, pods: int = 1) -> Launch:
    """Read the launch of one template."""
    image = read_image(engine.image, engines)
    command = read_command(engine.command, engine.args, image)
    return Launch(template, engine, image, facts(image, engines), command, pods)


def values_of(launch: Launch, flag: Flag) -> tuple[str, ...]:
    """Return the values of a flag as written; one that is not read may have several."""
    return launch.command.argv[flag.at + 1 : flag.at + flag.width] if flag.value is None else (flag.value,)


SHOWN: Final = 40
"""The most characters of a word of the author in a message."""


_ASKED: Final = {TENSOR: "tensor", PIPELINE: "pipeline", DATA: "data", LOCAL_DATA: "dataLocal"}
"""The names of flags in the annotation `parallelism`."""


def spelled(launch: Launch, flag: Flag) -> str:
    """Return a flag as its author wrote it, without the value: `-tp`, or `tensor` in an annotation."""
    if flag.name in _ASKED and flag.at in launch.template.filled:
        return _ASKED[flag.name]
    word, _, value = launch.command.argv[flag.at].partition("=")
    is_fused = flag.width == 1 and flag.value and not (value or word.startswith("--"))
    return (word.removesuffix(flag.value or "") if is_fused else word)[:SHOWN]


def quoted(launch: Launch, flag: Flag) -> str:
    """Return a flag as its author wrote it, with the value: `-tp 8`; literal variables are expanded."""
    text, between = flag.value or "", "=" if flag.at in launch.template.filled else " "
    known = resolve(text, launch.engine.variables)
    return f"{spelled(launch, flag)}{between}{text if known is None else known}"[:SHOWN].rstrip()


def text_of(launch: Launch, name: str) -> str:
    """Return the value of the last flag of a name, variables expanded; empty if it is absent or unknown."""
    flag = launch.command.flags.last(name)
    return (resolve(flag.value or "", launch.engine.variables) or "") if flag else ""


def read_size(launch: Launch, name: str) -> int | None:
    """Read one parallel size, 1 if absent; None if it is unknown or not a positive integer."""
    return size_of(text_of(launch, name)) if launch.command.flags.last(name) else 1


def size_of(text: str) -> int | None:
    """Read a positive integer of less than ten digits; None for any other text."""
    return int(text) or None if text.isdecimal() and len(text) < 10 else None


def read_sizes(launch: Launch) -> Sizes | None:
    """Read the parallel sizes; None if one is unknown, or a file or another flag may change them.

    Data-parallel ranks that share the accelerators of tensor parallelism count once: LMDeploy's
    (`Product.shares_ranks`), and SGLang's with `--enable-dp-attention`, which runs them inside the
    tensor-parallel group (`sglang/srt/server_args.py`, `compute_world_size`).
    """
    for flag in launch.command.flags.given:
        if flag.name in CHANGES_SIZES and flag.at not in launch.template.filled:
            return None
    sizes = [read_size(launch, name) for name in SIZES]
    known = [size for size in sizes if size is not None]
    if len(known) < len(SIZES):
        return None
    return Sizes(*known)._replace(data=1) if shares_ranks(launch) else Sizes(*known)


def shares_ranks(launch: Launch) -> bool:
    """Return whether data-parallel ranks use the accelerators of tensor parallelism."""
    started = launch.command.started
    if started == "sglang":
        return launch.command.flags.last(SHARED_DATA) is not None
    return bool(started) and PRODUCTS[started].shares_ranks


def model_of(launch: Launch) -> str | None:
    """Return the model as written: the positional one, else the last `--model`."""
    command = launch.command
    if command.flags.bare and not ignores_positional(launch):
        return command.argv[command.flags.bare[0]]
    flag = command.flags.last(MODEL)
    return flag.value if flag else None


def ignores_positional(launch: Launch) -> bool:
    """Return whether the image's entrypoint or module ignores a positional model."""
    return launch.facts.entrypoint == "api_server" and launch.command.kind in {
        "flags",
        "module",
        "interpreter",
    }


def is_converted(launch: Launch) -> bool:
    """Return whether a launcher replaces the program by `vllm serve`; other commands keep theirs."""
    return launch.command.kind in {"flags", "module"} and not in_shell(launch)


def in_shell(launch: Launch) -> bool:
    """Return whether the launch is written into the script of a shell."""
    shell = launch.command.shell
    return shell is not None and shell.kept


def serve_arguments(launch: Launch) -> tuple[tuple[str, ...], int]:
    """Return the words that start one node with `vllm serve`, or the author's own where they do.

    The second value is the index of the engine's first argument among them.
    """
    command = launch.command
    if command.kind == "subcommand":
        return ("vllm", *command.argv), 2
    if not is_converted(launch):
        return command.argv, command.arguments
    prefix, (model, dropped) = command.argv[: command.program], _moved_model(launch)
    kept = (
        item for index, item in enumerate(command.argv) if index >= command.arguments and index not in dropped
    )
    return (*prefix, "vllm", "serve", *model, *kept), command.program + 2


def _moved_model(launch: Launch) -> tuple[tuple[str, ...], set[int]]:
    """Return the model that follows `serve`, and the indexes to drop: every `--model` with its value."""
    flags = launch.command.flags
    named = [(flag, flag.value) for flag in flags.given if flag.name == MODEL and flag.value]
    if not named:
        return (), set()
    dropped = {index for flag, _ in named for index in range(flag.at, flag.at + flag.width)}
    first = [bare for bare in flags.bare[:1] if "$" not in launch.command.argv[bare]]  # else perhaps a flag
    if first and not ignores_positional(launch):
        return (), dropped
    return (named[-1][1],), dropped.union(first)


def known_port(launch: Launch) -> int | None:
    """Return the port of the engine's API; None if it is only known in the cluster."""
    flags = launch.command.flags
    flag = flags.last(PORT)
    if flag is None and flags.last(CONFIG) is None:
        engine = launch.command.started
        return PRODUCTS[engine].port if engine else DEFAULT_PORT
    return size_of(text_of(launch, PORT))


def api_port(launch: Launch) -> int | str | None:
    """Return the port of the engine's API, else the port of its HTTP probe; None if neither is known."""
    probed = (probe.port for probe in launch.engine.probes if probe.handler == "httpGet")
    return known_port(launch) or next(probed, None)


def has_tls(launch: Launch) -> bool:
    """Return whether the API is served with TLS."""
    return any(flag.name.lstrip("-") == "ssl-certfile" for flag in launch.command.flags.given)


_CPU: Final = re.compile(r"(?:^|[-_./])cpu(?:[-_.]|$)")


def on_cpu(launch: Launch) -> bool:
    """Return whether the image, `--device` or `VLLM_TARGET_DEVICE` names the CPU."""
    named = (text_of(launch, DEVICE), dict(launch.engine.values).get("VLLM_TARGET_DEVICE", ""))
    image = (launch.image.repository.rpartition("/")[2], launch.image.tag)
    return "cpu" in named or any(map(_CPU.search, image))


def gpus(engine: Engine) -> int | None:
    """Return the GPUs that Ray counts on a pod; None if Ray must detect them: another kind, or a claim."""
    asked = engine.accelerators
    return asked.count if asked.resource in GPUS and not asked.claimed else None


def countable(engine: Engine) -> int | None:
    """Return the whole accelerators of a pod; None if unknown: a claim, or a fraction of a device."""
    asked = engine.accelerators
    is_part = asked.resource.startswith("nvidia.com/mig-") or asked.resource.endswith(".shared")
    return None if asked.claimed or is_part or not asked.count else asked.count


def in_group(plan: LaunchPlan, size: int) -> int | None:
    """Return the accelerators of a group: those of the leader and of `size - 1` workers; None if unknown."""
    leader, worker = countable(plan.leader.engine), countable(plan.worker.engine)
    return None if leader is None or worker is None else leader + worker * (size - 1)


def argument_path(launch: Launch, index: int) -> str:
    """Return the field path of an argument of the command; for one that a block added, its annotation."""
    added = launch.template.filled
    if index in added:
        return path(added[index])
    index -= sum(other < index for other in added)
    shell = launch.command.shell
    return item_path(launch, index if shell is None else _item(launch, index))


def _item(launch: Launch, index: int) -> int:
    """Return the item of command and args that holds an argument: the script, or one after it and `$0`."""
    shell = launch.command.shell
    if shell is None or shell.script is None:
        return index
    behind = index - len(shell.script.argv)
    return shell.index + 2 + behind if shell.kept and behind >= 0 else shell.index


def item_path(launch: Launch, item: int) -> str:
    """Return the field path of an item of command and args, counted together."""
    index = item - len(launch.engine.command)
    where = f"command[{item}]" if index < 0 else f"args[{index}]"
    return f"{launch.template.engine_path}.{where}"
