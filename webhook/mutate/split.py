"""The split: a template of the leader's own, where it shared one with the workers."""

from intent.lws import Intent
from intent.settings import Settings
from webhook.overlay.overlay import COPY, Overlay


def split(intent: Intent, _settings: Settings) -> Overlay:
    """Make the leader's template a copy of the workers', on which all others then put theirs."""
    made = {template.field: {COPY: "workerTemplate"} for template in intent.templates if template.made}
    return {"spec": {"leaderWorkerTemplate": made}} if made else {}
