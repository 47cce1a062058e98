"""The launch of the engine: what denies it, what is left alone, and what to look at."""

import re
from collections.abc import Iterator
from typing import Final

from intent.annotations import LAUNCHER, path
from intent.command import Kind
from intent.errors import FieldError
from intent.flags import DISTRIBUTED
from intent.launch import RAY_SYMMETRIC, Launch, Plan, item_path, other_backend, read_plan, word_path
from intent.lws import Intent
from intent.settings import Settings
from webhook.validate.arguments import arguments
from webhook.validate.group import group
from webhook.validate.sizes import fits_pod

_LEFT_ALONE: Final[dict[Kind, tuple[str, str]]] = {
    "distributed": (
        "FI518",
        "left as it is: it starts a distributed engine already; nothing is added to the launch",
    ),
    "foreign": (
        "FI519",
        "left as it is: only vLLM is launched over several pods; each pod runs this by itself",
    ),
    "complex": (
        "FI514",
        "left as it is: the script is too complex; write [vllm, serve, MODEL, ...] as list items",
    ),
}
_UNKNOWN_COMMAND: Final = (
    "left as it is: not known to start vLLM; write the command, for example [vllm, serve]"
)
_UNKNOWN_IMAGE: Final = (
    "left as it is: the image's entrypoint is not known; write the command, e.g. [vllm, serve]"
)
_MIXED: Final = (
    "left as it is: the other template launches its pods in its own way; let both be written, or none"
)

_COUNT_FLAGS: Final = frozenset({"--min-nodes", "--ray_cluster_size", "--nnodes", "-n"})
_COUNT: Final = re.compile(
    r"(?:^|(?<=\s))(--min-nodes|--ray_cluster_size|--nnodes|-n)[=\s]+['\"]?([0-9]{1,9})(?![^\s;&|'\"])"
)


def launch(intent: Intent, settings: Settings) -> Iterator[FieldError]:
    """Check the command of every template, then the group as a whole."""
    plan = read_plan(intent, settings)
    if plan.launcher != RAY_SYMMETRIC:
        return
    if intent.size < 2:
        yield from _alone(intent, plan)
        return
    for one in plan.launches:
        yield from _one(one, plan, intent.size)
    yield from _mixed(plan)
    if plan.rewritten:
        yield from group(plan, intent.size)


def _alone(intent: Intent, plan: Plan) -> Iterator[FieldError]:
    """Check a group of one: its command runs as it is."""
    if intent.launcher:
        message = "must be absent: a group of one needs no launcher; or raise spec.leaderWorkerTemplate.size"
        yield FieldError(path(LAUNCHER), intent.launcher, message, "FI312")
    if plan.launches and plan.leader.command.is_vllm and plan.leader.command.words:
        yield from arguments(plan.leader, rewritten=False)
        yield from fits_pod(plan.leader)


def _one(launch: Launch, plan: Plan, size: int) -> Iterator[FieldError]:
    """Check one template of several pods."""
    if not launch.command.is_vllm:
        yield from _left_alone(launch, size)
        return
    yield from arguments(launch, rewritten=plan.rewritten)
    if flag := other_backend(launch):
        message = f"must be ray, or absent: {plan.launcher} starts one Ray over the {size} pods"
        yield FieldError(word_path(launch, flag.value_at), flag.value, message, "FI313")


def _left_alone(launch: Launch, size: int) -> Iterator[FieldError]:
    engine, command = launch.engine, launch.command
    code, message = _LEFT_ALONE.get(command.kind) or (
        "FI517",
        _UNKNOWN_COMMAND if engine.command else _UNKNOWN_IMAGE,
    )
    where = (
        f"{launch.template.engine_path}.{'command' if engine.command else 'args' if engine.args else 'image'}"
    )
    yield FieldError(item_path(launch, command.shell.index) if command.shell else where, None, message, code)
    if command.kind == "distributed":
        yield from _counts(launch, size)


def _counts(launch: Launch, size: int) -> Iterator[FieldError]:
    """Find numbers of nodes that are not the size of the group."""
    items = (*launch.engine.command, *launch.engine.args)
    knows_short = any(flag.name in DISTRIBUTED for flag in launch.command.flags.given)
    for at, item in enumerate(items):
        text = " ".join(items[at : at + 2]) if item in _COUNT_FLAGS else item
        for flag, count in _COUNT.findall(text):
            if int(count) != size and (flag != "-n" or knows_short):
                message = f"{flag} is {count}, but the group has {size} pods: make them equal"
                yield FieldError(item_path(launch, at), None, message, "FI512")


def _mixed(plan: Plan) -> Iterator[FieldError]:
    plain = [one for one in plan.launches if one.command.is_vllm]
    if len(plain) < len(plan.launches):
        for one in plain:
            yield FieldError(one.template.engine_path, None, _MIXED, "FI524")
