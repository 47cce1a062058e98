"""What serves: probes, routes as far as one LeaderWorkerSet shows them, and the sidecar of a decoder."""

from collections.abc import Iterator
from typing import Final

from intent.annotations import (
    DISAGGREGATION,
    ENDPOINT_PICKER_CONFIG,
    NO_ROUTING,
    SERVICE,
    SIDECAR,
    STRATEGY,
    path,
)
from intent.errors import FieldError, nearest, suggested
from intent.gang import DISAGGREGATED, ENCODER
from intent.launch import Launch, read_launches
from intent.lws import Probe
from intent.pickers.configuration import check_config
from intent.service.routes import (
    LONGEST_SERVICE,
    named_like_picker,
    picker_of,
    routing_problem,
    without_effect,
)
from intent.sidecar import NO_OPTIONS
from webhook.launchers import LAUNCHERS
from webhook.layout import Input, is_health, misplaced, startup_port
from webhook.move import sidecar_of
from webhook.serving import port_of

_ON_WORKERS: Final = (
    "runs on the workers too, which serve no API; write a leaderTemplate, and put the probe there"
)
_ANSWERS: Final = ("vllm", "sglang")
"""The engines that answer `/health` once they serve."""


def probes(inputs: Input) -> Iterator[FieldError]:
    """Check every probe that is not removed from its template; of launches by hand, the port alone."""
    intent, plan, serving = inputs.intent, inputs.plan, inputs.layout.served.serving
    own = plan.launches or tuple(read_launches(intent, inputs.settings))
    if intent.routing.wanted and intent.component_type != ENCODER:
        yield from _unready(own if serving.everywhere else own[:1], own)
    for launch in inputs.layout.launches if plan.rewritten else own if serving.ports else ():
        removed = misplaced(launch, inputs) if launch.engine.probes else ()
        for probe in launch.engine.probes:
            if probe not in removed and (message := _unfit(launch, probe, inputs)):
                yield FieldError(f"{launch.template.engine_path}.{probe.field}", None, message, "FI505")


def _unready(servers: tuple[Launch, ...], launches: tuple[Launch, ...]) -> Iterator[FieldError]:
    """FI571: routes send requests to pods that are Ready, as one without a probe is while it loads."""
    for launch in servers:
        engine = launch.engine
        is_known = (launch.command.engine or launch.command.within) in _ANSWERS
        if is_known and all(probe.field != "readinessProbe" for probe in engine.probes):
            message = (
                "without it a pod is Ready, and gets requests, while its model loads: write "
                f"readinessProbe: {{httpGet: {{path: /health, port: {port_of(engine, launches)}}}}}"
            )
            yield FieldError(f"{launch.template.engine_path}.readinessProbe", None, message, "FI571")
            return


def _unfit(launch: Launch, probe: Probe, inputs: Input) -> str:
    """Return why a probe fails, or ends the engine; empty if it does neither."""
    plan, serving = inputs.plan, inputs.layout.served.serving
    is_called = probe.handler == "httpGet" and probe.port in {*serving.ports[:1], "http"}
    if serving.ports and is_called and not (plan.rewritten and is_health(probe)):
        return f"calls the server of the first rank alone: use path /health and port {serving.supervisor}"
    if not plan.rewritten:
        return ""
    launcher = LAUNCHERS[plan.launcher]
    if launcher.uses_ray and str(probe.port) == str(launcher.port):
        return "Ray listens on 6379 minutes before the model is loaded: probe the API port"
    if not (launch.leads or serving.everywhere or launcher.answers):
        on_workers = (
            "runs on the workers too, which serve no API; write a leaderTemplate, and put the probe there"
        )
        return "" if probe.handler == "exec" else on_workers
    has_startup = any(one.field == "startupProbe" for one in launch.engine.probes)
    if probe.field == "livenessProbe" and not has_startup and startup_port(launch, inputs) is None:
        return "a livenessProbe without a startupProbe kills the engine while it loads: add a startupProbe"
    return ""


def routing(inputs: Input) -> Iterator[FieldError]:
    """Check what needs no other member of the service. Most objects have no such annotation."""
    intent, settings = inputs.intent, inputs.settings
    asked = intent.routing
    if asked == NO_ROUTING or intent.component_type == ENCODER:
        return  # routes lead to the members beside an encoder, which decide the strategy
    split = intent.component_type in DISAGGREGATED
    if problem := routing_problem(asked, split=split, settings=settings):
        yield problem
    if not split and (found := without_effect(asked)):
        # with prefill and decode another member may have the missing annotations
        key, message = found
        yield FieldError(path(key), None, message, "FI803")
    if asked.wanted and (taken := named_like_picker(intent.name, intent.service)):
        yield taken
    if len(intent.service) > LONGEST_SERVICE:
        message = (
            f"must be at most {LONGEST_SERVICE} characters with routes: a Service has this name with -epp"
        )
        yield FieldError(path(SERVICE), intent.service, message, "FI109")
    if asked.config:
        picker = picker_of(asked, split=split, settings=settings)
        yield from check_config(asked.config, picker, path(ENDPOINT_PICKER_CONFIG))


def sidecar(inputs: Input) -> Iterator[FieldError]:
    """Check the options of the sidecar, why the leader gets none, and probes that it would answer."""
    intent, options, move = inputs.intent, inputs.intent.sidecar_options, inputs.layout.move
    where, row = path(SIDECAR), sidecar_of(intent, inputs.settings) if options.connector else None
    if options != NO_OPTIONS and not intent.sidecar:
        message = f"has no effect: remove it; only a decoder with {STRATEGY}: {DISAGGREGATION} has a sidecar"
        yield FieldError(where, None, message, "FI568")
    elif row and options.connector not in row.connectors:
        able, hint = ", ".join(row.connectors), suggested(nearest(options.connector, row.connectors))
        message = f"this sidecar has no connector {options.connector}; use one of {able}{hint}"
        yield FieldError(where, options.connector, message, "FI840", part="connector")
    if isinstance(move, FieldError):
        yield move
    elif move and (leader := intent.templates[0]).engine:
        for probe in leader.engine.probes:
            if probe.handler == "exec":
                message = (
                    f"the engine is moved to port {move.to}: a command that calls {move.port} reaches the "
                    f"sidecar; call {move.to}, or use httpGet"
                )
                yield FieldError(f"{leader.engine_path}.{probe.field}", None, message, "FI853")
