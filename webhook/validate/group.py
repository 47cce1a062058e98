"""A group whose launch is written: image, accelerators and port of each template, then the parallel sizes."""

from collections.abc import Iterator
from typing import Final

from catalog.engines import PRODUCTS
from intent.accelerators import DEVICE_CLASS, GPUS
from intent.annotations import LAUNCHER
from intent.command_line.flags import (
    DATA,
    DATA_BACKEND,
    LOCAL_DATA,
    PIPELINE,
    PORT,
)
from intent.errors import FieldError, nearest, suggested
from intent.launch import (
    AUTO,
    NONE,
    SHOWN,
    Launch,
    LaunchPlan,
    argument_path,
    countable,
    on_cpu,
    quoted,
    read_sizes,
    text_of,
)
from intent.ranks import local_ranks
from webhook.launchers.launcher import Launcher
from webhook.launchers.plan import ASSUMED, choose, lacks, runs
from webhook.layout import Input
from webhook.validate.sizes import sizes

CLAIM_IT: Final = "it is a claim, for which Volcano finds no node: name a ResourceClaimTemplate"
ALIKE: Final = 0.82
"""The least similarity at which a resource is taken for a known accelerator."""


def group(inputs: Input, launcher: Launcher) -> Iterator[FieldError]:
    """Check the requirements of a launch on each pod, and on all together."""
    plan, size = inputs.plan, inputs.intent.size
    for one in plan.launches:
        yield from _image(one, plan, launcher)
        yield from accelerators(one, size)
        yield from _port(one, launcher)
    if launcher.uses_ray:
        yield from _data_ranks(plan.leader)
    yield from sizes(plan, launcher, inputs.intent, inputs.settings.engines)


def _image(launch: Launch, plan: LaunchPlan, launcher: Launcher) -> Iterator[FieldError]:
    """Report an image that is known not to run the launcher, and name a launcher that it runs."""
    known = runs(launch, launcher)
    is_assumed = plan.choice.code == ASSUMED or (known is None and plan.older)
    if not launch.image.engine or is_assumed or known:
        return
    other = choose((launch,), AUTO, AUTO)
    is_better = other.starts and other.code != ASSUMED and other.launcher != plan.launcher
    advice = f"; set {LAUNCHER}: {other.launcher}" if is_better else "; use an image that has it"
    message = f"{lacks(launch, plan.launcher)}{advice}"
    yield FieldError(f"{launch.template.engine_path}.image", None, message, "FI504")


def accelerators(launch: Launch, size: int) -> Iterator[FieldError]:
    """Report an engine without accelerators, unless it names the CPU; it may run on an unknown device.

    Nothing waits for a launch that its author wrote, and for one pod (`size` is 1): a warning is enough.
    """
    asked, where = launch.engine.accelerators, f"{launch.template.engine_path}.resources.limits"
    if asked.count or asked.claimed or local_ranks(launch) == 0:
        return
    extended, is_stock = launch.engine.extended.value, bool(launch.image.engine)
    if on_cpu(launch) and not extended:
        return
    is_lacking = launch.template.pod.value.accelerated or (is_stock and not extended)
    if size > 1 and not on_cpu(launch) and is_lacking:
        message = (
            f"must request an accelerator, for example nvidia.com/gpu, since the engine spans {size} pods; "
            f"or set {LAUNCHER}: {NONE}"
        )
        yield FieldError(where, None, message, "FI303")
    elif extended:
        near = suggested(nearest(extended[0], GPUS, ALIKE))
        advice = (
            CLAIM_IT if extended[0].startswith(DEVICE_CLASS) else f"check the parallel sizes yourself{near}"
        )
        message = f"{extended[0][:SHOWN]} is not a known accelerator: {advice}"
        yield FieldError(where, None, message, "FI537")
    elif size > 1 or is_stock:
        named = "add --device cpu" if launch.image.engine == "sglang" else "set VLLM_TARGET_DEVICE=cpu"
        message = f"requests no accelerator: request one, or {named} if it runs on CPU"
        yield FieldError(where, None, message, "FI538")


def _data_ranks(launch: Launch) -> Iterator[FieldError]:
    """Report data-parallel ranks that Ray does not spread over the pods.

    With the default backend, `mp`, vLLM starts every rank as a process on the leader
    (`vllm/engine/arg_utils.py`: the local size defaults to the whole), and Ray places the first accelerator
    of each on that node (`vllm/v1/executor/ray_utils.py`, `initialize_ray_cluster`). With `ray` the local
    size must fit the leader (`vllm/v1/engine/utils.py`, `create_dp_placement_groups`), and a rank its node.
    """
    flag, sizes, pod = launch.command.flags.last(DATA), read_sizes(launch), countable(launch.engine)
    is_spread = launch.command.flags.last(DATA_BACKEND) is not None
    if flag is None or sizes is None or sizes.data == 1 or is_spread or not launch.command.is_vllm:
        return
    rank = sizes.accelerators // sizes.data
    if pod is not None and sizes.accelerators <= pod:
        return
    local = pod // rank if pod else 1
    asked = "" if launch.command.flags.last(LOCAL_DATA) else f" --{LOCAL_DATA} {local}"
    advice = f"add --{DATA_BACKEND} ray{asked}" if local else f"raise --{PIPELINE} instead"
    message = f"{quoted(launch, flag)} starts all ranks on the leader; {advice}"
    yield FieldError(argument_path(launch, flag.value_at), None, message, "FI541")


def _port(launch: Launch, launcher: Launcher) -> Iterator[FieldError]:
    flag, port = launch.command.flags.last(PORT), text_of(launch, PORT)
    if flag and port == str(launcher.port):
        user, free = "Ray" if launcher.uses_ray else "the launch", PRODUCTS[launch.command.engine].port
        message = f"must be another port: {user} uses {port} on the leader; {free} is free"
        yield FieldError(argument_path(launch, flag.value_at), port, message, "FI311")
