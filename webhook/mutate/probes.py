"""Probes: only the leader serves the API, and it takes minutes to load a model."""

from typing import Final

from intent import Object
from intent.container import HOOKS
from intent.launch import Launch, LaunchPlan, has_tls
from intent.lws import Intent
from intent.settings import Settings
from webhook.launchers.plan import read_plan
from webhook.launchers.templates import misplaced, startup_port
from webhook.mutate.templates import for_launches, in_engine
from webhook.overlay.overlay import Overlay

LOADING: Final[Object] = {"periodSeconds": 10, "failureThreshold": 360}
"""An hour. Until the start-up probe succeeds, no other one runs."""


def probes(intent: Intent, settings: Settings) -> Overlay:
    """Take the leader's probes off the workers, and put a start-up probe before those of the leader."""
    plan = read_plan(intent, settings)

    def container(launch: Launch) -> Overlay:
        return in_engine(launch.engine, _startup(launch, plan, intent) | _removed(launch, plan, intent))

    return for_launches(plan.launches, container) if plan.rewritten else {}


def _startup(launch: Launch, plan: LaunchPlan, intent: Intent) -> Overlay:
    port = startup_port(launch, plan, intent)
    if port is None:
        return {}
    ask: Object = {"path": "/health", "port": port}
    return {"startupProbe": {"httpGet": ask | ({"scheme": "HTTPS"} if has_tls(launch) else {}), **LOADING}}


def _removed(launch: Launch, plan: LaunchPlan, intent: Intent) -> Overlay:
    """Name what goes, since nothing listens there: probes, and hooks that call a port."""
    gone: Overlay = {one.field: None for one in misplaced(launch, plan, intent)}
    hooks = {field: gone.pop(field) for field in HOOKS if field in gone}
    return gone | ({"lifecycle": hooks} if hooks else {})
