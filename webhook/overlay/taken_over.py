"""The leader's template of a file, in place of a copy of the workers' template.

Clients merge the file's template into the copy. What is left of the copy is removed:

    >>> copy = {"image": "a", "nodeSelector": {"pool": "x"}}
    >>> live = {"image": "b", "nodeSelector": {"pool": "x"}}
    >>> taken_over(live, Counterparts(file={"image": "b"}, old=copy))
    {'image': 'b'}
"""

from typing import Any, NamedTuple

from intent import Object
from intent.shapes import mapping
from webhook.overlay.keyed import are_items, by_identity, identity, is_keyed, same


class Counterparts(NamedTuple):
    """What is known of one value of the leader's template: the same value in other places."""

    file: Any = None
    """In the writer's file."""
    old: Any = None
    """In the stored object, before the write."""
    workers: Any = None
    """In the workers' template."""
    workers_file: Any = None
    """In the workers' template of the file."""


def taken_over(live: Object, around: Counterparts) -> Object:
    """Return the leader's template of a file, without what is left of the copy.

    That is what the write did not change, unless other webhooks add it to every template: then the workers
    have it, and the file does not.
    """
    found: Object = _taken_over(live, around, "")
    return found


def _taken_over(live: Any, around: Counterparts, field: str) -> Any:
    if isinstance(live, dict):
        maps = [mapping(one) for one in around]
        known = {key: Counterparts(*(one.get(key) for one in maps)) for key in live}
        return {
            key: _taken(value, known[key], key) for key, value in live.items() if _stays(value, known[key])
        }
    if not is_keyed(field, live) or not are_items(field, live):
        return live
    lists = [by_identity(field, one) for one in around]
    items = [(item, Counterparts(*(one.get(identity(field, item)) for one in lists))) for item in live]
    return [_taken(item, known, "") for item, known in items if _stays(item, known)]


def _taken(value: Any, around: Counterparts, field: str) -> Any:
    return value if around.file is None else _taken_over(value, around, field)


def _stays(value: Any, around: Counterparts) -> bool:
    """Return whether a value is the file's, new in this write, or in every template."""
    is_in_all = around.workers_file is None and value is not None and same(value, around.workers)
    return around.file is not None or is_in_all or not same(value, around.old)
