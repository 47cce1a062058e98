"""Probes of a group: the workers serve no API, so the leader's probes would fail there."""

from typing import Final

from intent.container import HOOKS
from intent.launch import Launch
from intent.tree import Overlay
from webhook.layout import PROBES as NAME
from webhook.layout import Input, misplaced, of_supervisor
from webhook.mutate.concern import SIZE, Concern, Rule, of_containers, values
from webhook.mutate.templates import for_launches, in_engine


def probes(inputs: Input) -> Overlay:
    """Remove the leader's probes and hooks from the workers; call the supervisor of several servers."""
    supervisor = inputs.layout.serving.supervisor

    def container(launch: Launch) -> Overlay:
        engine = launch.engine
        called = (one for one in (*engine.probes, *engine.hooks) if of_supervisor(one, inputs))
        written: Overlay = {one.field: {one.handler: {"port": supervisor}} for one in called}
        written |= {one.field: None for one in misplaced(launch, inputs)}
        hooks = {field: written.pop(field) for field in HOOKS if field in written}
        return in_engine(engine, written | ({"lifecycle": hooks} if hooks else {}))

    plan = inputs.layout.plan
    return for_launches(plan.launches, container) if plan.rewritten else {}


_FIELDS: Final = ("readinessProbe", "livenessProbe", "startupProbe")

PROBES: Final = Concern(
    NAME,
    probes,
    unit="launch",
    writes=of_containers(values(*_FIELDS, "lifecycle")),
    replaces=frozenset({*_FIELDS, *HOOKS, "port"}),
    skip="probes",
    opt_out="write both templates, or set `fusioninfer.io/skip: probes`",
    rules=(
        Rule(
            "FI651",
            r"\.workerTemplate\..*(?:\.livenessProbe|\.readinessProbe|\.startupProbe|\.postStart|\.preStop)",
            "workers serve no API, so it would fail there and restart the group",
            (SIZE,),
        ),
    ),
)
