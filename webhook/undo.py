"""How a record comes off again: what was edited since stays."""

from collections.abc import Iterator
from typing import Any, Final

from intent import Object
from intent.lws import LWT
from webhook.canonical import digest as digest_of_value
from webhook.keyed import LIST_KEYS, WHOLE, identity, index, keys_of, same
from webhook.overlay import COPY, DIGEST, PATCH, Overlay, merge
from webhook.record import Record

LAUNCHER_WORDS: Final = ("symmetric-run", "ray start", "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX")
"""What stands in command and args only if a launcher wrote it: an author who writes it launches by hand."""


def undo(live: Object, record: Record) -> Overlay:
    """Make the overlay that takes off what a record says we put on. What was edited since stays."""
    return _undo_map(live, record.put_on, record.was)


def _undo_map(live: Object, put_on: Overlay, was: Overlay) -> Overlay:
    taken: Overlay = {}
    for key, value in put_on.items():
        have, before = live.get(key), was.get(key)
        inner: Overlay | list[Any] = {}
        if isinstance(value, dict):
            if isinstance(have, dict) and not (before is None and key in WHOLE and _is_edited(have, value)):
                inner = _undo_within(have, value, before)
        elif key in LIST_KEYS and isinstance(value, list):
            if isinstance(have, list):
                inner = _undo_items(key, have, value, before if isinstance(before, list) else None)
        elif same(have, value) and key not in (COPY, DIGEST):
            taken[key] = before
        if inner:
            taken[key] = inner
    return taken


def _is_edited(live: Object, value: Overlay) -> bool:
    return not same(live, value) and digest_of_value(live) != digest_of_value(value)


def _undo_within(live: Object, value: Overlay, before: Overlay | None) -> Overlay:
    """Take off a map: a copy as it was made goes whole, from one that was edited our part comes off."""
    if COPY in value and digest_of_value(live) == value.get(DIGEST):
        return {PATCH: "delete"}
    inner = _undo_map(live, value, before if isinstance(before, dict) else {})
    if before is None and _nothing_left(live, inner, ()):
        inner[PATCH] = "delete"
    return inner


def _nothing_left(live: Object, off: Overlay, keys: tuple[str, ...]) -> bool:
    """Whether only keys, and what is empty, would remain."""
    if live.keys() <= off.keys() and not any(off.values()):
        return True
    return all(key in keys or item in (None, {}, []) for key, item in merge(live, off).items())


def _undo_items(field: str, live: list[Any], put_on: list[Any], was: list[Any] | None) -> list[Any]:
    places = index(field, live)
    before = {identity(field, item): item for item in was or () if isinstance(item, dict)}
    taken = []
    for item in put_on:
        at = places.get(identity(field, item))
        if at is not None and not (field in WHOLE and _is_edited(live[at], item)):
            inner = _undo_item(field, live[at], item, before.get(identity(field, item)))
            if inner:
                taken.append(keys_of(field, live[at]) | inner)
    return [*taken, {PATCH: "prune"}] if taken and was is None else taken


def _undo_item(field: str, live: Object, item: Overlay, before: Overlay | None) -> Overlay:
    rest = {key: value for key, value in item.items() if key not in LIST_KEYS[field]}
    inner: Overlay = {}
    if field == "containers":
        unit = {key: rest.pop(key) for key in list(rest) if key in ("command", "args") or rest[key] is None}
        inner = _undo_launch(live, unit, before or {})
    inner |= _undo_map(live, rest, before or {})
    if before is None and _nothing_left(live, inner, LIST_KEYS[field]):
        inner[PATCH] = "delete"
    return inner


def _undo_launch(live: Object, unit: Overlay, before: Overlay) -> Overlay:
    """Take a launch off: command, args and what it removed belong together."""
    words = [key for key in ("command", "args") if key in unit]
    ours = [key for key in words if same(live.get(key), unit[key])]
    if len(ours) == len(words):
        removed = (key for key in unit if unit[key] is None and live.get(key) is None)
        return {key: before.get(key) for key in (*words, *removed)}
    if is_edited_launch(live, unit):
        return {}
    return {key: before.get(key) for key in ours}


def is_edited_launch(live: Object, unit: Overlay) -> bool:
    """Whether somebody edited the words of a launcher by hand: then command and args are theirs."""
    return any(
        key in unit and not same(live.get(key), unit[key]) and _is_launch(live.get(key))
        for key in ("command", "args")
    )


def _is_launch(words: Any) -> bool:
    """Whether words, or a script among them, are a launcher's."""
    if not isinstance(words, list):
        return False
    return any(mark in word for word in words if isinstance(word, str) for mark in LAUNCHER_WORDS)


def launches(live: Object, record: Record) -> Iterator[tuple[str, Object, Overlay]]:
    """Give the containers that a record launches and that are there: path, container, what was put on."""
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
