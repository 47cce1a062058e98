"""The service, the role and the gang of the pods: labels that select them, and the group they start with."""

from typing import Final

from intent.annotations import (
    ACTIVE_PORTS,
    COMPONENT_TYPE,
    GROUP_NAME,
    LLM_D_ROLE,
    LLM_D_ROLES,
    ROLE_NAME,
    SCHEDULER_NAME,
    SERVICE,
    SERVING_LABELS,
    TASK_SPEC,
)
from intent.gang import gang_scheduler, pod_group_name
from intent.tree import Overlay
from webhook.layout import Input
from webhook.mutate.concern import (
    COMMANDS,
    SIZE,
    Concern,
    Rule,
    in_group,
    of_templates,
    union,
    values,
)


def labels(inputs: Input) -> Overlay:
    """Label the LeaderWorkerSet and both templates with service, component type and role.

    llm-d's own role label lets other endpoint pickers select the pods without configuration. What a pod
    serves stands on the pod, since pods of two revisions of the templates are in one service.
    """
    intent, serving = inputs.intent, inputs.layout.serving
    metadata = {
        "labels": {
            SERVICE: intent.service,
            COMPONENT_TYPE: intent.component_type,
            ROLE_NAME: intent.role_name,
            LLM_D_ROLE: LLM_D_ROLES[intent.component_type],
        }
    }
    pods = {"labels": metadata["labels"] | SERVING_LABELS} if serving.everywhere else metadata
    if serving.ports:
        pods = {**pods, "annotations": dict.fromkeys(ACTIVE_PORTS, ",".join(map(str, serving.ports)))}
    templates = in_group({template.field: {"metadata": pods} for template in inputs.layout.templates})
    return {"metadata": metadata, **templates}


_LABELS: Final = (SERVICE, COMPONENT_TYPE, ROLE_NAME, LLM_D_ROLE)

LABELS: Final = Concern(
    "labels",
    labels,
    writes=union(
        {"metadata": {"labels": values(*_LABELS)}},
        of_templates(
            {"metadata": {"labels": values(*_LABELS, *SERVING_LABELS), "annotations": values(*ACTIVE_PORTS)}}
        ),
    ),
    opt_out="not possible; remove all `fusioninfer.io/` annotations to revert everything",
    rules=(
        Rule(
            "FI601",
            r"\.labels\[(?:fusioninfer\.io/(?:service|component-type|role-name)|llm-d\.ai/role)\]",
            "PodGroups, routes and endpoint pickers find the pods of the service and of the role by it",
            (SERVICE,),
        ),
        Rule(
            "FI605",
            r"\.labels\[fusioninfer\.io/serves\]",
            "every pod of the group serves: Service and routes select all of them once all have it",
            (*COMMANDS, SERVICE),
        ),
        Rule(
            "FI606",
            r"\.annotations\[(?:inference\.networking\.k8s\.io|llm-d\.ai)/active-ports\]",
            "the pod serves on a port for each of its ranks; only endpoint pickers balance over them",
            (*COMMANDS, SERVICE),
        ),
    ),
)


def gang(inputs: Input) -> Overlay:
    """Assign each pod to the gang scheduler, in the PodGroup of the service."""
    intent = inputs.intent
    scheduler = gang_scheduler(intent, inputs.settings)
    if not scheduler:
        return {}
    group = pod_group_name(intent.service, intent.revision)
    annotations = {GROUP_NAME: group, TASK_SPEC: intent.role_name}
    pods = {"metadata": {"annotations": annotations}, "spec": {"schedulerName": scheduler}}
    return in_group({template.field: pods for template in inputs.layout.templates})


GANG: Final = Concern(
    "gang",
    gang,
    writes=of_templates(
        {"metadata": {"annotations": values(GROUP_NAME, TASK_SPEC)}, "spec": values("schedulerName")}
    ),
    opt_out="set `fusioninfer.io/scheduler-name: default-scheduler` to schedule each pod on its own",
    rules=(
        Rule(
            "FI611",
            r"\.schedulerName",
            "one pod alone serves nothing, so a gang scheduler places all pods or none",
            (SCHEDULER_NAME, SIZE, COMPONENT_TYPE),
        ),
        Rule(
            "FI612",
            r"\.annotations\[(?:scheduling\.k8s\.io/group-name|volcano\.sh/task-spec)\]",
            "Volcano: the PodGroup of the service (or revision), whose pods start together, and their task",
            (SERVICE,),
        ),
    ),
)
