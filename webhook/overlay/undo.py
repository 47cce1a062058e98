"""Revert a record: restore the author's values, and keep every field that was edited since.

Here a scheduler was edited after the record was written, so only the command is reverted:

    >>> live = {"schedulerName": "other", "containers": [{"name": "vllm", "command": ["ray"]}]}
    >>> injected = {"schedulerName": "volcano", "containers": [{"name": "vllm", "command": ["ray"]}]}
    >>> replaced = {"schedulerName": None, "containers": [{"name": "vllm", "command": ["vllm"]}]}
    >>> reverting, original = undo(live, Record("0a1b", injected, replaced))
    >>> reverting
    {'containers': [{'name': 'vllm', 'command': ['vllm']}]}
    >>> original
    {'schedulerName': 'other', 'containers': [{'name': 'vllm', 'command': ['vllm']}]}
"""

from collections.abc import Iterator
from typing import Any, Final

from intent import Object
from intent.lws import LWT
from intent.shapes import listed
from webhook.overlay.canonical import digest as digest_of_value
from webhook.overlay.keyed import LIST_KEYS, WHOLE, identity, index, keys_of, same
from webhook.overlay.overlay import COPY, DIGEST, NOTHING, PATCH, Overlay, merge, merge_into
from webhook.overlay.record import Record

LAUNCHER_WORDS: Final = ("symmetric-run", "ray start", "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX")
"""Text that only a launcher, or an author with a launch of their own, writes into command and args."""


Taken = tuple[Any, Any] | None
"""The overlay that reverts one field, and the remaining value; None if the field was not injected."""


def undo(live: Object, record: Record) -> tuple[Overlay, Object]:
    """Revert the fields of a record. Return the overlay that does so, and the object without them.

    Fields that were edited since are kept.
    """
    return _undo_fields(live, record.put_on, record.was)


def _undo_fields(live: Object, put_on: Overlay, was: Overlay) -> tuple[Overlay, Object]:
    off: Overlay = {}
    left = dict(live)
    for key, value in put_on.items():
        taken = _undo_field(key, live.get(key), value, was.get(key))
        if taken is not None:
            off[key], rest = taken
            if rest is None:
                left.pop(key, None)
            else:
                left[key] = rest
    return off, left


def _undo_field(key: str, have: Any, value: Any, before: Any) -> Taken:
    if isinstance(value, dict):
        return _undo_map(key, have, value, before) if isinstance(have, dict) else None
    if key in LIST_KEYS and isinstance(value, list):
        return _undo_items(key, have, value, before) if isinstance(have, list) else None
    if key in (COPY, DIGEST) or not same(have, value):
        return None
    return before, merge(NOTHING, {key: before}).get(key) if isinstance(before, dict | list) else before


def _is_edited(live: Object, value: Overlay) -> bool:
    return not same(live, value) and digest_of_value(live) != digest_of_value(value)


def _undo_map(key: str, live: Object, value: Overlay, before: Any) -> Taken:
    """Revert a map. An unedited copy is removed; in an edited one only injected fields are reverted."""
    if before is None and key in WHOLE and _is_edited(live, value):
        return None
    if COPY in value and digest_of_value(live) == value.get(DIGEST):
        return {PATCH: "delete"}, None
    off, left = _undo_fields(live, value, before if isinstance(before, dict) else {})
    if before is None and _is_bare(left, ()):
        return {**off, PATCH: "delete"}, None
    return (off, left) if off else None


def _is_bare(left: Object, keys: tuple[str, ...]) -> bool:
    """Return whether only keys and empty values are left."""
    return all(key in keys or item in (None, {}, []) for key, item in left.items())


def _undo_items(field: str, live: list[Any], put_on: list[Any], was: Any) -> Taken:
    places = index(field, live)
    before = {identity(field, item): item for item in listed(was) if isinstance(item, dict)}
    off: list[Any] = []
    items, gone = list(live), set[int]()
    for item in put_on:
        at = places.get(identity(field, item))
        if at is not None and at not in gone and not (field in WHOLE and _is_edited(items[at], item)):
            inner, items[at] = _undo_item(field, items[at], item, before.get(identity(field, item)))
            if inner:
                off.append(keys_of(field, live[at]) | inner)
            if items[at] is None:
                gone.add(at)
    left = [item for at, item in enumerate(items) if at not in gone] if gone else items
    if isinstance(was, list):
        return (off, left) if off else None
    return ([*off, {PATCH: "prune"}], left or None) if off else None


def _undo_item(field: str, live: Object, item: Overlay, before: Overlay | None) -> tuple[Overlay, Any]:
    rest = {key: value for key, value in item.items() if key not in LIST_KEYS[field]}
    launch: Overlay = {}
    if field == "containers":
        unit = {key: rest.pop(key) for key in list(rest) if key in ("command", "args") or rest[key] is None}
        launch = _undo_launch(live, unit, before or {})
    off, left = _undo_fields(live, rest, before or {})
    merge_into(left, launch)
    if before is None and _is_bare(left, LIST_KEYS[field]):
        return {**launch, **off, PATCH: "delete"}, None
    return launch | off, left


def _undo_launch(live: Object, unit: Overlay, before: Overlay) -> Overlay:
    """Revert a launch: command, args and the probes that it removed are reverted together."""
    words = [key for key in ("command", "args") if key in unit]
    ours = [key for key in words if same(live.get(key), unit[key])]
    if len(ours) == len(words):
        removed = (key for key in unit if unit[key] is None and live.get(key) is None)
        return {key: before.get(key) for key in (*words, *removed)}
    if is_edited_launch(live, unit):
        return {}
    return {key: before.get(key) for key in ours}


def is_edited_launch(live: Object, unit: Overlay) -> bool:
    """Return whether a launcher's command or args were edited by hand; both then belong to the author."""
    return any(
        key in unit and not same(live.get(key), unit[key]) and _is_launch(live.get(key))
        for key in ("command", "args")
    )


def _is_launch(words: Any) -> bool:
    """Return whether command or args, or a script in them, were written by a launcher."""
    if not isinstance(words, list):
        return False
    return any(mark in word for word in words if isinstance(word, str) for mark in LAUNCHER_WORDS)


def launches(live: Object, record: Record) -> Iterator[tuple[str, Object, Overlay]]:
    """Yield the recorded containers that the object has: path, container, injected overlay."""
    group = _below(live, "spec", "leaderWorkerTemplate")
    templates = _below(record.put_on, "spec", "leaderWorkerTemplate")
    for field, template in templates.items():
        items: Any = _below(group, field, "spec").get("containers")
        places = index("containers", items)
        for unit in _below(template, "spec").get("containers", []) if isinstance(template, dict) else []:
            at = places.get(identity("containers", unit))
            if at is not None:
                yield f"{LWT}.{field}.spec.containers[{at}]", items[at], unit


def _below(value: Any, *fields: str) -> Object:
    for field in fields:
        value = value.get(field) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
