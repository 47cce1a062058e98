"""The startup probe of the leader: loading a model takes minutes, and other probes would fail meanwhile."""

from typing import Final

from intent import Object
from intent.launch import Launch, has_tls
from intent.tree import Overlay
from webhook.layout import STARTUP as NAME
from webhook.layout import Input, startup_port
from webhook.mutate.concern import PROBES, Concern, Rule, of_containers, values
from webhook.mutate.templates import for_launches, in_engine

LOADING: Final[Object] = {"periodSeconds": 10, "failureThreshold": 360}
"""One hour. No other probe runs until the startup probe succeeds."""


def startup(inputs: Input) -> Overlay:
    """Add a startup probe to the leader, if it has other probes."""

    def container(launch: Launch) -> Overlay:
        port = startup_port(launch, inputs)
        return {} if port is None else in_engine(launch.engine, {"startupProbe": _probe(launch, port)})

    plan = inputs.layout.plan
    return for_launches(plan.launches, container) if plan.rewritten else {}


def _probe(launch: Launch, port: int | str) -> Object:
    get: Object = {"path": "/health", "port": port}
    return {"httpGet": get | ({"scheme": "HTTPS"} if has_tls(launch) else {}), **LOADING}


STARTUP: Final = Concern(
    NAME,
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
            PROBES,
        ),
    ),
)
