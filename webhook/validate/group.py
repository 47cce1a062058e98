"""A group whose launch is written: each template's image, accelerators, port and probes, then the sizes."""

from collections.abc import Iterator
from typing import Final

from intent.errors import FieldError
from intent.flags import ASYNC_SCHEDULING, PORT
from intent.launch import Launch, Plan, value_of, word_path
from intent.lws import Probe
from webhook.validate.sizes import sizes

_RAY_PORT: Final = "6379"

_ON_WORKERS: Final = (
    "runs on the workers too, which serve no API; give the leader a leaderTemplate, and probe there"
)
_ON_RAY: Final = "Ray listens on 6379 minutes before the model is loaded: probe the API port"
_UNGUARDED: Final = (
    "a liveness probe without a startupProbe ends the engine while it loads: add a startupProbe"
)


def group(plan: Plan, size: int) -> Iterator[FieldError]:
    """Check what a launch by Ray needs of every pod, and of all together."""
    for one in plan.launches:
        yield from _image(one)
        yield from _accelerators(one, size)
        yield from _port(one)
        yield from _async_scheduling(one)
        yield from _probes(one)
    yield from sizes(plan, size)


def _image(launch: Launch) -> Iterator[FieldError]:
    """Look the image up: over several nodes this takes Ray 2.54 or later (ray-project/ray#59795)."""
    known = launch.facts
    if not launch.image.is_vllm or known.symmetric_run:
        return
    version = "v" + ".".join(map(str, launch.image.version)) if launch.image.version else "of unknown version"
    message = (
        f"vllm-openai {version} has {known.ray or 'no Ray'}: ray symmetric-run over nodes needs Ray >= 2.54"
    )
    yield FieldError(f"{launch.template.engine_path}.image", None, message, "FI504")


def _accelerators(launch: Launch, size: int) -> Iterator[FieldError]:
    asked = launch.engine.accelerators
    if not asked.count and not asked.claimed:
        message = f"must request an accelerator, for example nvidia.com/gpu: the engine spans {size} pods"
        yield FieldError(f"{launch.template.engine_path}.resources.limits", None, message, "FI303")


def _port(launch: Launch) -> Iterator[FieldError]:
    flag = launch.command.flags.last(PORT)
    if flag and value_of(launch, flag) == _RAY_PORT:
        message = f"must be another port: Ray listens on {_RAY_PORT} of the leader; vLLM's default is 8000"
        yield FieldError(word_path(launch, flag.value_at), _RAY_PORT, message, "FI311")


def _async_scheduling(launch: Launch) -> Iterator[FieldError]:
    flag = launch.command.flags.last(ASYNC_SCHEDULING)
    if flag:
        message = "not checked: vLLM 0.11 refuses --async-scheduling with Ray; later releases may take it"
        yield FieldError(word_path(launch, flag.at), None, message, "FI511")


def _probes(launch: Launch) -> Iterator[FieldError]:
    probes = launch.engine.probes
    is_guarded = any(probe.field == "startupProbe" for probe in probes)
    for probe in probes:
        message = _probe(launch, probe, is_guarded=is_guarded)
        if message:
            yield FieldError(f"{launch.template.engine_path}.{probe.field}", None, message, "FI505")


def _probe(launch: Launch, probe: Probe, *, is_guarded: bool) -> str:
    if str(probe.port) == _RAY_PORT:
        return _ON_RAY
    if launch.template.field == "workerTemplate":
        return "" if probe.handler == "exec" else _ON_WORKERS
    return _UNGUARDED if probe.field == "livenessProbe" and not is_guarded else ""
