"""Apply an overlay: reduce it to the fields that may be injected, and keep the values that they replace.

Only the fields named in `replaceable` replace a value of the author, for example command and args. Any other
field is injected only where the author wrote none, so no mutator can overwrite by mistake. In this pod spec
the author's variable `A` stays, so neither result has it:

    >>> env = [{"name": "A", "value": "1"}]
    >>> original = {"containers": [{"name": "vllm", "command": ["vllm"], "env": env}]}
    >>> wish = {
    ...     "schedulerName": "volcano",
    ...     "containers": [{"name": "vllm", "command": ["ray"], "env": [{"name": "A", "value": "2"}]}],
    ... }
    >>> made = put(original, wish, frozenset({"command"}))
    >>> made.put_on
    {'schedulerName': 'volcano', 'containers': [{'name': 'vllm', 'command': ['ray']}]}
    >>> made.was
    {'schedulerName': None, 'containers': [{'name': 'vllm', 'command': ['vllm']}]}
    >>> made.result == merge(original, made.put_on)
    True
"""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from intent import Object
from intent.shapes import listed, mapping
from intent.tree import (
    COPY,
    DIRECTIVES,
    FIRST,
    LIST_KEYS,
    NOTHING,
    Identity,
    Overlay,
    by_identity,
    identity,
    index,
    is_keyed,
    keys_of,
    merge,
    merged_items,
    same,
)
from webhook.overlay.overlay import ENTERED

LEADER: Final = "leaderTemplate"


class Injection(NamedTuple):
    """An object with injected fields, the overlay of these, and the one that restores the author's values."""

    result: Any
    put_on: Any
    was: Any


Taken = tuple[Any, Any, Any]
"""Of one field: its value then, the injected part of it, and what restores the author's."""


def inject(
    original: Object, wish: Overlay, replaceable: Collection[str], leader: Object | None = None
) -> Injection:
    """Inject what of `wish` may be injected.

    A leader's template that is a copy starts as `leader`, or as the workers'.
    """
    group = mapping(mapping(original.get("spec")).get("leaderWorkerTemplate"))
    wished = mapping(mapping(mapping(wish.get("spec")).get("leaderWorkerTemplate")).get(LEADER))
    if COPY not in wished or LEADER in group or not group:
        return put(original, wish, replaceable)
    source = group.get(str(wished[COPY])) if leader is None else leader
    copied = {**original, "spec": {**original["spec"], "leaderWorkerTemplate": {**group, LEADER: source}}}
    made = put(copied, wish, replaceable)
    into = made.put_on.setdefault("spec", {}).setdefault("leaderWorkerTemplate", {}).setdefault(LEADER, {})
    into[COPY] = wished[COPY]
    return made


def put(original: Object, wish: Overlay, replaceable: Collection[str]) -> Injection:
    """Inject what of `wish` may be injected into one map."""
    result = dict(original)
    put_on: Overlay = {}
    was: Overlay = {}
    for key, value in wish.items():
        have = original.get(key)
        if isinstance(value, dict):
            taken = _put_map(have, value, replaceable)
        elif key in LIST_KEYS and isinstance(value, list):
            taken = _put_items(key, have, value, replaceable)
        else:
            taken = _put_leaf(key, have, value, replaceable)
        if taken is None:
            continue
        result[key], put_on[key], was[key] = taken
        if value is None:
            del result[key]
    return Injection(result, put_on, was)


def _put_leaf(key: str, have: Any, value: Any, replaceable: Collection[str]) -> Taken | None:
    if key in DIRECTIVES or (have is not None and key not in replaceable) or same(have, value):
        return None
    return value, value, have


def _put_map(have: Any, value: Overlay, replaceable: Collection[str]) -> Taken | None:
    if have is not None and not isinstance(have, dict):
        return None
    result, put_on, was = put(have or NOTHING, value, replaceable)
    if not put_on:
        return None
    return result, put_on, None if have is None else was


def _put_items(field: str, have: Any, wish: list[Any], replaceable: Collection[str]) -> Taken | None:
    if not isinstance(have, list):
        return (merged_items(field, None, wish), wish, None) if wish and have is None else None
    places = index(field, have)
    items: list[Any] = list(have)
    new: list[Any] = []
    chosen: list[Any] = []
    before: list[Any] = []
    for item in wish:
        at = places.get(identity(field, item))
        if at is None:
            new.append(merge(NOTHING, item))
            chosen.append(item)
        elif field in ENTERED:
            result, put_on, was = put(have[at], item, replaceable)
            if put_on:
                items[at] = result
                keys = keys_of(field, item)
                chosen.append(keys | put_on)
                before.append(keys | was)
    return (new + items if field in FIRST else items + new, chosen, before) if chosen else None


# --- the order of lists ---------------------------------------------------------------------------------


def in_order_of(stored: Object, result: Object, put_on: Overlay) -> Object:
    """Return the result with lists in the order of an object that has the same items.

    Another order of a list would change the template, and restart the pods:

        >>> ours, other = {"name": "dshm"}, {"name": "models"}
        >>> in_order_of({"volumes": [ours, other]}, {"volumes": [other, ours]}, {"volumes": [ours]})
        {'volumes': [{'name': 'dshm'}, {'name': 'models'}]}
    """
    ordered = dict(result)
    for key, value in put_on.items():
        have, made = stored.get(key), result.get(key)
        if have == made:
            continue
        if isinstance(value, dict) and isinstance(have, dict) and isinstance(made, dict):
            ordered[key] = in_order_of(have, made, value)
        elif is_keyed(key, value) and is_keyed(key, have) and is_keyed(key, made):
            ordered[key] = _items_in_order(key, listed(have), listed(made), by_identity(key, value))
    return ordered


def _items_in_order(
    field: str, live: list[Any], made: list[Any], put_on: dict[Identity, Object]
) -> list[Any]:
    have, items = by_identity(field, live), by_identity(field, made)
    for key in put_on.keys() & have.keys() & items.keys():
        items[key] = in_order_of(have[key], items[key], put_on[key])
    injected = NOTHING if field in ENTERED else put_on
    others = [[key for key in keys if key not in injected] for keys in (have, items)]
    if len(items) != len(made) or have.keys() != items.keys() or others[0] != others[1]:
        return [*items.values()] if len(items) == len(made) else made
    return [items[key] for key in have]
