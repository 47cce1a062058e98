"""Metadata and gang: names and labels that are taken, and settings that deadlock a gang or make another."""

from collections.abc import Iterator

from intent.annotations import (
    COMPONENT_TYPE,
    EXCLUSIVE_TOPOLOGY,
    GROUP_NAME,
    PREFIX,
    ROLE_NAME,
    ROLES,
    SCHEDULER_NAME,
    SERVICE,
    SERVING_LABELS,
    TASK_SPEC,
    path,
)
from intent.errors import FieldError
from intent.gang import DISAGGREGATED, NO_GANG, gang_scheduler, pod_group_name
from intent.lws import Intent, Template
from intent.names import longest_name
from webhook.layout import Input


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
    is_everywhere = inputs.layout.served.serving.everywhere or intent.size == 1
    pods = ours | SERVING_LABELS if is_everywhere else ours
    of_pods = ((f"{one.path}.metadata", one.labels, pods) for one in intent.templates)
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
    """Report roles that a worker would wait for, and those of one side alone."""
    own, kind = {intent.role_name}, intent.component_type
    if kind == "worker" and not own.issuperset(intent.roles):
        message = (
            f"must be {intent.role_name} or absent: a worker waits for no other role; "
            f"for prefill and decode set {COMPONENT_TYPE}"
        )
        yield FieldError(path(ROLES), ",".join(intent.roles), message, "FI208")
    if kind in DISAGGREGATED and own.issuperset(intent.roles):
        message = f"names no other role, so the {kind} starts alone; name all roles, or none"
        yield FieldError(path(ROLES), None, message, "FI540")


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
        ("schedulerName", template.scheduler_name, scheduler, named, "FI205"),
        (GROUP_NAME, template.group_name, group, "the PodGroup of the service", "FI206"),
        (TASK_SPEC, template.task_spec, intent.role_name, "the role", "FI207"),
    )
    for key, value, expected, meaning, code in rows:
        if value not in ("", expected) or key in template.emptied:
            where = f"metadata.annotations[{key}]" if "/" in key else f"spec.{key}"
            message = f"must be absent, or {expected}, {meaning}"
            yield FieldError(f"{template.path}.{where}", value, message, code)
