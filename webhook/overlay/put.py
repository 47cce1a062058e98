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
    >>> outcome = put(original, wish, frozenset({"command"}))
    >>> outcome.put_on
    {'schedulerName': 'volcano', 'containers': [{'name': 'vllm', 'command': ['ray']}]}
    >>> outcome.was
    {'schedulerName': None, 'containers': [{'name': 'vllm', 'command': ['vllm']}]}
    >>> outcome.result == merge(original, outcome.put_on)
    True
"""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from intent import Object
from intent.shapes import listed
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
from webhook.overlay.overlay import ENTERED, LEADER, group_of, template_of, with_group
from webhook.overlay.patch import Operation, escaped

_PATH: Final = f"/spec/leaderWorkerTemplate/{LEADER}"


class Injection(NamedTuple):
    """A value with injected fields, the overlay of these, and the one that restores the author's values."""

    result: Any
    put_on: Any
    was: Any
    operations: tuple[Operation, ...] = ()
    """What makes the result of the author's value (RFC 6902)."""


def inject(
    original: Object, wish: Overlay, replaceable: Collection[str], leader: Object | None = None
) -> Injection:
    """Inject what of `wish` may be injected.

    A leader's template that is a copy starts as `leader`, or as the workers'.
    """
    group, wished = group_of(original), template_of(wish, LEADER)
    if leader is not None and LEADER in group:
        original = with_group(original, {**group, LEADER: leader})
    if COPY not in wished or LEADER in group or not group:
        return put(original, wish, replaceable)
    source = group.get(str(wished[COPY])) if leader is None else leader
    outcome = put(with_group(original, {**group, LEADER: source}), wish, replaceable)
    into = outcome.put_on.setdefault("spec", {}).setdefault("leaderWorkerTemplate", {}).setdefault(LEADER, {})
    into[COPY] = wished[COPY]
    added = outcome.result["spec"]["leaderWorkerTemplate"][LEADER]
    others = [operation for operation in outcome.operations if not operation["path"].startswith(_PATH)]
    return outcome._replace(operations=(*others, {"op": "add", "path": _PATH, "value": added}))


def put(original: Object, wish: Overlay, replaceable: Collection[str], path: str = "") -> Injection:
    """Inject what of `wish` may be injected into one map, which is at a path."""
    result, put_on, was, operations = dict(original), Overlay(), Overlay(), list[Operation]()
    for key, value in wish.items():
        have, place = original.get(key), f"{path}/{escaped(key)}"
        if isinstance(value, dict):
            outcome = _put_map(have, value, replaceable, place)
        elif key in LIST_KEYS and isinstance(value, list):
            outcome = _put_items(key, have, value, replaceable, place)
        else:
            outcome = _put_leaf(key, have, value, replaceable, place)
        if outcome is None:
            continue
        result[key], put_on[key], was[key], changes = outcome
        operations += changes if have is not None else [{"op": "add", "path": place, "value": outcome.result}]
        if value is None:
            del result[key]
    return Injection(result, put_on, was, tuple(operations))


def _put_leaf(key: str, have: Any, value: Any, replaceable: Collection[str], path: str) -> Injection | None:
    if key in DIRECTIVES or (have is not None and key not in replaceable) or same(have, value):
        return None
    removal: Operation = {"op": "remove", "path": path}
    return Injection(
        value, value, have, (removal if value is None else {"op": "replace", "path": path, "value": value},)
    )


def _put_map(have: Any, value: Overlay, replaceable: Collection[str], path: str) -> Injection | None:
    if have is not None and not isinstance(have, dict):
        return None
    outcome = put(have or NOTHING, value, replaceable, path)
    return None if not outcome.put_on else outcome if have is not None else outcome._replace(was=None)


def _put_items(
    field: str, have: Any, wish: list[Any], replaceable: Collection[str], path: str
) -> Injection | None:
    if not isinstance(have, list):
        return Injection(merged_items(field, None, wish), wish, None) if wish and have is None else None
    places, items = index(field, have), list[Any](have)
    new, put_on, was, operations = list[Any](), list[Any](), list[Any](), list[Operation]()
    for item in wish:
        place = places.get(identity(field, item))
        if place is None:
            new.append(merge(NOTHING, item))
            put_on.append(item)
        elif field in ENTERED and (outcome := put(have[place], item, replaceable, f"{path}/{place}")).put_on:
            items[place] = outcome.result
            keys = keys_of(field, item)
            put_on.append(keys | outcome.put_on)
            was.append(keys | outcome.was)
            operations += outcome.operations
    for i, item in enumerate(new):
        operations.append({"op": "add", "path": f"{path}/{i if field in FIRST else '-'}", "value": item})
    items = new + items if field in FIRST else items + new
    return Injection(items, put_on, was, tuple(operations)) if put_on else None


# --- the order of lists ---------------------------------------------------------------------------------


def in_order_of(stored: Object, result: Object, put_on: Overlay) -> Object:
    """Return the result with lists in the order of an object that has the same items, or more.

    Another order of a list would change the template, and restart the pods:

        >>> ours, other = {"name": "dshm"}, {"name": "models"}
        >>> in_order_of({"volumes": [ours, other]}, {"volumes": [other, ours]}, {"volumes": [ours]})
        {'volumes': [{'name': 'dshm'}, {'name': 'models'}]}
    """
    ordered = dict(result)
    for key, value in put_on.items():
        have, wanted = stored.get(key), result.get(key)
        if have == wanted:
            continue
        if isinstance(value, dict) and isinstance(have, dict) and isinstance(wanted, dict):
            ordered[key] = in_order_of(have, wanted, value)
        elif is_keyed(key, value) and is_keyed(key, have) and is_keyed(key, wanted):
            ordered[key] = _items_in_order(key, listed(have), listed(wanted), by_identity(key, value))
    return ordered


def _items_in_order(
    field: str, live: list[Any], wanted: list[Any], put_on: dict[Identity, Object]
) -> list[Any]:
    have, items = by_identity(field, live), by_identity(field, wanted)
    for key in put_on.keys() & have.keys() & items.keys():
        items[key] = in_order_of(have[key], items[key], put_on[key])
    injected = NOTHING if field in ENTERED else put_on
    kept = [key for key in have if key in items]
    others = [[key for key in keys if key not in injected] for keys in (kept, items)]
    order = kept if len(kept) == len(items) and others[0] == others[1] else items
    return [items[key] for key in order] if len(items) == len(wanted) else wanted
