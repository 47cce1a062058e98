"""Labels that select the pods of a service, for routes, PodGroups and people."""

from typing import Final

from intent.annotations import COMPONENT_TYPE, LLM_D_ROLE, LLM_D_ROLES, ROLE_NAME, SERVICE
from intent.lws import Intent
from intent.settings import Settings
from webhook.mutate import concern as inputs
from webhook.mutate.concern import Concern, Rule
from webhook.mutate.templates import for_templates
from webhook.overlay.overlay import Overlay


def labels(intent: Intent, _settings: Settings) -> Overlay:
    """Label the LeaderWorkerSet and both templates with service, component type and role.

    llm-d's own role label lets other endpoint pickers select the pods without configuration.
    """
    metadata = {
        "labels": {
            SERVICE: intent.service,
            COMPONENT_TYPE: intent.component_type,
            ROLE_NAME: intent.role_name,
            LLM_D_ROLE: LLM_D_ROLES[intent.component_type],
        }
    }
    return {"metadata": metadata, "spec": for_templates(intent, {"metadata": metadata})}


LABELS: Final = Concern(
    labels,
    opt_out="not possible; remove all `fusioninfer.io/` annotations to revert everything",
    rules=(
        Rule(
            "FI601",
            "labels",
            r"\.labels\[fusioninfer\.io/service\]",
            "PodGroups, routes and people select the pods of the service by it",
            (inputs.SERVICE,),
        ),
        Rule(
            "FI602",
            "labels",
            r"\.labels\[fusioninfer\.io/component-type\]",
            "routes distinguish prefillers, decoders and workers by it",
            (inputs.COMPONENT_TYPE, inputs.SERVICE),
        ),
        Rule(
            "FI603",
            "labels",
            r"\.labels\[fusioninfer\.io/role-name\]",
            "distinguishes the roles of one service",
            (inputs.ROLE_NAME, inputs.COMPONENT_TYPE, inputs.SERVICE),
        ),
        Rule(
            "FI604",
            "labels",
            r"\.labels\[llm-d\.ai/role\]",
            "endpoint pickers of llm-d select prefill and decode pods by it",
            (inputs.COMPONENT_TYPE, inputs.SERVICE),
        ),
    ),
)
