"""The parallel sizes of the engine: against the accelerators of the pods, and against the model."""

from collections.abc import Callable, Iterator
from typing import Final

from catalog.engines import HANGS, PRODUCTS, Engines, ModelSharding, known_model
from intent.accelerators import TPU
from intent.annotations import LAUNCHER, PARALLELISM, path
from intent.command_line.flags import BACKEND, DATA, LOCAL_DATA, MODEL, SHARED_DATA, SIZES, TENSOR, Flag
from intent.errors import FieldError
from intent.launch import (
    NONE,
    SHOWN,
    Choice,
    Launch,
    LaunchPlan,
    Sizes,
    argument_path,
    countable,
    in_group,
    in_shell,
    is_added,
    model_of,
    quoted,
    read_size,
    read_sizes,
    shares_ranks,
    size_changes,
    spelled,
    text_of,
    value_of,
)
from intent.lws import LWT, Intent
from intent.parallelism import Parallelism
from intent.ranks import Ranks, balance, local_ranks, read_ranks
from webhook.launchers.launcher import Launcher

CHECKED: Final = ("vllm", "sglang")
"""Engines whose flags are known."""
SIZED: Final = tuple(PRODUCTS)
"""Engines whose parallel sizes are known; of those not in `CHECKED` only the sizes are."""
_UNCHECKED: Final = "check yourself that the sizes fit, admission does not"
_FLAGS: Final = {
    "tensorrt-llm": ("--tp_size {pod}", "--pp_size {size}"),
    "lmdeploy": ("--tp {group}",),
}
"""Flags that make an engine use all accelerators, if not vLLM's; LMDeploy has no pipeline parallelism."""


def fits_pod(launch: Launch, intent: Intent, engines: Engines) -> Iterator[FieldError]:
    """Check that a group of one pod has the accelerators that its engine needs."""
    if launch.command.engine not in SIZED:
        return
    yield from _model(launch, engines)
    uneven = list(_local_data(intent.parallelism, 1))
    yield from uneven
    needed, there = _of_pod(launch), countable(launch.engine)
    if uneven:
        return
    yield from _idle_alone(launch)
    if needed and there and needed.accelerators > there:
        pods = -(-needed.accelerators // there)
        size = "is 1, the default" if intent.sized else "is absent, which means 1"
        message = (
            f"must fit the pod: {_shown(launch, needed)}, the pod requests {there}. "
            f"{LWT}.size {size}: set it to {pods}, or use {there} accelerators"
        )
        yield FieldError(*_first_size(launch), message, "FI308")


_RAY_ADDRESS: Final = "RAY_ADDRESS"
"""The variable by which an engine joins a Ray cluster that runs already."""


def unlaunched(launch: Launch, intent: Intent) -> Iterator[FieldError]:
    """Compare the sizes of a pod that runs its command alone, for there is no launcher (FI308, FI501).

    The sizes are at most those of the pod if an annotation asks for them: their flags are added to a command
    of one node. It spans nodes only in a Ray cluster of the author's.
    """
    if text_of(launch, BACKEND) == "ray" or _RAY_ADDRESS in launch.engine.env:
        return
    yield from _idle_alone(launch)
    asked = intent.parallelism
    is_sized = asked is not None and bool(asked.tensor or asked.pipeline or asked.data)
    needed, there = _of_pod(launch), countable(launch.engine)
    if is_sized and needed and there and needed.accelerators > there:
        remedy = f"remove {LAUNCHER}: {NONE}" if intent.size > 1 else f"set {LWT}.size, and {LAUNCHER}: auto"
        message = (
            f"must fit the pod: {_shown(launch, needed)}, the pod requests {there}, and with "
            f"{LAUNCHER}: {NONE} nothing joins pods: {remedy}, or lower a size"
        )
        yield FieldError(*_first_size(launch), message, "FI308")


def _idle_alone(launch: Launch) -> Iterator[FieldError]:
    """FI501: an engine that one pod runs by itself uses all accelerators of the pod."""
    needed, there = _of_pod(launch), countable(launch.engine)
    if needed is None or there is None or needed.accelerators >= there or _hidden_size(launch):
        return
    engine = launch.command.engine
    if engine in CHECKED or (engine in SIZED and _sizes_given(launch)):
        yield from _idle(LaunchPlan(Choice(NONE), (launch,)), needed, there, 1)


def _of_pod(launch: Launch) -> Sizes | None:
    """Return the sizes of one pod's share: other pods may run some of the data-parallel ranks."""
    needed = read_sizes(launch)
    local = 1 if balance(launch) == "external" else local_ranks(launch)
    return needed if needed is None or local is None else needed._replace(data=min(local, needed.data))


def sizes(plan: LaunchPlan, launcher: Launcher, intent: Intent, engines: Engines) -> Iterator[FieldError]:
    """Check that a launched group has the accelerators that its engine needs, and uses all of them."""
    leader, size = plan.leader, intent.size
    yield from _model(leader, engines)
    yield from _unchecked(leader)
    shared = list(_shared_data(leader))
    yield from shared
    found = list(_local_data(intent.parallelism, size)) or list(_missing_ranks(plan, size))
    if not (found or shared):
        found = list(_unfit(plan, launcher, size))
    if found and not _hidden_size(leader):
        yield from found


def _unfit(plan: LaunchPlan, launcher: Launcher, size: int) -> Iterator[FieldError]:
    """Compare the sizes as they are read, without flags that are misspelt."""
    needed = read_sizes(plan.leader)
    if needed and launcher.spreads and (uneven := _uneven(plan, needed, size)):
        yield FieldError(*_first_size(plan.leader), uneven, "FI316")
    elif needed:
        yield from _in_all(plan, needed, size)


def _hidden_size(launch: Launch) -> bool:
    """Return whether a shell may expand a word to a parallel size."""
    command, words = launch.command, launch.command.flags.bare
    others = words[1:] if command.flags.last(MODEL) is None else words
    return in_shell(launch) and any("$" in command.argv[at] for at in others) and not _sizes_given(launch)


def fits_group(plan: LaunchPlan, size: int) -> Iterator[FieldError]:
    """Check a group that is not launched and of whose engine only the sizes are known."""
    command = plan.leader.command
    if command.within not in SIZED and command.engine not in SIZED[len(CHECKED) :]:
        return
    yield from _unchecked(plan.leader)
    if _sizes_given(plan.leader) and (needed := read_sizes(plan.leader)):
        yield from _in_all(plan, needed, size)


def _in_all(plan: LaunchPlan, needed: Sizes, size: int) -> Iterator[FieldError]:
    """Compare the sizes with the accelerators of all pods."""
    there = in_group(plan, size)
    if there is not None and needed.accelerators > there:
        shown = _shown(plan.leader, needed)
        message = f"must fit the group: {shown}, its {size} pods request {there}; {_lowered(plan, needed)}"
        yield FieldError(*_first_size(plan.leader), message, "FI307")
    elif there is not None:
        yield from _idle(plan, needed, there, size)
        yield from _crossing(plan, needed, size)


def _lowered(plan: LaunchPlan, needed: Sizes) -> str:
    """Return what to do where the ranks need more accelerators than there are."""
    pod = countable(plan.worker.engine)
    raised = f", or set {LWT}.size to {-(-needed.accelerators // pod)}" if pod else ""
    return f"lower a size{raised}"


def _uneven(plan: LaunchPlan, needed: Sizes, size: int) -> str:
    """Return why the ranks cannot be spread: every pod runs the same number, each on its own accelerator."""
    of_pods = read_ranks(plan.leader, plan.worker, size)
    if of_pods and of_pods.leader != of_pods.worker:
        return _too_many(plan, needed, of_pods)
    ranks, rest = divmod(needed.accelerators, size)
    if rest and not _sizes_given(plan.leader):
        return _no_sizes(plan, size)
    if rest:
        shown = _shown(plan.leader, needed)
        return f"must be a multiple of the {size} pods: {shown}{_better(plan, needed, size)}"
    pods = [count for one in plan.launches if (count := countable(one.engine))]
    if pods and ranks > min(pods):
        shown = _shown(plan.leader, needed)
        where = f"{ranks} on each of {size} pods, and one requests {min(pods)}"
        return f"must fit each pod: {shown}, {where}; {_lowered(plan, needed)}"
    return ""


def _too_many(plan: LaunchPlan, needed: Sizes, ranks: Ranks) -> str:
    """Return why the ranks of the leader, or those of another pod, do not fit the pod."""
    one = needed.accelerators // needed.data
    for launch, count in zip(plan.launches, (ranks.leader, ranks.worker), strict=False):
        pod = countable(launch.engine)
        if pod is not None and count * one > pod:
            return f"must fit each pod: {count} ranks of {one} accelerators on a pod that requests {pod}"
    return ""


def _missing_ranks(plan: LaunchPlan, size: int) -> Iterator[FieldError]:
    """Check that the local sizes of the pods add up: with too few ranks the engine waits for the others.

    A rank may span several pods; vLLM then counts one rank on each.
    """
    flags = ((one, one.command.flags.last(LOCAL_DATA)) for one in plan.launches)
    launch, flag = next(((one, flag) for one, flag in flags if flag), (plan.leader, None))
    ranks = read_ranks(plan.leader, plan.worker, size)
    if flag is None or ranks is None or balance(plan.leader) == "external":
        return
    total, data = ranks.of_group(size), ranks.data
    is_wide = ranks.spans and ranks.leader == ranks.worker == 1 and not size % data
    if total != data and not is_wide:
        pods = f"{ranks.leader} on the leader, {ranks.worker} on each of {size - 1} workers"
        shown = f"{ranks.worker} on each of {size} pods" if ranks.leader == ranks.worker else pods
        message = (
            f"must add up to {data} data-parallel ranks, and {shown} are {total}: "
            "the engine waits for ranks that nothing starts, or has no room for them"
        )
        yield FieldError(argument_path(launch, flag.value_at), flag.value, message, "FI316")


def _no_sizes(plan: LaunchPlan, size: int) -> str:
    """Return what an engine without any parallel size does, and the sizes that use the group."""
    title, there = PRODUCTS[plan.leader.command.engine].title, in_group(plan, size)
    better = _better(plan, Sizes(), size) or f"; write sizes whose product is a multiple of {size}"
    return f"no parallel size is given, so {title} uses 1 of {there or 'all'} accelerators{better}"


def _shared_data(launch: Launch) -> Iterator[FieldError]:
    """Check SGLang's data parallelism: over several pods it shares the tensor-parallel ranks."""
    flags = launch.command.flags
    flag, data = flags.last(DATA), read_size(launch, DATA) or 1
    if launch.command.engine != "sglang" or flag is None or data == 1:
        return
    tensor = read_size(launch, TENSOR)
    if not flags.last(SHARED_DATA):
        message = (
            f"must be used with --{SHARED_DATA} over several pods: add it (SGLang 0.5.22 and later: write "
            f"--attn-dp-size instead of both), or remove {spelled(launch, flag)}"
        )
        yield FieldError(argument_path(launch, flag.value_at), data, message, "FI316")
    elif tensor and tensor % data:
        message = f"must divide the tensor parallel size, {tensor}: with --{SHARED_DATA} both share the ranks"
        yield FieldError(argument_path(launch, flag.value_at), data, message, "FI316")


def _local_data(asked: Parallelism | None, size: int) -> Iterator[FieldError]:
    """Check the ranks of one pod that an annotation asks for: all pods together run all ranks of the engine.

    A rank may span several pods; vLLM then counts one rank on each (`vllm/engine/arg_utils.py`,
    `create_engine_config`).
    """
    if asked is None or not asked.data_local:
        return
    data, local = asked.data, asked.data_local
    if local * size != data and not (local == 1 and data < size and not size % data):
        pods = "1 pod" if size == 1 else f"each of {size} pods"
        message = f"dataLocal={local} on {pods} is not data={data}: set {LWT}.size to {data // local}"
        yield FieldError(path(PARALLELISM), None, message, "FI316")


def _shown(launch: Launch, needed: Sizes) -> str:
    """Return the product of the sizes, in the words of the author: `-tp 8 x -pp 2 = 16 accelerators`."""
    flags = zip(_flags(launch), needed, strict=True)
    words = [(quoted(launch, flag), count) for flag, count in flags if flag]
    factors = [word for word, count in words if count > 1] or [word for word, _ in words]
    return f"{' x '.join(factors)} = {needed.accelerators} accelerators"


def _flags(launch: Launch) -> list[Flag | None]:
    """Return the flags of the sizes, in their order."""
    return [launch.command.flags.last(name) for name in SIZES]


def _sizes_given(launch: Launch) -> bool:
    return any(_flags(launch))


def _first_size(launch: Launch) -> tuple[str, str | None]:
    """Return path and value of the first size in the command, or else the path of the container."""
    flag = next((one for one in _flags(launch) if one), None)
    if flag is None:
        return launch.template.engine_path, None
    return argument_path(launch, flag.value_at), None if is_added(launch, flag.at) else flag.value


def _idle(plan: LaunchPlan, needed: Sizes, there: int, size: int) -> Iterator[FieldError]:
    if needed.accelerators < there:
        is_alone = size == 1
        better = _better(plan, needed, size) or ("; raise a size" if is_alone else "")
        fewer = f", or request {needed.accelerators}" if is_alone else _fewer_pods(plan, needed, size)
        used = f"{_shown(plan.leader, needed)}, the {'pod' if is_alone else 'group'} requests {there}{better}"
        message = f"{used if _sizes_given(plan.leader) else _no_sizes(plan, size)}{fewer}"
        yield FieldError(_first_size(plan.leader)[0], None, message, "FI501")


def _fewer_pods(plan: LaunchPlan, needed: Sizes, size: int) -> str:
    """Return the size of a group that the parallel sizes use as they are, if there is one."""
    pods, rest = divmod(needed.accelerators, countable(plan.worker.engine) or 1)
    is_smaller = not rest and 0 < pods < size and in_group(plan, pods) == needed.accelerators
    return f", or set {LWT}.size to {pods}" if is_smaller else ""


def _crossing(plan: LaunchPlan, needed: Sizes, size: int) -> Iterator[FieldError]:
    """Report tensor parallelism across pods, which vLLM advises against and other engines are built for.

    It is as fast where the accelerators' own network joins nodes: on TPU, and in an NVL72.
    """
    pod = countable(plan.leader.engine)
    if plan.leader.engine.accelerators.resource == TPU or plan.leader.template.pod.value.fabric:
        return
    if pod and needed.tensor > pod and plan.leader.command.is_vllm:
        flag = plan.leader.command.flags.last(TENSOR)
        word = quoted(plan.leader, flag) if flag else ""
        hangs = HANGS.since <= plan.leader.image.version < HANGS.below
        if hangs and all(one.name.lstrip("-") != HANGS.without for one in plan.leader.command.flags.given):
            message = f"{word} over pods hangs at start in this vLLM: add --{HANGS.without}"
            yield FieldError(_first_size(plan.leader)[0], None, message, "FI569")
        message = f"{word} spans pods of {pod} accelerators, which is slow{_better(plan, needed, size)}"
        yield FieldError(_first_size(plan.leader)[0], None, message, "FI502")


def _better(plan: LaunchPlan, needed: Sizes, size: int) -> str:
    """Return advice on sizes that use all accelerators: tensor inside a pod, pipeline between pods."""
    leader, worker = countable(plan.leader.engine), countable(plan.worker.engine)
    if leader is None or leader != worker or leader > 999 or needed.data > 1 or needed.context > 1:
        return ""
    command = plan.leader.command
    if any(flag and is_added(plan.leader, flag.at) for flag in _flags(plan.leader)):
        return f"; use tensor={leader}" + (f",pipeline={size}" if size > 1 else "")
    tensor, *pipeline = _FLAGS.get(
        command.within or command.engine,
        ("--tensor-parallel-size {pod}", "--pipeline-parallel-size {size}"),
    )
    flags = (tensor, *pipeline) if size > 1 else (tensor,)
    return f"; use {' '.join(flags)}".format(pod=leader, size=size, group=leader * size)


def _unchecked(launch: Launch) -> Iterator[FieldError]:
    """Report flags and resources that prevent the sizes from being checked."""
    for flag in size_changes(launch):
        message = f"{spelled(launch, flag)} may change the parallel sizes: {_UNCHECKED}"
        yield FieldError(argument_path(launch, flag.at), None, message, "FI511")
    for name in SIZES:
        size = launch.command.flags.last(name)
        if size and size.value and value_of(launch, size) is None:
            message = f"{quoted(launch, size)} is only known in the cluster: {_UNCHECKED}"
            yield FieldError(argument_path(launch, size.value_at), None, message, "FI511")
    asked = launch.engine.accelerators
    if asked.count and countable(launch.engine) is None:
        message = f"{asked.resource[:SHOWN]} is a part of an accelerator: {_UNCHECKED}"
        yield FieldError(f"{launch.template.engine_path}.resources.limits", None, message, "FI511")


# --- tensor parallelism against the model ------------------------------------------------------------


def _model(launch: Launch, engines: Engines) -> Iterator[FieldError]:
    """Report tensor parallel sizes with which the engine refuses to load the model."""
    flag, tensor = launch.command.flags.last(TENSOR), read_size(launch, TENSOR)
    if flag is None or tensor is None:
        return
    known = known_model(engines, model_of(launch) or "")
    reason = _heads(launch, tensor, known) or _blocks(tensor, known) or _power(launch, tensor)
    if reason:
        message = f"{quoted(launch, flag)} {reason}"
        yield FieldError(argument_path(launch, flag.value_at), None, message, "FI503")


def _heads(launch: Launch, tensor: int, known: ModelSharding | None) -> str:
    """Check that the heads divide evenly, as every engine requires.

    Source: vLLM `vllm/config/model.py`, `verify_with_parallel_config`.
    """
    # data-parallel ranks that share the tensor-parallel ones each run the whole attention
    shards = max(tensor // ((read_size(launch, DATA) or 1) if shares_ranks(launch) else 1), 1)
    if known is None or not known.heads % shards:
        return ""
    best = _largest(shards, lambda fewer: not known.heads % fewer) * (tensor // shards)
    shared = f", {shards} for each data-parallel rank," if shards < tensor else ""
    return f"does not divide the model's {known.heads} attention heads{shared}: use {best}"


def _blocks(tensor: int, known: ModelSharding | None) -> str:
    """Check that each shard of an FP8 model has whole quantization blocks."""

    def splits(shards: int) -> bool:
        return known is None or not any(width % (shards * known.block) for width in known.widths)

    if known is None or not known.block or splits(tensor):
        return ""
    best = _largest(tensor, splits)
    return f"does not divide the model's FP8 blocks of {known.block}: use {best}"


def _power(launch: Launch, tensor: int) -> str:
    """Check for a power of two, which LMDeploy requires (`lmdeploy/cli/utils.py`)."""
    if launch.command.engine != "lmdeploy" or not tensor & (tensor - 1):
        return ""
    return f"is not a power of two, which LMDeploy requires: use {_largest(tensor, bool)}"


def _largest(shards: int, fits: Callable[[int], bool]) -> int:
    """Return the largest power of two up to `shards` that fits, or 1."""
    powers = (1 << at for at in reversed(range(shards.bit_length())))
    return next((power for power in powers if fits(power)), 1)
