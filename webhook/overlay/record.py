"""The record: what each concern injected into an object. `webhook.overlay.revert` reverts it.

It is the annotation `fusioninfer.io/expansion`: compact JSON with sorted keys, without time or random values.

    base     what the templates of the object say (`webhook.overlay.base`); absent without templates
    by       the rules that made it (`RULES`), which take no part in what stays
    decided  the decisions that the parts share: launcher, serving, splits and port
    leader   digest of a leader's template that was made from the workers' and has no edits of its own
    parts    by concern: `set`, the overlay that was injected, and `left`, what the author's own values kept
             out of it
    refresh  the value of the annotation `refresh` that was taken last
    serves   port and KV transfer, for the controller (`intent.served`)
    v        version of the form
    was      overlay that restores the author's values

Here admission injected a label, and the author wrote no labels. `write` makes the annotation, and `read`
decodes it if it names only fields that may be written:

    >>> injected = {"metadata": {"labels": {"fusioninfer.io/service": "qwen"}}}
    >>> text = write(Expansion({"labels": Part(injected)}, injected), {"metadata": {"labels": None}})
    >>> for member in text.split(',"'):
    ...     print(member)
    {"by":1
    decided":{}
    parts":{"labels":{"set":{"metadata":{"labels":{"fusioninfer.io/service":"qwen"}}}}}
    serves":{"port":8000}
    v":3
    was":{"metadata":{"labels":null}}}
    >>> read(text, {"metadata": {"labels": {"fusioninfer.io/service": None}}}).put_on == injected
    True

Version 2 has digests too, which are not read, and empty parts. A release reads a version before it writes it
(docs/adr/0007).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import msgspec
import orjson

from intent import Object, budget
from intent.annotations import EXPANSION
from intent.errors import FieldError
from intent.launch import Decision
from intent.served import Served, bounded, of_record, to_record
from intent.shapes import annotations, listed
from intent.tree import COPY, NOTHING, Overlay, merge, same
from webhook.overlay.base import Base, read_base
from webhook.overlay.overlay import (
    LEADER,
    Contradiction,
    combine,
    common,
    containers_of,
    fits,
    group_of,
    pod_of,
    remainder,
    template_of,
    templates_of,
    with_group,
)

VERSION: Final = 3
READ: Final = (2, VERSION)
RULES: Final = 1
"""Changes with the rules that decide which parts an object gets: releases tell their records apart by it."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True, rename={"put_on": "set"}):
    """What one concern injects."""

    put_on: Overlay = msgspec.field(default_factory=dict)
    left: Overlay = msgspec.field(default_factory=dict)
    """What it would inject, had the author not written other values there."""

    @property
    def wish(self) -> Overlay:
        """Return what it injects into an object without values of the author."""
        return combine((self.put_on, self.left)) if self.left else self.put_on

    def reduced(self, put_on: Overlay) -> "Part":
        """Return the same with what was injected of the wish; `put_on` is that of all parts."""
        wish = self.wish
        left = remainder(wish, put_on)
        return Part(remainder(wish, left) if left else wish, left)


@dataclass(frozen=True, slots=True)
class Expansion:
    """What all concerns inject, and the decisions that they share."""

    parts: Mapping[str, Part] = field(default_factory=dict)
    """By the name of the concern."""
    wish: Overlay = field(default_factory=dict)
    """The wishes of all parts as one."""
    decision: Decision = field(default_factory=Decision)
    served: Served = field(default_factory=Served)

    def reduced(self, put_on: Overlay) -> "Expansion":
        """Return the same with what was injected of the wish."""
        left = {} if put_on == self.wish else remainder(self.wish, put_on)
        if not left and not any(part.left for part in self.parts.values()):
            return self
        return replace(self, parts={name: part.reduced(put_on) for name, part in self.parts.items()})

    def without(self, names: Collection[str]) -> "Expansion":
        """Return the same without these parts."""
        if not names:
            return self
        parts = {name: part for name, part in self.parts.items() if name not in names}
        return replace(self, parts=parts, wish=combine(part.wish for part in parts.values()))


@dataclass(frozen=True, slots=True)
class Record:
    """A decoded record. An object without one has `NO_RECORD`."""

    put_on: Overlay
    """The overlays of all parts as one."""
    was: Overlay
    expansion: Expansion = field(default_factory=Expansion)
    base: Base | None = None
    refresh: str | None = None
    """None in a record of version 2, which does not say it."""
    rules: int = RULES
    leader: str = ""
    """The digest of a leader's template without edits of its own; empty for any other."""

    @property
    def overlays(self) -> tuple[Overlay, Overlay]:
        """Return what was injected, and what templates added that it does not replace."""
        return self.put_on, remainder(self.base.put_on, self.put_on) if self.base else {}


NO_RECORD: Final = Record({}, {})


def find(*objects: Object | None) -> Any:
    """Return the record's annotation of the first object that has one; None if none has."""
    for lws in objects:
        text = annotations(lws).get(EXPANSION)
        if text is not None:
            return text
    return None


def with_left(record: Record, stored: Record, live: Object, old: Object) -> tuple[Record, Object]:
    """Return the record of an exported file with what the stored one injected beside it, and the live object.

    A patch leaves fields as they are that an older expanded file does not have. What was injected since does
    not become its author's by that: it is in the record that is returned, and a leader's template that was
    made since is no part of the object.
    """
    left = remainder(stored.put_on, record.put_on)
    group = group_of(live)
    if COPY in template_of(left, LEADER) and same(group.get(LEADER), group_of(old).get(LEADER)):
        live = with_group(live, {name: value for name, value in group.items() if name != LEADER})
    left = merge(NOTHING, common(live, left))  # a field that a launch removed is not left
    return replace(record, put_on=combine((left, record.put_on))) if left else record, live


# --- the form -------------------------------------------------------------------------------------------


class _Form(
    msgspec.Struct, omit_defaults=True, rename={"version": "v", "decision": "decided", "rules": "by"}
):
    """The members of a record. Those of version 2 that version 3 lacks are not read."""

    version: int
    decision: Decision
    parts: dict[str, Part]
    was: Overlay
    serves: Any = None
    base: Any = None
    refresh: str = ""
    rules: int = 0
    leader: str = ""


_DECISIONS: Final = fields(Decision)


def write(
    expansion: Expansion, was: Overlay, base: Base | None = None, refresh: str = "", leader: str = ""
) -> str:
    """Return the text of the annotation."""
    decision, parts, serves = expansion.decision, dict(expansion.parts), to_record(expansion.served)
    whole = msgspec.to_builtins(_Form(VERSION, decision, parts, was, serves, base, refresh, RULES, leader))
    whole["decided"] = {
        member.name: whole["decided"][member.name]
        for member in _DECISIONS
        if getattr(decision, member.name) != member.default
    }
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS).decode()


_UNREADABLE: Final = FieldError(
    f"metadata.annotations[{EXPANSION}]",
    None,
    f"is not a record that this release writes, or reads (versions 2 and {VERSION}); "
    "remove the annotation, which restarts nothing, then kubectl replace it with your file",
    "FI901",
)


def read(
    text: Any, recordable: Object, order: tuple[str, ...] = (), restorable: Object | None = None
) -> Record | FieldError:
    """Decode a record. Any other text is an error, not `NO_RECORD`; so is an overlay with other paths.

    `order` is that of the concerns: the items that they add to a list are in it. `restorable` has the paths
    of `was`.
    """
    if not isinstance(text, str) or len(text) > budget.VALUES.most:
        return _UNREADABLE
    try:
        form = msgspec.convert(orjson.loads(text), _Form)
    except (orjson.JSONDecodeError, msgspec.ValidationError):
        return _UNREADABLE
    parts = {name: form.parts[name] for name in order if name in form.parts} | form.parts
    combined = _combined(parts, recordable)
    base = None if form.base is None else read_base(form.base)
    is_ours = form.version in READ and fits(form.was, restorable) and (base is None) == (form.base is None)
    if combined is None or not is_ours:
        return _UNREADABLE
    put_on, wish = combined
    decision = replace(form.decision, serving=bounded(form.decision.serving))
    expansion = Expansion(parts, wish, decision, of_record(form.serves))
    refresh = form.refresh if form.version == VERSION else None
    return Record(put_on, form.was, expansion, base, refresh, form.rules, form.leader)


def _combined(parts: Mapping[str, Part], recordable: Object) -> tuple[Overlay, Overlay] | None:
    """Combine what was injected of all parts, and their wishes; None if they are forged, or contradict.

    Each template has at most one launch, the engine's, and each container once: a revert takes long.
    """
    left = [part.left for part in parts.values() if part.left]
    try:
        injected = combine(part.put_on for part in parts.values())
        wish = combine((injected, *left)) if left else injected
    except Contradiction:
        return None
    if not fits(wish, recordable):
        return None
    for template in templates_of(injected).values():
        containers = listed(pod_of(template).get("containers"))
        launches = sum("command" in item or "args" in item for item in containers)
        if launches > 1 or len(containers_of(template)) < len(containers):
            return None
    return injected, wish
