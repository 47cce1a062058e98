"""A leader template of its own, where leader and workers shared one template and must differ."""

from typing import Final

from intent.lws import Intent
from intent.settings import Settings
from webhook.mutate.concern import LAUNCHER, PROBES, SIZE, Concern, Rule, engine_field
from webhook.overlay.overlay import COPY, Overlay


def split(intent: Intent, _settings: Settings) -> Overlay:
    """Make the leader's template a copy of the workers'. The other mutators then write into both."""
    made = {template.field: {COPY: "workerTemplate"} for template in intent.templates if template.made}
    return {"spec": {"leaderWorkerTemplate": made}} if made else {}


SPLIT: Final = Concern(
    split,
    opt_out="write a leaderTemplate of your own",
    rules=(
        Rule(
            "FI623",
            "split",
            r"\.leaderTemplate",
            "leader and workers shared a template, and must differ",
            (*PROBES, engine_field("lifecycle"), LAUNCHER, SIZE),
        ),
    ),
)
