"""Decides which objects of a service are deleted: for the controller, and for `fusioninfer diff`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from intent.inferenceservice.v1alpha1 import KIND
from sync.kinds import OUTPUTS, Kind
from sync.observed.cached import AppliedObject
from sync.parts.desired import Desired
from sync.snapshot import Snapshot


def prunable(
    snapshot: Snapshot, desired: Desired, unapplied: Iterable[str], caches: Mapping[str, Any]
) -> Iterator[tuple[Kind[Any], AppliedObject]]:
    """Yield the objects of a service that are no longer desired, in the reverse order of applying.

    `caches` find rows by service. `unapplied` has the kinds with a desired object that could not be applied:
    others of such a kind stay, so a renamed role keeps its pods until the new ones can be made. Each is
    deleted only if one of its owners exists: that is read live (`owners.OwnerCheck`).
    """
    key, uid = snapshot.situation.key, snapshot.service.uid if snapshot.service else ""
    names = {(obj["kind"], obj["metadata"]["name"]) for obj in desired.objects}
    kept = names | desired.held_objects
    held = desired.held | {kind for kind, _ in names}.intersection(unapplied)
    for name in reversed([name for name in OUTPUTS if name in caches and name not in held]):
        for row in caches[name].of(key):
            is_made = row.applied and OUTPUTS[name].names(key[1], row.name)
            is_of_another = any(one.kind == KIND and one.uid != uid for one in row.owners)
            if is_made and not (is_of_another or row.deleting or (name, row.name) in kept):
                yield OUTPUTS[name], row
