"""Gang scheduling: settings that deadlock a gang, and those of another gang scheduler."""

from collections.abc import Iterator

from intent.annotations import (
    COMPONENT_TYPE,
    EXCLUSIVE_TOPOLOGY,
    GROUP_NAME,
    ROLES,
    SCHEDULER_NAME,
    TASK_SPEC,
    path,
)
from intent.errors import FieldError
from intent.gang import DISAGGREGATED, NO_GANG, gang_scheduler, pod_group_name
from intent.lws import Intent, Template
from webhook.layout import Input


def gang(inputs: Input) -> Iterator[FieldError]:
    """Check roles, start-up policy and topology of the object, then each template."""
    intent = inputs.intent
    if intent.component_type == "worker" and set(intent.roles) - {intent.role_name}:
        yield FieldError(
            path(ROLES),
            ",".join(intent.roles),
            f"must be {intent.role_name} or absent: a worker waits for no other role; "
            f"for prefill and decode set {COMPONENT_TYPE}",
            "FI208",
        )
    if intent.component_type in DISAGGREGATED and intent.roles and {*intent.roles} <= {intent.role_name}:
        message = f"names no other role, so the {intent.component_type} starts alone; name all roles, or none"
        yield FieldError(path(ROLES), None, message, "FI540")
    scheduler = gang_scheduler(intent, inputs.settings)
    if intent.size > 1:
        yield from _deadlocks(inputs, has_gang=bool(scheduler))
    if scheduler:
        yield from _other_gangs(intent)
        for template in intent.templates:
            yield from _template(template, intent, scheduler)


def _deadlocks(inputs: Input, *, has_gang: bool) -> Iterator[FieldError]:
    """Report what makes the leader wait for workers that LWS creates after it.

    Without a gang the leader runs alone at first; with a probe it is ready only once the engine runs.
    """
    intent, plan = inputs.intent, inputs.layout.plan
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


def _other_gangs(intent: Intent) -> Iterator[FieldError]:
    if intent.own_scheduling:
        message = f"must be absent: LWS would create PodGroups beside that of service {intent.service}"
        yield FieldError("spec.scheduling", None, message, "FI203")
    if intent.kueue_queue:
        message = (
            "must be absent: Kueue admits each LeaderWorkerSet apart from its service; "
            f"or set {SCHEDULER_NAME}: default-scheduler"
        )
        yield FieldError(intent.kueue_path, intent.kueue_queue, message, "FI204")


def _template(template: Template, intent: Intent, scheduler: str) -> Iterator[FieldError]:
    annotations = f"{template.path}.metadata.annotations"
    group = pod_group_name(intent.service, intent.revision)
    other = template.scheduler_name or NO_GANG
    named = f"the scheduler of service {intent.service}; or set {SCHEDULER_NAME}: {other}"
    rows = (
        ("schedulerName", template.scheduler_name, scheduler, named, "FI205"),
        (GROUP_NAME, template.group_name, group, "the PodGroup of the service", "FI206"),
        (TASK_SPEC, template.task_spec, intent.role_name, "the role", "FI207"),
    )
    for key, value, expected, meaning, code in rows:
        if value not in ("", expected) or key in template.emptied:
            where = f"{annotations}[{key}]" if "/" in key else f"{template.path}.spec.{key}"
            yield FieldError(where, value, f"must be absent, or {expected}, {meaning}", code)
