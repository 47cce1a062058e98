"""Ask the API server what it would store, by dry runs."""

from typing import Any, Final

import orjson

from fusioninfer.cluster.diff.change import ObjectDiff, applied_patch, like
from fusioninfer.cluster.reader import Reader, why
from fusioninfer.cluster.text import described
from intent import Object
from intent.shapes import annotations, mapping, text
from kube.client import NO_ANSWER, ApiError
from kube.request import FIELD_MANAGER, Request, apply, create
from sync.kinds import LWS, Kind, Resource
from sync.observed.cached import is_applied, managed
from webhook.overlay.written import LAST_APPLIED

KUBECTL: Final = "kubectl"
DIFF: Final = "fusioninfer-diff"
"""The field manager of this command. What the controller applied is tried as the controller: its apply alone
removes its fields."""
FORBIDDEN: Final = 403


class RefusedError(Exception):
    """Raised if the API server, or a webhook, refuses an object."""


async def of_file(reader: Reader, resource: Resource, file: Object, live: Object | None) -> ObjectDiff:
    """Return what applying an object of a file changes. Raises `RefusedError`."""
    namespace, name = file["metadata"]["namespace"], file["metadata"]["name"]
    path = resource.path(namespace, name) if live else resource.path(namespace)
    try:
        return ObjectDiff("file", live, await _sent(reader, file_request(path, file, live), file))
    except (ApiError, *NO_ANSWER) as error:
        raise RefusedError(f"{described(file)}: {why(error)}") from error


async def of_controller(
    reader: Reader, kind: Kind[Any], desired: Object, live: Object | None
) -> tuple[ObjectDiff, str]:
    """Return what the controller's apply changes, and why that is not the API server's answer.

    An author often may not write other objects than LeaderWorkerSets: then the fields that the controller
    sets are compared. Raises `RefusedError`.
    """
    desired = _with_kept_fields(kind, desired, live)
    is_set = kind.kind == LWS.kind
    if live is None and not is_set:
        return ObjectDiff("controller", None, desired), ""
    manager = FIELD_MANAGER if is_applied(live or {}) else DIFF
    request = (
        apply(kind.path_of(desired), desired, dry_run=True, manager=manager)
        if live
        else create(kind.path(desired["metadata"]["namespace"]), desired, dry_run=True, manager=manager)
    )
    try:
        return ObjectDiff("controller", live, await _sent(reader, request, desired)), ""
    except (ApiError, *NO_ANSWER) as error:
        if is_set or not isinstance(error, ApiError) or error.code != FORBIDDEN:
            raise RefusedError(f"{described(desired)}: {why(error)}") from error
        return ObjectDiff("controller", like(live, desired), desired), why(error)


async def _sent(reader: Reader, request: Request, obj: Object) -> Object:
    return {key: obj[key] for key in ("apiVersion", "kind")} | await reader.send(request)


def file_request(path: str, file: Object, live: Object | None) -> Request:
    """Return the dry run of `kubectl apply`: client-side if the object was applied so, else server-side."""
    dry_run = {"fieldManager": KUBECTL, "dryRun": "All"}
    if live is None:
        return create(path, file, dry_run=True, manager=DIFF)
    if LAST_APPLIED in annotations(live):
        return Request("patch", path, dry_run, file_patch(file, live))
    return apply(path, file, dry_run=True, manager=applier(live))


def file_patch(file: Object, live: Object) -> Object:
    """Return the merge patch of a client-side apply."""
    written = text(annotations(live).get(LAST_APPLIED))
    try:
        last = mapping(orjson.loads(written or "{}"))
    except orjson.JSONDecodeError:
        last = {}
    metadata = mapping(file.get("metadata"))
    whole = file | {"metadata": metadata | {"annotations": mapping(metadata.get("annotations"))}}
    patch = applied_patch(last, whole)  # kubectl's file always has annotations, so they are never all removed
    if written and _without_empty_annotations(last) != _without_empty_annotations(file):
        notes = {LAST_APPLIED: orjson.dumps(file).decode()}  # admission reads what the author changed from it
        patch["metadata"] |= {"annotations": patch["metadata"]["annotations"] | notes}
    return patch


def _without_empty_annotations(obj: Object) -> Object:
    """Return an object without the empty annotations that kubectl adds."""
    metadata = {key: value for key, value in mapping(obj.get("metadata")).items() if value != {}}
    return obj | {"metadata": metadata}


def applier(live: Object) -> str:
    """Return the field manager that applied an object server-side; that of kubectl if none did."""
    appliers = [text(one.get("manager")) for one in managed(live) if one.get("operation") == "Apply"]
    return next((one for one in appliers if one and one != FIELD_MANAGER), KUBECTL)


def _with_kept_fields(kind: Kind[Any], desired: Object, live: Object | None) -> Object:
    """Keep the live value of fields that the controller no longer desires and does not remove."""
    spec = mapping((live or {}).get("spec"))
    kept = {
        name: spec[name]
        for name in kind.ownership.kept_fields
        if name in spec and name not in desired.get("spec", {})
    }
    return desired | {"spec": desired["spec"] | kept} if kept else desired
