"""The JSON patch (RFC 6902: add, replace, remove) that applies an overlay to an object."""

from functools import lru_cache
from typing import Any

from intent import Object
from webhook.overlay.canonical import digest
from webhook.overlay.keyed import FIRST, LIST_KEYS, identity, index, same
from webhook.overlay.overlay import (
    DIGEST,
    DIRECTIVES,
    NOTHING,
    PATCH,
    Overlay,
    bare,
    merge,
    merged_items,
    prunes,
)

Operation = dict[str, Any]


def patch(live: Object, overlay: Overlay) -> list[Operation]:
    """Return the operations that apply an overlay to an object."""
    operations: list[Operation] = []
    _patch_map(live, overlay, "", operations)
    return operations


def _patch_map(live: Object, overlay: Overlay, path: str, operations: list[Operation]) -> None:
    for key, value in overlay.items():
        below = f"{path}/{escaped(key)}"
        if isinstance(value, dict):
            _patch_field(live, key, value, below, operations)
        elif value is None:
            if key in live:
                operations.append({"op": "remove", "path": below})
        elif key in LIST_KEYS and isinstance(value, list):
            _patch_list(live, key, value, below, operations)
        elif key not in DIRECTIVES:
            _set(live, key, value, below, operations)


def _patch_field(live: Object, key: str, value: Overlay, path: str, operations: list[Operation]) -> None:
    have, directive = live.get(key), value.get(PATCH)
    if directive == "delete":
        if key in live:
            operations.append({"op": "remove", "path": path})
    elif directive == "replace":
        if not isinstance(have, dict) or digest(have) != value[DIGEST]:
            _set(live, key, bare(value), path, operations)
    elif isinstance(have, dict):
        _patch_map(have, value, path, operations)
    else:
        _set(live, key, merge(NOTHING, value), path, operations)


def _set(live: Object, key: str, value: Any, path: str, operations: list[Operation]) -> None:
    if key not in live:
        operations.append({"op": "add", "path": path, "value": value})
    elif not same(live[key], value):
        operations.append({"op": "replace", "path": path, "value": value})


def _patch_list(live: Object, field: str, overlay: list[Any], path: str, operations: list[Operation]) -> None:
    have = live.get(field)
    if isinstance(have, list):
        _patch_items(have, field, overlay, path, operations)
        return
    whole = merged_items(field, None, overlay)
    if whole or not prunes(overlay):
        _set(live, field, whole, path, operations)


def _patch_items(
    have: list[Any], field: str, overlay: list[Any], path: str, operations: list[Operation]
) -> None:
    places = index(field, have)
    new: list[Any] = []
    gone: list[int] = []
    for item in overlay:
        at, directive = places.get(identity(field, item)), item.get(PATCH)
        if directive is None and at is None:
            new.append(merge(NOTHING, item))
        elif directive is None and at is not None:
            _patch_map(have[at], item, f"{path}/{at}", operations)
        elif directive == "delete" and at is not None:
            gone.append(at)
    if len(gone) == len(have) and not new and prunes(overlay):
        operations.append({"op": "remove", "path": path})
        return
    operations += [{"op": "remove", "path": f"{path}/{at}"} for at in sorted(gone, reverse=True)]
    operations += added(field, new, path)


def added(field: str, items: list[Any], path: str) -> list[Operation]:
    """Return the operations that append items to a list, or prepend them in their order."""
    place, ordered = (f"{path}/0", reversed(items)) if field in FIRST else (f"{path}/-", items)
    return [{"op": "add", "path": place, "value": item} for item in ordered]


@lru_cache(maxsize=256)
def escaped(key: str) -> str:
    """Escape a key for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key
