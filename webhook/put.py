"""Put an overlay on: reduce a wish to what may be put on an object, and keep what it takes the place of.

Two kinds of leaf: command, args, what a launch removes, and the port that a probe or hook asks
(`REPLACEABLE`) take the place of what the author wrote; all else is put on only where the author wrote
nothing. So no mutator can overwrite by mistake.
"""

from typing import Any, Final

from intent import Object
from webhook.canonical import digest
from webhook.keyed import ENTERED, LIST_KEYS, identity, index, keys_of, same
from webhook.overlay import COPY, DIGEST, DIRECTIVES, PATCH, Overlay, bare, merge

REPLACEABLE: Final = frozenset(
    {"command", "args", "readinessProbe", "livenessProbe", "startupProbe", "postStart", "preStop", "port"}
)


def put(original: Object, wish: Overlay) -> tuple[Overlay, Overlay]:
    """Reduce a wish to what may be put on the original; give that, and the overlay that reverses it."""
    put_on: Overlay = {}
    was: Overlay = {}
    for key, value in wish.items():
        have = original.get(key)
        if isinstance(value, dict):
            _put_map(original, key, value, put_on, was)
        elif key in LIST_KEYS and isinstance(value, list):
            _put_items(key, have, value, put_on, was)
        elif key not in DIRECTIVES and (have is None or key in REPLACEABLE) and not same(have, value):
            put_on[key], was[key] = value, have
    return put_on, was


def _put_map(original: Object, key: str, value: Overlay, put_on: Overlay, was: Overlay) -> None:
    have = original.get(key)
    if have is None and COPY in value:
        put_on[key], was[key] = _copied(original, value)
    elif have is None or isinstance(have, dict):
        inner, reverse = put(have or {}, value)
        if inner:
            put_on[key], was[key] = inner, None if have is None else reverse


def _put_items(field: str, have: Any, wish: list[Any], put_on: Overlay, was: Overlay) -> None:
    if have is not None and not isinstance(have, list):
        return
    items: list[Any] = have or []
    places = index(field, items)
    chosen: list[Any] = []
    before: list[Any] = []
    for item in wish:
        at = places.get(identity(field, item))
        if at is None:
            chosen.append(item)
        elif field in ENTERED:
            inner, reverse = put(items[at], item)
            if inner:
                keys = keys_of(field, item)
                chosen.append(keys | inner)
                before.append(keys | reverse)
    if chosen:
        put_on[field], was[field] = chosen, None if have is None else before


def _copied(original: Object, value: Overlay) -> tuple[Overlay, Overlay]:
    """Reduce what goes on a copy, as anywhere else; its digest tells whether it is still the copy."""
    reduced, reverse = put(_source(original, value), bare(value))
    copied = reduced | {COPY: value[COPY]}
    return copied | {DIGEST: digest(_copy_of(original, copied))}, reverse


def _copy_of(original: Object, value: Overlay) -> Object:
    return merge(_source(original, value), bare(value))


def _source(original: Object, value: Overlay) -> Object:
    source = original.get(value[COPY])
    return source if isinstance(source, dict) else {}


# --- copies: a template that is made from another -----------------------------------------------------


def filled(original: Object, put_on: Overlay) -> Overlay:
    """Write copies out: the overlay with each `$copy` as the whole map that it stands for."""
    return {key: _filled(original, key, value) for key, value in put_on.items()}


def _filled(original: Object, key: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if COPY in value:
        return _copy_of(original, value) | {PATCH: "replace", DIGEST: value[DIGEST]}
    inner = original.get(key)
    return filled(inner if isinstance(inner, dict) else {}, value)
