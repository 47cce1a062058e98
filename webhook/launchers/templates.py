"""The pod templates of the expanded object: whether leader and workers differ, and their probes."""

from dataclasses import replace

from intent.container import CALLS
from intent.launch import Launch, LaunchPlan, api_port
from intent.lws import Intent, Moved, Probe
from intent.settings import Settings
from webhook.launchers import LAUNCHERS
from webhook.launchers.plan import read_plan
from webhook.launchers.sidecar import engine_move, with_moved_engine


def foreseen(intent: Intent, settings: Settings) -> Intent:
    """Return the Intent with the templates that the expanded object will have, for mutators to write into."""
    if splits(intent, settings):
        shared = intent.templates[-1]
        leader = replace(shared, field="leaderTemplate", made=True)
        intent = replace(intent, templates=(leader, shared))
    return with_moved_engine(intent, settings) if intent.sidecar else intent


def splits(intent: Intent, settings: Settings) -> bool:
    """Return whether a shared template becomes two, because leader and workers must differ."""
    if intent.size == 1 or len(intent.templates) > 1:
        return False
    if isinstance(engine_move(intent, settings), Moved):
        return True
    plan = read_plan(intent, settings)
    if not plan.rewritten:
        return False
    engine = plan.leader.engine
    is_probed = bool(engine.probes or engine.hooks) and not serve_all(plan) and "probes" not in intent.skip
    return LAUNCHERS[plan.launcher].splits or is_probed


def serve_all(plan: LaunchPlan) -> bool:
    """Return whether the workers serve the API as well as the leader."""
    return LAUNCHERS[plan.launcher].workers_serve(plan.leader)


def misplaced(launch: Launch, plan: LaunchPlan, intent: Intent) -> tuple[Probe, ...]:
    """Return the probes and hooks of a worker that are meant for the leader, since workers serve no API."""
    if launch.leads or serve_all(plan) or "probes" in intent.skip or len(plan.launches) == 1:
        return ()
    leader, found = plan.leader.engine, (*launch.engine.probes, *launch.engine.hooks)
    if plan.leader.template.made:
        return found
    return tuple(one for one in found if one.handler in CALLS and one in (*leader.probes, *leader.hooks))


def startup_port(launch: Launch, plan: LaunchPlan, intent: Intent) -> int | str | None:
    """Return the port for a startup probe; None if none is needed or the port is unknown.

    One is needed where the leader has other probes, which would run while it loads the model.
    """
    fields = {probe.field for probe in launch.engine.probes}
    is_leader = launch.leads or (len(plan.launches) == 1 and serve_all(plan))
    is_missing = is_leader and fields and "startupProbe" not in fields and "startup-probe" not in intent.skip
    return api_port(launch) if is_missing else None
