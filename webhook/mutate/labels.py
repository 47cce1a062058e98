"""Labels that select the pods of a service, for routes, PodGroups and people."""

from typing import Final

from intent.annotations import COMPONENT_TYPE, LLM_D_ROLE, LLM_D_ROLES, ROLE_NAME, SERVICE
from webhook.digest import Reads
from webhook.layout import Input
from webhook.mutate import concern as causes
from webhook.mutate.concern import Concern, Rule, of_templates, union, values
from webhook.mutate.templates import for_templates
from webhook.overlay.overlay import Overlay


def labels(given: Input) -> Overlay:
    """Label the LeaderWorkerSet and both templates with service, component type and role.

    llm-d's own role label lets other endpoint pickers select the pods without configuration.
    """
    intent = given.intent
    metadata = {
        "labels": {
            SERVICE: intent.service,
            COMPONENT_TYPE: intent.component_type,
            ROLE_NAME: intent.role_name,
            LLM_D_ROLE: LLM_D_ROLES[intent.component_type],
        }
    }
    return {"metadata": metadata, "spec": for_templates(given.layout, {"metadata": metadata})}


_PATHS: Final = {"metadata": {"labels": values(SERVICE, COMPONENT_TYPE, ROLE_NAME, LLM_D_ROLE)}}

LABELS: Final = Concern(
    "labels",
    labels,
    reads=Reads(("service", "component_type", "role_name"), layout=("splits",)),
    writes=union(_PATHS, of_templates(_PATHS)),
    opt_out="not possible; remove all `fusioninfer.io/` annotations to revert everything",
    rules=(
        Rule(
            "FI601",
            r"\.labels\[fusioninfer\.io/service\]",
            "PodGroups, routes and people select the pods of the service by it",
            (causes.SERVICE,),
        ),
        Rule(
            "FI602",
            r"\.labels\[fusioninfer\.io/component-type\]",
            "routes distinguish prefillers, decoders and workers by it",
            (causes.COMPONENT_TYPE, causes.SERVICE),
        ),
        Rule(
            "FI603",
            r"\.labels\[fusioninfer\.io/role-name\]",
            "distinguishes the roles of one service",
            (causes.ROLE_NAME, causes.COMPONENT_TYPE, causes.SERVICE),
        ),
        Rule(
            "FI604",
            r"\.labels\[llm-d\.ai/role\]",
            "endpoint pickers of llm-d select prefill and decode pods by it",
            (causes.COMPONENT_TYPE, causes.SERVICE),
        ),
    ),
)
