"""Probes of a group: workers serve no API, and loading a model takes longer than probes allow."""

from typing import Final

from intent import Object
from intent.container import HOOKS
from intent.launch import Launch, has_tls
from intent.tree import Overlay
from webhook.layout import PROBES as NAME
from webhook.layout import STARTUP as STARTUP_NAME
from webhook.layout import Input, misplaced, of_supervisor, startup_port
from webhook.mutate.concern import PROBES as FIELDS
from webhook.mutate.concern import (
    SIZE,
    Concern,
    Rule,
    for_launches,
    in_engine,
    of_containers,
    of_probes,
    values,
)


@for_launches
def probes(launch: Launch, inputs: Input) -> Overlay:
    """Remove the leader's probes and hooks from the workers; call the supervisor of several servers."""
    engine, port = launch.engine, inputs.layout.served.serving.supervisor
    called = (one for one in (*engine.probes, *engine.hooks) if of_supervisor(one, inputs))
    written: Overlay = {one.field: {one.handler: {"port": port}} for one in called}
    written |= {one.field: None for one in misplaced(launch, inputs)}
    return in_engine(engine, of_probes(written)) if written else {}


PROBES: Final = Concern(
    NAME,
    probes,
    unit="launch",
    writes=of_containers(values(*FIELDS, "lifecycle")),
    replaces=frozenset({*FIELDS, *HOOKS, "port"}),
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


LOADING: Final[Object] = {"periodSeconds": 10, "failureThreshold": 360}
"""One hour. No other probe runs until the startup probe succeeds."""


@for_launches
def startup(launch: Launch, inputs: Input) -> Overlay:
    """Add a startup probe to the leader, if it has other probes, which would fail while it loads a model."""
    port = startup_port(launch, inputs)
    if port is None:
        return {}
    scheme = {"scheme": "HTTPS"} if has_tls(launch) else {}
    probe = {"httpGet": {"path": "/health", "port": port, **scheme}, **LOADING}
    return in_engine(launch.engine, {"startupProbe": probe})


STARTUP: Final = Concern(
    STARTUP_NAME,
    startup,
    unit="launch",
    writes=of_containers(values("startupProbe")),
    skip="startup-probe",
    opt_out="write a startupProbe, or set `fusioninfer.io/skip: startup-probe`",
    rules=(
        Rule(
            "FI652",
            r"\.startupProbe",
            "gives the engine an hour to load its model before other probes run",
            FIELDS,
        ),
    ),
)
