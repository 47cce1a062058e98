"""`fusioninfer diff`: what files would change in a cluster, in their own objects and in the controller's.

Dry runs tell what the API server would store; the controller's own functions, what is made of a service.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from fusioninfer.cluster.eject import SET_BY_CLIENTS, manifest
from fusioninfer.cluster.reader import FAILED, Reader, why
from fusioninfer.cluster.service import Live, read_live, require, snapshot_of
from fusioninfer.cluster.text import WRITTEN, described, name_of, service_of
from fusioninfer.lint.documents import Document
from intent import Object
from intent.annotations import EXPANSION
from intent.errors import counted
from intent.resource import kind_of
from intent.service.member import ServiceKey
from intent.shapes import annotations, decoded, mapping, metadata, text
from kube.client import FORBIDDEN, ApiError
from kube.request import FIELD_MANAGER, Request, apply, create, patch
from sync.decide import ApplyHistory, Attempt, Skip, Write, before_dry_run, decide, prunable
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS, Kind, part_of
from sync.live import OWNER_KINDS, is_owner
from sync.observed.cached import AppliedObject, managed
from sync.parts.desired import Refusal
from sync.parts.service import desired_state
from sync.snapshot import Snapshot
from sync.watch.cache import Cache
from webhook.overlay.written import LAST_APPLIED

RECORDS: Final = SET_BY_CLIENTS | {EXPANSION}
"""Annotations that only record what the other fields have."""
KUBECTL: Final = "kubectl"


def cleaned(obj: Object) -> Object | None:
    """Return an object without what a server sets, what only records, and its owners; None if it is empty."""
    notes = {key: value for key, value in annotations(obj).items() if key not in RECORDS}
    return manifest(obj, annotations=notes, ownerReferences=[]) if obj else None


@dataclass(slots=True)
class Comparison:
    """All changes, and what could not be found out."""

    reader: Reader
    live: Live = field(default_factory=Live)
    """One namespace, as it would be after what was compared."""
    changes: list[tuple[Object | None, Object | None]] = field(default_factory=list)
    """Objects as they are stored and as they would be, without noise. None: it is created, or deleted."""
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def store(self, before: Object, after: Object) -> None:
        """Store an object as it would be, or as it ends; that is a change unless it is noise."""
        change = cleaned(before), cleaned(after)
        if change[0] != change[1]:
            self.changes.append(change)
        ended = {**before, "metadata": metadata(before) | {"deletionTimestamp": "1970-01-01T00:00:00Z"}}
        self.live = self.live.storing(after or ended)

    async def compare_file(self, obj: Object) -> tuple[str, ...]:
        """Propose an object of a file; return its services: the one that it leaves may lose what was made."""
        kind = WRITTEN[obj["kind"]]
        before = self.live.answer(kind.kind).named(name_of(obj))
        after = await self._dry_run(file_request(kind, obj, before), obj)
        if after is None:
            return ()
        self.store(before, after)
        return (service_of(before), service_of(after)) if kind is LWS else (name_of(after),)

    async def compare_service(self, key: ServiceKey) -> None:
        """Propose what the controller makes and deletes of a service, as `Controller.reconcile` does.

        LeaderWorkerSets come first: the rest is made of those that there are then.
        """
        missing: set[str] = set()
        for of_sets in (True, False):
            snapshot = snapshot_of(self.live, key)
            desired = desired_state(snapshot, self.live.settings)
            for obj in (obj for obj in desired.objects if (obj["kind"] == LWS.kind) is of_sets):
                kind = OUTPUTS[obj["kind"]]
                if kind.requires & missing or not await self._compare(kind, obj, snapshot):
                    missing.add(part_of(kind.kind, name_of(obj)))
            for kind, row in prunable(snapshot, desired, missing):
                if (kind is LWS) is of_sets and self._has_owner(row, snapshot):
                    self.store(self.live.answer(kind.kind).named(row.name), {})
        self.notes += [str(one.error) for one in desired.all_findings if one.error.severity == "error"]

    def _has_owner(self, row: AppliedObject, snapshot: Snapshot) -> bool:
        """Return whether an owner is there, without which the controller deletes nothing."""
        uids = {owner.uid for owner in row.owners}
        return any(
            obj["metadata"].get("uid") in uids and is_owner(obj, Cache(kind).project(obj), snapshot)
            for kind in OWNER_KINDS.values()
            for obj in self.live.of(kind)
        )

    async def _compare(self, kind: Kind[Any], obj: Object, snapshot: Snapshot) -> bool:
        """Propose an object of the controller; return whether it is there then, if not with a message."""
        answer = self.live.answer(kind.kind)
        before = answer.named(name_of(obj))
        stored = Cache(kind).project(before) if before else None
        attempt = Attempt(kind, obj, b"", kind.projected(obj), stored, ApplyHistory())
        service, owners = snapshot.situation.key[1], snapshot.owners
        decided: Skip | Refusal | Write | None = before_dry_run(attempt, service, owners, 0.0)
        if decided is None:
            absent = "" if answer.served else f"{kind.resource.api_version} is not served"
            if problem := answer.unknown or absent:
                self.notes.append(f"{described(obj)}: not compared: {problem}")
                return False
            if not before and kind is not LWS:
                self.store(before, obj)
                return True
            live = mapping(before.get("spec"))
            kept = {key: live[key] for key in kind.kept_fields if key in live}
            body = obj | {"spec": kept | obj["spec"]} if kept else obj
            # it removes fields of the controller alone, so no other field manager is tried
            update = apply(kind.path_of(obj), body, dry_run=True)
            after = await self._dry_run(update if before else file_request(kind, obj, before), obj)
            if after is None:
                return False
            decided = decide(attempt, after, is_released=False)
            if isinstance(decided, Write):
                self.store(before, after)
        if isinstance(decided, Refusal):
            self.notes.append(decided.message)
        return not isinstance(decided, Refusal)

    async def _dry_run(self, request: Request, obj: Object) -> Object | None:
        """Return an object as it would be stored; None, with a message, if that is refused.

        An author often may not write other objects than those of files, so that is no error.
        """
        try:
            return {key: obj[key] for key in ("apiVersion", "kind")} | await self.reader.send(request)
        except FAILED as error:
            is_right = isinstance(error, ApiError) and error.code == FORBIDDEN and obj["kind"] not in WRITTEN
            messages = self.notes if is_right else self.errors
            messages.append(f"{described(obj)}: not compared: {why(error)}")
            return None


async def differences(reader: Reader, documents: Sequence[Document], namespace: str) -> Comparison:
    """Return what applying files would change. Raises `UnreachableError`.

    Only the kinds that authors write are compared: for others there is `kubectl diff`.
    """
    await reader.reach()
    result, homes = Comparison(reader), dict[str, list[Object]]()
    known = [each.object for each in documents if (kind := kind_of(each.object)) and kind.name in WRITTEN]
    if others := len(documents) - len(known):
        result.notes.append(f"{counted(others, 'object')} of other kinds left out: use kubectl diff")
    for obj in known:
        home = text(metadata(obj).get("namespace")) or namespace
        homes.setdefault(home, []).append(obj | {"metadata": metadata(obj) | {"namespace": home}})
    for home, objects in homes.items():
        result.live = await read_live(reader, home)
        require(result.live.objects, (LWS, INFERENCE_SERVICE), home)
        result.notes += [note for note in result.live.notes if note not in result.notes]
        services = [name for obj in objects for name in await result.compare_file(obj)]
        for name in filter(None, dict.fromkeys(services)):
            await result.compare_service((home, name))
    return result


# --- requests ---------------------------------------------------------------------------------------


def file_request(kind: Kind[Any], file: Object, live: Object) -> Request:
    """Return the dry run of `kubectl apply`: client-side if the object was applied so, else server-side."""
    if not live:
        return create(kind.path(file["metadata"]["namespace"]), file, dry_run=True, manager=KUBECTL)
    path = kind.path_of(file)
    if last := text(annotations(live).get(LAST_APPLIED)):
        # the file of kubectl always has annotations, so they are never all removed
        notes = mapping(file["metadata"].get("annotations"))
        whole = file | {"metadata": file["metadata"] | {"annotations": notes}}
        body = applied_patch(mapping(decoded(last)), whole)
        body["metadata"]["annotations"][LAST_APPLIED] = orjson.dumps(whole).decode()
        return patch(path, body, dry_run=True, manager=KUBECTL)
    appliers = (text(entry.get("manager")) for entry in managed(live) if entry.get("operation") == "Apply")
    manager = next((name for name in appliers if name and name != FIELD_MANAGER), KUBECTL)
    return apply(path, file, dry_run=True, manager=manager)


def applied_patch(last: Object, file: Object) -> Object:
    """Return the merge patch of a client-side apply: the file, with nulls for what only the last one had."""
    removed = {key: None for key in last if key not in file}
    return removed | {
        key: applied_patch(mapping(last.get(key)), value) if isinstance(value, dict) else value
        for key, value in file.items()
    }
