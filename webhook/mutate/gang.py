"""Gang scheduling: the scheduler of the pods, and the PodGroup and task that they belong to."""

from typing import Final

from intent.annotations import (
    COMPONENT_TYPE,
    GROUP_NAME,
    ROLE_NAME,
    SCHEDULER_NAME,
    SERVICE,
    TASK_SPEC,
)
from intent.gang import gang_scheduler, pod_group_name
from intent.tree import Overlay
from webhook.layout import Input
from webhook.mutate.concern import (
    SIZE,
    Concern,
    Rule,
    of_templates,
    values,
)
from webhook.mutate.templates import for_templates


def gang(inputs: Input) -> Overlay:
    """Assign each pod to the gang scheduler, in the PodGroup of the service."""
    intent = inputs.intent
    scheduler = gang_scheduler(intent, inputs.settings)
    if not scheduler:
        return {}
    group = pod_group_name(intent.service, intent.revision)
    annotations = {GROUP_NAME: group, TASK_SPEC: intent.role_name}
    template = {"metadata": {"annotations": annotations}, "spec": {"schedulerName": scheduler}}
    return for_templates(inputs.layout, template)


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
            r"\.annotations\[scheduling\.k8s\.io/group-name\]",
            "Volcano: the PodGroup of the service (or revision), whose pods start together",
            (SERVICE,),
        ),
        Rule(
            "FI613",
            r"\.annotations\[volcano\.sh/task-spec\]",
            "Volcano: the task of the pods in their PodGroup, which is their role",
            (ROLE_NAME, COMPONENT_TYPE, SERVICE),
        ),
    ),
)
