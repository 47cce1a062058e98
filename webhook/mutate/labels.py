"""Labels that select the pods of a service, for routes, PodGroups and people."""

from typing import Final

from intent.annotations import (
    ACTIVE_PORTS,
    COMPONENT_TYPE,
    LLM_D_ROLE,
    LLM_D_ROLES,
    ROLE_NAME,
    SERVICE,
    SERVING_LABELS,
)
from intent.tree import Overlay
from webhook.layout import Input
from webhook.mutate.concern import COMMANDS, Concern, Rule, of_templates, union, values
from webhook.mutate.templates import for_templates


def labels(inputs: Input) -> Overlay:
    """Label the LeaderWorkerSet and both templates with service, component type and role.

    llm-d's own role label lets other endpoint pickers select the pods without configuration. What a pod
    serves stands on the pod, since pods of two revisions of the templates are in one service.
    """
    intent = inputs.intent
    metadata = {
        "labels": {
            SERVICE: intent.service,
            COMPONENT_TYPE: intent.component_type,
            ROLE_NAME: intent.role_name,
            LLM_D_ROLE: LLM_D_ROLES[intent.component_type],
        }
    }
    pods = {"labels": metadata["labels"] | SERVING_LABELS} if inputs.layout.serving.everywhere else metadata
    if ports := ",".join(map(str, inputs.layout.serving.ports)):
        pods = {**pods, "annotations": dict.fromkeys(ACTIVE_PORTS, ports)}
    return {"metadata": metadata, **for_templates(inputs.layout, {"metadata": pods})}


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
            r"\.labels\[fusioninfer\.io/service\]",
            "it selects the pods of the service, for PodGroups and routes",
            (SERVICE,),
        ),
        Rule(
            "FI602",
            r"\.labels\[fusioninfer\.io/component-type\]",
            "routes distinguish prefillers, decoders and workers by it",
            (COMPONENT_TYPE, SERVICE),
        ),
        Rule(
            "FI603",
            r"\.labels\[fusioninfer\.io/role-name\]",
            "distinguishes the roles of one service",
            (ROLE_NAME, COMPONENT_TYPE, SERVICE),
        ),
        Rule(
            "FI604",
            r"\.labels\[llm-d\.ai/role\]",
            "endpoint pickers of llm-d select prefill and decode pods by it",
            (COMPONENT_TYPE, SERVICE),
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
