"""Partial objects, and the walk that puts them on.

An overlay is data, in the shape of the object it is for:

- maps merge, key by key; scalars and plain lists are set; `None` removes a field;
- the lists of `LIST_KEYS` merge item by item, as Kubernetes' list-map keys say; an item that is new goes
  last, or first in `env`, where a later variable may name it;
- `{"$patch": "delete"}` in a map or an item removes it whole; an item `{"$patch": "prune"}` removes its list
  if nothing is left in it; `{"$patch": "replace", "$digest": D}` puts a map in place of what is there,
  unless that has digest D already;
- `{"$copy": FIELD}` in a map that the object lacks starts it as a copy of the field beside it.

Two kinds of leaf: command, args, what a launch removes, and the port that a probe or hook asks
(`REPLACEABLE`) take the place of what the author wrote; all else is put on only where the author wrote
nothing. So no mutator can overwrite by mistake.
"""

from collections.abc import Iterable
from typing import Any, Final

from intent import Object
from webhook.canonical import digest
from webhook.keyed import ENTERED, FIRST, LIST_KEYS, identity, index, is_keyed, keys_of, same

Overlay = dict[str, Any]
Operation = dict[str, Any]

REPLACEABLE: Final = frozenset(
    {"command", "args", "readinessProbe", "livenessProbe", "startupProbe", "postStart", "preStop", "port"}
)

PATCH: Final = "$patch"
COPY: Final = "$copy"
DIGEST: Final = "$digest"
_DIRECTIVES: Final = frozenset({PATCH, COPY, DIGEST})


# --- combine: overlays of several mutators become one ------------------------------------------------


class Contradiction(Exception):  # noqa: N818 - it is a bug of ours, not an error of the author's
    """Two mutators set one leaf to two values."""


def combine(overlays: Iterable[Overlay]) -> Overlay:
    """Make one overlay of several that do not contradict each other."""
    whole: Overlay = {}
    for overlay in overlays:
        whole = _union(whole, overlay, strict=True)
    return whole


def compose(first: Overlay, then: Overlay) -> Overlay:
    """Make one overlay that does `first` and `then` after it; `then` wins."""
    return _union(first, then, strict=False)


def _union(whole: Overlay, more: Overlay, *, strict: bool) -> Overlay:
    """Join two overlays; what only one of them has is shared, not copied."""
    if not whole:
        return more
    joined = {**whole, **more}
    if PATCH in joined and PATCH not in more:
        del joined[PATCH]
    for key in whole.keys() & more.keys():
        joined[key] = _joined(key, whole[key], more[key], strict=strict)
    return joined


def _joined(key: str, have: Any, value: Any, *, strict: bool) -> Any:
    if isinstance(have, dict) and isinstance(value, dict):
        return _union(have, value, strict=strict)
    if is_keyed(key, have) and is_keyed(key, value):
        return _joined_items(key, have, value, strict=strict)
    if strict and not same(have, value):
        raise Contradiction(f"{key}: {have!r} and {value!r}")
    return value


def _joined_items(field: str, have: list[Any], more: list[Any], *, strict: bool) -> list[Any]:
    items = list(have)
    places = index(field, items)
    for item in more:
        at = places.get(identity(field, item))
        if at is None:
            items.append(item)
        else:
            items[at] = _union(items[at], item, strict=strict)
    return items


# --- put: what of a wish may be put on, and what it takes the place of --------------------------------


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
        elif key not in _DIRECTIVES and (have is None or key in REPLACEABLE) and not same(have, value):
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
    reduced, reverse = put(_source(original, value), _bare(value))
    copied = reduced | {COPY: value[COPY]}
    return copied | {DIGEST: digest(_copy_of(original, copied))}, reverse


def _copy_of(original: Object, value: Overlay) -> Object:
    return merge(_source(original, value), _bare(value))


def _source(original: Object, value: Overlay) -> Object:
    source = original.get(value[COPY])
    return source if isinstance(source, dict) else {}


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


# --- merge and patch: put it on ---------------------------------------------------------------------


def merge(live: Object, overlay: Overlay) -> Object:
    """Put an overlay on an object. The object is not changed; what is untouched is shared."""
    merged = dict(live)
    for key, value in overlay.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            _merge_map(merged, key, value)
        elif key in LIST_KEYS and isinstance(value, list):
            _merge_list(merged, key, value)
        elif key not in _DIRECTIVES:
            merged[key] = value
    return merged


def _merge_map(merged: Object, key: str, value: Overlay) -> None:
    have, directive = merged.get(key), value.get(PATCH)
    if directive == "delete":
        merged.pop(key, None)
    elif directive == "replace":
        merged[key] = _bare(value)
    else:
        merged[key] = merge(have if isinstance(have, dict) else {}, value)


def _merge_list(merged: Object, field: str, overlay: list[Any]) -> None:
    merged[field] = _merged_items(field, merged.get(field), overlay)
    if not merged[field] and any(_is(item, "prune") for item in overlay):
        del merged[field]


def _merged_items(field: str, live: Any, overlay: list[Any]) -> list[Any]:
    items: list[Any] = list(live) if isinstance(live, list) else []
    places = index(field, items)
    new: list[Any] = []
    gone: set[int] = set()
    for item in overlay:
        directive = item.get(PATCH)
        at = None if directive == "prune" else places.get(identity(field, item))
        if directive is not None:
            gone.add(-1 if at is None else at)
        elif at is None:
            new.append(merge({}, item))
        else:
            items[at] = merge(items[at], item)
    kept = [item for at, item in enumerate(items) if at not in gone] if gone else items
    return new + kept if field in FIRST else kept + new


def _is(value: Any, directive: str) -> bool:
    return isinstance(value, dict) and value.get(PATCH) == directive


def _bare(value: Overlay) -> Object:
    return {key: item for key, item in value.items() if key not in _DIRECTIVES}


def patch(live: Object, overlay: Overlay) -> list[Operation]:
    """Write the operations (RFC 6902: add, replace, remove) that put an overlay on an object."""
    operations: list[Operation] = []
    _patch_map(live, overlay, "", operations)
    return operations


def _patch_map(live: Object, overlay: Overlay, path: str, operations: list[Operation]) -> None:
    for key, value in overlay.items():
        if key in _DIRECTIVES:
            continue
        below = f"{path}/{_escaped(key)}"
        if isinstance(value, dict):
            _patch_field(live, key, value, below, operations)
        elif value is None:
            if key in live:
                operations.append({"op": "remove", "path": below})
        elif key in LIST_KEYS and isinstance(value, list):
            _patch_list(live, key, value, below, operations)
        elif key not in live:
            operations.append({"op": "add", "path": below, "value": value})
        elif not same(live[key], value):
            operations.append({"op": "replace", "path": below, "value": value})


def _patch_field(live: Object, key: str, value: Overlay, path: str, operations: list[Operation]) -> None:
    have, directive = live.get(key), value.get(PATCH)
    if directive == "delete":
        if key in live:
            operations.append({"op": "remove", "path": path})
    elif directive == "replace":
        if not isinstance(have, dict) or digest(have) != value[DIGEST]:
            _set(live, key, _bare(value), path, operations)
    elif isinstance(have, dict):
        _patch_map(have, value, path, operations)
    else:
        _set(live, key, merge({}, value), path, operations)


def _set(live: Object, key: str, value: Any, path: str, operations: list[Operation]) -> None:
    if key not in live:
        operations.append({"op": "add", "path": path, "value": value})
    elif not same(live[key], value):
        operations.append({"op": "replace", "path": path, "value": value})


def _patch_list(live: Object, field: str, overlay: list[Any], path: str, operations: list[Operation]) -> None:
    have = live.get(field)
    if not isinstance(have, list):
        whole = _merged_items(field, None, overlay)
        if whole or not any(_is(item, "prune") for item in overlay):
            _set(live, field, whole, path, operations)
        return
    places = index(field, have)
    new: list[Any] = []
    gone: list[int] = []
    prunes = False
    for item in overlay:
        at = places.get(identity(field, item))
        if _is(item, "prune"):
            prunes = True
        elif at is None:
            new.extend(() if _is(item, "delete") else (merge({}, item),))
        elif _is(item, "delete"):
            gone.append(at)
        else:
            _patch_map(have[at], item, f"{path}/{at}", operations)
    if prunes and not new and len(gone) == len(have):
        operations.append({"op": "remove", "path": path})
        return
    operations.extend({"op": "remove", "path": f"{path}/{at}"} for at in sorted(gone, reverse=True))
    place = "0" if field in FIRST else "-"
    ordered = reversed(new) if field in FIRST else new
    operations.extend({"op": "add", "path": f"{path}/{place}", "value": item} for item in ordered)


def _escaped(key: str) -> str:
    """Escape a key for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key
