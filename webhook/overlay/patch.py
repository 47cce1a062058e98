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
from dataclasses import dataclass, field
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


def patch(live: Object, wanted: Object, stays: Callable[[str, Any], bool] = is_default) -> list[Operation]:
    """Return the operations that make `wanted` from `live`. Values that both share are not walked.

    A field that is not wanted stays if `stays` says so: the API server or LWS may have filled it in. So does
    another spelling of a quantity.
    """
    work = _Work(stays)
    _patch_map(live, wanted, "", work)
    return work.operations


@dataclass(slots=True)
class _Work:
    """The rule for empty fields that are not wanted, and the operations so far."""

    stays: Callable[[str, Any], bool]
    operations: list[Operation] = field(default_factory=list)


def _patch_map(live: Object, wanted: Object, path: str, work: _Work) -> None:
    if not live.keys() <= wanted.keys():
        work.operations += [
            {"op": "remove", "path": f"{path}/{escaped(key)}"}
            for key, value in live.items()
            if key not in wanted and not work.stays(key, value)
        ]
    is_other = map(is_not, wanted.values(), map(live.get, wanted, repeat(_ABSENT)))
    for key, value in compress(wanted.items(), is_other):  # few fields of a map are no longer the same
        if key in live:
            _patch_value(key, live[key], value, f"{path}/{escaped(key)}", work)
        else:
            work.operations.append({"op": "add", "path": f"{path}/{escaped(key)}", "value": value})


def _patch_value(field: str, live: Any, wanted: Any, path: str, work: _Work) -> None:
    if isinstance(live, dict) and isinstance(wanted, dict):
        if field not in QUANTITIES or canonical(live, field) != canonical(wanted, field):
            _patch_map(live, wanted, path, work)
        return
    if same(live, wanted):
        return
    if is_keyed(field, live) and is_keyed(field, wanted):
        have, want = by_identity(field, live), by_identity(field, wanted)
        if len(have) == len(live) and len(want) == len(wanted) and _is_in_order(have, want):
            _patch_items(field, (have, want), path, work)
            return
    work.operations.append({"op": "replace", "path": path, "value": wanted})


def _is_in_order(have: dict[Identity, Object], want: dict[Identity, Object]) -> bool:
    """Return whether the items that stay keep their order."""
    return [key for key in have if key in want] == [key for key in want if key in have]


Items = dict[Identity, Object]


def _patch_items(field: str, lists: tuple[Items, Items], path: str, work: _Work) -> None:
    """Patch items that stay, remove others from the last to the first, then add new ones in their places."""
    live, wanted = lists
    for at, (key, item) in enumerate(live.items()):
        if key in wanted and item is not wanted[key]:
            _patch_item(field, item, wanted[key], f"{path}/{at}", work)
    gone = [at for at, key in enumerate(live) if key not in wanted]
    work.operations += [{"op": "remove", "path": f"{path}/{at}"} for at in reversed(gone)]
    length = len(live) - len(gone)
    for at, (key, item) in enumerate(wanted.items()):
        if key not in live:
            place = "-" if at == length else at
            work.operations.append({"op": "add", "path": f"{path}/{place}", "value": item})
            length += 1


def _patch_item(field: str, live: Object, wanted: Object, path: str, work: _Work) -> None:
    if field in UNIONS and live.keys() != wanted.keys():
        work.operations.append({"op": "replace", "path": path, "value": wanted})
    else:
        _patch_map(live, wanted, path, work)


@lru_cache(maxsize=256)
def escaped(key: str) -> str:
    """Escape a key for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key
