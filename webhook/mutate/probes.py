"""Probes: only the leader serves the API, and loading a model takes minutes."""

from typing import Final

from intent import Object
from intent.container import HOOKS
from intent.launch import Launch, has_tls
from intent.lws import Intent
from intent.settings import Settings
from webhook.launchers.plan import read_plan
from webhook.launchers.templates import misplaced, startup_port
from webhook.mutate import concern as inputs
from webhook.mutate.concern import SIZE, Concern, Rule
from webhook.mutate.templates import for_launches, in_engine
from webhook.overlay.overlay import Overlay

LOADING: Final[Object] = {"periodSeconds": 10, "failureThreshold": 360}
"""One hour. No other probe runs until the startup probe succeeds."""


def probes(intent: Intent, settings: Settings) -> Overlay:
    """Remove the leader's probes from the workers, and add a startup probe to the leader."""
    plan = read_plan(intent, settings)

    def container(launch: Launch) -> Overlay:
        removed: Overlay = {one.field: None for one in misplaced(launch, plan, intent)}
        hooks = {field: removed.pop(field) for field in HOOKS if field in removed}
        startup = _startup(launch, startup_port(launch, plan, intent))
        return in_engine(launch.engine, startup | removed | ({"lifecycle": hooks} if hooks else {}))

    return for_launches(plan.launches, container) if plan.rewritten else {}


def _startup(launch: Launch, port: int | str | None) -> Overlay:
    if port is None:
        return {}
    get: Object = {"path": "/health", "port": port}
    return {"startupProbe": {"httpGet": get | ({"scheme": "HTTPS"} if has_tls(launch) else {}), **LOADING}}


PROBES: Final = Concern(
    probes,
    opt_out="write both templates, or set `fusioninfer.io/skip: probes,startup-probe`",
    rules=(
        Rule(
            "FI651",
            "probes",
            r"\.workerTemplate\..*(?:\.livenessProbe|\.readinessProbe|\.startupProbe|\.postStart|\.preStop)",
            "workers serve no API, so it would fail there and restart the group",
            (SIZE,),
        ),
        Rule(
            "FI652",
            "probes",
            r"\.startupProbe",
            "gives the engine an hour to load its model before other probes run",
            inputs.PROBES,
        ),
    ),
)
