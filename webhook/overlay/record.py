"""What was put on an object, and from what. `webhook.overlay.undo` takes it off again.

The record is the annotation `fusioninfer.io/expansion`: compact JSON with sorted keys, no time, no random.

    {"v": 1, "in": digest of the Intent, "set": overlay that was put on, "was": overlay that reverses it}

`"read": 2` stands there too once `READING` is 2: by which reading of the object the digest was made.

Changing this form, or what the digest sees of an Intent, restarts somebody's GPUs: see docs/adr.
"""

import hashlib
from dataclasses import dataclass, fields
from typing import Any, Final

import orjson

from intent import Object, budget
from intent.annotations import EXPANSION, GROUP_NAME, LLM_D_ROLE, PREFIX, TASK_SPEC
from intent.errors import FieldError
from intent.lws import Accelerators, Engine, Intent, Ports, Probe, Template
from intent.shapes import mapping
from webhook.overlay.keyed import LIST_KEYS
from webhook.overlay.overlay import COPY, DIGEST, Overlay

VERSION: Final = 1
LONGEST: Final = budget.VALUES.most
READING: Final = 1
"""Whose digests these are: another number wherever a release gives an old input another digest.

A record that says another number is another release's, older or newer (docs/adr/0007).
"""
_UNSAID: Final = 1
"""The reading of a record that names none."""

_LEAF: Final = None
_LABELS: Final = {
    PREFIX + "service": _LEAF,
    PREFIX + "component-type": _LEAF,
    PREFIX + "role-name": _LEAF,
    LLM_D_ROLE: _LEAF,
}
_CONTAINER: Final = {
    "command": _LEAF,
    "args": _LEAF,
    "readinessProbe": _LEAF,
    "livenessProbe": _LEAF,
    "startupProbe": _LEAF,
    "lifecycle": _LEAF,
    "name": _LEAF,
    "ports": dict.fromkeys(("containerPort", "protocol", "name")),
    "env": dict.fromkeys(("name", "value", "valueFrom")),
    "volumeMounts": dict.fromkeys(("name", "mountPath")),
}
_INIT_CONTAINER: Final = dict.fromkeys(
    (
        "name",
        "image",
        "command",
        "args",
        "imagePullPolicy",
        "restartPolicy",
        "env",
        "ports",
        "readinessProbe",
        "resources",
        "securityContext",
    )
)
_TEMPLATE: Final = {
    COPY: _LEAF,
    DIGEST: _LEAF,
    "metadata": {"labels": _LABELS, "annotations": {GROUP_NAME: _LEAF, TASK_SPEC: _LEAF}},
    "spec": {
        "schedulerName": _LEAF,
        "containers": _CONTAINER,
        "initContainers": _INIT_CONTAINER,
        "volumes": dict.fromkeys(("name", "emptyDir")),
    },
}
WRITABLE: Final[Object] = {
    "metadata": {"labels": _LABELS},
    "spec": {"leaderWorkerTemplate": {"leaderTemplate": _TEMPLATE, "workerTemplate": _TEMPLATE}},
}
"""Every path that mutators can write; a record that names another is not ours.

Only `set` is held against it: `was` is looked into where `set` leads, and nowhere else.
"""


@dataclass(frozen=True, slots=True)
class Record:
    """A record, read. An object without one has `NO_RECORD`."""

    digest: str
    put_on: Overlay
    was: Overlay
    reading: int = READING

    @property
    def is_foreign(self) -> bool:
        """Whether a release wrote it whose digests are not comparable with ours."""
        return self.reading != READING


NO_RECORD: Final = Record("", {}, {})


def write(digest: str, put_on: Overlay, was: Overlay, reading: int = READING) -> str:
    """Write a record as the annotation holds it."""
    whole = {"v": VERSION, "in": digest, "set": put_on, "was": was}
    if reading != _UNSAID:
        whole["read"] = reading
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS).decode()


def digest_of(text: str) -> str:
    """Take the digest from a record as `write` leaves it: keys are sorted, so it comes first."""
    return text.removeprefix('{"in":"').partition('"')[0]


def find(*objects: Object | None) -> Any:
    """Take the text of the record from the first object that has one; None if none has."""
    for lws in objects:
        annotations = mapping(mapping(mapping(lws).get("metadata")).get("annotations"))
        if annotations.get(EXPANSION) is not None:
            return annotations[EXPANSION]
    return None


def read(text: Any) -> Record | FieldError:
    """Read a record. What is not one, or was not written by us, is an error and never "no record"."""
    if isinstance(text, str) and len(text) > LONGEST:
        return _unreadable(
            f"has {len(text)} characters; no object can hold more than {LONGEST} in annotations"
        )
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
    if not _fits(put_on, WRITABLE):
        return _unreadable("names a field that fusioninfer never writes")
    return Record(made_from, put_on, was, reading)


def _unreadable(message: str) -> FieldError:
    remedy = (
        f"{message}; remove the annotation, which restarts nothing, then kubectl replace it with your file"
    )
    return FieldError(f"metadata.annotations[{EXPANSION}]", None, remedy, "FI901")


def _fits(overlay: Any, allowed: Object) -> bool:
    """Whether an overlay names allowed paths only."""
    if not isinstance(overlay, dict):
        return False
    for key, value in overlay.items():
        if key not in allowed:
            return False
        below = allowed[key]
        if below is not _LEAF and value is not None and not _fits_below(key, value, below):
            return False
    return True


def _fits_below(key: str, value: Any, allowed: Object) -> bool:
    if key not in LIST_KEYS:
        return _fits(value, allowed)
    return isinstance(value, list) and all(_fits(item, allowed) and _is_keyed(key, item) for item in value)


def _is_keyed(field: str, item: Object) -> bool:
    return all(isinstance(item.get(key, ""), str | int) for key in LIST_KEYS[field])


# --- the digest of an Intent ------------------------------------------------------------------------


def digest(intent: Intent) -> str:
    """Give 128 bits, in hex, of what the Intent says.

    Fields at their default take no part, so a field that a later release adds changes no old digest;
    nor do fields marked as positions (`intent.lws`).
    """
    return hashlib.sha256(orjson.dumps(_facts(intent), option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


_COUNTED: Final[dict[type, tuple[tuple[str, Any], ...]]] = {
    kind: tuple((item.name, item.default) for item in fields(kind) if item.metadata.get("digest", True))
    for kind in (Intent, Template, Engine, Accelerators, Probe, Ports)
}
"""Of every part of an Intent: the fields that count, with their defaults."""


def _facts(value: Any) -> Object:
    counted = _COUNTED[type(value)]
    facts = {name: item for name, default in counted if (item := getattr(value, name)) != default}
    for name, item in facts.items():
        if type(item) in _COUNTED:
            facts[name] = _facts(item)
        elif type(item) is tuple and type(item[0]) in _COUNTED:
            facts[name] = [_facts(one) for one in item]
    return facts
