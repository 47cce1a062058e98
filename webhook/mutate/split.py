"""A leader template of its own, where leader and workers shared one template and must differ."""

from typing import Final

from intent.annotations import LAUNCHER
from intent.tree import COPY, DIGEST, Overlay
from webhook.layout import SPLIT as NAME
from webhook.layout import Input
from webhook.mutate.concern import PROBES, SIZE, Concern, Rule, of_templates, values
from webhook.mutate.templates import in_group


def split(inputs: Input) -> Overlay:
    """Make the leader's template a copy of the workers'. The other mutators then write into both."""
    return in_group({one.field: {COPY: "workerTemplate"} for one in inputs.layout.templates if one.made})


SPLIT: Final = Concern(
    NAME,
    split,
    unit="launch",
    writes=of_templates(values(COPY, DIGEST)),
    opt_out="write a leaderTemplate of your own",
    rules=(
        Rule(
            "FI623",
            r"\.leaderTemplate",
            "leader and workers shared a template, and must differ",
            (*PROBES, "lifecycle", LAUNCHER, SIZE),
        ),
    ),
)
