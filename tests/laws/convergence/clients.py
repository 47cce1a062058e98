"""Clients that write LeaderWorkerSets: each returns the object of its write before admission.

For a custom resource no client has a strategic merge: lists are replaced as a whole by every patch.

    client_side_apply    kubectl apply: three-way JSON merge patch (`kubectl/pkg/cmd/apply/patcher.go`)
    server_side_apply    kubectl apply --server-side --force-conflicts
    replace              kubectl replace -f: PUT of a file
    helm                 helm upgrade of Helm 3, and of Helm 4 without server-side apply: JSON merge patch
                         from the old to the new manifest (`helm/pkg/kube/client.go`, `createPatch`), which
                         has Helm's own label and annotations in every patch (`pkg/action/validate.go`)
    helm_three_way       the same with the live object between them (`threeWayMergeForUnstructured`)
    edit, put, json_patch   a change by hand: kubectl edit or patch; GET and PUT; JSON patch
    exported             a change by hand: kubectl get -o yaml, an editor, and kubectl replace
"""

from dataclasses import dataclass
from typing import Any, Final

import jsonpatch
import orjson

from intent import Object
from tests.laws.convergence import managed
from tests.laws.convergence.managed import CLIENT_SIDE, LAST_APPLIED, scaled, update, without_managers
from tests.laws.convergence.schema import copied

HELM: Final = "helm"
RELEASE_NAME: Final = "meta.helm.sh/release-name"
RELEASE_NAMESPACE: Final = "meta.helm.sh/release-namespace"


# --- JSON merge patches -------------------------------------------------------------------------------


def merge_patch(value: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for key, item in patch.items():
        if item is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), item)
    return merged


def two_way(old: Object, new: Object) -> Object:
    """Return the JSON merge patch from one object to another (`json-patch` `CreateMergePatch`)."""
    patch: Object = {key: None for key in old if key not in new}
    for key, value in new.items():
        have = old.get(key)
        if isinstance(have, dict) and isinstance(value, dict):
            if below := two_way(have, value):
                patch[key] = below
        elif key not in old or have != value:
            patch[key] = value
    return patch


def three_way(original: Object, modified: Object, current: Object) -> Object:
    """Return the patch of `kubectl apply` (`jsonmergepatch.CreateThreeWayJSONMergePatch`).

    It sets what differs between current and modified, and deletes what modified lacks of original.
    """
    changes = _split(two_way(current, modified), keep_null=False)
    deletions = _split(two_way(original, modified), keep_null=True)
    return _joined(deletions, changes)


def _split(patch: Object, *, keep_null: bool) -> Object:
    kept: Object = {}
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            if below := _split(value, keep_null=keep_null):
                kept[key] = below
        elif (value is None) == keep_null:
            kept[key] = value
    return kept


def _joined(deletions: Object, changes: Object) -> Object:
    joined = dict(deletions)
    for key, value in changes.items():
        have = joined.get(key)
        joined[key] = _joined(have, value) if isinstance(have, dict) and isinstance(value, dict) else value
    return joined


# --- clients of files -----------------------------------------------------------------------------------


def client_side_apply(stored: Object | None, file: Object) -> Object | None:
    """Apply a file; None if that changes nothing, so that nothing is sent."""
    text = orjson.dumps(file, option=orjson.OPT_SORT_KEYS).decode()
    modified = merge_patch(file, {"metadata": {"annotations": {LAST_APPLIED: text}}})
    if stored is None:
        return update(None, modified, CLIENT_SIDE[0])
    original = orjson.loads(stored["metadata"].get("annotations", {}).get(LAST_APPLIED, "{}"))
    return _patched(stored, three_way(original, modified, stored), CLIENT_SIDE[0])


def server_side_apply(stored: Object | None, file: Object) -> Object | None:
    """Apply a file server-side; None if that changes nothing, not even an owner."""
    live = managed.apply(stored, file)
    is_same = stored is not None and managed.timeless(live) == managed.timeless(stored)
    return None if is_same and managed.migrated(live) == live else live


def replace(stored: Object | None, file: Object) -> Object | None:
    """Send a file as it is. The API server keeps the owners of fields."""
    return update(stored, copied(file), "kubectl-replace" if stored else "kubectl-create")


def owned(file: Object) -> Object:
    """Return a file with the label and annotations by which Helm knows its objects."""
    metadata = file["metadata"]
    release = {RELEASE_NAME: metadata["name"], RELEASE_NAMESPACE: metadata["namespace"]}
    more = {"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": release}
    return merge_patch(file, {"metadata": more})  # type: ignore[no-any-return] # an object stays one


def install(file: Object) -> Object:
    """Create the object of a release."""
    return update(None, owned(file), HELM)


def helm(stored: Object, old: Object, file: Object) -> Object | None:
    """Upgrade a release from its old manifest to the file."""
    return _patched(stored, two_way(old, owned(file)), HELM)


def helm_three_way(stored: Object, old: Object, file: Object) -> Object | None:
    """Upgrade a release, and restore what differs in the live object."""
    return _patched(stored, three_way(old, owned(file), stored), HELM)


def _patched(stored: Object, patch: Object, manager: str) -> Object | None:
    return update(stored, merge_patch(stored, patch), manager) if patch else None


# --- clients of changes by hand ---------------------------------------------------------------------------


def edit(stored: Object, wanted: Object) -> Object | None:
    """Send the difference as a JSON merge patch, as `kubectl edit`, `patch` and `annotate` do."""
    return _patched(stored, two_way(without_managers(stored), without_managers(wanted)), "kubectl-edit")


def put(stored: Object, wanted: Object) -> Object | None:
    """Send the whole object that was read and changed, as a controller does."""
    return update(stored, wanted, "controller")


def file_of(stored: Object) -> Object:
    """Return a file with all that is stored, but owners and kubectl's note of another file."""
    return merge_patch(without_managers(stored), {"metadata": {"annotations": {LAST_APPLIED: None}}})  # type: ignore[no-any-return] # an object stays one


def exported(stored: Object, wanted: Object) -> Object | None:
    """Send the whole object from a file, with kubectl's note of that file if the object has a note.

    `kubectl replace` renews the note, and adds none (`kubectl/pkg/util/apply.go`, CreateOrUpdateAnnotation).
    """
    if LAST_APPLIED not in stored["metadata"].get("annotations", {}):
        return update(stored, wanted, "kubectl-replace")
    text = orjson.dumps(file_of(wanted), option=orjson.OPT_SORT_KEYS).decode()
    note = {"metadata": {"annotations": {LAST_APPLIED: text}}}
    return update(stored, merge_patch(wanted, note), "kubectl-replace")


def json_patch(stored: Object, wanted: Object) -> Object | None:
    """Send the difference as a JSON patch."""
    operations = jsonpatch.make_patch(without_managers(stored), without_managers(wanted))
    return update(stored, jsonpatch.apply_patch(stored, operations), "kubectl-patch") if operations else None


def scale(stored: Object, wanted: Object) -> Object:
    """Write the scale subresource, as `kubectl scale` does; no webhook of ours is called."""
    return scaled(stored, wanted["spec"]["replicas"])


# --- all of them ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Write:
    """What a client does to one object."""

    client: str
    body: Object
    """A file, the object that is wanted by hand, or a scale."""
    released: Object | None = None
    """The file of the last write, which Helm knows."""


OF_FILES: Final = {
    "client-side apply": client_side_apply,
    "server-side apply": server_side_apply,
    "replace": replace,
}
OF_RELEASES: Final = {"helm": helm, "helm three-way": helm_three_way}
TOOLS: Final = (*OF_FILES, *OF_RELEASES)
EXPORTED: Final = "replace by hand"
BY_HAND: Final = {"edit": edit, "put": put, EXPORTED: exported, "json patch": json_patch}
SCALE: Final = "scale"


def sent(stored: Object | None, write: Write | None) -> Object | None:
    """Return the object of a write before admission; None if nothing is sent."""
    if write is None:
        return None
    if write.client in OF_FILES:
        return OF_FILES[write.client](stored, write.body)
    if stored is None:
        return install(write.body)
    if write.client in OF_RELEASES:
        return OF_RELEASES[write.client](stored, write.released or {}, write.body)
    return (scale if write.client == SCALE else BY_HAND[write.client])(stored, write.body)
