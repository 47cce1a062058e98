"""Labels by which routes, PodGroups and people find the pods of a service."""

from intent.annotations import COMPONENT_TYPE, LLM_D_ROLE, LLM_D_ROLES, ROLE_NAME, SERVICE
from intent.lws import Intent
from intent.settings import Settings
from webhook.mutate.templates import for_templates
from webhook.overlay.overlay import Overlay


def labels(intent: Intent, _settings: Settings) -> Overlay:
    """Stamp service, component type and role on the LeaderWorkerSet and on both templates."""
    metadata = {"labels": stamped(intent)}
    return {"metadata": metadata, "spec": for_templates(intent, {"metadata": metadata})}


def stamped(intent: Intent) -> dict[str, str]:
    """Give the labels; llm-d's own makes foreign endpoint pickers work unchanged."""
    return {
        SERVICE: intent.service,
        COMPONENT_TYPE: intent.component_type,
        ROLE_NAME: intent.role_name,
        LLM_D_ROLE: LLM_D_ROLES[intent.component_type],
    }
