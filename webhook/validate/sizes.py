"""The parallel sizes of the engine: against the accelerators of the pods, and against the model."""

from collections.abc import Callable, Iterator
from typing import Final

from catalog.engines import PRODUCTS, Engines, Model, known_model
from intent.command_line.flags import CHANGES_SIZES, DATA, SHARED_DATA, SIZES, TENSOR
from intent.errors import FieldError
from intent.launch import (
    Launch,
    LaunchPlan,
    Sizes,
    argument_path,
    countable,
    in_group,
    model_of,
    read_size,
    read_sizes,
    value_of,
)
from webhook.launchers.launcher import Launcher

CHECKED: Final = ("vllm", "sglang")
"""Engines whose flags are known."""
SIZED: Final = tuple(PRODUCTS)
"""Engines whose parallel sizes are known; of those not in `CHECKED` only the sizes are."""
_FLAGS: Final = {
    "tensorrt-llm": ("--tp_size {pod}", "--pp_size {size}"),
    "lmdeploy": ("--tp {group}",),
}
"""Flags that make an engine use all accelerators, if not vLLM's; LMDeploy has no pipeline parallelism."""


def fits_pod(launch: Launch, engines: Engines) -> Iterator[FieldError]:
    """Check that a group of one pod has the accelerators that its engine needs."""
    if launch.command.engine not in SIZED:
        return
    yield from _model(launch, engines)
    needed, there = read_sizes(launch), countable(launch.engine)
    if needed and there and needed.accelerators > there:
        message = f"must fit the pod: {_shown(needed)}, the pod has {there}"
        yield FieldError(_where(launch), needed.accelerators, message, "FI308")


def sizes(plan: LaunchPlan, launcher: Launcher, size: int, engines: Engines) -> Iterator[FieldError]:
    """Check that a launched group has the accelerators that its engine needs, and uses all of them."""
    leader = plan.leader
    yield from _model(leader, engines)
    yield from _unchecked(leader)
    yield from _shared_data(leader)
    needed = read_sizes(leader)
    if needed and launcher.spreads and (uneven := _uneven(plan, needed, size)):
        yield FieldError(_where(leader), needed.accelerators, uneven, "FI316")
    elif needed:
        yield from _in_all(plan, needed, size)


def fits_group(plan: LaunchPlan, size: int) -> Iterator[FieldError]:
    """Check a group that is not launched and of whose engine only the sizes are known."""
    command = plan.leader.command
    if (command.within or command.engine) not in SIZED[len(CHECKED) :]:
        return
    yield from _unchecked(plan.leader)
    is_given = any(plan.leader.command.flags.last(name) for name in SIZES)
    if is_given and (needed := read_sizes(plan.leader)):
        yield from _in_all(plan, needed, size)


def _in_all(plan: LaunchPlan, needed: Sizes, size: int) -> Iterator[FieldError]:
    """Compare the sizes with the accelerators of all pods."""
    there = in_group(plan, size)
    if there is not None and needed.accelerators > there:
        message = f"must fit the group: {_shown(needed)}, the {size} pods have {there}"
        yield FieldError(_where(plan.leader), needed.accelerators, message, "FI307")
    elif there is not None:
        yield from _idle(plan, needed, there, size)
        yield from _crossing(plan, needed, size)


def _uneven(plan: LaunchPlan, needed: Sizes, size: int) -> str:
    """Return why the ranks cannot be spread: every pod runs the same number, each on its own accelerator."""
    ranks, rest = divmod(needed.accelerators, size)
    if rest:
        return f"must be a multiple of the {size} pods: {_shown(needed)}"
    pods = [count for one in plan.launches if (count := countable(one.engine))]
    if pods and ranks > min(pods):
        return f"must fit each pod: {_shown(needed)}, {ranks} for each of {size} pods; one has {min(pods)}"
    return ""


def _shared_data(launch: Launch) -> Iterator[FieldError]:
    """Check SGLang's data parallelism: over several pods it shares the tensor-parallel ranks."""
    flags = launch.command.flags
    flag, data = flags.last(DATA), read_size(launch, DATA) or 1
    if launch.command.engine != "sglang" or flag is None or data == 1:
        return
    tensor = read_size(launch, TENSOR)
    if not flags.last(SHARED_DATA):
        message = "must be used with --enable-dp-attention over several pods, or be absent"
        yield FieldError(argument_path(launch, flag.value_at), data, message, "FI316")
    elif tensor and tensor % data:
        message = f"must divide the tensor parallel size {tensor}: the ranks are shared"
        yield FieldError(argument_path(launch, flag.value_at), data, message, "FI316")


def _shown(needed: Sizes) -> str:
    named = {
        "tensor": needed.tensor,
        "pipeline": needed.pipeline,
        "data": needed.data,
        "context": needed.context,
    }
    product = " x ".join(f"{name} {count}" for name, count in named.items() if count > 1 or name == "tensor")
    return f"{product} = {needed.accelerators} accelerators"


def _where(launch: Launch) -> str:
    """Return the path of the first size in the command, or else that of the container."""
    for name in SIZES:
        flag = launch.command.flags.last(name)
        if flag:
            return argument_path(launch, flag.value_at)
    return launch.template.engine_path


def _idle(plan: LaunchPlan, needed: Sizes, there: int, size: int) -> Iterator[FieldError]:
    if needed.accelerators < there:
        message = f"only {needed.accelerators} of {there} accelerators are used{_better(plan, needed, size)}"
        yield FieldError(_where(plan.leader), None, message, "FI501")


def _crossing(plan: LaunchPlan, needed: Sizes, size: int) -> Iterator[FieldError]:
    """Report tensor parallelism across pods, which vLLM advises against and other engines are built for."""
    pod = countable(plan.leader.engine)
    if pod and needed.tensor > pod and plan.leader.command.is_vllm:
        message = f"tensor parallel size {needed.tensor} crosses pods of {pod}{_better(plan, needed, size)}"
        yield FieldError(_where(plan.leader), None, message, "FI502")


def _better(plan: LaunchPlan, needed: Sizes, size: int) -> str:
    """Return advice on sizes that use all accelerators: tensor inside a pod, pipeline between pods."""
    leader, worker = countable(plan.leader.engine), countable(plan.worker.engine)
    if leader is None or leader != worker or leader > 999 or needed.data > 1 or needed.context > 1:
        return ""
    command = plan.leader.command
    flags = _FLAGS.get(
        command.within or command.engine,
        ("--tensor-parallel-size {pod}", "--pipeline-parallel-size {size}"),
    )
    return f"; use {' '.join(flags)}".format(pod=leader, size=size, group=leader * size)


def _unchecked(launch: Launch) -> Iterator[FieldError]:
    """Report flags and resources that prevent the sizes from being checked."""
    for flag in launch.command.flags.given:
        if flag.name in CHANGES_SIZES:
            message = f"the parallel sizes are not checked: --{flag.name} may change them"
            yield FieldError(argument_path(launch, flag.at), None, message, "FI511")
    for name in SIZES:
        size = launch.command.flags.last(name)
        if size and size.value and value_of(launch, size) is None:
            message = f"the parallel sizes are not checked: --{name} is only known in the cluster"
            yield FieldError(argument_path(launch, size.value_at), None, message, "FI511")
    asked = launch.engine.accelerators
    if asked.count and countable(launch.engine) is None:
        message = "the parallel sizes are not checked: the resource is a fraction of an accelerator"
        yield FieldError(f"{launch.template.engine_path}.resources.limits", None, message, "FI511")


# --- tensor parallelism against the model ------------------------------------------------------------


def _model(launch: Launch, engines: Engines) -> Iterator[FieldError]:
    """Report tensor parallel sizes with which the engine refuses to load the model."""
    flag, tensor = launch.command.flags.last(TENSOR), read_size(launch, TENSOR)
    if flag is None or tensor is None:
        return
    known = known_model(engines, model_of(launch) or "")
    message = _heads(launch, tensor, known) or _blocks(tensor, known) or _power(launch, tensor)
    if message:
        yield FieldError(argument_path(launch, flag.value_at), None, message, "FI503")


def _heads(launch: Launch, tensor: int, known: Model | None) -> str:
    """Check that the heads divide evenly, as every engine requires.

    Source: vLLM `vllm/config/model.py`, `verify_with_parallel_config`.
    """
    # data-parallel ranks that share the tensor-parallel ones each run the whole attention
    is_shared = launch.command.engine == "lmdeploy" or launch.command.flags.last(SHARED_DATA)
    shards = max(tensor // ((read_size(launch, DATA) or 1) if is_shared else 1), 1)
    if known is None or not known.heads % shards:
        return ""
    best = _largest(shards, lambda fewer: not known.heads % fewer)
    return f"{shards} shards do not divide the model's {known.heads} attention heads: use {best}"


def _blocks(tensor: int, known: Model | None) -> str:
    """Check that each shard of an FP8 model has whole quantization blocks."""

    def splits(shards: int) -> bool:
        return known is None or not any(width % (shards * known.block) for width in known.widths)

    if known is None or not known.block or splits(tensor):
        return ""
    best = _largest(tensor, splits)
    return f"tensor parallel size {tensor} does not divide the FP8 blocks of {known.block}: use {best}"


def _power(launch: Launch, tensor: int) -> str:
    """Check for a power of two, which LMDeploy requires (`lmdeploy/cli/utils.py`)."""
    if launch.command.engine != "lmdeploy" or not tensor & (tensor - 1):
        return ""
    return f"LMDeploy requires a power of two, not {tensor}: use {_largest(tensor, bool)}"


def _largest(shards: int, fits: Callable[[int], bool]) -> int:
    """Return the largest power of two up to `shards` that fits, or 1."""
    powers = (1 << at for at in reversed(range(shards.bit_length())))
    return next((power for power in powers if fits(power)), 1)
