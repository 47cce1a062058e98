"""The parallel sizes of the engine against the accelerators of the pod and of the group."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from intent.errors import FieldError
from intent.flags import CHANGES_SIZES, DATA, SHARED_DATA, SIZES, TENSOR
from intent.launch import (
    Launch,
    Plan,
    Sizes,
    countable,
    in_group,
    model_of,
    read_size,
    read_sizes,
    value_of,
    word_path,
)
from webhook.launchers.launcher import Launcher

CHECKED: Final = ("vllm", "sglang")
"""Engines whose flags are known."""


class _Blocks(NamedTuple):
    """A checkpoint whose matrices are quantised in square blocks: each part must hold whole ones."""

    block: int
    widths: tuple[int, ...]


_DEEPSEEK_V3: Final = _Blocks(128, (18432, 2048))
_QUANTISED: Final = {
    "DeepSeek-V3": _DEEPSEEK_V3,
    "DeepSeek-V3-0324": _DEEPSEEK_V3,
    "DeepSeek-V3.1": _DEEPSEEK_V3,
    "DeepSeek-R1": _DEEPSEEK_V3,
    "DeepSeek-R1-0528": _DEEPSEEK_V3,
}
"""By the last part of the model's name (vllm-project/vllm#12256, sgl-project/sglang#3345)."""


def fits_pod(launch: Launch) -> Iterator[FieldError]:
    """Check that a group of one has what its engine needs."""
    needed, there = read_sizes(launch), countable(launch.engine)
    if needed and there and needed.accelerators > there:
        message = f"must fit the pod: {_shown(needed)}, the pod has {there}"
        yield FieldError(_where(launch), needed.accelerators, message, "FI308")


def sizes(plan: Plan, launcher: Launcher, size: int) -> Iterator[FieldError]:
    """Check that a group has what its engine needs, and uses what it has."""
    leader = plan.leader
    if leader.command.engine not in CHECKED:
        return
    yield from _model(leader)
    yield from _unchecked(leader)
    yield from _shared_data(leader)
    needed, there = read_sizes(leader), in_group(plan, size)
    if needed is None:
        return
    if launcher.spreads and (uneven := _uneven(plan, needed, size)):
        yield FieldError(_where(leader), needed.accelerators, uneven, "FI316")
    elif there is not None and needed.accelerators > there:
        message = f"must fit the group: {_shown(needed)}, the {size} pods have {there}"
        yield FieldError(_where(leader), needed.accelerators, message, "FI307")
    elif there is not None:
        yield from _idle(plan, needed, there, size)
        yield from _crossing(plan, launcher, needed, size)


def _uneven(plan: Plan, needed: Sizes, size: int) -> str:
    """Say why ranks do not spread: every pod runs as many, each on an accelerator of its own."""
    ranks, rest = divmod(needed.accelerators, size)
    if rest:
        return f"must be a multiple of the {size} pods: {_shown(needed)}"
    pods = [count for one in plan.launches if (count := countable(one.engine))]
    if pods and ranks > min(pods):
        return f"must fit each pod: {_shown(needed)}, {ranks} for each of {size} pods; one has {min(pods)}"
    return ""


def _shared_data(launch: Launch) -> Iterator[FieldError]:
    """Check SGLang's data parallelism: over several pods it shares the ranks of tensor parallelism."""
    flags = launch.command.flags
    flag, data = flags.last(DATA), read_size(launch, DATA) or 1
    if launch.command.engine != "sglang" or flag is None or data == 1:
        return
    tensor = read_size(launch, TENSOR)
    if not flags.last(SHARED_DATA):
        message = "must stand beside --enable-dp-attention over several pods, or be absent"
        yield FieldError(word_path(launch, flag.value_at), data, message, "FI316")
    elif tensor and tensor % data:
        message = f"must divide the tensor parallel size {tensor}: its ranks are shared"
        yield FieldError(word_path(launch, flag.value_at), data, message, "FI316")


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
    """Point at the first size that is given, else at the container."""
    for name in SIZES:
        flag = launch.command.flags.last(name)
        if flag:
            return word_path(launch, flag.value_at)
    return launch.template.engine_path


def _idle(plan: Plan, needed: Sizes, there: int, size: int) -> Iterator[FieldError]:
    if needed.accelerators < there:
        message = f"only {needed.accelerators} of {there} accelerators are used{_better(plan, needed, size)}"
        yield FieldError(_where(plan.leader), None, message, "FI501")


def _crossing(plan: Plan, launcher: Launcher, needed: Sizes, size: int) -> Iterator[FieldError]:
    """Say that tensor parallelism crosses pods: vLLM warns of it, SGLang is meant to be used so."""
    pod = countable(plan.leader.engine)
    if pod and needed.tensor > pod and "vllm" in launcher.engines:
        message = f"tensor parallel size {needed.tensor} crosses pods of {pod}{_better(plan, needed, size)}"
        yield FieldError(_where(plan.leader), None, message, "FI502")


def _better(plan: Plan, needed: Sizes, size: int) -> str:
    """Say the sizes that use all accelerators, tensor inside a pod and pipeline between them."""
    leader, worker = countable(plan.leader.engine), countable(plan.worker.engine)
    if leader is None or leader != worker or leader > 999 or needed.data > 1 or needed.context > 1:
        return ""
    return f": better --tensor-parallel-size {leader} --pipeline-parallel-size {size}"


def _model(launch: Launch) -> Iterator[FieldError]:
    known = _QUANTISED.get((model_of(launch) or "").rpartition("/")[2])
    tensor = read_size(launch, TENSOR) if known else None
    if known and tensor and any(width % (tensor * known.block) for width in known.widths):
        message = (
            f"this FP8 model does not split into {tensor} parts of whole blocks of {known.block}: use 16 or 8"
        )
        yield FieldError(_where(launch), None, message, "FI503")


def _unchecked(launch: Launch) -> Iterator[FieldError]:
    """Say what keeps the sizes from being checked."""
    for flag in launch.command.flags.given:
        if flag.name in CHANGES_SIZES:
            message = f"the sizes are not checked: --{flag.name} may change them"
            yield FieldError(word_path(launch, flag.at), None, message, "FI511")
    for name in SIZES:
        size = launch.command.flags.last(name)
        if size and size.value and value_of(launch, size) is None:
            message = f"the sizes are not checked: the value of --{name} is only known in the cluster"
            yield FieldError(word_path(launch, size.value_at), None, message, "FI511")
    asked = launch.engine.accelerators
    if asked.count and countable(launch.engine) is None:
        message = "the sizes are not checked: the accelerator is a part of one"
        yield FieldError(f"{launch.template.engine_path}.resources.limits", None, message, "FI511")
