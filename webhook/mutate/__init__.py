"""The mutators: one concern per module, one table that lists them.

A mutator reads its `Input` and returns an overlay. It does not know the other mutators, the live object, or
what was injected before; `webhook.expand` handles those. To drop a concern, remove its row from `CONCERNS`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from intent import Object
from intent.launch import Decision
from intent.lws import Intent
from intent.settings import Settings
from webhook.digest import APART, digest_of
from webhook.launchers.plan import stays
from webhook.layout import DECISIONS, KEPT, UNDECIDED, Input, decision, read_input
from webhook.mutate.concern import Concern, Paths, Rule, union
from webhook.mutate.dns import DNS
from webhook.mutate.env import ENV
from webhook.mutate.gang import GANG
from webhook.mutate.labels import LABELS
from webhook.mutate.launch import LAUNCH
from webhook.mutate.lora import LORA
from webhook.mutate.model import MODEL
from webhook.mutate.probes import PROBES
from webhook.mutate.shm import SHM
from webhook.mutate.shm_limit import SHM_LIMIT
from webhook.mutate.sidecar import SIDECAR
from webhook.mutate.split import SPLIT
from webhook.mutate.startup import STARTUP
from webhook.overlay.keyed import WHOLE
from webhook.overlay.overlay import NOTHING, Contradiction, combine
from webhook.overlay.record import Expansion, Part
from webhook.overlay.shape import shape_of

CONCERNS: Final[tuple[Concern, ...]] = (
    *(LABELS, GANG, SPLIT, LAUNCH, ENV, SHM, SHM_LIMIT),
    *(PROBES, STARTUP, MODEL, LORA, DNS, SIDECAR),
)

ORDER: Final = tuple(concern.name for concern in CONCERNS)
"""The order in which concerns add items to lists, for the parts of a record too, which are sorted by name."""
ELSEWHERE: Final[Paths] = {}
"""Paths that only other releases write: of concerns that are gone, and of those to come (ADR 7)."""
WRITABLE: Final = union(ELSEWHERE, *(concern.writes for concern in CONCERNS))
"""Every path that mutators can write."""
RECORDABLE: Final = shape_of(WRITABLE)
"""The type of the overlays `set` and `left` of a record."""
REPLACED_ELSEWHERE: Final = frozenset[str]()
"""Fields that only other releases replace. Those of a removed concern stay here, so that pins keep them."""
REPLACEABLE: Final = REPLACED_ELSEWHERE.union(*(concern.replaces for concern in CONCERNS))
"""The names of fields whose value may replace one of the author's."""
RESTORED: Final = REPLACEABLE | {"lifecycle"}
"""The fields of a container of which `was` of a record may have a value of the author's."""


def _restorable(paths: Paths) -> Paths:
    """Return the paths at which `was` may have a value: of containers, the fields that a launch replaces."""
    return {
        key: None if key in RESTORED else _restorable(NOTHING if key in WHOLE else below or NOTHING)
        for key, below in paths.items()
    }


RESTORABLE: Final = shape_of(_restorable(WRITABLE))
"""The type of the overlay `was`."""


def input_of(
    intent: Intent,
    settings: Settings,
    concerns: Iterable[Concern] = CONCERNS,
    decided: Mapping[str, Any] = UNDECIDED,
) -> Input:
    """Return the input of mutators and validators for one object; `decided` are recorded decisions."""
    names = frozenset([concern.name for concern in concerns if concern.skip not in intent.skip])
    return read_input(intent, settings, names, decided)


def expansion(  # noqa: PLR0913, PLR0917 - what an expansion depends on
    intent: Intent,
    facts: Object,
    settings: Settings,
    concerns: Iterable[Concern] = CONCERNS,
    pins: tuple[Expansion, ...] = (),
    earlier: Callable[[], Intent | None] = lambda: None,
    lacking: Collection[str] = (),
) -> Expansion:
    """Return what all concerns inject; `facts` are those of the Intent.

    A decision or a part is that of the first of `pins` that has it from the same input, by the digest. Any
    other is made by the rules; so are all, if other rules made parts that contradict each other. While
    nothing is known of the image, the launcher and the form of its flags stay in every launch of the same
    kind as that of `earlier`, the stored Intent. The parts of `lacking` are left out.
    """
    given = input_of(intent, settings, concerns)
    taken = decision(given)
    decided: dict[str, Any] = {}
    digests: dict[str, str] = {}
    for name, (reads, fields) in DECISIONS.items():
        digests[name] = digest_of(reads, facts, taken)
        pin = next((one.decision for one in pins if one.digests.get(name) == digests[name]), None)
        kept = fields
        if pin is None and pins and _is_held(name, pins[0].decision, given, earlier(), decided):
            pin, kept = pins[0].decision, KEPT[name]
        if pin is not None:
            decided |= {field: getattr(pin, field) for field in kept}
            if any(getattr(pin, field) != getattr(taken, field) for field in kept):
                given = input_of(intent, settings, concerns, decided)
                taken = decision(given)
    parts = {
        one.name: _part(one, given, digest_of(one.reads, facts, taken), pins)
        for one in concerns
        if one.is_asked(facts) and one.name not in lacking
    }
    try:
        wish = combine(part.wish for part in parts.values())
    except Contradiction:
        if not pins:
            raise
        return expansion(intent, facts, settings, concerns)
    return Expansion(parts, wish, digests, taken, given.layout.served)


def _is_held(
    name: str, recorded: Decision, given: Input, earlier: Intent | None, decided: Mapping[str, Any]
) -> bool:
    """Return whether what is recorded of a decision stays although an edit changed its input.

    Whether there is a sidecar, and its port, stay where the launch has the recorded words, and the rules
    decide as of the stored object: records of earlier releases have none where one is due now.
    """
    if earlier is None or any(getattr(earlier, one) != getattr(given.intent, one) for one in _HOLDS[name]):
        return False
    then = input_of(earlier, given.settings, decided=decided)
    if name == "launcher":
        return stays(recorded.launcher, given.plan, then.plan)
    return decided.keys() == {*DECISIONS["launcher"][1]} and decision(then).port == decision(given).port


_HOLDS: Final = {"launcher": ("launcher", "refresh", "size"), "layout": ("sidecar_options",)}
"""The fields of an Intent of which another value has a decision taken again, whatever else is the same."""


def _part(concern: Concern, given: Input, digest: str, pins: tuple[Expansion, ...]) -> Part:
    for pin in pins:
        part = pin.parts.get(concern.name)
        if part is not None and part.digest == digest:
            return part
    return Part(digest, concern.mutate(given) if concern.name in given.concerns else {})


def counts_apart(facts: Object, recorded: Expansion) -> bool:
    """Return whether a part depends on facts that the digest of all lacks."""
    apart = [one for one in CONCERNS if one.asked_by in APART]
    return bool(recorded.decision.paths) or any(
        one.name in recorded.parts or one.is_asked(facts) for one in apart
    )


def is_unchanged(facts: Object, recorded: Expansion, lacking: Collection[str] = ()) -> bool:
    """Return whether each decision and part was recorded from the same input; `lacking` may have no part."""
    rows = {name: reads for name, (reads, _) in DECISIONS.items()} | {one.name: one.reads for one in CONCERNS}
    known = {**recorded.digests, **{name: part.digest for name, part in recorded.parts.items()}}
    asked = {one.name for one in CONCERNS if one.asked_by and one.is_asked(facts)}
    is_whole = recorded.digests.keys() == DECISIONS.keys() and asked <= {*recorded.parts, *lacking}
    return is_whole and all(
        digest_of(rows[name], facts, recorded.decision) == digest
        for name, digest in known.items()
        if name in rows
    )


def rule_for(path: str) -> tuple[Concern, Rule] | None:
    """Return the rule that explains the field at `path`, with its concern; None if none writes that field."""
    rows = ((concern, rule) for concern in CONCERNS for rule in concern.rules)
    return next((row for row in rows if row[1].is_for(path)), None)
