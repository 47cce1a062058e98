"""The mutators: one concern per module, one table that lists them.

A mutator reads its `Input` and returns an overlay. It does not know the other mutators, the live object, or
what was injected before; `webhook.expand` handles those. To drop a concern, remove its row from `CONCERNS`.
"""

from collections.abc import Iterable
from typing import Final

from intent.lws import Intent
from intent.settings import Settings
from webhook.layout import Input, read_input
from webhook.mutate.concern import Concern, Paths, Rule, union
from webhook.mutate.dns import DNS
from webhook.mutate.env import ENV
from webhook.mutate.gang import GANG
from webhook.mutate.labels import LABELS
from webhook.mutate.launch import LAUNCH
from webhook.mutate.probes import PROBES
from webhook.mutate.shm import SHM
from webhook.mutate.sidecar import SIDECAR
from webhook.mutate.split import SPLIT
from webhook.mutate.startup import STARTUP
from webhook.overlay.overlay import Overlay, combine

CONCERNS: Final[tuple[Concern, ...]] = (LABELS, GANG, SPLIT, LAUNCH, ENV, SHM, PROBES, STARTUP, DNS, SIDECAR)

ELSEWHERE: Final[Paths] = {}
"""Paths that only other releases write: of concerns that are gone, and of those to come (ADR 7)."""
WRITABLE: Final = union(ELSEWHERE, *(concern.writes for concern in CONCERNS))
"""Every path that mutators can write. A record with any other path is refused.

Only `set` is checked: `was` is read only at the paths of `set`.
"""
REPLACED_ELSEWHERE: Final = frozenset[str]()
"""Fields that only other releases replace. Those of a removed concern stay here, so that pins keep them."""
REPLACEABLE: Final = REPLACED_ELSEWHERE.union(*(concern.replaces for concern in CONCERNS))
"""The names of fields whose value may replace one of the author's."""


def input_of(intent: Intent, settings: Settings, concerns: Iterable[Concern] = CONCERNS) -> Input:
    """Return the input of mutators and validators for one object."""
    return _read(intent, settings, _wanted(intent, concerns))


def overlay(intent: Intent, settings: Settings, concerns: Iterable[Concern] = CONCERNS) -> Overlay:
    """Return the overlay of all concerns that the author does not skip."""
    wanted = _wanted(intent, concerns)
    given = _read(intent, settings, wanted)
    return combine(concern.mutate(given) for concern in wanted)


def _wanted(intent: Intent, concerns: Iterable[Concern]) -> list[Concern]:
    return [concern for concern in concerns if concern.skip not in intent.skip]


def _read(intent: Intent, settings: Settings, wanted: Iterable[Concern]) -> Input:
    return read_input(intent, settings, frozenset([concern.name for concern in wanted]))


def rule_for(path: str) -> tuple[Concern, Rule] | None:
    """Return the rule that explains the field at `path`, with its concern; None if none writes that field."""
    rows = ((concern, rule) for concern in CONCERNS for rule in concern.rules)
    return next((row for row in rows if row[1].is_for(path)), None)
