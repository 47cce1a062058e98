"""What was edited on the leader's template alone, after the workers' template has changed.

`difference` says what the leader has by itself, compared with the workers' template of the write before. The
workers' template is what its author writes, and may lose what an edit was made to:

    >>> edits = {"containers": [{"name": "logger", "env": [{"name": "A", "value": "1"}]}]}
    >>> carried(edits, {"containers": [{"name": "logger", "image": "a"}]}, {"containers": []})
    {}
"""

from collections.abc import Iterator
from typing import Any

from intent import Object
from intent.merge import UNIONS
from intent.shapes import mapping
from intent.tree import PATCH, Overlay, are_items, by_identity, identity, is_keyed, keys_of


def carried(edits: Overlay, before: Object, now: Object) -> Overlay:
    """Return the edits that have a place in `now`; they were made to `before`.

    An edit of an item goes with the item, one of a probe or a hook with it. Of fields of which one may be
    set, the author's choice stands if it has changed.
    """
    return _carried("", edits, before, now)


def _carried(field: str, edits: Overlay, before: Object, now: Object) -> Overlay:
    then, chosen = _members(field, before), _members(field, now)
    others = (then | chosen | _members(field, edits)) if then != chosen and chosen else frozenset()
    found: Overlay = {}
    for key, value in edits.items():
        have, there = before.get(key), now.get(key)
        if key in others or (key in UNIONS and isinstance(have, dict) and there is None):
            continue
        if isinstance(value, dict):
            below = _carried(key, value, mapping(have), mapping(there))
            found |= {key: below} if below or not value else {}
        elif is_keyed(key, value) and are_items(key, value):
            items = [*_items(key, value, have, there)]
            found |= {key: items} if items or not value else {}
        else:
            found[key] = value
    return found


def _items(field: str, edits: list[Overlay], before: Any, now: Any) -> Iterator[Overlay]:
    then, there = by_identity(field, before), by_identity(field, now)
    for edit in edits:
        key = identity(field, edit)
        if PATCH in edit or (key not in then and key not in there):
            yield edit
        elif key in there:
            yield keys_of(field, edit) | _carried(field, edit, then.get(key, {}), there[key])


def _members(field: str, value: Object) -> frozenset[str]:
    """Return the fields of a value of which only one may be set."""
    members = value.keys() - {"name"} if field == "volumes" else UNIONS.get(field, frozenset())
    return frozenset(members & value.keys())
