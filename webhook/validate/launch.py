"""The launch of the engine: errors, launches that are left as they are, and warnings."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from catalog.engines import PRODUCTS, unsupported
from intent.annotations import LAUNCHER, path
from intent.command_line.command import (
    engines_of,
    fused_program,
    in_ray,
    names_engine,
    own_launch,
)
from intent.command_line.flags import BACKEND, DATA_BACKEND, DISTRIBUTED, NNODES
from intent.command_line.programs import behind_prefixes
from intent.errors import FieldError, nearest, suggested
from intent.launch import (
    AUTO,
    NONE,
    SHOWN,
    Launch,
    LaunchPlan,
    argument_path,
    gpus,
    item_path,
    read_launches,
    read_sizes,
    value_of,
)
from intent.lws import LWT, Intent
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import Launcher
from webhook.launchers.plan import other_backend, serves
from webhook.launchers.vllm_native import has_ranks, spans
from webhook.layout import Input
from webhook.validate.arguments import apart, arguments, installs, not_parsed, parallel_sizes
from webhook.validate.group import accelerators, group
from webhook.validate.pods import limits, names, pods, requests, restart
from webhook.validate.ranks import ranks
from webhook.validate.sizes import CHECKED, SIZED, fits_group, fits_pod, unlaunched
from webhook.validate.transfer import transfer

_QUIET: Final = f"{LAUNCHER}: {NONE} silences this"
_SILENCE: Final = f"or set {LAUNCHER}: {NONE}"
_COMPLEX: Final = "the shell script is too complex to rewrite"
_NO_ENGINE: Final = "no known engine was found in the shell script"
_MIXED: Final = (
    "left as it is: the other template starts the nodes itself or is not understood; "
    "write a plain command in both"
)

_COUNT_FLAGS: Final = frozenset({"--min-nodes", "--ray_cluster_size", "--nnodes", "-n"})
_COUNT: Final = re.compile(
    r"(?:^|(?<=\s))(--min-nodes|--ray_cluster_size|--nnodes|-n)(?:[=\s]+|(?<=-n))['\"]?([0-9]{1,9})(?![^\s;&|'\"])"
)


def launch(inputs: Input) -> Iterator[FieldError]:
    """Check the command of every template, then the group as a whole; blocks reported some arguments."""
    yield from (one for one in _launch(inputs) if one not in inputs.about_blocks)


def _launch(inputs: Input) -> Iterator[FieldError]:
    intent, plan = inputs.intent, inputs.plan
    is_by_hand = plan.launcher == NONE
    launches = tuple(read_launches(intent, inputs.settings)) if is_by_hand else plan.launches
    for one in launches:
        yield from not_parsed(one)
        yield from transfer(one, inputs)
        yield from limits(one)
        yield from _several(one)
    yield from _one_item(launches)
    yield from ranks(inputs, launches)
    if is_by_hand:
        for one in launches:
            yield from _by_hand(one, intent)
        return
    launcher = LAUNCHERS[plan.launcher]
    if intent.size < 2:
        yield from _alone(inputs, launcher)
        return
    for one in plan.launches:
        yield from _one(one, plan, launcher, intent)
    yield from _mixed(plan)
    yield from _chosen(plan)
    if plan.rewritten:
        yield from group(inputs, launcher)
        yield from pods(inputs, launcher)
    elif plan.launches:
        yield from fits_group(plan, intent.size)
        for one in plan.launches:
            yield from requests(one)


def known_launcher(intent: Intent) -> tuple[Intent, tuple[FieldError, ...]]:
    """Return an Intent whose launcher exists, and the error about one that does not (FI104).

    Then the nearest one is checked, or `auto` where none is near.
    """
    if intent.launcher in {*LAUNCHERS, AUTO, NONE, ""}:
        return intent, ()
    meant = nearest(intent.launcher, (*LAUNCHERS, AUTO, NONE))
    message = f"must be one of {', '.join(LAUNCHERS)}, {AUTO} or {NONE}{suggested(meant)}"
    error = FieldError(path(LAUNCHER), intent.launcher, message, "FI104")
    return replace(intent, launcher=meant), (error,)


def _by_hand(launch: Launch, intent: Intent) -> Iterator[FieldError]:
    """Check a template whose author launches the nodes: what holds for its command as it is."""
    engine = launch.command.engine
    if engine in CHECKED:
        yield from arguments(launch, rewritten=False)
        yield from () if intent.parallelism else _unseen_ray(launch)
    elif engine in SIZED:
        yield from parallel_sizes(launch)
    elif launch.command.kind == "distributed":
        yield from _counts(launch, intent.size)
        yield from _of_author(launch, intent)
    yield from unlaunched(launch, intent)
    if intent.size > 1 or launch.template is intent.templates[0]:
        yield from requests(launch)


def _of_author(launch: Launch, intent: Intent) -> Iterator[FieldError]:
    """Check a launch of nodes that its author wrote: what ends or hangs whatever launches it."""
    lacks = tuple(_lacks(launch)) if launch.image.engine else ()
    for lack in lacks:
        yield FieldError(f"{launch.template.engine_path}.image", None, f"{launch.image} {lack}", "FI504")
    yield from () if lacks else _unseen_ray(launch)
    if not in_ray(launch.engine.command + launch.engine.args):
        yield from accelerators(launch, 1)
    backend = launch.command.flags.last(BACKEND)
    if backend and value_of(launch, backend) == "ray" and launch.command.flags.last(NNODES):
        message = "must be mp, or absent: vLLM refuses --nnodes with Ray"
        yield FieldError(argument_path(launch, backend.value_at), backend.value, message, "FI313")
    if intent.size > 1:
        yield from names(launch)
        if launch.template is intent.templates[-1]:
            yield from restart(intent)


def _lacks(launch: Launch) -> Iterator[str]:
    """Yield what the image lacks of what its author starts."""
    facts, items = launch.facts, launch.engine.command + launch.engine.args
    if facts.has_ray is False and in_ray(items) and not installs(launch):
        words = own_launch(launch.command, items)[:SHOWN]
        yield f"has no Ray, which {words} starts: use an image that has it, or --nnodes"
    if launch.command.within != "vllm" or not launch.command.flags.last(NNODES) or launch.pods < 2:
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
    is_launched = launch.command.within == "vllm" and in_ray(engine.command + engine.args)
    if not is_known or is_named or not (is_alone or is_launched):
        return
    rank, pod = sizes.accelerators // sizes.data if sizes else 0, gpus(engine)
    if pod and rank > pod:
        message = (
            f"{launch.image} does not look for Ray, and a rank needs {rank} accelerators, a pod has {pod}: "
            + (f"use {pod}, or remove {LAUNCHER}: {NONE}" if is_alone else f"add --{BACKEND} ray")
        )
        shell = launch.command.shell
        where = item_path(launch, shell.index) if shell else _where(launch)
        yield FieldError(where, None, message, "FI569")


def _alone(inputs: Input, launcher: Launcher) -> Iterator[FieldError]:
    """Check a group of one pod, whose command runs as it is."""
    intent, plan = inputs.intent, inputs.plan
    if intent.launcher == plan.launcher and launcher.uses_ray:
        size = "is 1, the default" if intent.sized else "is absent, which means 1"
        message = f"must be absent: {LWT}.size {size}, and one pod needs no launcher; or set it to 2 or more"
        yield FieldError(path(LAUNCHER), intent.launcher, message, "FI312")
    if plan.launches:
        yield from requests(plan.leader)
    if plan.launches and plan.leader.command.argv:
        if plan.leader.command.engine in CHECKED:
            yield from arguments(plan.leader, rewritten=False)
            yield from accelerators(plan.leader, intent.size)
        yield from fits_pod(plan.leader, intent, inputs.settings.engines)


def _one(launch: Launch, plan: LaunchPlan, launcher: Launcher, intent: Intent) -> Iterator[FieldError]:
    """Check one template of a group of several pods."""
    if launch.command.engine in SIZED and launch.command.engine not in CHECKED:
        yield from parallel_sizes(launch)
    if not serves(launch, launcher, asked=intent.launcher == plan.launcher):
        yield from _left_alone(launch, plan, intent)
        return
    if launch.command.engine in CHECKED:
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
        yield FieldError(_where(launch), None, message, "FI526")


def _one_item(launches: tuple[Launch, ...]) -> Iterator[FieldError]:
    """Report a program with its arguments in one list item of `command`, which names no file then."""
    for launch in launches:
        command = launch.engine.command
        if launch.command.kind == "unknown" and command and fused_program(command):
            at = next(at for at, item in enumerate(command) if len(item.split(None, 1)) > 1)
            yield FieldError(item_path(launch, at), command[at], apart(command[at]), "FI309")


def _several(launch: Launch) -> Iterator[FieldError]:
    """FI547: a script starts several engines in one pod; the pods of a service serve one API."""
    _, count = engines_of(launch.command) if launch.command.kind == "complex" else (0, 0)
    if launch.command.shell and count > 1:
        message = (
            f"starts {count} engines in each pod, the service calls one: write a LeaderWorkerSet for each, "
            "with command [vllm, serve, MODEL, ...]"
        )
        yield FieldError(item_path(launch, launch.command.shell.index), None, message, "FI547")


def _left_alone(launch: Launch, plan: LaunchPlan, intent: Intent) -> Iterator[FieldError]:
    command = launch.command
    if command.kind == "distributed":
        yield from _counts(launch, intent.size)
        yield from _of_author(launch, intent)
    if intent.launcher in {"", AUTO} and _is_by_hand(plan):
        return
    if command.kind == "unknown" and fused_program(launch.engine.command):
        return
    if command.kind == "complex" and engines_of(command)[1] > 1:
        return
    if command.kind == "unknown" and not (launch.engine.command or launch.engine.image):
        return
    code, message = _reason(launch, plan)
    where = item_path(launch, command.shell.index) if command.shell else _where(launch)
    yield FieldError(where, None, message, code)


def _is_by_hand(plan: LaunchPlan) -> bool:
    """Return whether the whole launch is the author's: one template launches the nodes, none starts one node.

    The others wait for it in a program that is no engine: `sshd`, a script.
    """
    kinds = [one.command.kind for one in plan.launches]
    return "distributed" in kinds and not any(one.command.engine for one in plan.launches)


def _reason(launch: Launch, plan: LaunchPlan) -> tuple[str, str]:
    """Return code and message for a command that is left as it is."""
    kind, engine = launch.command.kind, launch.command.engine
    if kind == "complex":
        cause = _too_complex(launch) if names_engine(launch.command) else _NO_ENGINE
        return "FI514", f"left as it is: {cause}; write [vllm, serve, MODEL, ...] as list items, {_SILENCE}"
    if kind == "distributed":
        words = own_launch(launch.command, launch.engine.command + launch.engine.args)[:SHOWN]
        return "FI518", f"left as it is: {words} launches the nodes already; to use a launcher, remove it"
    if engine:
        return "FI519", _without_launcher(engine, plan)
    title = unsupported(_program(launch))
    if title:
        return "FI519", f"left as it is: {title} is not a supported engine, each pod runs it alone; {_QUIET}"
    return "FI517", _unknown(launch)


def _too_complex(launch: Launch) -> str:
    """Return why the script of a shell is not rewritten."""
    count, _ = engines_of(launch.command)
    return f"the shell script starts {count} engines, a launcher starts one" if count > 1 else _COMPLEX


def _without_launcher(engine: str, plan: LaunchPlan) -> str:
    """Return why a known engine is not launched over pods, and the launchers that do so."""
    title = PRODUCTS[engine].title
    able = [name for name, row in LAUNCHERS.items() if engine in row.engines + row.on_request]
    if not able:
        return f"left as it is: {title} has no launcher, each pod runs it alone; {_QUIET}"
    launcher = "by default" if plan.launcher in able else f"by {plan.launcher}"
    return f"left as it is: {title} is not started over pods {launcher}; set {LAUNCHER}: {' or '.join(able)}"


def _program(launch: Launch) -> str:
    """Return the name of the program that a template starts; of its image, if it has no command."""
    words = launch.engine.command
    at = behind_prefixes(words)
    path = words[at] if at < len(words) else launch.image.repository
    return path.rpartition("/")[2][:SHOWN]


def _unknown(launch: Launch) -> str:
    """Return the message about a command, or an image without one, that is not known."""
    example = PRODUCTS[launch.image.engine or "vllm"].command
    name = _program(launch)
    if launch.engine.command:
        cause = f"{name} is not known to start an engine"
    else:
        cause = f"there is no command, and the entrypoint of the image {name} is not known"
    return f"left as it is: {cause}; set command, for example {example}, {_SILENCE}"


def _where(launch: Launch) -> str:
    engine = launch.engine
    field = "command" if engine.command else "args" if engine.args else "image"
    return f"{launch.template.engine_path}.{field}"


def _counts(launch: Launch, size: int) -> Iterator[FieldError]:
    """Report a number of nodes that differs from the size of the group."""
    items = (*launch.engine.command, *launch.engine.args)
    knows_short = any(flag.name in DISTRIBUTED for flag in launch.command.flags.given)
    for at, item in enumerate(items):
        text = " ".join(items[at : at + 2]) if item in _COUNT_FLAGS else item
        for flag, count in _COUNT.findall(text):
            if int(count) != size and (flag != "-n" or knows_short):
                message = f"{flag} is {count}, but the group has {size} pods: make them equal"
                yield FieldError(item_path(launch, at), None, message, "FI512")


def _chosen(plan: LaunchPlan) -> Iterator[FieldError]:
    """Report why this launcher was chosen, or why none was, if the author named none."""
    if plan.choice.code and (plan.rewritten or not plan.choice.starts):
        where = f"{plan.launches[plan.choice.at].template.engine_path}.image"
        yield FieldError(where, None, plan.choice.why, plan.choice.code)


def _mixed(plan: LaunchPlan) -> Iterator[FieldError]:
    plain = [one for one in plan.launches if one.command.engine]
    if len(plain) < len(plan.launches):
        for one in plain:
            yield FieldError(one.template.engine_path, None, _MIXED, "FI524")
