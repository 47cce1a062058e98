"""Say one thing to every pod template that there will be."""

from intent.lws import Intent
from webhook.overlay import Overlay


def for_templates(intent: Intent, overlay: Overlay) -> Overlay:
    """Put an overlay of a pod template on the leader's and the workers'."""
    return {"leaderWorkerTemplate": {template.field: overlay for template in intent.templates}}
