"""The launch of the engine: errors, launches that are left as they are, and warnings."""

import re
from collections.abc import Iterator
from typing import Final

from catalog.engines import PRODUCTS
from intent.annotations import LAUNCHER, path
from intent.command_line.flags import DISTRIBUTED
from intent.command_line.programs import Program
from intent.errors import FieldError
from intent.launch import AUTO, NONE, Launch, LaunchPlan, argument_path, item_path
from intent.lws import Intent
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import Launcher
from webhook.launchers.plan import other_backend, serves
from webhook.layout import Input
from webhook.validate.arguments import arguments, parallel_sizes
from webhook.validate.group import group
from webhook.validate.pods import pods
from webhook.validate.sizes import CHECKED, SIZED, fits_group, fits_pod
from webhook.validate.transfer import transfer

_LEFT_ALONE: Final[dict[Program, tuple[str, str]]] = {
    "distributed": (
        "FI518",
        "left as it is: it starts a distributed engine already",
    ),
    "complex": (
        "FI514",
        "left as it is: the script is too complex; write [vllm, serve, MODEL, ...] as list items",
    ),
}
_UNKNOWN_COMMAND: Final = (
    "left as it is: not known to start vLLM; write the command, for example [vllm, serve]"
)
_UNKNOWN_IMAGE: Final = "left as it is: the image's entrypoint is not known; write the command, e.g. "
_MIXED: Final = "left as it is: the other template has a launch of its own; use one launch for both"

_COUNT_FLAGS: Final = frozenset({"--min-nodes", "--ray_cluster_size", "--nnodes", "-n"})
_COUNT: Final = re.compile(
    r"(?:^|(?<=\s))(--min-nodes|--ray_cluster_size|--nnodes|-n)(?:[=\s]+|(?<=-n))['\"]?([0-9]{1,9})(?![^\s;&|'\"])"
)


def launch(given: Input) -> Iterator[FieldError]:
    """Check the command of every template, then the group as a whole."""
    intent, plan = given.intent, given.plan
    if plan.launcher == NONE:
        return
    launcher = LAUNCHERS.get(plan.launcher)
    if launcher is None:
        message = f"must be one of {', '.join(LAUNCHERS)}, {AUTO} or {NONE}"
        yield FieldError(path(LAUNCHER), plan.launcher, message, "FI104")
        return
    for one in plan.launches:
        yield from transfer(one, given)
    if intent.size < 2:
        yield from _alone(given, launcher)
        return
    for one in plan.launches:
        yield from _one(one, plan, launcher, intent)
    yield from _mixed(plan)
    yield from _chosen(plan)
    if plan.rewritten:
        yield from group(given, launcher)
        yield from pods(given, launcher)
    elif plan.launches:
        yield from fits_group(plan, intent.size)


def _alone(given: Input, launcher: Launcher) -> Iterator[FieldError]:
    """Check a group of one pod, whose command runs as it is."""
    intent, plan = given.intent, given.plan
    if intent.launcher == plan.launcher and launcher.uses_ray:
        message = (
            "must be absent: a group of one pod needs no launcher; or raise spec.leaderWorkerTemplate.size"
        )
        yield FieldError(path(LAUNCHER), intent.launcher, message, "FI312")
    if plan.launches and plan.leader.command.argv:
        if plan.leader.command.engine in CHECKED:
            yield from arguments(plan.leader, rewritten=False)
        yield from fits_pod(plan.leader, given.settings.engines)


def _one(launch: Launch, plan: LaunchPlan, launcher: Launcher, intent: Intent) -> Iterator[FieldError]:
    """Check one template of a group of several pods."""
    if launch.command.engine in SIZED and launch.command.engine not in CHECKED:
        yield from parallel_sizes(launch)
    if not serves(launch, launcher, asked=intent.launcher == plan.launcher):
        yield from _left_alone(launch, plan, intent.size)
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
        message = f"left as it is: {plan.launcher} needs vllm serve as list items, without Ray and without --"
        yield FieldError(_where(launch), None, message, "FI526")


def _left_alone(launch: Launch, plan: LaunchPlan, size: int) -> Iterator[FieldError]:
    command = launch.command
    code, message = _LEFT_ALONE.get(command.kind) or _unknown(launch, plan)
    where = item_path(launch, command.shell.index) if command.shell else _where(launch)
    yield FieldError(where, None, message, code)
    if command.kind == "distributed":
        yield from _counts(launch, size)


def _unknown(launch: Launch, plan: LaunchPlan) -> tuple[str, str]:
    """Return code and message for an engine that the launcher does not start, or for an unknown command."""
    engine = launch.command.engine
    if not engine:
        example = PRODUCTS[launch.image.engine or "vllm"].command
        return "FI517", _UNKNOWN_COMMAND if launch.engine.command else _UNKNOWN_IMAGE + example
    able = " or ".join(name for name, row in LAUNCHERS.items() if engine in row.engines + row.on_request)
    advice = f"set launcher: {able}" if able else "each pod runs its own"
    launcher = "by default" if plan.launcher in able else f"by {plan.launcher}"
    return "FI519", f"left as it is: {PRODUCTS[engine].title} is not started over pods {launcher}; {advice}"


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
