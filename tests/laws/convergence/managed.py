"""The owners of fields: `metadata.managedFields`, as the API server keeps them for updates and for apply.

Sources: `k8s.io/apimachinery` `pkg/util/managedfields/internal` and `sigs.k8s.io/structured-merge-diff`
`merge/update.go`. The API server computes the entries of a write before its mutating webhooks are called, and
not again after them: a field that a webhook adds has no owner. Only an apply has a time, a second later than
the last one, unless it changes no value: then its entry has the time that it had, or none.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from intent import Object
from tests.laws.convergence.fields import (
    NO_FIELDS,
    Fields,
    compare,
    decoded,
    encoded,
    field_set,
    merge,
    remove,
    with_named,
    without_nulls,
)
from tests.laws.convergence.schema import defaulted

Manager = tuple[str, str]
"""The name and the operation (`Update`, `Apply`) of an entry."""
Managers = dict[Manager, Fields]

NO_TIMES: Final[Mapping[Manager, str]] = {}
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL: Final = "kubectl"
"""The manager of `kubectl apply --server-side`."""
CLIENT_SIDE: Final[Manager] = ("kubectl-client-side-apply", "Update")
KEEPER: Final[Manager] = ("kubectl-last-applied", "Apply")
"""The manager by which `kubectl apply --server-side` keeps the annotation."""
SCALER: Final[Manager] = (KUBECTL, "Update")
"""The manager of `kubectl scale`."""
_STRIPPED: Final[Fields] = frozenset(
    {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")}
)


def managers_of(lws: Object | None) -> Managers:
    """Return the owners of the fields of an object. As in the API server, a manager's last entry counts."""
    entries = lws["metadata"].get("managedFields", ()) if lws else ()
    return {(one["manager"], one["operation"]): decoded(one["fieldsV1"]) for one in entries}


def _times_of(lws: Object | None) -> dict[Manager, str]:
    """Return the times of the entries that have one."""
    entries = lws["metadata"].get("managedFields", ()) if lws else ()
    return {(one["manager"], one["operation"]): one["time"] for one in entries if "time" in one}


def _now(times: Mapping[Manager, str]) -> str:
    """Return a time a second after the last one."""
    last = max(times.values(), default="2026-01-01T00:00:00Z")
    return (datetime.fromisoformat(last) + timedelta(seconds=1)).isoformat().replace("+00:00", "Z")


def with_managers(lws: Object, managers: Managers, times: Mapping[Manager, str] = NO_TIMES) -> Object:
    """Return the object with these owners."""
    entries = [
        {
            "manager": name,
            "operation": operation,
            "apiVersion": lws["apiVersion"],
            "fieldsType": "FieldsV1",
            "fieldsV1": encoded(fields - _STRIPPED),
            **({"subresource": "scale"} if (name, operation) == SCALER else {}),
            **({"time": times[name, operation]} if (name, operation) in times else {}),
        }
        for (name, operation), fields in sorted(managers.items())
        if fields - _STRIPPED
    ]
    return {**lws, "metadata": {**lws["metadata"], "managedFields": entries}}


def without_managers(lws: Object | None) -> Object:
    """Return the object without `managedFields`; empty if there is none."""
    if lws is None:
        return {}
    metadata = {key: value for key, value in lws["metadata"].items() if key != "managedFields"}
    return {**lws, "metadata": metadata}


def timeless(lws: Object) -> Object:
    """Return the object without the times of its entries: they alone are no change."""
    return with_managers(without_managers(lws), managers_of(lws))


def update(stored: Object | None, live: Object, manager: str) -> Object:
    """Return the object of a PUT or PATCH by a manager, with the owners of its fields.

    The API server fills in the defaults first, so that they have an owner.
    """
    live = defaulted(without_managers(live))
    changed, removed = compare(without_managers(stored), live)
    owners = {one: fields - changed - removed for one, fields in managers_of(stored).items()}
    me = (manager, "Update")
    if changed:
        owners[me] = owners.get(me, NO_FIELDS) | changed
    return with_managers(live, owners, _times_of(stored))


def apply(stored: Object | None, config: Object, manager: str = KUBECTL) -> Object:
    """Return the object of a server-side apply that forces conflicts, with the owners of its fields.

    Defaults are filled in afterwards, so that they have no owner.
    """
    return defaulted(merged(stored, config, manager))


def merged(stored: Object | None, config: Object, manager: str) -> Object:
    """Return the object of a server-side apply without its defaults.

    A field that the manager applied before and does not apply now is removed, unless it has another owner.
    """
    live = without_managers(stored)
    owners, me = managers_of(stored), (manager, "Apply")
    last = owners.get(me, NO_FIELDS)
    owners[me] = field_set(config) - _STRIPPED
    whole: Any = merge(live, config)
    if last:
        whole = _pruned(whole, last, frozenset().union(*owners.values()))
    changed, removed = compare(live, whole)
    owners |= {one: fields - changed - removed for one, fields in owners.items() if one != me}
    times, applied = _times_of(stored), _with_last_applied(whole, config, manager)
    return with_managers(applied, owners, times if applied == live else {**times, me: _now(times)})


def _pruned(merged: Object, last: Fields, owned: Fields) -> Object:
    """Remove what the manager applied last time and has no owner now (`Updater.prune`)."""
    every = with_named(field_set(merged))
    pruned: Any = remove(merged, with_named(last)) or {}
    kept = with_named(field_set(pruned)) | with_named(owned) | with_named(_STRIPPED)
    pruned = (remove(merged, every - kept) if every - kept else merged) or {}
    gone = (every - with_named(field_set(pruned))) & with_named(last)
    found: Object = without_nulls(remove(merged, gone) if gone else merged)
    return found


def _with_last_applied(lws: Object, config: Object, manager: str) -> Object:
    """Keep the annotation of client-side apply up to date, if there is one (`lastAppliedUpdater.Apply`)."""
    annotations = lws["metadata"].get("annotations", {})
    if manager != KUBECTL or LAST_APPLIED not in annotations:
        return lws
    renewed = annotations | {LAST_APPLIED: orjson.dumps(config, option=orjson.OPT_SORT_KEYS).decode()}
    return {**lws, "metadata": {**lws["metadata"], "annotations": renewed}}


def scaled(stored: Object, replicas: int) -> Object:
    """Return the object after `kubectl scale`, a write to the scale subresource, and the owners of fields.

    The API server translates the entries that have the replicas to entries of a Scale, and back
    (`managedfields/scalehandler.go`). So, other than in an update:

    - if the replicas have no owner, they get none (`skipNonAppliedManager`);
    - zero replicas get none either: a Scale omits them;
    - an entry of an update loses them even if they stay the same: it is split in two with one name, of which
      the next write reads the last.
    """
    path = ("spec", "replicas")
    is_changed = stored["spec"]["replicas"] != replicas
    before = managers_of(stored)
    owners = {
        one: fields - {path} if is_changed or (one[1] == "Update" and fields != {path}) else fields
        for one, fields in before.items()
    }
    if is_changed and replicas and any(path in fields for fields in before.values()):
        owners[SCALER] = frozenset({path})
    return with_managers(
        {**stored, "spec": {**stored["spec"], "replicas": replicas}}, owners, _times_of(stored)
    )


def migrated(stored: Object) -> Object:
    """Give what `kubectl apply` owns to `kubectl apply --server-side`, and keep the annotation of the former.

    kubectl does so after its first apply, and then applies again (`kubectl/pkg/cmd/apply/apply.go`,
    `client-go/util/csaupgrade`).
    """
    if LAST_APPLIED not in stored["metadata"].get("annotations", {}):
        return stored
    owners, path = managers_of(stored), ("metadata", "annotations", LAST_APPLIED)
    owning = [one for one, fields in owners.items() if path in fields]
    if all(operation == "Update" for _, operation in owning):
        owners[KEEPER] = frozenset({path})
    for one in owning:
        if one[1] == "Update":
            owners[KUBECTL, "Apply"] = owners.get((KUBECTL, "Apply"), NO_FIELDS) | owners.pop(one)
    return with_managers(stored, owners, _times_of(stored))
