"""What the writer's own file holds, as far as the admission request shows it.

An AdmissionReview does not say which client writes, or how. Two of its fields show what a file holds:

- `kubectl apply` keeps its file in the annotation `last-applied-configuration`. It counts if this write
  changed it. `kubectl replace` renews the annotation if there is one.
- `kubectl apply --server-side` is an entry of `managedFields` with the operation `Apply`, which names the
  fields of the file. It counts if its time is new, or if it has got fields: an apply that changes no value
  leaves the time (`k8s.io/apimachinery` `pkg/util/managedfields/internal/managedfieldsupdater.go`). So does a
  write of another client, which takes fields from the entry. The API server computes it before it calls
  mutating webhooks (`k8s.io/apiserver` `pkg/endpoints/handlers/patch.go`), so an injected field has no owner.
  It shows names, not values: in a map with one owner, what an earlier call of the same write injected cannot
  be told apart (`Unread`).

Other clients show nothing: Helm, `kubectl edit`, `kubectl patch`, `kubectl replace`.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from intent import Object
from intent.annotations import EXPANSION, SERVICE
from intent.shapes import annotations, mapping, metadata
from intent.tree import LIST_KEYS, Identity, identity, index, is_keyed, same

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ATOMIC: Final = frozenset(
    {
        *("nodeSelector", "labelSelector", "namespaceSelector", "selector", "preference", "dataSource"),
        *("requiredDuringSchedulingIgnoredDuringExecution", "resourceFieldRef", "fieldRef", "fileKeyRef"),
        *("configMap", "configMapKeyRef", "configMapRef", "secret", "secretKeyRef", "secretRef"),
        "nodePublishSecretRef",
    }
)
"""Maps that have one owner (`x-kubernetes-map-type: atomic` in the CRD of LeaderWorkerSets).

The owner of any other map alone applied it without fields, and owns none of those that it has now.
"""
_FIELD: Final = "f:"
_KEYS: Final = "k:"
_raw_items: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Unread(dict[str, Any]):
    """A map with one owner, as it is now: the file has the map, and all or some of these fields."""


class Named(list[Any]):
    """A list that the file has, perhaps with other items: `managedFields` shows its name alone."""


def written(live: Object, old: Object) -> Object:
    """Return the part of the live object that the writer's file holds; empty if that is not known.

    A file that holds the record was exported from the cluster, and shows nothing about its other fields.
    """
    file = _last_applied(live, old) or _applied(live, old)
    return {} if EXPANSION in annotations(file) else file


def is_applied(live: Object, old: Object | None) -> bool:
    """Return whether the write is a server-side apply."""
    return old is not None and bool(_new_apply(live, old))


def is_applied_after_export(live: Object, old: Object) -> bool:
    """Return whether the write is a client-side apply, and the file of the last one held the record.

    Such an apply removes every field of that file that the new one lacks, the record too.
    """
    before = _noted(old)
    return before != _noted(live) and EXPANSION in annotations(mapping(_read(before)))


def brings_record(live: Object, old: Object) -> bool:
    """Return whether the record of the live object stands in the writer's file, which was exported.

    A record that an earlier call of the same write made does not.
    """
    text = _noted(live)
    if text and text != _noted(old):
        return annotations(mapping(_read(text))).get(EXPANSION) == annotations(live).get(EXPANSION)
    return EXPANSION in annotations(_applied(live, old))


def file_of(live: Object, old: Object) -> Object:
    """Return the file that opts an object in: kubectl's note of the last one, else what `written` returns."""
    noted = mapping(_read(_noted(live)))
    return noted if SERVICE in annotations(noted) else written(live, old)


def _last_applied(live: Object, old: Object) -> Object:
    text = _noted(live)
    if not text or text == _noted(old):
        return {}
    file = mapping(_read(text))
    return {} if EXPANSION in annotations(file) else mapping(_common(live, file))


def _noted(lws: Object) -> str:
    """Return the note of the last file of `kubectl apply`; empty if there is none."""
    text = annotations(lws).get(LAST_APPLIED)
    return text if isinstance(text, str) else ""


def _common(live: Any, file: Any, field: str = "") -> Any:
    """Return the part of `live` that is in `file` with the same value; None if there is none."""
    if isinstance(live, dict) and isinstance(file, dict):
        below = ((key, _common(live[key], value, key)) for key, value in file.items() if key in live)
        return {key: value for key, value in below if value is not None}
    if is_keyed(field, live) and is_keyed(field, file):
        places = index(field, live)
        known = ((places[key], file[place]) for key, place in index(field, file).items() if key in places)
        return [_common(live[place], item) for place, item in known]
    return live if same(live, file) else None


def _applied(live: Object, old: Object) -> Object:
    """Return the part of the live object that the file of a server-side apply holds."""
    return mapping(_owned(live, mapping(_new_apply(live, old).get("fieldsV1"))))


def _new_apply(live: Object, old: Object) -> Object:
    """Return the entry of an apply that is this write, with a new time or more fields; empty for another."""
    now, then = _entries(live), _entries(old)
    entries = {str(entry.get("manager")): entry for entry in _applies(then, but=now)}
    for entry in _applies(now, but=then):
        before = entries.get(str(entry.get("manager")), {})
        fields, owned = (mapping(each.get("fieldsV1")) for each in (entry, before))
        if entry.get("time") not in (None, before.get("time")) or _adds(fields, owned):
            return entry
    return {}


def _adds(fields: Object, before: Object) -> bool:
    """Return whether a set of fields has some that it did not have before."""
    pairs = [(fields, before)]
    while pairs:
        now, then = pairs.pop()
        if now.keys() - then.keys():
            return True
        pairs += [(mapping(below), mapping(then[key])) for key, below in now.items()]
    return False


def _applies(entries: list[bytes], *, but: list[bytes]) -> list[Object]:
    """Decode the entries that an apply made, without those that are in another list too."""
    known = set(but)
    decoded = (mapping(_read(text)) for text in entries if text not in known)
    return [entry for entry in decoded if entry.get("operation") == "Apply" and not entry.get("subresource")]


def _entries(lws: Object) -> list[bytes]:
    """Return the entries of `managedFields`. They are raw JSON in an admission request."""
    entries = metadata(lws).get("managedFields")
    if entries is None:
        return []
    text = entries if isinstance(entries, msgspec.Raw) else msgspec.json.encode(entries)
    try:
        return [bytes(entry) for entry in _raw_items(text)]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []


def _owned(value: Any, fields: Object, field: str = "") -> Any:
    """Return the part of a value that is in a set of fields (`fieldsV1`); `.` is the map or list itself."""
    if isinstance(value, list):
        return list(_items(value, fields, field)) if field in LIST_KEYS else Named(value)
    if not isinstance(value, dict):
        return value
    if field in _ATOMIC and not fields:
        return Unread(value)
    names = (key.removeprefix(_FIELD) for key in fields if key.startswith(_FIELD))
    return {
        name: _owned(value[name], mapping(fields[_FIELD + name]), name) for name in names if name in value
    }


def _items(items: list[Any], fields: Object, field: str) -> Iterator[Object]:
    places = index(field, items)
    for key, below in fields.items():
        keys = mapping(_read(key.removeprefix(_KEYS))) if key.startswith(_KEYS) else {}
        position = _position(places, field, keys)
        if position is not None:
            yield {**keys, **_owned(items[position], mapping(below))}


def _position(places: dict[Identity, int], field: str, keys: Object) -> int | None:
    """Return the position of the item with these keys, the first time that it is asked for."""
    try:
        return places.pop(identity(field, keys), None) if keys else None
    except TypeError:  # a key that is a map or a list
        return None


def _read(text: str | bytes) -> Any:
    """Decode JSON that a client may have written; None if it is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
