"""Probes of a group whose launch is written: the pods, the port and the time at which they run."""

from collections.abc import Iterator
from typing import Final

from intent.errors import FieldError
from intent.launch import Launch
from intent.lws import Probe
from webhook.launchers import LAUNCHERS
from webhook.layout import Input, misplaced, startup_port

_ON_WORKERS: Final = (
    "runs on the workers too, which serve no API; write a leaderTemplate, and put the probe there"
)
_ON_RAY: Final = "Ray listens on 6379 minutes before the model is loaded: probe the API port"
_UNGUARDED: Final = (
    "a livenessProbe without a startupProbe kills the engine while it loads: add a startupProbe"
)


def probes(given: Input) -> Iterator[FieldError]:
    """Check every probe that is not removed from its template."""
    plan = given.layout.plan
    for launch in plan.launches if plan.rewritten else ():
        removed = misplaced(launch, given)
        for probe in launch.engine.probes:
            message = "" if probe in removed else _message(launch, probe, given)
            if message:
                yield FieldError(f"{launch.template.engine_path}.{probe.field}", None, message, "FI505")


def _message(launch: Launch, probe: Probe, given: Input) -> str:
    plan = given.layout.plan
    launcher = LAUNCHERS[plan.launcher]
    if launcher.uses_ray and str(probe.port) == str(launcher.port):
        return _ON_RAY
    if not (launch.leads or given.layout.serving.everywhere or launcher.answers):
        return "" if probe.handler == "exec" else _ON_WORKERS
    has_startup = any(one.field == "startupProbe" for one in launch.engine.probes)
    is_early = not has_startup and startup_port(launch, given) is None
    return _UNGUARDED if probe.field == "livenessProbe" and is_early else ""
