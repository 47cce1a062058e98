"""Probes of a group whose launch is written: on which pods they run, on which port, and how early."""

from collections.abc import Iterator
from typing import Final

from intent.errors import FieldError
from intent.launch import Launch, LaunchPlan
from intent.lws import Intent, Probe
from intent.settings import Settings
from webhook.launchers import LAUNCHERS
from webhook.launchers.plan import read_plan
from webhook.launchers.templates import foreseen, misplaced, serve_all, startup_port

_ON_WORKERS: Final = (
    "runs on the workers too, which serve no API; give the leader a leaderTemplate, and probe there"
)
_ON_RAY: Final = "Ray listens on 6379 minutes before the model is loaded: probe the API port"
_UNGUARDED: Final = (
    "a liveness probe without a startupProbe ends the engine while it loads: add a startupProbe"
)


def probes(intent: Intent, settings: Settings) -> Iterator[FieldError]:
    """Check every probe that stays."""
    intent = foreseen(intent, settings)
    plan = read_plan(intent, settings)
    for launch in plan.launches if plan.rewritten else ():
        gone = misplaced(launch, plan, intent)
        for probe in launch.engine.probes:
            message = "" if probe in gone else _message(launch, plan, probe, intent)
            if message:
                yield FieldError(f"{launch.template.engine_path}.{probe.field}", None, message, "FI505")


def _message(launch: Launch, plan: LaunchPlan, probe: Probe, intent: Intent) -> str:
    launcher = LAUNCHERS[plan.launcher]
    if launcher.uses_ray and str(probe.port) == str(launcher.port):
        return _ON_RAY
    if not launch.leads and not serve_all(plan):
        return "" if probe.handler == "exec" else _ON_WORKERS
    return _UNGUARDED if probe.field == "livenessProbe" and _is_early(launch, plan, intent) else ""


def _is_early(launch: Launch, plan: LaunchPlan, intent: Intent) -> bool:
    has_startup = any(probe.field == "startupProbe" for probe in launch.engine.probes)
    return not has_startup and startup_port(launch, plan, intent) is None
