"""The launch of the engine: what its commands and its pods need, and launches that are left as they are."""

import re
from collections.abc import Iterator
from typing import Final

from catalog.engines import PRODUCTS
from intent.annotations import AUTO, LAUNCHER, NONE
from intent.command_line.command import in_ray, own_launch
from intent.command_line.flags import BACKEND, DATA_BACKEND, DISTRIBUTED, NNODES
from intent.command_line.programs import behind_prefixes
from intent.errors import FieldError
from intent.launch import (
    SHOWN,
    Launch,
    LaunchPlan,
    argument_path,
    gpus,
    item_path,
    read_sizes,
    text_of,
)
from intent.lws import Intent
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import Launcher
from webhook.launchers.plan import other_backend, serves
from webhook.launchers.vllm_native import has_ranks, spans
from webhook.layout import Input
from webhook.validate.arguments import arguments, installs, not_parsed, transfer
from webhook.validate.pods import accelerators, pods, unsuited
from webhook.validate.ranks import ABOUT, ranks
from webhook.validate.sizes import CHECKED, fits_pod, sizes

_SILENCE: Final = f"or set {LAUNCHER}: {NONE}"
_MIXED: Final = (
    "left as it is: the other template starts the nodes itself or is not understood; "
    "write a plain command in both"
)

_COUNT_FLAGS: Final = frozenset({"--min-nodes", "--ray_cluster_size", "--nnodes", "-n"})
_COUNT: Final = re.compile(
    r"(?:^|(?<=\s))(--min-nodes|--ray_cluster_size|--nnodes|-n)(?:[=\s]+|(?<=-n))['\"]?([0-9]{1,9})(?![^\s;&|'\"])"
)


def launch(inputs: Input) -> Iterator[FieldError]:
    """Check the command of each template, also where its author launches the nodes; then the group."""
    intent, plan = inputs.intent, inputs.plan
    is_by_hand, is_alone = plan.launcher == NONE, intent.size == 1
    launches = plan.launches[:1] if is_alone else plan.launches
    for launch in launches:
        yield from not_parsed(launch)
        yield from transfer(launch, inputs)
        if launch.command.kind == "distributed":
            yield from _of_author(launch, intent)
        if is_by_hand or (is_alone and launch.command.argv):  # other images serve a model of their own
            yield from _by_itself(launch, plan.launcher, intent)
    if any(launch.command.flags.applied.keys() & ABOUT for launch in launches):
        yield from ranks(inputs, launches)
    if not (is_by_hand or is_alone):
        yield from _group(inputs, LAUNCHERS[plan.launcher])


def _by_itself(launch: Launch, launcher: str, intent: Intent) -> Iterator[FieldError]:
    """Check a command that runs as it is, in a group of one pod or where its author launches the nodes."""
    if launch.command.engine in CHECKED:
        yield from arguments(launch, rewritten=False)
        if launcher != NONE:
            yield from accelerators(launch, 1)
        elif not intent.parallelism:
            yield from _unseen_ray(launch)
    yield from fits_pod(launch, launcher, intent)


def _group(inputs: Input, launcher: Launcher) -> Iterator[FieldError]:
    """Check a group of several pods, whose launch is written or left as it is."""
    intent, plan = inputs.intent, inputs.plan
    for launch in plan.launches:
        yield from _one(launch, plan, launcher, intent)
    plain = [launch for launch in plan.launches if launch.command.engine]
    for launch in plain if len(plain) < len(plan.launches) else ():
        yield FieldError(launch.template.engine_path, None, _MIXED, "FI524")
    if plan.code and (plan.rewritten or not plan.starts):
        where = f"{plan.launches[plan.at].template.engine_path}.image"
        yield FieldError(where, None, plan.why, plan.code)
    if plan.rewritten:
        yield from pods(inputs, launcher)
    if plan.launches:
        yield from sizes(plan, launcher, intent)


def _of_author(launch: Launch, intent: Intent) -> Iterator[FieldError]:
    """Check a launch of nodes that its author wrote: what ends or hangs whatever launches it."""
    yield from _counts(launch, intent.size)
    lacks = tuple(_lacks(launch)) if launch.image.engine else ()
    for lack in lacks:
        yield FieldError(f"{launch.template.engine_path}.image", None, f"{launch.image} {lack}", "FI504")
    yield from () if lacks else _unseen_ray(launch)
    if not in_ray(launch.engine.command + launch.engine.args):
        yield from accelerators(launch, 1)
    backend = launch.command.flags.last(BACKEND)
    if backend and text_of(launch, BACKEND) == "ray" and launch.command.flags.last(NNODES):
        message = "must be mp, or absent: vLLM refuses --nnodes with Ray"
        yield FieldError(argument_path(launch, backend.value_at), backend.value, message, "FI313")
    if intent.size > 1:
        yield from unsuited(launch, intent)


def _lacks(launch: Launch) -> Iterator[str]:
    """Yield what the image lacks of what its author starts."""
    facts, items = launch.facts, launch.engine.command + launch.engine.args
    if facts.has_ray is False and in_ray(items) and not installs(launch):
        words = own_launch(launch.command, items)[:SHOWN]
        yield f"has no Ray, which {words} starts: use an image that has it, or --nnodes"
    if launch.command.started != "vllm" or not launch.command.flags.last(NNODES) or launch.pods < 2:
        return
    if facts.nnodes and not facts.nnodes_span and (not has_ranks(launch) or spans(launch)):
        yield "starts no rank that spans pods by --nnodes: use 0.18 or later, or ray symmetric-run"


def _unseen_ray(launch: Launch) -> Iterator[FieldError]:
    """FI569: a rank that exceeds its pod, alone or with a Ray that this vLLM does not look for: it exits.

    Source: vLLM `vllm/config/parallel.py`, `__post_init__`.
    """
    flags, engine, sizes = launch.command.flags, launch.engine, read_sizes(launch)
    is_known = bool(launch.image.version or launch.image.least) and launch.facts.names_executor
    is_named = flags.last(BACKEND) or flags.last(DATA_BACKEND) or flags.last(NNODES)
    is_alone = launch.command.engine == "vllm"
    is_launched = launch.command.started == "vllm" and in_ray(engine.command + engine.args)
    if not is_known or is_named or not (is_alone or is_launched):
        return
    rank, pod = sizes.accelerators // sizes.data if sizes else 0, gpus(engine)
    if pod and rank > pod:
        message = (
            f"{launch.image} does not look for Ray, and a rank needs {rank} accelerators, a pod has {pod}: "
            + (f"use {pod}, or remove {LAUNCHER}: {NONE}" if is_alone else f"add --{BACKEND} ray")
        )
        yield FieldError(_where(launch), None, message, "FI569")


def _one(launch: Launch, plan: LaunchPlan, launcher: Launcher, intent: Intent) -> Iterator[FieldError]:
    """Check the command of one template, and report why the launcher does not start it."""
    command = launch.command
    if not serves(launch, launcher, asked=intent.launcher == plan.launcher):
        is_absent = command.kind == "unknown" and not (launch.engine.command or launch.engine.image)
        if not (is_absent or (intent.launcher in {"", AUTO} and _is_by_hand(plan))):
            code, cause = _reason(launch)
            yield FieldError(_where(launch), None, f"left as it is: {cause}", code)
        return
    if command.engine in CHECKED:
        yield from arguments(launch, rewritten=plan.rewritten)
    if flag := other_backend(launch, launcher):
        supported = " or ".join(launcher.executors)
        starts = (
            f"starts one Ray over the {intent.size} pods" if launcher.uses_ray else "starts vLLM without Ray"
        )
        message = f"must be {supported}, or absent: {plan.launcher} {starts}"
        yield FieldError(argument_path(launch, flag.value_at), flag.value, message, "FI313")
    elif not launcher.takes(launch):
        message = (
            f"left as it is: {plan.launcher} starts only [vllm, serve, MODEL, ...] as list items, "
            f"without Ray and without --; write that, {_SILENCE}"
        )
        yield FieldError(_where(launch), None, message, "FI514")


def _is_by_hand(plan: LaunchPlan) -> bool:
    """Return whether the whole launch is the author's: one template launches the nodes, none starts one node.

    The others wait for it in a program that is no engine: `sshd`, a script.
    """
    kinds = [launch.command.kind for launch in plan.launches]
    return "distributed" in kinds and not any(launch.command.engine for launch in plan.launches)


def _reason(launch: Launch) -> tuple[str, str]:
    """Return the code and the cause for a command that is left as it is."""
    kind, engine = launch.command.kind, launch.command.engine
    if kind == "complex":
        cause = "the shell script is not a plain start of one engine"
        return "FI514", f"{cause}; write [vllm, serve, MODEL, ...] as list items, {_SILENCE}"
    if kind == "distributed":
        words = own_launch(launch.command, launch.engine.command + launch.engine.args)[:SHOWN]
        return "FI518", f"{words} launches the nodes already; to use a launcher, remove it"
    if engine:
        able = [name for name, row in LAUNCHERS.items() if engine in row.engines + row.on_request]
        others = f"set {LAUNCHER}: {' or '.join((*able, NONE))}"
        return "FI519", f"{PRODUCTS[engine].title} is not started over pods, each runs it alone; {others}"
    command = launch.engine.command
    start = behind_prefixes(command)
    word = command[start] if start < len(command) else launch.image.repository
    name = (word if len(word.split()) > 1 else word.rpartition("/")[2])[:SHOWN]
    cause = name if command else f"there is no command, and the entrypoint of the image {name}"
    example = PRODUCTS[launch.image.engine or "vllm"].command
    return "FI517", f"{cause} is not known to start an engine; set command, for example {example}, {_SILENCE}"


def _where(launch: Launch) -> str:
    """Return the path of what starts: the script, else the first of these fields that its author wrote."""
    engine, shell = launch.engine, launch.command.shell
    field = "command" if engine.command else "args" if engine.args else "image"
    return item_path(launch, shell.index) if shell else f"{launch.template.engine_path}.{field}"


def _counts(launch: Launch, size: int) -> Iterator[FieldError]:
    """Report a number of nodes that differs from the size of the group."""
    items = (*launch.engine.command, *launch.engine.args)
    knows_short = any(flag.name in DISTRIBUTED for flag in launch.command.flags.given)
    for index, item in enumerate(items):
        text = " ".join(items[index : index + 2]) if item in _COUNT_FLAGS else item
        for flag, count in _COUNT.findall(text):
            if int(count) != size and (flag != "-n" or knows_short):
                message = f"{flag} is {count}, but the group has {size} pods: make them equal"
                yield FieldError(item_path(launch, index), None, message, "FI512")
