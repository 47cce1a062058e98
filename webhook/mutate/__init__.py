"""The mutators: one function a concern, one table that lists them.

A mutator reads its `Input` and returns an overlay. It does not know the other mutators, the live object, or
what was injected before; `webhook.expand` handles those. To drop a concern, remove its row from `CONCERNS`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from intent.launch import Decision
from intent.lws import Intent
from intent.settings import Settings
from intent.tree import NOTHING, Overlay
from webhook.launchers.plan import stays
from webhook.layout import DECISIONS, KEPT, UNDECIDED, Input, decision, read_input, served
from webhook.mutate.concern import Concern, Paths, Rule, union
from webhook.mutate.launch import DNS, ENV, LAUNCH, PROBES, SHM, SHM_LIMIT, SPLIT, STARTUP
from webhook.mutate.membership import GANG, LABELS
from webhook.mutate.model import LORA, MODEL
from webhook.mutate.sidecar import SIDECAR
from webhook.overlay.overlay import WHOLE, Contradiction, combine, is_on
from webhook.overlay.put import in_order_of
from webhook.overlay.record import Expansion, Part

CONCERNS: Final[tuple[Concern, ...]] = (
    *(LABELS, GANG, SPLIT, LAUNCH, ENV, SHM, SHM_LIMIT),
    *(PROBES, STARTUP, MODEL, LORA, DNS, SIDECAR),
)

ORDER: Final = tuple(concern.name for concern in CONCERNS)
"""The order in which concerns add items to lists, for the parts of a record too, which are sorted by name."""
ELSEWHERE: Final[Paths] = {}
"""Paths that only other releases write: of concerns that are gone, and of those to come (ADR 7)."""
WRITABLE: Final = union(ELSEWHERE, *(concern.writes for concern in CONCERNS))
"""Every path that mutators can write, and that the overlays `set` and `left` of a record may have."""
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


RESTORABLE: Final = _restorable(WRITABLE)
"""The paths of the overlay `was`."""


def input_of(
    intent: Intent,
    settings: Settings,
    concerns: Iterable[Concern] = CONCERNS,
    decided: Mapping[str, Any] = UNDECIDED,
) -> Input:
    """Return the input of mutators and validators for one object.

    Recorded decisions (`decided`, fields of `Decision`) are taken again. Where no rule leads to the layout
    any more, the launcher alone is taken again.
    """
    names = frozenset(
        [
            concern.name
            for concern in concerns
            if concern.skip not in intent.skip and (not concern.asked or getattr(intent, concern.asked))
        ]
    )
    launcher = {name: value for name, value in decided.items() if name in DECISIONS["launcher"]}
    for taken in (decided, launcher) if decided else ():
        inputs = read_input(intent, settings, names, taken)
        reached = decision(inputs)
        if all(getattr(reached, name) == value for name, value in taken.items()):
            return inputs
    return read_input(intent, settings, names)


@dataclass(frozen=True, slots=True)
class Pins:
    """What is recorded of a stored object, and what its author asked for."""

    recorded: Expansion
    author: Intent | None
    """None if the rules refuse it now."""
    settings: Settings
    """Those under which its sidecar stays of its generation."""
    lost: Mapping[str, Overlay]
    """By name, what the object has lost of recorded parts. Where the rules give something else, they make
    the part anew."""


def expansion(
    intent: Intent, settings: Settings, concerns: Iterable[Concern] = CONCERNS, pins: Pins | None = None
) -> Expansion:
    """Return what all concerns inject.

    A recorded part stays if the rules give the same for the stored author as for this one, and so do those of
    its unit (`_differing`); likewise decisions. A concern without a recorded part counts as one with an empty
    part. The parts of concerns that this release does not know stay. All are made by the rules if what stays
    contradicts them.
    """
    concerns = tuple(concerns)
    inputs = input_of(intent, settings, concerns)
    if pins is None or pins.author is None:
        return _expansion(inputs, wishes(inputs, concerns))
    then, decided = input_of(pins.author, pins.settings, concerns), dict[str, Any]()
    for name in DECISIONS:
        if taken := _taken_again(name, inputs, then, pins.recorded.decision, decided):
            decided |= taken
            inputs = input_of(intent, settings, concerns, decided)
            then = input_of(pins.author, pins.settings, concerns, decided)
    wished = wishes(inputs, concerns)
    anew = {concern.unit or concern.name for concern in _differing(concerns, wished, inputs, then)}
    parts = pins.recorded.parts.items()
    recorded = {name: in_order_of(wished.get(name, {}), part.wish, part.wish) for name, part in parts}
    left = (concern.name for concern in concerns if (concern.unit or concern.name) not in anew)
    kept = {name: recorded.get(name, {}) for name in left if is_on(wished[name], pins.lost.get(name, {}))}
    unknown = {name: wish for name, wish in recorded.items() if name not in ORDER}
    is_split = decision(inputs).splits
    if is_split != pins.recorded.decision.splits or _places(intent) != _places(pins.author):
        return _expansion(inputs, wished)
    try:
        return _expansion(inputs, wished | kept | unknown)
    except Contradiction:
        return _expansion(inputs, wished)


def is_same(intent: Intent, settings: Settings, concerns: Iterable[Concern], pins: Pins) -> bool:
    """Return whether the rules make the same of what an author asks for as of what the stored one does."""
    if pins.author is None or _places(intent) != _places(pins.author):
        return False
    concerns = tuple(concerns)
    inputs, then = input_of(intent, settings, concerns), input_of(pins.author, pins.settings, concerns)
    wished = wishes(inputs, concerns)
    return decision(inputs) == decision(then) and not _differing(concerns, wished, inputs, then)


def _expansion(inputs: Input, wished: Mapping[str, Overlay]) -> Expansion:
    parts = {name: Part(wish) for name, wish in wished.items() if wish}
    wish = combine(part.put_on for part in parts.values())
    return Expansion(parts, wish, decision(inputs), served(inputs))


def wishes(inputs: Input, concerns: Iterable[Concern] = CONCERNS) -> dict[str, Overlay]:
    """Return what each concern injects by the rules."""
    return {row.name: row.mutate(inputs) if row.name in inputs.concerns else {} for row in concerns}


def _differing(
    concerns: tuple[Concern, ...], wished: Mapping[str, Overlay], inputs: Input, then: Input
) -> list[Concern]:
    """Return the concerns that do not inject the same as for the stored author, in place of the same values.

    What a launch writes may equal what its author has added meanwhile.
    """
    before = wishes(then, concerns)
    is_other = _replaced(inputs.intent) != _replaced(then.intent)
    return [row for row in concerns if wished[row.name] != before[row.name] or (row.replaces and is_other)]


def _places(intent: Intent) -> list[tuple[str, str]]:
    """Return the templates and the names of their engines, into which recorded parts would go."""
    return [
        (template.field, template.engine.container if template.engine else "")
        for template in intent.templates
    ]


def _replaced(intent: Intent) -> list[tuple[object, ...]]:
    """Return the author's values that concerns may replace."""
    return [
        (template.field, engine.command, engine.args, engine.probes, engine.hooks, engine.ports)
        for template in intent.templates
        if (engine := template.engine)
    ]


def _launched(intent: Intent) -> tuple[object, ...]:
    """Return the author's values that decide on a launch."""
    words = [
        (engine.container, engine.image, engine.command, engine.args, engine.variables, engine.accelerators)
        for template in intent.templates
        if (engine := template.engine)
    ]
    return intent.launcher, intent.size, words


def _taken_again(
    name: str, inputs: Input, then: Input, recorded: Decision, decided: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of a recorded decision that are taken again; `decided` are those of earlier ones."""
    if any(getattr(then.intent, field) != getattr(inputs.intent, field) for field in _HOLDS[name]):
        return {}
    fields, now, before = DECISIONS[name], decision(inputs), decision(then)
    is_same = all(getattr(now, field) == getattr(before, field) for field in fields)
    is_same = is_same and _launched(inputs.intent) == _launched(then.intent)
    kept = fields if is_same else KEPT[name] if _is_held(name, recorded, inputs, then, decided) else ()
    return {field: getattr(recorded, field) for field in kept}


def _is_held(name: str, recorded: Decision, inputs: Input, then: Input, decided: Mapping[str, Any]) -> bool:
    """Return whether what is recorded of a decision stays although an edit changed its input.

    Whether there is a sidecar, and its port, stay where the launch has the recorded words, and the rules
    decide as of the stored object: records of earlier releases have none where one is due now.
    """
    if name == "launcher":
        return stays(recorded.launcher, inputs.plan, then.plan)
    return decided.keys() == {*DECISIONS["launcher"]} and decision(then).port == decision(inputs).port


_HOLDS: Final = {"launcher": ("launcher", "size"), "layout": ("sidecar_options",)}
"""The fields of an Intent of which another value has a decision taken again, whatever else is the same."""


def rule_for(path: str) -> tuple[Concern, Rule] | None:
    """Return the rule that explains the field at `path`, with its concern; None if none writes that field."""
    rows = ((concern, rule) for concern in CONCERNS for rule in concern.rules)
    return next((row for row in rows if row[1].is_for(path)), None)
