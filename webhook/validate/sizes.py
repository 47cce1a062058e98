"""The parallel sizes of the engine, against the accelerators of its pods."""

from collections.abc import Iterator
from typing import Final

from catalog.engines import HANGS, PRODUCTS
from intent.accelerators import TPU
from intent.annotations import LAUNCHER, NONE, PARALLELISM, path
from intent.command_line.flags import BACKEND, DATA, LOCAL_DATA, MODEL, SHARED_DATA, SIZES, TENSOR, Flag
from intent.errors import FieldError
from intent.launch import (
    Launch,
    LaunchPlan,
    Sizes,
    argument_path,
    countable,
    in_group,
    in_shell,
    quoted,
    read_size,
    read_sizes,
    shares_ranks,
    text_of,
)
from intent.lws import LWT, Intent
from intent.parallelism import Parallelism
from intent.ranks import balance, local_ranks, read_ranks
from webhook.launchers.launcher import Launcher

CHECKED: Final = ("vllm", "sglang")
"""Engines whose flags are known. Of the other `PRODUCTS` only the parallel sizes are."""
_RAY_ADDRESS: Final = "RAY_ADDRESS"
"""The variable by which an engine joins a Ray cluster that runs already."""


def fits_pod(launch: Launch, launcher: str, intent: Intent) -> Iterator[FieldError]:
    """Check an engine that one pod runs by itself: it has the accelerators of the pod, and uses all of them.

    Where its author launches the nodes (`launcher` is `NONE`), the sizes are at most those of the pod if an
    annotation asks for them: it spans nodes only in a Ray cluster of the author's. Other pods may run some of
    the data-parallel ranks.
    """
    engine, asked, is_by_hand = launch.command.engine, intent.parallelism, launcher == NONE
    is_joined = text_of(launch, BACKEND) == "ray" or _RAY_ADDRESS in launch.engine.env
    if engine not in PRODUCTS or (is_by_hand and is_joined):
        return
    if not is_by_hand and (error := _local_data(asked, 1)):
        yield error
        return
    needed, there = read_sizes(launch), countable(launch.engine)
    if needed is None or there is None or _may_be_hidden(launch):
        return
    local = 1 if balance(launch) == "external" else local_ranks(launch)
    needed = needed if local is None else needed._replace(data=min(local, needed.data))
    is_sized = asked is not None and bool(asked.tensor or asked.pipeline or asked.data)
    is_compared = engine in CHECKED or _given(launch)
    if is_compared and (is_sized or not is_by_hand or needed.accelerators <= there):
        yield from _in_all(LaunchPlan(launcher, (launch,)), needed, 1)


def sizes(plan: LaunchPlan, launcher: Launcher, intent: Intent) -> Iterator[FieldError]:
    """Check that a group has the accelerators that its engine needs, and uses all of them.

    Of a launch that is not written, only an engine is checked of which nothing but the sizes is known.
    """
    leader, size, needed = plan.leader, intent.size, read_sizes(plan.leader)
    if not plan.rewritten:
        command = leader.command
        if command.started in PRODUCTS and command.engine not in CHECKED and needed and _given(leader):
            yield from _in_all(plan, needed, size)
        return
    if _may_be_hidden(leader):
        return
    has_ranks = intent.parallelism or leader.command.flags.last(DATA)
    ranks = list(_ranks(plan, intent.parallelism, size)) if has_ranks else []
    yield from ranks
    if ranks or needed is None:
        return
    if launcher.spreads and (uneven := _uneven(plan, needed, size)):
        yield FieldError(*_first_size(leader), uneven, "FI316")
    else:
        yield from _in_all(plan, needed, size)


# --- data-parallel ranks --------------------------------------------------------------------------------


def _ranks(plan: LaunchPlan, asked: Parallelism | None, size: int) -> Iterator[FieldError]:
    """Check the ranks of each pod: those of SGLang share the tensor-parallel ones."""
    leader, flag = plan.leader, plan.leader.command.flags.last(DATA)
    if flag and leader.command.engine == "sglang" and shares_ranks(leader):
        data, tensor = read_size(leader, DATA), read_size(leader, TENSOR)
        if data and tensor and tensor % data:
            message = (
                f"must divide the tensor parallel size, {tensor}: with --{SHARED_DATA} both share the ranks"
            )
            yield FieldError(argument_path(leader, flag.value_at), data, message, "FI316")
    if error := _local_data(asked, size):
        yield error
        return
    for launch in plan.launches:
        if local := launch.command.flags.last(LOCAL_DATA):
            yield from _missing_ranks(plan, launch, local, size)
            return


def _local_data(asked: Parallelism | None, size: int) -> FieldError | None:
    """Check the ranks of one pod that an annotation asks for: all pods together run all ranks of the engine.

    A rank may span several pods; vLLM then counts one rank on each (`vllm/engine/arg_utils.py`,
    `create_engine_config`).
    """
    data, local = (asked.data, asked.data_local) if asked else (0, 0)
    if not local or local * size == data or (local == 1 and data < size and not size % data):
        return None
    pods = "1 pod" if size == 1 else f"each of {size} pods"
    message = f"dataLocal={local} on {pods} is not data={data}: set {LWT}.size to {data // local}"
    return FieldError(path(PARALLELISM), None, message, "FI316")


def _missing_ranks(plan: LaunchPlan, launch: Launch, local: Flag, size: int) -> Iterator[FieldError]:
    """Check that the local sizes of the pods add up: with too few ranks the engine waits for the others.

    A rank may span several pods; vLLM then counts one rank on each.
    """
    ranks = read_ranks(plan.leader, plan.worker, size)
    if ranks is None or balance(plan.leader) == "external":
        return
    total, data = ranks.of_group(size), ranks.data
    is_wide = ranks.spans and ranks.leader == ranks.worker == 1 and not size % data
    if total != data and not is_wide:
        shown = f"{ranks.leader} on the leader, {ranks.worker} on each of {size - 1} workers"
        message = (
            f"must add up to {data} data-parallel ranks, and {shown} are {total}: "
            "the engine waits for ranks that nothing starts, or has no room for them"
        )
        yield FieldError(argument_path(launch, local.value_at), local.value, message, "FI316")


def _uneven(plan: LaunchPlan, needed: Sizes, size: int) -> str:
    """Return why the ranks cannot be spread: each pod runs its share, each rank on its own accelerators."""
    ranks, total = read_ranks(plan.leader, plan.worker, size), needed.accelerators
    shares = (total // size, total // size)
    if ranks and ranks.leader != ranks.worker:
        rank = total // needed.data
        shares = (ranks.leader * rank, ranks.worker * rank)
    elif total % size:
        uneven = f"must be a multiple of the {size} pods: {_shown(plan.leader, needed)}"
        return f"{uneven}{_better(plan, needed, size)}" if _given(plan.leader) else _no_sizes(plan, size)
    for launch, count in zip(plan.launches, shares, strict=False):
        pod = countable(launch.engine)
        if pod is not None and count > pod:
            shown = f"{_shown(plan.leader, needed)}, {count} on a pod that requests {pod}"
            return f"must fit each pod: {shown}; {_lowered(plan, needed)}"
    return ""


# --- the accelerators of all pods -----------------------------------------------------------------------


def _in_all(plan: LaunchPlan, needed: Sizes, size: int) -> Iterator[FieldError]:
    """Compare the sizes with the accelerators of all pods that run the engine."""
    there = in_group(plan, size)
    if there is None:
        return
    if needed.accelerators > there:
        kind, pods, code = ("group", f"its {size} pods request", "FI307")
        if size == 1:
            kind, pods, code = ("pod", "the pod runs alone and requests", "FI308")
        shown = _shown(plan.leader, needed)
        message = f"must fit the {kind}: {shown}, {pods} {there}; {_lowered(plan, needed)}"
        yield FieldError(*_first_size(plan.leader), message, code)
        return
    if needed.accelerators < there:
        yield from _idle(plan, needed, there, size)
    pod = countable(plan.leader.engine)
    if pod and needed.tensor > pod and plan.leader.command.engine == "vllm":
        yield from _crossing(plan, needed, size)


def _idle(plan: LaunchPlan, needed: Sizes, there: int, size: int) -> Iterator[FieldError]:
    """Report accelerators that the sizes leave unused, and sizes or pods that leave none."""
    total, pod = needed.accelerators, countable(plan.worker.engine) or 1
    better = _better(plan, needed, size) or "; raise a size"
    where = f"the {'group' if size > 1 else 'pod'} requests {there}"
    used = f"{_shown(plan.leader, needed)}, {where}{better}" if _given(plan.leader) else _no_sizes(plan, size)
    fewer = f", or request {total}" if size == 1 else ""
    if 0 < total // pod < size and in_group(plan, total // pod) == total:
        fewer = f", or set {LWT}.size to {total // pod}"
    yield FieldError(_first_size(plan.leader)[0], None, used + fewer, "FI501")


def _crossing(plan: LaunchPlan, needed: Sizes, size: int) -> Iterator[FieldError]:
    """Report tensor parallelism across pods, which vLLM advises against and other engines are built for.

    It is as fast where the accelerators' own network joins nodes: on TPU, and in an NVL72.
    """
    leader, flag = plan.leader, plan.leader.command.flags.last(TENSOR)
    if flag is None or leader.engine.accelerators.resource == TPU or leader.template.pod.value.fabric:
        return
    where, word = argument_path(leader, flag.value_at), quoted(leader, flag)
    hangs = HANGS.since <= leader.image.version < HANGS.below
    if hangs and all(other.name.lstrip("-") != HANGS.name for other in leader.command.flags.given):
        message = f"{word} over pods hangs at start in this vLLM: add --{HANGS.name}"
        yield FieldError(where, None, message, "FI569")
    spans = f"{word} spans pods of {countable(leader.engine)} accelerators, which is slow"
    yield FieldError(where, None, f"{spans}{_better(plan, needed, size)}", "FI502")


# --- words ----------------------------------------------------------------------------------------------


def _given(launch: Launch) -> list[Flag]:
    """Return the flags of the sizes that a command has, in the order of the sizes."""
    return [flag for name in SIZES if (flag := launch.command.flags.last(name))]


def _may_be_hidden(launch: Launch) -> bool:
    """Return whether a shell may expand a word to a parallel size."""
    command, words = launch.command, launch.command.flags.bare
    others = words[1:] if command.flags.last(MODEL) is None else words
    return in_shell(launch) and any("$" in command.argv[index] for index in others) and not _given(launch)


def _first_size(launch: Launch) -> tuple[str, str | None]:
    """Return path and value of the first size in the command, or else the path of the container."""
    for flag in _given(launch):
        return argument_path(launch, flag.value_at), None if flag.at in launch.template.filled else flag.value
    return launch.template.engine_path, None


def _shown(launch: Launch, needed: Sizes) -> str:
    """Return the product of the sizes, in the words of the author: `-tp 8 x -pp 2 = 16 accelerators`."""
    counts = dict(zip(SIZES, needed, strict=True))
    words = [(quoted(launch, flag), counts[flag.name]) for flag in _given(launch)]
    factors = [word for word, count in words if count > 1] or [word for word, _ in words]
    return f"{' x '.join(factors)} = {needed.accelerators} accelerators"


def _no_sizes(plan: LaunchPlan, size: int) -> str:
    """Return what an engine without any parallel size does, and the sizes that use the group."""
    title, there = PRODUCTS[plan.leader.command.engine].title, in_group(plan, size)
    better = _better(plan, Sizes(), size) or f"; write sizes whose product is a multiple of {size}"
    return f"no parallel size is given, so {title} uses 1 of {there or 'all'} accelerators{better}"


def _lowered(plan: LaunchPlan, needed: Sizes) -> str:
    """Return what to do where the ranks need more accelerators than there are."""
    pod = countable(plan.worker.engine)
    raised = f", or set {LWT}.size to {-(-needed.accelerators // pod)}" if pod else ""
    return f"lower a size{f', or remove {LAUNCHER}: {NONE}' if plan.launcher == NONE else raised}"


def _better(plan: LaunchPlan, needed: Sizes, size: int) -> str:
    """Return advice on sizes that use all accelerators: tensor inside a pod, pipeline between pods."""
    leader, pod = plan.leader, countable(plan.leader.engine)
    is_known = pod is not None and pod == countable(plan.worker.engine) and pod <= 999
    if not is_known or needed.data > 1 or needed.context > 1 or leader.command.started not in CHECKED:
        return ""
    if any(flag.at in leader.template.filled for flag in _given(leader)):
        return f"; use tensor={pod}" + (f",pipeline={size}" if size > 1 else "")
    return f"; use --tensor-parallel-size {pod}" + (f" --pipeline-parallel-size {size}" if size > 1 else "")
