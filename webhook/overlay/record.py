"""The record: the injected fields, and a digest of their input. `webhook.overlay.revert` reverts it.

It is the annotation `fusioninfer.io/expansion`: compact JSON with sorted keys, without time or random values.

    in    digest of the Intent
    read  version of the digest (`READING`), left out while it is 1
    set   overlay that was injected
    v     version of the form
    was   overlay that restores the author's values

Here admission injected a label, and the author wrote no labels. `write` makes the annotation, and `read`
decodes it if it names only fields that may be written:

    >>> injected = {"metadata": {"labels": {"fusioninfer.io/service": "qwen"}}}
    >>> text = write("0a1b", injected, {"metadata": {"labels": None}})
    >>> print(text)
    {"in":"0a1b","set":{"metadata":{"labels":{"fusioninfer.io/service":"qwen"}}},"v":1,"was":{"metadata":{"labels":null}}}
    >>> writable = {"metadata": {"labels": {"fusioninfer.io/service": None}}}
    >>> read(text, writable).put_on == injected
    True

A change of this form, or of the fields that the digest covers, makes stored objects restart their pods
(docs/adr/0007).
"""

import hashlib
from dataclasses import dataclass, fields
from typing import Any, Final

import orjson

from intent import Object, budget
from intent.annotations import EXPANSION
from intent.errors import FieldError
from intent.lws import Accelerators, Engine, Intent, Ports, Probe, Template
from intent.shapes import annotations
from webhook.overlay.keyed import LIST_KEYS
from webhook.overlay.overlay import Overlay

VERSION: Final = 1
LONGEST: Final = budget.VALUES.most
READING: Final = 1
"""Version of the digest. A release that gives an old input another digest increments it.

A record with another number was written by another release, older or newer (docs/adr/0007).
"""
_UNSAID: Final = 1
"""The reading of a record without `read`."""


@dataclass(frozen=True, slots=True)
class Record:
    """A decoded record. An object without one has `NO_RECORD`."""

    digest: str
    put_on: Overlay
    was: Overlay
    reading: int = READING

    @property
    def is_foreign(self) -> bool:
        """Return whether another release wrote it, whose digests are not comparable with this one's."""
        return self.reading != READING


NO_RECORD: Final = Record("", {}, {})


def write(digest: str, put_on: Overlay, was: Overlay, reading: int = READING) -> str:
    """Return the text of the annotation."""
    whole = {"v": VERSION, "in": digest, "set": put_on, "was": was}
    if reading != _UNSAID:
        whole["read"] = reading
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS).decode()


def digest_of(text: str) -> str:
    """Return the digest from the text of `write`, where it comes first since keys are sorted."""
    return text.removeprefix('{"in":"').partition('"')[0]


def find(*objects: Object | None) -> Any:
    """Return the record's annotation of the first object that has one; None if none has."""
    for lws in objects:
        text = annotations(lws).get(EXPANSION)
        if text is not None:
            return text
    return None


def read(text: Any, writable: Object) -> Record | FieldError:
    """Decode a record. Any other text is an error, not `NO_RECORD`; so is a path outside of `writable`."""
    if isinstance(text, str) and len(text) > LONGEST:
        return _unreadable(f"has {len(text)} characters; an object has at most {LONGEST} in all annotations")
    try:
        whole = orjson.loads(text)
        version, made_from, put_on, was = whole["v"], whole["in"], whole["set"], whole["was"]
    except (orjson.JSONDecodeError, TypeError, KeyError):
        return _unreadable("is not a record of fusioninfer")
    if version != VERSION:
        return _unreadable(f"is a record of version {version!r}; this release reads version {VERSION}")
    reading = whole.get("read", _UNSAID)
    if not (isinstance(made_from, str) and type(reading) is int and isinstance(was, dict)):
        return _unreadable("is not a record of fusioninfer")
    if not _fits(put_on, writable):
        return _unreadable("has a field that fusioninfer never writes")
    return Record(made_from, put_on, was, reading)


def _unreadable(message: str) -> FieldError:
    remedy = (
        f"{message}; remove the annotation, which restarts nothing, then kubectl replace it with your file"
    )
    return FieldError(f"metadata.annotations[{EXPANSION}]", None, remedy, "FI901")


def _fits(overlay: Any, allowed: Object) -> bool:
    """Return whether all paths of an overlay are allowed."""
    if not isinstance(overlay, dict):
        return False
    for key, value in overlay.items():
        if key not in allowed:
            return False
        below = allowed[key]
        if below is not None and value is not None and not _fits_below(key, value, below):
            return False
    return True


def _fits_below(key: str, value: Any, allowed: Object) -> bool:
    if key not in LIST_KEYS:
        return _fits(value, allowed)
    if not isinstance(value, list) or not all(
        _fits(item, allowed) and _is_keyed(key, item) for item in value
    ):
        return False
    return key != "containers" or sum("command" in item or "args" in item for item in value) <= _LAUNCHED


_LAUNCHED: Final = 1
"""Containers of a template with a launch: the engine's. To revert a launch takes long."""


def _is_keyed(field: str, item: Object) -> bool:
    return all(isinstance(item.get(key, ""), str | int) for key in (*LIST_KEYS[field], "name"))


# --- the digest of an Intent ------------------------------------------------------------------------


def digest(intent: Intent) -> str:
    """Return the digest of an Intent: 128 bits, in hex.

    Fields at their default are left out, so that a field that a later release adds changes no old digest.
    So are fields with `digest=False` metadata, such as positions (`intent.lws`).
    """
    return hashlib.sha256(orjson.dumps(_facts(intent), option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


_COUNTED: Final[dict[type, tuple[tuple[str, Any], ...]]] = {
    kind: tuple((item.name, item.default) for item in fields(kind) if item.metadata.get("digest", True))
    for kind in (Intent, Template, Engine, Accelerators, Probe, Ports)
}
"""The fields that the digest covers, with their defaults, by class."""


def _facts(value: Any) -> Object:
    counted = _COUNTED[type(value)]
    facts = {name: item for name, default in counted if (item := getattr(value, name)) != default}
    for name, item in facts.items():
        if type(item) in _COUNTED:
            facts[name] = _facts(item)
        elif type(item) is tuple and type(item[0]) in _COUNTED:
            facts[name] = [_facts(one) for one in item]
    return facts
