"""The mutators: one concern per module, one table that lists them.

A mutator reads the Intent and returns an overlay. It does not know the other mutators, the live object, or
what was injected before; `webhook.expand` handles those. To drop a concern, remove its row from `CONCERNS`.
"""

from typing import Final

from webhook.mutate.concern import Concern, Mutator, Rule
from webhook.mutate.dns import DNS
from webhook.mutate.env import ENV
from webhook.mutate.gang import GANG
from webhook.mutate.labels import LABELS
from webhook.mutate.launch import LAUNCH
from webhook.mutate.probes import PROBES
from webhook.mutate.shm import SHM
from webhook.mutate.sidecar import SIDECAR
from webhook.mutate.split import SPLIT

CONCERNS: Final[tuple[Concern, ...]] = (LABELS, GANG, SPLIT, LAUNCH, ENV, SHM, PROBES, DNS, SIDECAR)
MUTATORS: Final[tuple[Mutator, ...]] = tuple(concern.mutate for concern in CONCERNS)
RULES: Final[tuple[Rule, ...]] = tuple(rule for concern in CONCERNS for rule in concern.rules)


def rule_for(path: str) -> Rule | None:
    """Return the rule that explains the field at `path`, or None if no mutator writes that field."""
    return next((rule for rule in RULES if rule.is_for(path)), None)
