"""Which pod templates there will be, and which of their pods are probed."""

from dataclasses import replace

from intent.container import CALLS
from intent.launch import Launch, LaunchPlan, api_port
from intent.lws import Intent, Moved, Probe
from intent.settings import Settings
from webhook.launchers import LAUNCHERS
from webhook.launchers.plan import read_plan
from webhook.launchers.sidecar import makes_room, with_room


def foreseen(intent: Intent, settings: Settings) -> Intent:
    """Give the Intent with every template that there will be. Mutators see this one, so each marks both."""
    if splits(intent, settings):
        shared = intent.templates[-1]
        leader = replace(shared, field="leaderTemplate", made=True)
        intent = replace(intent, templates=(leader, shared))
    return with_room(intent, settings) if intent.sidecar else intent


def splits(intent: Intent, settings: Settings) -> bool:
    """Whether a template that both share becomes two: leader and workers must differ."""
    if intent.size == 1 or len(intent.templates) > 1:
        return False
    if isinstance(makes_room(intent, settings), Moved):
        return True
    plan = read_plan(intent, settings)
    if not plan.rewritten:
        return False
    engine = plan.leader.engine
    is_probed = bool(engine.probes or engine.hooks) and not serve_all(plan) and "probes" not in intent.skip
    return LAUNCHERS[plan.launcher].splits or is_probed


def serve_all(plan: LaunchPlan) -> bool:
    """Whether workers serve the API as the leader does."""
    return LAUNCHERS[plan.launcher].workers_serve(plan.leader)


def misplaced(launch: Launch, plan: LaunchPlan, intent: Intent) -> tuple[Probe, ...]:
    """Give the probes and hooks that are the leader's and stand on workers, which serve nothing."""
    if launch.leads or serve_all(plan) or "probes" in intent.skip or len(plan.launches) == 1:
        return ()
    leader, found = plan.leader.engine, (*launch.engine.probes, *launch.engine.hooks)
    if plan.leader.template.made:
        return found
    return tuple(one for one in found if one.handler in CALLS and one in (*leader.probes, *leader.hooks))


def startup_port(launch: Launch, plan: LaunchPlan, intent: Intent) -> int | str | None:
    """Give the port of the start-up probe that is missing; None if none is, or nobody knows the port.

    It is missing where other probes would run while the leader loads the model.
    """
    fields = {probe.field for probe in launch.engine.probes}
    is_leader = launch.leads or (len(plan.launches) == 1 and serve_all(plan))
    is_missing = is_leader and fields and "startupProbe" not in fields and "startup-probe" not in intent.skip
    return api_port(launch) if is_missing else None
