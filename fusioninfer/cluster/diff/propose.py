"""Ask the API server what it would store, by dry runs; without rights, compute it here."""

from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from fusioninfer.cluster.answers import Right
from fusioninfer.cluster.diff.change import ObjectDiff, applied_patch, like, merged
from fusioninfer.cluster.reader import Reader, why
from fusioninfer.files.offline import is_lws
from intent import Object
from intent.settings import Settings
from intent.shapes import annotations, mapping, text
from kube.client import NO_ANSWER, ApiError
from kube.request import FIELD_MANAGER, Request, apply, create
from sync.kinds import Kind, Resource
from sync.observed.cached import is_applied, managed
from webhook.expand import change as admitted
from webhook.state import state

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL: Final = "kubectl"
DIFF: Final = "fusioninfer-diff"
"""The field manager of this command, but for what the controller applied: under its own alone fields go."""


class RefusedError(Exception):
    """Raised if the API server, or a webhook, refuses an object."""


@dataclass(slots=True)
class Proposer:
    """Proposes objects to one cluster."""

    reader: Reader
    settings: Settings
    rights: dict[Right, bool] = field(default_factory=dict)

    async def of_file(self, resource: Resource, file: Object, live: Object | None) -> ObjectDiff:
        """Return what applying an object of a file changes. Raises `RefusedError`."""
        namespace, name = file["metadata"]["namespace"], file["metadata"]["name"]
        verb = "patch" if live else "create"
        if not await self._may(verb, resource, namespace):
            return ObjectDiff("file", live, self._admitted(file, live), exact=False)
        path = resource.path(namespace, name) if live else resource.path(namespace)
        return ObjectDiff("file", live, await self._send(file_request(path, file, live), file))

    def _admitted(self, file: Object, live: Object | None) -> Object:
        """Return what admission makes of an object, computed here."""
        written = merged(live, file_patch(file, live)) if live else file
        return admitted(written, state(written, live), self.settings) if is_lws(written) else written

    async def of_controller(self, kind: Kind[Any], desired: Object, live: Object | None) -> ObjectDiff:
        """Return what the controller's apply changes. Raises `RefusedError`."""
        desired = _with_kept_fields(kind, desired, live)
        namespace = desired["metadata"]["namespace"]
        if live is None and not is_lws(desired):
            return ObjectDiff("controller", None, desired)
        verb, manager = "patch" if live else "create", FIELD_MANAGER if is_applied(live or {}) else DIFF
        if not await self._may(verb, kind.resource, namespace):
            after = self._admitted(desired, live) if is_lws(desired) else desired
            return ObjectDiff("controller", like(live, after), after, exact=False)
        request = (
            apply(kind.path_of(desired), desired, dry_run=True, manager=manager)
            if live
            else create(kind.path(namespace), desired, dry_run=True, manager=manager)
        )
        return ObjectDiff("controller", live, await self._send(request, desired))

    async def _may(self, verb: str, resource: Resource, namespace: str) -> bool:
        right = Right(verb, resource.api_version.rpartition("/")[0], resource.plural, namespace)
        if right not in self.rights:
            self.rights[right] = (await self.reader.granted([right]))[right] is True
        return self.rights[right]

    async def _send(self, request: Request, obj: Object) -> Object:
        identity = {key: obj[key] for key in ("apiVersion", "kind")}
        try:
            return identity | await self.reader.send(request)
        except (ApiError, *NO_ANSWER) as error:
            raise RefusedError(f"{described(obj)}: {why(error)}") from error


def described(obj: Object) -> str:
    """Return kind, namespace and name of an object."""
    metadata = obj["metadata"]
    return f"{obj['kind']} {metadata['namespace']}/{metadata['name']}"


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
    if not written or _without_empty_annotations(last) == _without_empty_annotations(file):
        return patch
    noted = {LAST_APPLIED: orjson.dumps(file).decode()}  # admission reads what the author changed from it
    return merged(patch, {"metadata": {"annotations": noted}})


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
