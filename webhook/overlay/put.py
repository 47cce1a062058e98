"""Apply an overlay: reduce it to the fields that may be injected, and keep the values that they replace.

Only command, args, the probes and hooks that a launch removes, and the ports of probes and hooks
(`REPLACEABLE`) replace a value of the author. Any other field is injected only where the author wrote none,
so no mutator can overwrite by mistake. In this pod spec the author's variable `A` stays, so neither result
has it:

    >>> env = [{"name": "A", "value": "1"}]
    >>> original = {"containers": [{"name": "vllm", "command": ["vllm"], "env": env}]}
    >>> wish = {
    ...     "schedulerName": "volcano",
    ...     "containers": [{"name": "vllm", "command": ["ray"], "env": [{"name": "A", "value": "2"}]}],
    ... }
    >>> injected, replaced = put(original, wish)
    >>> injected
    {'schedulerName': 'volcano', 'containers': [{'name': 'vllm', 'command': ['ray']}]}
    >>> replaced
    {'schedulerName': None, 'containers': [{'name': 'vllm', 'command': ['vllm']}]}
"""

from typing import Any, Final

from intent import Object
from webhook.overlay.canonical import digest
from webhook.overlay.keyed import ENTERED, LIST_KEYS, identity, index, keys_of, same
from webhook.overlay.overlay import COPY, DIGEST, DIRECTIVES, NOTHING, PATCH, Overlay, bare, merge
from webhook.overlay.patch import Operation, added, escaped

REPLACEABLE: Final = frozenset(
    {"command", "args", "readinessProbe", "livenessProbe", "startupProbe", "postStart", "preStop", "port"}
)


Taken = tuple[Any, Any] | None
"""The injected value of one field and the value that it replaces; None where nothing is injected."""


def put(
    original: Object, wish: Overlay, operations: list[Operation] | None = None
) -> tuple[Overlay, Overlay]:
    """Reduce `wish` to what may be injected into the original. Return that, and the overlay that reverts it.

    The patch operations are appended to `operations` on the way, so that nothing is looked up twice.
    """
    return _put_fields(original, wish, "", [] if operations is None else operations)


def _put_fields(
    original: Object, wish: Overlay, path: str, operations: list[Operation]
) -> tuple[Overlay, Overlay]:
    put_on: Overlay = {}
    was: Overlay = {}
    for key, value in wish.items():
        have, below = original.get(key), f"{path}/{escaped(key)}"
        if isinstance(value, dict):
            taken = _put_map(original, have, value, below, operations)
        elif key in LIST_KEYS and isinstance(value, list):
            taken = _put_items(key, have, value, below, operations)
        else:
            taken = _put_leaf(key, have, value, below, operations)
        if taken is not None:
            put_on[key], was[key] = taken
            if have is None:
                name = "replace" if key in original else "add"
                operations.append({"op": name, "path": below, "value": taken[0]})
    return put_on, was


def _put_leaf(key: str, have: Any, value: Any, path: str, operations: list[Operation]) -> Taken:
    if key in DIRECTIVES or (have is not None and key not in REPLACEABLE) or same(have, value):
        return None
    if have is not None and value is not None:
        operations.append({"op": "replace", "path": path, "value": value})
    elif have is not None:
        operations.append({"op": "remove", "path": path})
    return value, have


def _put_map(original: Object, have: Any, value: Overlay, path: str, operations: list[Operation]) -> Taken:
    if isinstance(have, dict):
        inner, reverse = _put_fields(have, value, path, operations)
        return (inner, reverse) if inner else None
    if have is None and COPY in value:
        return _copied(original, value)
    inner = put(NOTHING, value)[0] if have is None else NOTHING
    return (inner, None) if inner else None


def _put_items(field: str, have: Any, wish: list[Any], path: str, operations: list[Operation]) -> Taken:
    if not isinstance(have, list):
        return (wish, None) if wish and have is None else None
    places = index(field, have)
    chosen: list[Any] = []
    before: list[Any] = []
    new: list[Any] = []
    for item in wish:
        at = places.get(identity(field, item))
        if at is None:
            chosen.append(item)
            new.append(item)
        elif field in ENTERED:
            inner, reverse = _put_fields(have[at], item, f"{path}/{at}", operations)
            if inner:
                keys = keys_of(field, item)
                chosen.append(keys | inner)
                before.append(keys | reverse)
    operations += added(field, new, path)
    return (chosen, before) if chosen else None


def _copied(original: Object, value: Overlay) -> tuple[Overlay, Overlay]:
    """Reduce the overlay of a copied map. The digest shows later whether the map is still the copy."""
    reduced, reverse = put(_source(original, value), bare(value))
    copied = reduced | {COPY: value[COPY]}
    return copied | {DIGEST: digest(_copy_of(original, copied))}, reverse


def _copy_of(original: Object, value: Overlay) -> Object:
    return merge(_source(original, value), bare(value))


def _source(original: Object, value: Overlay) -> Object:
    source = original.get(value[COPY])
    return source if isinstance(source, dict) else {}


# --- copies: a template that is created from another --------------------------------------------------


def filled(original: Object, put_on: Overlay) -> Overlay:
    """Return the overlay with each `$copy` expanded to the complete map."""
    return {key: _filled(original, key, value) for key, value in put_on.items()}


def _filled(original: Object, key: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if COPY in value:
        return _copy_of(original, value) | {PATCH: "replace", DIGEST: value[DIGEST]}
    inner = original.get(key)
    return filled(inner if isinstance(inner, dict) else {}, value)
