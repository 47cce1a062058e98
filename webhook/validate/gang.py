"""Gang scheduling: settings that deadlock a gang, and those of another gang scheduler."""

from collections.abc import Iterator

from intent.annotations import (
    EXCLUSIVE_TOPOLOGY,
    GROUP_NAME,
    KUEUE_QUEUE,
    ROLES,
    SCHEDULER_NAME,
    TASK_SPEC,
    path,
)
from intent.errors import FieldError
from intent.gang import DISAGGREGATED, gang_scheduler, pod_group_name
from intent.lws import Intent, Template
from webhook.layout import Input


def gang(given: Input) -> Iterator[FieldError]:
    """Check roles, start-up policy and topology of the object, then each template."""
    intent = given.intent
    if intent.component_type == "worker" and set(intent.roles) - {intent.role_name}:
        yield FieldError(
            path(ROLES),
            ",".join(intent.roles),
            f"must be {intent.role_name} or absent: a worker has only its own role",
            "FI208",
        )
    if intent.component_type in DISAGGREGATED and intent.roles and {*intent.roles} <= {intent.role_name}:
        message = f"names no other role, so the {intent.component_type} starts alone; name all roles, or none"
        yield FieldError(path(ROLES), None, message, "FI540")
    if intent.size > 1:
        yield from _deadlocks(intent)
    scheduler = gang_scheduler(intent, given.settings)
    if scheduler:
        yield from _other_gangs(intent)
        for template in intent.templates:
            yield from _template(template, intent, scheduler)


def _deadlocks(intent: Intent) -> Iterator[FieldError]:
    if intent.startup_policy == "LeaderReady":
        message = "must be LeaderCreated: with LeaderReady workers wait for the leader, and the gang for them"
        yield FieldError("spec.startupPolicy", intent.startup_policy, message, "FI201")
    if intent.exclusive_topology:
        message = (
            "must be absent: LWS creates workers once the leader is scheduled, the gang waits for all pods"
        )
        yield FieldError(path(EXCLUSIVE_TOPOLOGY), intent.exclusive_topology, message, "FI202")


def _other_gangs(intent: Intent) -> Iterator[FieldError]:
    if intent.own_scheduling:
        yield FieldError("spec.scheduling", None, "must be absent: it creates another gang", "FI203")
    if intent.kueue_queue:
        message = f"must be absent, or set {SCHEDULER_NAME}: default-scheduler"
        yield FieldError(f"metadata.labels[{KUEUE_QUEUE}]", intent.kueue_queue, message, "FI204")


def _template(template: Template, intent: Intent, scheduler: str) -> Iterator[FieldError]:
    annotations = f"{template.path}.metadata.annotations"
    group = pod_group_name(intent.service, intent.revision)
    rows = (
        (f"{template.path}.spec.schedulerName", template.scheduler_name, scheduler, "FI205"),
        (f"{annotations}[{GROUP_NAME}]", template.group_name, group, "FI206"),
        (f"{annotations}[{TASK_SPEC}]", template.task_spec, intent.role_name, "FI207"),
    )
    for where, value, expected, code in rows:
        if value not in ("", expected):
            yield FieldError(where, value, f"must be {expected}, or absent", code)
