"""The gang: which scheduler places the pods, and with whom they are placed."""

from intent.annotations import GROUP_NAME, TASK_SPEC
from intent.gang import gang_scheduler
from intent.lws import Intent
from intent.settings import Settings
from webhook.mutate.templates import for_templates
from webhook.overlay.overlay import Overlay


def gang(intent: Intent, settings: Settings) -> Overlay:
    """Hand every pod of the set to the gang scheduler, in the group of the service."""
    scheduler = gang_scheduler(intent, settings)
    if not scheduler:
        return {}
    annotations = {GROUP_NAME: intent.service, TASK_SPEC: intent.role_name}
    template = {"metadata": {"annotations": annotations}, "spec": {"schedulerName": scheduler}}
    return {"spec": for_templates(intent, template)}
