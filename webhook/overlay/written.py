"""What the writer's own file holds, as far as the admission request shows it.

An AdmissionReview does not say which client writes, or how. Two of its fields show what a file holds:

- `kubectl apply` keeps its file in the annotation `last-applied-configuration`. It counts if this write
  changed it.
- `kubectl apply --server-side` is an entry of `managedFields` with the operation `Apply`, which names the
  fields of the file. It counts if this write changed it. The API server computes it before it calls mutating
  webhooks (`k8s.io/apiserver` `pkg/endpoints/handlers/patch.go`), so an injected field has no owner.

Other clients show nothing: Helm, `kubectl edit`, `kubectl patch`, `kubectl replace`.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from intent import Object
from intent.annotations import EXPANSION
from intent.shapes import listed, mapping
from webhook.overlay.keyed import LIST_KEYS, identity, index, is_keyed, same

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAPS_OF_TEXT: Final = frozenset({"annotations", "labels"})
"""Maps whose entries have owners: an owner of the map alone owns none. Others are atomic then."""
_FIELD: Final = "f:"
_KEYS: Final = "k:"


def written(live: Object, old: Object | None) -> Object:
    """Return the part of the live object that the writer's file holds; empty if that is not known.

    A file that holds the record was exported from the cluster, and shows nothing about its other fields.
    """
    if old is None:
        return {}
    found = _last_applied(live, old) or _applied(live, old)
    return {} if EXPANSION in _annotations(found) else found


def is_applied(live: Object, old: Object | None) -> bool:
    """Return whether the write is a server-side apply: the time of its manager's entry is new.

    Another client's write takes fields from such an entry, and leaves its time.
    """
    now, then = (mapping(mapping(lws).get("metadata")).get("managedFields") for lws in (live, old))
    times = [
        {str(one.get("manager")): one.get("time") for one in _entries(entries)} for entries in (now, then)
    ]
    return any(time is not None and times[1].get(manager) != time for manager, time in times[0].items())


def _last_applied(live: Object, old: Object) -> Object:
    text = _annotations(live).get(LAST_APPLIED)
    if not isinstance(text, str) or text == _annotations(old).get(LAST_APPLIED):
        return {}
    return mapping(_common(live, _read(text)))


def _common(live: Any, file: Any, field: str = "") -> Any:
    """Return the part of `live` that is in `file` with the same value; None if there is none."""
    if isinstance(live, dict) and isinstance(file, dict):
        below = ((key, _common(live[key], value, key)) for key, value in file.items() if key in live)
        return {key: value for key, value in below if value is not None}
    if is_keyed(field, live) and is_keyed(field, file):
        places = index(field, live)
        known = ((places[key], file[at]) for key, at in index(field, file).items() if key in places)
        return [_common(live[at], item) for at, item in known]
    return live if same(live, file) else None


def _applied(live: Object, old: Object) -> Object:
    found: Object = {}
    for fields in _changed_entries(live, old):
        found = _joined(found, _owned(live, fields))
    return found


def _changed_entries(live: Object, old: Object) -> list[Object]:
    now, then = (mapping(lws.get("metadata")).get("managedFields") for lws in (live, old))
    if now == then:
        return []
    before = set(map(_text, _entries(then)))
    return [mapping(one.get("fieldsV1")) for one in _entries(now) if _text(one) not in before]


def _text(entry: Object) -> bytes:
    return msgspec.json.encode(entry, order="sorted")


def _entries(entries: Any) -> Iterator[Object]:
    """Yield the entries of `managedFields` that an apply made. They are raw JSON in an admission request."""
    if isinstance(entries, msgspec.Raw):
        entries = _read(entries)
    for entry in listed(entries):
        if isinstance(entry, dict) and entry.get("operation") == "Apply" and not entry.get("subresource"):
            yield entry


def _owned(value: Any, fields: Object, field: str = "") -> Any:
    """Return the part of a value that is in a set of fields (`fieldsV1`); `.` is the map or list itself."""
    if field in _MAPS_OF_TEXT and not fields:
        return {}
    if not fields or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return list(_items(value, fields, field)) if field in LIST_KEYS else value
    names = (key.removeprefix(_FIELD) for key in fields if key.startswith(_FIELD))
    return {
        name: _owned(value[name], mapping(fields[_FIELD + name]), name) for name in names if name in value
    }


def _items(items: list[Any], fields: Object, field: str) -> Iterator[Object]:
    places = index(field, items)
    for key, below in fields.items():
        keys = mapping(_read(key.removeprefix(_KEYS))) if key.startswith(_KEYS) else {}
        at = places.get(identity(field, keys)) if keys else None
        if at is not None:
            yield {**keys, **_owned(items[at], mapping(below))}


def _joined(one: Any, other: Any) -> Any:
    """Return what two managers own together."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **other, **{key: _joined(one[key], other[key]) for key in one.keys() & other.keys()}}
    return [*one, *other] if isinstance(one, list) and isinstance(other, list) else other


def _read(text: str | msgspec.Raw) -> Any:
    """Decode JSON that a client may have written; None if it is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _annotations(lws: Object) -> Object:
    return mapping(mapping(lws.get("metadata")).get("annotations"))
