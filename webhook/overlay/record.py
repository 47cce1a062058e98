"""The record: what each concern injected, with digests of its input. `webhook.overlay.revert` reverts it.

It is the annotation `fusioninfer.io/expansion`: compact JSON with sorted keys, without time or random values.

    decided  the decisions that the parts share: launcher, serving, splits and port
    base     what the templates of the object say (`webhook.overlay.base`); absent without templates
    from     digests of the input of each decision
    in       digest of the Intent
    parts    by concern: `set`, the overlay that was injected, `left`, what the author's own values kept out
             of it, and `in`, the digest of its input
    read     version of the digests (`READING`), left out while it is 1
    serves   port and KV transfer, for the controller (`intent.served`)
    v        version of the form
    was      overlay that restores the author's values

Here admission injected a label, and the author wrote no labels. `write` makes the annotation, and `read`
decodes it if it names only fields that may be written:

    >>> from webhook.overlay.shape import shape_of
    >>> injected = {"metadata": {"labels": {"fusioninfer.io/service": "qwen"}}}
    >>> expansion = Expansion({"labels": Part("2c3d", injected)}, injected, {"layout": "4e5f"})
    >>> text = write("0a1b", expansion, {"metadata": {"labels": None}})
    >>> for member in text.split(',"'):
    ...     print(member)
    {"decided":{}
    from":{"layout":"4e5f"}
    in":"0a1b"
    parts":{"labels":{"in":"2c3d"
    set":{"metadata":{"labels":{"fusioninfer.io/service":"qwen"}}}}}
    serves":{"port":8000}
    v":2
    was":{"metadata":{"labels":null}}}
    >>> recordable = shape_of({"metadata": {"labels": {"fusioninfer.io/service": None}}})
    >>> read(text, recordable).put_on == injected
    True

A change of this form, or of the fields that a digest covers, makes stored objects restart their pods
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
from intent.served import SERVES, Served, bounded, of_record, to_record
from intent.shapes import annotations, listed, mapping
from webhook.overlay.base import Base, base_to_record, read_base
from webhook.overlay.overlay import Contradiction, Overlay, combine, overlaps, remainder
from webhook.overlay.shape import fits

VERSION: Final = 2
LONGEST: Final = budget.VALUES.most
READING: Final = 1
"""Version of the digests. A release that gives an old input another digest increments it.

A record with another number was written by another release, older or newer (docs/adr/0007).
"""
_UNSAID: Final = 1
"""The reading of a record without `read`."""


class Part(msgspec.Struct, frozen=True, rename={"digest": "in", "put_on": "set"}):
    """What one concern injects, and the digest of the input that it reads."""

    digest: str
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
        return Part(self.digest, remainder(wish, left) if left else wish, left)


@dataclass(frozen=True, slots=True)
class Expansion:
    """What all concerns inject, and the decisions that they share."""

    parts: Mapping[str, Part] = field(default_factory=dict)
    """By the name of the concern."""
    wish: Overlay = field(default_factory=dict)
    """The wishes of all parts as one."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Of the input of each decision (`webhook.layout.DECISIONS`)."""
    decision: Decision = field(default_factory=Decision)
    served: Served = field(default_factory=Served)

    def reduced(self, put_on: Overlay) -> "Expansion":
        """Return the same with what was injected of the wish."""
        left = {} if put_on == self.wish else remainder(self.wish, put_on)
        if not left and not any(part.left for part in self.parts.values()):
            return self
        parts: dict[str, Part] = {}
        for name, part in self.parts.items():
            wish = part.wish
            parts[name] = part.reduced(put_on) if overlaps(wish, left) else Part(part.digest, wish)
        return replace(self, parts=parts)

    def without(self, names: Collection[str]) -> "Expansion":
        """Return the same without these parts."""
        if not names:
            return self
        parts = {name: part for name, part in self.parts.items() if name not in names}
        return replace(self, parts=parts, wish=combine(part.wish for part in parts.values()))


@dataclass(frozen=True, slots=True)
class Record:
    """A decoded record. An object without one has `NO_RECORD`."""

    digest: str
    put_on: Overlay
    """The overlays of all parts as one."""
    was: Overlay
    reading: int = READING
    expansion: Expansion = field(default_factory=Expansion)
    base: Base | None = None

    @property
    def is_foreign(self) -> bool:
        """Return whether another release wrote it, whose digests are not comparable with this one's."""
        return self.reading != READING


NO_RECORD: Final = Record("", {}, {})


def find(*objects: Object | None) -> Any:
    """Return the record's annotation of the first object that has one; None if none has."""
    for lws in objects:
        text = annotations(lws).get(EXPANSION)
        if text is not None:
            return text
    return None


# --- writing --------------------------------------------------------------------------------------------


def write(
    digest: str, expansion: Expansion, was: Overlay, reading: int = READING, base: Base | None = None
) -> str:
    """Return the text of the annotation."""
    whole = {
        "v": VERSION,
        "in": digest,
        "from": dict(expansion.digests),
        "decided": _decided(expansion.decision),
        "parts": {name: _part(part) for name, part in expansion.parts.items()},
        SERVES: to_record(expansion.served),
        "was": was,
    }
    if reading != _UNSAID:
        whole["read"] = reading
    if base is not None:
        whole["base"] = base_to_record(base)
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS).decode()


def _part(part: Part) -> Object:
    said: Object = {"in": part.digest}
    if part.put_on:
        said["set"] = part.put_on
    if part.left:
        said["left"] = part.left
    return said


_DECISION: Final = tuple((one.name, one.default) for one in fields(Decision))


def _decided(decision: Decision) -> Object:
    return {name: value for name, default in _DECISION if (value := getattr(decision, name)) != default}


def digest_of(text: str) -> str:
    """Return the digest from the text of `write`, where the members before it have no such key."""
    return text.partition('"in":"')[2].partition('"')[0]


# --- reading --------------------------------------------------------------------------------------------


class _UnreadableError(Exception):
    """A text is no record, for the reason in the message."""


class _Version(msgspec.Struct, rename={"version": "v"}):
    """The version of any record."""

    version: int


class _Form(
    msgspec.Struct, rename={"digest": "in", "digests": "from", "decision": "decided", "reading": "read"}
):
    """The members of a record of this version."""

    digest: str
    digests: dict[str, str]
    decision: Decision
    parts: dict[str, Part]
    was: Overlay
    serves: Any = None
    reading: int = _UNSAID
    base: Any = None


def read(
    text: Any, recordable: type, order: tuple[str, ...] = (), restorable: Any = Any
) -> Record | FieldError:
    """Decode a record. Any other text is an error, not `NO_RECORD`; so is an overlay of another type.

    `order` is that of the concerns: the items that they add to a list are in it. `restorable` is the type
    of `was`.
    """
    try:
        return _read(text, recordable, order, restorable)
    except _UnreadableError as error:
        remedy = "remove the annotation, which restarts nothing, then kubectl replace it with your file"
        return FieldError(f"metadata.annotations[{EXPANSION}]", None, f"{error}; {remedy}", "FI901")


def _read(text: Any, recordable: type, order: tuple[str, ...], restorable: Any) -> Record:
    if isinstance(text, str) and len(text) > LONGEST:
        message = f"has {len(text)} characters; an object has at most {LONGEST} in all annotations"
        raise _UnreadableError(message)
    try:
        whole = orjson.loads(text)
        version = msgspec.convert(whole, _Version).version
        if version != VERSION:
            message = f"is a record of version {version}; this release reads version {VERSION}"
            raise _UnreadableError(message)
        found = msgspec.convert(whole, _Form)
    except (orjson.JSONDecodeError, msgspec.ValidationError):
        message = "is not a record of fusioninfer"
        raise _UnreadableError(message) from None
    parts = {name: found.parts[name] for name in order if name in found.parts} | found.parts
    put_on, wish = _combined(parts, recordable)
    if not fits(found.was, restorable):
        message = "has a value that fusioninfer never replaces"
        raise _UnreadableError(message)
    decision = replace(found.decision, serving=bounded(found.decision.serving))
    expansion = Expansion(parts, wish, found.digests, decision, of_record(found.serves))
    base = None if found.base is None else read_base(found.base)
    if base is None and found.base is not None:
        message = "has templates that fusioninfer never writes"
        raise _UnreadableError(message)
    return Record(found.digest, put_on, found.was, found.reading, expansion, base)


def _combined(parts: Mapping[str, Part], recordable: type) -> tuple[Overlay, Overlay]:
    """Combine what was injected of all parts, and their wishes. All must be of the type, and agree."""
    put_on = [part.put_on for part in parts.values()]
    left = [part.left for part in parts.values() if part.left]
    if not all(fits(overlay, recordable) for overlay in (*put_on, *left)):
        message = "has a field that fusioninfer never writes"
        raise _UnreadableError(message)
    try:
        injected = combine(put_on)
        wish = combine((injected, *left)) if left else injected
    except Contradiction:
        message = "has two values for one field"
        raise _UnreadableError(message) from None
    if not _launches_one(injected):
        message = "has more than one launch in a template"
        raise _UnreadableError(message)
    return injected, wish


def _launches_one(put_on: Overlay) -> bool:
    """Return whether each template has at most one launch, the engine's. To revert a launch takes long."""
    templates = mapping(mapping(put_on.get("spec")).get("leaderWorkerTemplate")).values()
    containers = (listed(mapping(mapping(one).get("spec")).get("containers")) for one in templates)
    return all(sum("command" in item or "args" in item for item in items) <= 1 for items in containers)
