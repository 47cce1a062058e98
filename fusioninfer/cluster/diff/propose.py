"""The dry runs that show what the API server would store: of a file, and of an object of the controller."""

from typing import Any, Final

import orjson

from intent import Object
from intent.shapes import annotations, mapping, text
from kube.request import FIELD_MANAGER, Request, apply, create
from sync.kinds import Kind
from sync.observed.cached import is_applied, managed
from webhook.overlay.written import LAST_APPLIED

KUBECTL: Final = "kubectl"
DIFF: Final = "fusioninfer-diff"
"""The field manager of this command. What the controller applied is tried as the controller: its apply alone
removes its fields."""


def file_request(kind: Kind[Any], file: Object, live: Object | None) -> Request:
    """Return the dry run of `kubectl apply`: client-side if the object was applied so, else server-side."""
    namespace, name = file["metadata"]["namespace"], file["metadata"]["name"]
    if live is None:
        return create(kind.path(namespace), file, dry_run=True, manager=DIFF)
    path = kind.path(namespace, name)
    last = text(annotations(live).get(LAST_APPLIED))
    if not last:
        return apply(path, file, dry_run=True, manager=_applier(live))
    return Request("patch", path, {"fieldManager": KUBECTL, "dryRun": "All"}, _file_patch(last, file))


def _file_patch(last: str, file: Object) -> Object:
    """Return the merge patch of a client-side apply; `last`: the file that was applied last.

    The file of kubectl always has annotations, so they are never all removed.
    """
    try:
        before = mapping(orjson.loads(last))
    except orjson.JSONDecodeError:
        before = {}
    metadata = file["metadata"]
    whole = file | {"metadata": metadata | {"annotations": mapping(metadata.get("annotations"))}}
    patch = applied_patch(before, whole)
    patch["metadata"]["annotations"][LAST_APPLIED] = orjson.dumps(whole).decode()
    return patch


def applied_patch(last: Object, file: Object) -> Object:
    """Return the merge patch of a client-side apply: the file, with nulls for what only the last one had."""
    removed = {key: None for key in last if key not in file}
    return removed | {key: _patched(last.get(key), value) for key, value in file.items()}


def _patched(last: Any, value: Any) -> Any:
    return applied_patch(mapping(last), value) if isinstance(value, dict) else value


def _applier(live: Object) -> str:
    """Return the field manager that applied an object server-side; that of kubectl if none did."""
    appliers = [text(one.get("manager")) for one in managed(live) if one.get("operation") == "Apply"]
    return next((one for one in appliers if one and one != FIELD_MANAGER), KUBECTL)


def controller_request(kind: Kind[Any], desired: Object, live: Object | None) -> Request:
    """Return the dry run of the controller's write, which keeps the live value of some fields."""
    manager = FIELD_MANAGER if is_applied(live or {}) else DIFF
    if live is None:
        return create(kind.path(desired["metadata"]["namespace"]), desired, dry_run=True, manager=manager)
    spec = {
        key: value for key, value in mapping(live.get("spec")).items() if key in kind.ownership.kept_fields
    }
    kept = desired | ({"spec": spec | desired["spec"]} if spec else {})
    return apply(kind.path_of(desired), kept, dry_run=True, manager=manager)
