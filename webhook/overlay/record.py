"""The record: what each concern injected, with digests of its input. `webhook.overlay.revert` reverts it.

It is the annotation `fusioninfer.io/expansion`: compact JSON with sorted keys, without time or random values.

    decided  the decisions that the parts share: launcher, splits and port
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
    >>> writable = {"metadata": {"labels": {"fusioninfer.io/service": None}}}
    >>> read(text, writable).put_on == injected
    True

A change of this form, or of the fields that a digest covers, makes stored objects restart their pods
(docs/adr/0007).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import orjson

from intent import Object, budget
from intent.annotations import EXPANSION
from intent.errors import FieldError
from intent.launch import Decision
from intent.served import SERVES, Served, of_record, to_record
from intent.shapes import annotations, listed, mapping
from webhook.overlay.keyed import LIST_KEYS
from webhook.overlay.overlay import Contradiction, Overlay, combine, remainder

VERSION: Final = 2
LONGEST: Final = budget.VALUES.most
READING: Final = 1
"""Version of the digests. A release that gives an old input another digest increments it.

A record with another number was written by another release, older or newer (docs/adr/0007).
"""
_UNSAID: Final = 1
"""The reading of a record without `read`."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one concern injects, and the digest of the input that it reads."""

    digest: str
    put_on: Overlay
    left: Overlay = field(default_factory=dict)
    """What it would inject, had the author not written other values there."""

    @property
    def wish(self) -> Overlay:
        """Return what it injects into an object without values of the author."""
        return combine((self.put_on, self.left)) if self.left else self.put_on

    def without(self, left: Overlay) -> "Part":
        """Return the same if these fields of the wish of all parts were not injected."""
        wish = self.wish
        put_on = remainder(wish, left) if left else wish
        return Part(self.digest, put_on, remainder(wish, put_on) if left else {})


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
        return replace(self, parts={name: part.without(left) for name, part in self.parts.items()})


@dataclass(frozen=True, slots=True)
class Record:
    """A decoded record. An object without one has `NO_RECORD`."""

    digest: str
    put_on: Overlay
    """The overlays of all parts as one."""
    was: Overlay
    reading: int = READING
    expansion: Expansion = field(default_factory=Expansion)

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


def write(digest: str, expansion: Expansion, was: Overlay, reading: int = READING) -> str:
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
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS).decode()


def _part(part: Part) -> Object:
    overlays = {"set": part.put_on, "left": part.left}
    return {"in": part.digest, **{name: overlay for name, overlay in overlays.items() if overlay}}


_DECISION: Final = tuple((one.name, one.default) for one in fields(Decision))


def _decided(decision: Decision) -> Object:
    return {name: value for name, default in _DECISION if (value := getattr(decision, name)) != default}


def digest_of(text: str) -> str:
    """Return the digest from the text of `write`, where the members before it have no such key."""
    return text.partition('"in":"')[2].partition('"')[0]


# --- reading --------------------------------------------------------------------------------------------


class _UnreadableError(Exception):
    """A text is no record, for the reason in the message."""


def read(text: Any, writable: Object) -> Record | FieldError:
    """Decode a record. Any other text is an error, not `NO_RECORD`; so is a path outside of `writable`."""
    try:
        return _read(text, writable)
    except _UnreadableError as error:
        remedy = "remove the annotation, which restarts nothing, then kubectl replace it with your file"
        return FieldError(f"metadata.annotations[{EXPANSION}]", None, f"{error}; {remedy}", "FI901")


def _read(text: Any, writable: Object) -> Record:
    if isinstance(text, str) and len(text) > LONGEST:
        message = f"has {len(text)} characters; an object has at most {LONGEST} in all annotations"
        raise _UnreadableError(message)
    try:
        whole = orjson.loads(text)
        version, digest, was = whole["v"], whole["in"], whole["was"]
    except (orjson.JSONDecodeError, TypeError, KeyError):
        raise _not_a_record() from None
    if version != VERSION:
        message = f"is a record of version {version!r}; this release reads version {VERSION}"
        raise _UnreadableError(message)
    reading, parts = whole.get("read", _UNSAID), _parts(whole.get("parts"))
    if not (isinstance(digest, str) and isinstance(was, dict) and type(reading) is int):
        raise _not_a_record()
    put_on, wish = _combined(parts, writable)
    digests, decision = _texts(whole.get("from")), _decision(whole.get("decided"))
    expansion = Expansion(parts, wish, digests, decision, of_record(whole.get(SERVES)))
    return Record(digest, put_on, was, reading, expansion)


def _not_a_record() -> _UnreadableError:
    return _UnreadableError("is not a record of fusioninfer")


def _parts(value: Any) -> dict[str, Part]:
    if not isinstance(value, dict):
        raise _not_a_record()
    return {name: _decoded(mapping(part)) for name, part in value.items()}


def _decoded(part: Object) -> Part:
    digest, put_on, left = part.get("in"), part.get("set", {}), part.get("left", {})
    if not (isinstance(digest, str) and isinstance(put_on, dict) and isinstance(left, dict)):
        raise _not_a_record()
    return Part(digest, put_on, left)


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise _not_a_record()
    return value


def _decision(value: Any) -> Decision:
    if not isinstance(value, dict):
        raise _not_a_record()
    made = {name: value.get(name, default) for name, default in _DECISION}
    if any(type(made[name]) is not type(default) for name, default in _DECISION):
        raise _not_a_record()
    return Decision(**made)


def _combined(parts: Mapping[str, Part], writable: Object) -> tuple[Overlay, Overlay]:
    """Combine what was injected of all parts, and their wishes. All paths must be writable, and agree."""
    try:
        put_on = wish = combine([part.put_on for part in parts.values()])
        if any(part.left for part in parts.values()):
            wish = combine([part.wish for part in parts.values()])
        is_writable = _fits(wish, writable)
    except Contradiction:
        message = "has two values for one field"
        raise _UnreadableError(message) from None
    except (AttributeError, RecursionError, TypeError):  # items that are no maps, or too many levels
        raise _not_a_record() from None
    if not is_writable:
        message = "has a field that fusioninfer never writes"
        raise _UnreadableError(message)
    if not _launches_one(put_on):
        message = "has more than one launch in a template"
        raise _UnreadableError(message)
    return put_on, wish


def _launches_one(put_on: Overlay) -> bool:
    """Return whether each template has at most one launch, the engine's. To revert a launch takes long."""
    templates = mapping(mapping(put_on.get("spec")).get("leaderWorkerTemplate")).values()
    containers = (listed(mapping(mapping(one).get("spec")).get("containers")) for one in templates)
    return all(sum("command" in item or "args" in item for item in items) <= 1 for items in containers)


def _fits(overlay: Any, allowed: Object) -> bool:
    """Return whether all paths of an overlay are allowed."""
    if not isinstance(overlay, dict):
        return False
    for key, value in overlay.items():
        if key not in allowed:
            return False
        below = allowed[key]
        fits = (
            _is_keyed_below(key, value) if below is None or value is None else _fits_below(key, value, below)
        )
        if not fits:
            return False
    return True


def _is_keyed_below(key: str, value: Any) -> bool:
    """Return whether all lists in a value of any type have the keys by which such lists merge."""
    if isinstance(value, dict):
        return all(_is_keyed_below(name, item) for name, item in value.items())
    if not isinstance(value, list):
        return True
    if key in LIST_KEYS and not all(isinstance(item, dict) and _is_keyed(key, item) for item in value):
        return False
    return all(_is_keyed_below("", item) for item in value)


def _fits_below(key: str, value: Any, allowed: Object) -> bool:
    if key not in LIST_KEYS:
        return _fits(value, allowed)
    return isinstance(value, list) and all(_fits(item, allowed) and _is_keyed(key, item) for item in value)


def _is_keyed(field: str, item: Object) -> bool:
    return all(isinstance(item.get(key, ""), str | int) for key in (*LIST_KEYS[field], "name"))
