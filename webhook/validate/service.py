"""The service of an object: its names, labels and gang, and what serves: probes, routes and sidecar."""

from collections.abc import Iterator
from typing import Final

from intent.annotations import (
    COMPONENT_TYPE,
    DISAGGREGATION,
    ENDPOINT_PICKER_CONFIG,
    EXCLUSIVE_TOPOLOGY,
    GROUP_NAME,
    PREFIX,
    ROLE_NAME,
    ROLES,
    SCHEDULER_NAME,
    SERVICE,
    SERVING_LABELS,
    SIDECAR,
    STRATEGY,
    TASK_SPEC,
    path,
)
from intent.errors import FieldError, nearest, suggested
from intent.gang import DISAGGREGATED, ENCODER, NO_GANG, gang_scheduler, pod_group_name
from intent.launch import Launch
from intent.lws import Intent, Probe, Template
from intent.names import longest_name
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
from webhook.layout import Input, is_health, misplaced, port_of, startup_port
from webhook.move import sidecar_of


def gang(inputs: Input) -> Iterator[FieldError]:
    """Check name, labels and roles of the object, then what makes or breaks its gang."""
    intent = inputs.intent
    yield from too_long(intent.name, intent.size, intent.replicas)
    if intent.labels or any(template.labels for template in intent.templates):
        yield from _reserved(inputs)
    if intent.roles:
        yield from _roles(intent)
    scheduler = gang_scheduler(intent, inputs.settings)
    if intent.size > 1 and (intent.exclusive_topology or intent.startup_policy == "LeaderReady"):
        yield from _deadlocks(inputs, has_gang=bool(scheduler))
    if not scheduler:
        return
    if intent.own_scheduling:
        message = f"must be absent: LWS would create PodGroups beside that of service {intent.service}"
        yield FieldError("spec.scheduling", None, message, "FI203")
    if intent.kueue_queue:
        message = (
            "must be absent: Kueue admits each LeaderWorkerSet apart from its service; "
            f"or set {SCHEDULER_NAME}: default-scheduler"
        )
        yield FieldError(intent.kueue_path, intent.kueue_queue, message, "FI204")
    for template in intent.templates:
        if template.emptied or template.scheduler_name or template.group_name or template.task_spec:
            yield from _of_another(template, intent, scheduler)


def too_long(name: str, size: int, replicas: int) -> Iterator[FieldError]:
    """Report a name with which LWS cannot create every pod. No other validator reads the replicas."""
    limit = longest_name(size, replicas)
    if len(name) > limit:
        message = f"must be at most {limit} characters: pods carry it in a label with group and revision"
        yield FieldError("metadata.name", name, message, "FI109")


def _reserved(inputs: Input) -> Iterator[FieldError]:
    """Report labels under our prefix with a value other than the one that is set."""
    intent = inputs.intent
    ours = {SERVICE: intent.service, COMPONENT_TYPE: intent.component_type, ROLE_NAME: intent.role_name}
    is_everywhere = inputs.layout.serving.everywhere or intent.size == 1
    pods = ours | SERVING_LABELS if is_everywhere else ours
    of_pods = ((f"{template.path}.metadata", template.labels, pods) for template in intent.templates)
    for where, written, expected in (("metadata", intent.labels, ours), *of_pods):
        for key, value in written:
            if expected.get(key) != value:
                message = (
                    f"must be absent, or {ours[key]}: FusionInfer sets this label"
                    if key in ours
                    else f"must be absent: labels under {PREFIX} are reserved; "
                    "annotations are in metadata.annotations"
                )
                yield FieldError(f"{where}.labels[{key}]", value, message, "FI107")


def _roles(intent: Intent) -> Iterator[FieldError]:
    """Report roles that a worker would wait for."""
    if intent.component_type == "worker" and {*intent.roles} != {intent.role_name}:
        message = (
            f"must be {intent.role_name} or absent: a worker waits for no other role; "
            f"for prefill and decode set {COMPONENT_TYPE}"
        )
        yield FieldError(path(ROLES), ",".join(intent.roles), message, "FI208")


def _deadlocks(inputs: Input, *, has_gang: bool) -> Iterator[FieldError]:
    """Report what makes the leader wait for workers that LWS creates after it.

    Without a gang the leader runs alone at first; with a probe it is ready only once the engine runs.
    """
    intent, plan = inputs.intent, inputs.plan
    is_awaited = plan.rewritten and bool(plan.leader.engine.probes)
    if intent.startup_policy == "LeaderReady" and (has_gang or is_awaited):
        waits = "scheduled together with them" if has_gang else "not ready before the engine runs on all pods"
        message = (
            "must be LeaderCreated: LeaderReady creates the workers once the leader is ready, "
            f"and the leader is {waits}"
        )
        yield FieldError("spec.startupPolicy", intent.startup_policy, message, "FI201")
    if intent.exclusive_topology and has_gang:
        message = (
            "must be absent: LWS creates the workers once the leader is scheduled, "
            f"and the leader is scheduled together with them; or set {SCHEDULER_NAME}: default-scheduler"
        )
        yield FieldError(path(EXCLUSIVE_TOPOLOGY), intent.exclusive_topology, message, "FI202")


def _of_another(template: Template, intent: Intent, scheduler: str) -> Iterator[FieldError]:
    """Report the scheduler, PodGroup or task of another gang in a template."""
    other = template.scheduler_name or NO_GANG
    named = f"the scheduler of service {intent.service}; or set {SCHEDULER_NAME}: {other}"
    group = pod_group_name(intent.service, intent.revision)
    rows = (
        ("schedulerName", template.scheduler_name, scheduler, named),
        (GROUP_NAME, template.group_name, group, "the PodGroup of the service"),
        (TASK_SPEC, template.task_spec, intent.role_name, "the role"),
    )
    for key, value, expected, meaning in rows:
        if value not in ("", expected) or key in template.emptied:
            where = f"metadata.annotations[{key}]" if "/" in key else f"spec.{key}"
            message = f"must be absent, or {expected}, {meaning}"
            yield FieldError(f"{template.path}.{where}", value, message, "FI205")


# --- what serves --------------------------------------------------------------------------------------

_ANSWERS: Final = ("vllm", "sglang")
"""The engines that answer `/health` once they serve."""


def probes(inputs: Input) -> Iterator[FieldError]:
    """Check every probe that is not removed from its template; of launches by hand, the port alone."""
    intent, plan, serving = inputs.intent, inputs.plan, inputs.layout.serving
    own = plan.launches
    if intent.routing.wanted and intent.component_type != ENCODER:
        yield from _unready(own if serving.everywhere else own[:1])
    for launch in inputs.layout.launches if plan.rewritten else own if serving.ports else ():
        removed = misplaced(launch, inputs) if launch.engine.probes else ()
        for probe in launch.engine.probes:
            if probe not in removed and (message := _unfit(launch, probe, inputs)):
                yield FieldError(f"{launch.template.engine_path}.{probe.field}", None, message, "FI505")


def _unready(servers: tuple[Launch, ...]) -> Iterator[FieldError]:
    """FI571: routes send requests to pods that are Ready, as one without a probe is while it loads."""
    for launch in servers:
        engine = launch.engine
        is_known = launch.command.started in _ANSWERS
        if is_known and all(probe.field != "readinessProbe" for probe in engine.probes):
            message = (
                "without it a pod is Ready, and gets requests, while its model loads: write "
                f"readinessProbe: {{httpGet: {{path: /health, port: {port_of(engine, servers)}}}}}"
            )
            yield FieldError(f"{launch.template.engine_path}.readinessProbe", None, message, "FI571")
            return


def _unfit(launch: Launch, probe: Probe, inputs: Input) -> str:
    """Return why a probe fails, or ends the engine; empty if it does neither."""
    plan, serving = inputs.plan, inputs.layout.serving
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
    has_startup = any(other.field == "startupProbe" for other in launch.engine.probes)
    if probe.field == "livenessProbe" and not has_startup and startup_port(launch, inputs) is None:
        return "a livenessProbe without a startupProbe kills the engine while it loads: add a startupProbe"
    return ""


def routing(inputs: Input) -> Iterator[FieldError]:
    """Check the annotations about routes as far as that needs no other member of the service."""
    intent, settings = inputs.intent, inputs.settings
    asked = intent.routing
    if intent.component_type == ENCODER:
        return  # routes lead to the members beside an encoder, which decide the strategy
    split = intent.component_type in DISAGGREGATED
    if problem := routing_problem(asked, split=split, settings=settings):
        yield problem
    if not split and (unused := without_effect(asked)):
        # with prefill and decode another member may have the missing annotations
        key, message = unused
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
