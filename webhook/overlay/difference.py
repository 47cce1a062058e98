"""The overlay that makes one object from another: `merge(one, difference(one, other)) == other`.

Neither the order of keyed lists nor a default that was filled in is part of it. It describes what was edited
on the leader's template alone:

    >>> worker = {"containers": [{"name": "vllm", "image": "a"}], "nodeSelector": {"pool": "x"}}
    >>> leader = {"containers": [{"name": "vllm", "image": "b"}]}
    >>> difference(worker, leader)
    {'nodeSelector': None, 'containers': [{'name': 'vllm', 'image': 'b'}]}
"""

from typing import Any

from intent import Object
from webhook.overlay.canonical import is_filled_in
from webhook.overlay.keyed import LIST_KEYS, are_items, identity, index, is_keyed, keys_of, same
from webhook.overlay.overlay import PATCH, Overlay


def difference(one: Object, other: Object) -> Overlay:
    """Return the overlay that makes `other` from `one`."""
    found: Overlay = {
        key: None for key, value in one.items() if key not in other and not is_filled_in(key, value)
    }
    for key, value in other.items():
        if key not in one:
            found |= {} if is_filled_in(key, value) else {key: value}
        elif (changed := _difference(key, one[key], value)) is not None:
            found[key] = changed
    return found


def _difference(field: str, one: Any, other: Any) -> Any:
    """Return the overlay of one field; None if the values are equal."""
    if one is other:
        return None
    if isinstance(one, dict) and isinstance(other, dict):
        return difference(one, other) or None
    if is_keyed(field, one) and is_keyed(field, other) and are_items(field, other):
        return _items(field, one, other) or None
    return None if same(one, other) else other


def _items(field: str, one: list[Any], other: list[Any]) -> list[Overlay]:
    before, after = index(field, one), index(field, other)
    found = [{**keys_of(field, one[at]), PATCH: "delete"} for key, at in before.items() if key not in after]
    for key, at in after.items():
        if key not in before:
            found.append(other[at])
        elif changed := difference(one[before[key]], other[at]):
            found.append(keys_of(field, other[at]) | changed)
    return found


def replaced(one: Object, overlay: Overlay) -> Overlay:
    """Return the values that an overlay replaces in an object, None where it has none.

    >>> replaced({"labels": {"a": "1"}}, {"labels": {"a": "2", "b": "2"}, "annotations": {"a": "1"}})
    {'labels': {'a': '1', 'b': None}, 'annotations': None}
    """
    return {key: _replaced(key, one.get(key), value) for key, value in overlay.items()}


def _replaced(field: str, have: Any, value: Any) -> Any:
    if isinstance(have, dict) and isinstance(value, dict):
        return replaced(have, value)
    if is_keyed(field, have) and is_keyed(field, value):
        places = index(field, have)
        known = ((places.get(identity(field, item)), item) for item in value)
        return [
            keys_of(field, item) | replaced(have[at], _rest(field, item))
            for at, item in known
            if at is not None
        ]
    return have


def _rest(field: str, item: Object) -> Object:
    return {key: value for key, value in item.items() if key not in LIST_KEYS[field]}
