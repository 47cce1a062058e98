"""Probes of a group: the pods, the port and the time at which they run."""

from collections.abc import Iterator
from typing import Final

from intent.errors import FieldError
from intent.gang import ENCODER
from intent.launch import Launch, read_launches
from intent.lws import Probe
from webhook.launchers import LAUNCHERS
from webhook.layout import Input, is_health, misplaced, startup_port
from webhook.serving import port_of

_ON_WORKERS: Final = (
    "runs on the workers too, which serve no API; write a leaderTemplate, and put the probe there"
)
_ON_RAY: Final = "Ray listens on 6379 minutes before the model is loaded: probe the API port"
_UNGUARDED: Final = (
    "a livenessProbe without a startupProbe kills the engine while it loads: add a startupProbe"
)


def probes(inputs: Input) -> Iterator[FieldError]:
    """Check every probe that is not removed from its template; of launches by hand, the port alone."""
    plan = inputs.layout.plan
    own = inputs.plan.launches or tuple(read_launches(inputs.intent, inputs.settings))
    yield from _unready(inputs, own)
    for launch in plan.launches if plan.rewritten else own if inputs.layout.serving.ports else ():
        removed = misplaced(launch, inputs)
        for probe in launch.engine.probes:
            message = "" if probe in removed else _message(launch, probe, inputs)
            if message:
                yield FieldError(f"{launch.template.engine_path}.{probe.field}", None, message, "FI505")


def _unready(inputs: Input, launches: tuple[Launch, ...]) -> Iterator[FieldError]:
    """FI571: routes send requests to pods that are Ready, as one without a probe is while it loads."""
    intent, serving = inputs.intent, inputs.layout.serving
    servers = launches if serving.everywhere else launches[:1]
    is_routed = intent.routing.wanted and intent.component_type != ENCODER
    for launch in servers if is_routed else ():
        name = launch.command.engine or launch.command.within
        if name in _ASKED and all(one.field != "readinessProbe" for one in launch.engine.probes):
            probe = f"{{httpGet: {{path: /health, port: {port_of(launch.engine, launches)}}}}}"
            message = (
                "without it a pod is Ready, and gets requests, while its model loads: write "
                f"readinessProbe: {probe}"
            )
            yield FieldError(f"{launch.template.engine_path}.readinessProbe", None, message, "FI571")
            return


_ASKED: Final = ("vllm", "sglang")
"""The engines that answer `/health` once they serve."""


def _message(launch: Launch, probe: Probe, inputs: Input) -> str:
    plan, serving = inputs.layout.plan, inputs.layout.serving
    is_called = probe.handler == "httpGet" and probe.port in {*serving.ports[:1], "http"}
    if serving.ports and is_called and not (plan.rewritten and is_health(probe)):
        return f"calls the server of the first rank alone: use path /health and port {serving.supervisor}"
    if not plan.rewritten:
        return ""
    launcher = LAUNCHERS[plan.launcher]
    if launcher.uses_ray and str(probe.port) == str(launcher.port):
        return _ON_RAY
    if not (launch.leads or serving.everywhere or launcher.answers):
        return "" if probe.handler == "exec" else _ON_WORKERS
    has_startup = any(one.field == "startupProbe" for one in launch.engine.probes)
    is_early = not has_startup and startup_port(launch, inputs) is None
    return _UNGUARDED if probe.field == "livenessProbe" and is_early else ""
