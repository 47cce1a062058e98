"""The JSON patch (RFC 6902: add, replace, remove) that makes one object from another.

Lists that merge by keys are patched item by item, so that a patch is as small as the change. Here one
container gets another image, `old` is removed, and `new` is added before the first:

    >>> live = {"containers": [{"name": "vllm", "image": "a"}, {"name": "old"}]}
    >>> patch(live, {"containers": [{"name": "new"}, {"name": "vllm", "image": "b"}]})
    [{'op': 'replace', 'path': '/containers/0/image', 'value': 'b'}, \
{'op': 'remove', 'path': '/containers/1'}, \
{'op': 'add', 'path': '/containers/0', 'value': {'name': 'new'}}]
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import compress, repeat
from operator import is_not
from typing import Any, Final

from intent import Object
from intent.tree import QUANTITIES, Identity, by_identity, canonical, is_default, is_keyed, same

Operation = dict[str, Any]

UNIONS: Final = frozenset({"env", "volumes"})
"""Lists whose items have one field of several: one of another kind replaces the item, with an empty field too
(`emptyDir: {}`, `value: ""`)."""
_ABSENT: Final = object()


Stays = Callable[[str, Any], bool]
"""Says of a field that is not wanted, and of its value, whether it stays."""


def patch(live: Object, wanted: Object, stays: Stays = is_default, path: str = "") -> list[Operation]:
    """Return the operations that make `wanted` from `live`. Values that both share are not walked.

    A field that is not wanted stays if `stays` says so: the API server or LWS may have filled it in. So does
    another spelling of a quantity.
    """
    operations: list[Operation] = []
    if not live.keys() <= wanted.keys():
        gone = (key for key, value in live.items() if key not in wanted and not stays(key, value))
        operations += [{"op": "remove", "path": f"{path}/{escaped(key)}"} for key in gone]
    is_other = map(is_not, wanted.values(), map(live.get, wanted, repeat(_ABSENT)))
    for key, value in compress(wanted.items(), is_other):  # few fields of a map are no longer the same
        place = f"{path}/{escaped(key)}"
        if key in live:
            operations += _patch_value(key, live[key], value, stays, place)
        else:
            operations.append({"op": "add", "path": place, "value": value})
    return operations


def _patch_value(field: str, live: Any, wanted: Any, stays: Stays, path: str) -> list[Operation]:
    if isinstance(live, dict) and isinstance(wanted, dict):
        is_other = field not in QUANTITIES or canonical(live, field) != canonical(wanted, field)
        return patch(live, wanted, stays, path) if is_other else []
    if same(live, wanted):
        return []
    if is_keyed(field, live) and is_keyed(field, wanted):
        have, want = by_identity(field, live), by_identity(field, wanted)
        if len(have) == len(live) and len(want) == len(wanted) and _is_in_order(have, want):
            return _patch_items(field, (have, want), stays, path)
    return [{"op": "replace", "path": path, "value": wanted}]


def _is_in_order(have: dict[Identity, Object], want: dict[Identity, Object]) -> bool:
    """Return whether the items that stay keep their order."""
    return [key for key in have if key in want] == [key for key in want if key in have]


Items = dict[Identity, Object]


def _patch_items(field: str, lists: tuple[Items, Items], stays: Stays, path: str) -> list[Operation]:
    """Patch items that stay, remove others from the last to the first, then add new ones in their places."""
    live, wanted = lists
    operations: list[Operation] = []
    for position, (key, item) in enumerate(live.items()):
        if key in wanted and field in UNIONS and item.keys() != wanted[key].keys():
            operations.append({"op": "replace", "path": f"{path}/{position}", "value": wanted[key]})
        elif key in wanted and item is not wanted[key]:
            operations += patch(item, wanted[key], stays, f"{path}/{position}")
    gone = [position for position, key in enumerate(live) if key not in wanted]
    operations += [{"op": "remove", "path": f"{path}/{position}"} for position in reversed(gone)]
    length = len(live) - len(gone)
    for position, (key, item) in enumerate(wanted.items()):
        if key not in live:
            place = "-" if position == length else position
            operations.append({"op": "add", "path": f"{path}/{place}", "value": item})
            length += 1
    return operations


@lru_cache(maxsize=256)
def escaped(key: str) -> str:
    """Escape a key for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key
