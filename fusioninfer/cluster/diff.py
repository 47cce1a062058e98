"""`fusioninfer diff`: what files would change in a cluster, in their own objects and in the controller's.

Dry runs tell what the API server would store; the controller's own functions, what is made of a service.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any, Final, Literal, NamedTuple

import orjson

from fusioninfer.cluster.eject import SET_BY_CLIENTS
from fusioninfer.cluster.reader import Reader, why
from fusioninfer.cluster.service import Live, caches_of, read_live, require, snapshot_of
from fusioninfer.cluster.text import WRITTEN, described, name_of, service_of
from fusioninfer.lint.documents import Document
from fusioninfer.lint.offline import is_inferenceservice, is_lws
from intent import Object, yaml
from intent.annotations import EXPANSION
from intent.errors import counted
from intent.names import is_label, is_subdomain
from intent.service.member import ServiceKey
from intent.shapes import annotations, listed, mapping, metadata, text
from kube.client import NO_ANSWER, ApiError
from kube.request import FIELD_MANAGER, Request, apply, create
from sync.decide import ApplyHistory, Attempt, before_dry_run, prunable
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS, Kind, part_of
from sync.live import OWNER_KINDS, is_owner
from sync.observed.cached import SET_BY_SERVER, is_applied, managed
from sync.parts.desired import Desired, Refusal
from sync.parts.service import desired_state
from sync.snapshot import Snapshot
from sync.watch.cache import cache_of
from webhook.overlay.written import LAST_APPLIED

Origin = Literal["file", "controller"]
RECORDS: Final = SET_BY_CLIENTS | {EXPANSION}
"""Annotations that only record what the other fields have."""
DELETED: Final = {"deletionTimestamp": "1970-01-01T00:00:00Z"}
FORBIDDEN: Final = 403


class ObjectDiff(NamedTuple):
    """One object as it is stored and as it would be, without noise."""

    origin: Origin
    """Whether the object is in a file, or made by the controller."""
    before: Object | None
    """None: it is created."""
    after: Object | None
    """None: it is deleted."""


@dataclass(slots=True)
class DiffResult:
    """All changes, and what could not be found out."""

    changes: list[ObjectDiff] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, origin: Origin, before: Object | None, after: Object | None) -> None:
        """Add a change unless it is noise."""
        change = ObjectDiff(origin, cleaned(before), cleaned(after))
        if change.before != change.after:
            self.changes.append(change)


async def differences(reader: Reader, documents: Iterable[Document], namespace: str) -> DiffResult:
    """Return what applying files would change. Raises `UnreachableError`."""
    await reader.reach()
    result = DiffResult()
    for home, objects in _placed(documents, namespace, result).items():
        live = await read_live(reader, home)
        require(live.objects, (LWS, INFERENCE_SERVICE), home)
        result.notes += [note for note in live.notes if note not in result.notes]
        services: dict[ServiceKey, None] = {}
        for obj in objects:
            kind = WRITTEN[obj["kind"]]
            before = live.named(kind, name_of(obj))
            after = await _proposed(reader, file_request(kind, obj, before), obj, result)
            if after is None:
                continue
            result.add("file", before, after)
            live = live.with_objects([after])
            for stored in (before, after):  # the service that it was in may lose what was made for it
                if name := name_of(after) if kind is INFERENCE_SERVICE else service_of(stored or {}):
                    services[home, name] = None
        for key in services:
            await _service(reader, key, live, result)
    return result


def _placed(documents: Iterable[Document], namespace: str, result: DiffResult) -> dict[str, list[Object]]:
    """Return the objects of files that are compared, by namespace; for others there is `kubectl diff`."""
    placed: dict[str, list[Object]] = {}
    left = 0
    for document in documents:
        obj, of = document.object, metadata(document.object)
        home = text(of.get("namespace")) or namespace
        if not (is_lws(obj) or is_inferenceservice(obj)):
            left += 1
        elif not (is_subdomain(text(of.get("name"))) and is_label(home)):
            result.errors.append(f"{document}: metadata.name is missing, or name or namespace is invalid")
        else:
            placed.setdefault(home, []).append(obj | {"metadata": of | {"namespace": home}})
    if left:
        result.notes.append(f"{counted(left, 'object')} of other kinds left out: use kubectl diff")
    return placed


async def _proposed(reader: Reader, request: Request, obj: Object, result: DiffResult) -> Object | None:
    """Return an object as it would be stored; None, with a message, if that is refused.

    An author often may not write other objects than those of files, so that is no error.
    """
    try:
        return {key: obj[key] for key in ("apiVersion", "kind")} | await reader.send(request)
    except (ApiError, *NO_ANSWER) as error:
        is_right = isinstance(error, ApiError) and error.code == FORBIDDEN and obj["kind"] not in WRITTEN
        messages = result.notes if is_right else result.errors
        messages.append(f"{described(obj)}: not compared: {why(error)}")
        return None


# --- files ------------------------------------------------------------------------------------------

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
    if last := text(annotations(live).get(LAST_APPLIED)):
        return Request("patch", path, {"fieldManager": KUBECTL, "dryRun": "All"}, _file_patch(last, file))
    appliers = (text(entry.get("manager")) for entry in managed(live) if entry.get("operation") == "Apply")
    manager = next((name for name in appliers if name and name != FIELD_MANAGER), KUBECTL)
    return apply(path, file, dry_run=True, manager=manager)


def _file_patch(last: str, file: Object) -> Object:
    """Return the merge patch of a client-side apply; `last`: the file that was applied last.

    The file of kubectl always has annotations, so they are never all removed.
    """
    try:
        before = mapping(orjson.loads(last))
    except orjson.JSONDecodeError:
        before = {}
    notes = mapping(file["metadata"].get("annotations"))
    whole = file | {"metadata": file["metadata"] | {"annotations": notes}}
    patch = applied_patch(before, whole)
    patch["metadata"]["annotations"][LAST_APPLIED] = orjson.dumps(whole).decode()
    return patch


def applied_patch(last: Object, file: Object) -> Object:
    """Return the merge patch of a client-side apply: the file, with nulls for what only the last one had."""
    removed = {key: None for key in last if key not in file}
    return removed | {
        key: applied_patch(mapping(last.get(key)), value) if isinstance(value, dict) else value
        for key, value in file.items()
    }


# --- the controller ---------------------------------------------------------------------------------


async def _service(reader: Reader, key: ServiceKey, live: Live, result: DiffResult) -> None:
    """Propose what the controller makes and deletes of a service, as `Controller.reconcile` does.

    LeaderWorkerSets come first: the rest is made of those that there are then.
    """
    missing: set[str] = set()
    for of_sets in (True, False):
        snapshot, stored = snapshot_of(live, key), []
        desired = desired_state(snapshot, live.settings)
        for obj in (obj for obj in desired.objects if (obj["kind"] == LWS.kind) is of_sets):
            kind, before = OUTPUTS[obj["kind"]], live.named(OUTPUTS[obj["kind"]], name_of(obj))
            after = None
            if not kind.requires & missing:
                after = await _made(reader, obj, before, live, snapshot, result)
            if after is None:
                missing.add(part_of(kind.kind, name_of(obj)))
            else:
                result.add("controller", before, after)
                stored.append(after)
        for obj in _deleted(snapshot, desired, missing, live):
            if (obj["kind"] == LWS.kind) is of_sets:
                result.add("controller", obj, None)
                stored.append(obj | {"metadata": obj["metadata"] | DELETED})
        live = live.with_objects(stored)
    errors = (finding.error for finding in desired.all_findings if finding.error.severity == "error")
    result.notes += map(str, errors)


async def _made(  # noqa: PLR0913, PLR0917 - what a write depends on
    reader: Reader, obj: Object, before: Object | None, live: Live, snapshot: Snapshot, result: DiffResult
) -> Object | None:
    """Return an object of the controller as it would be stored; None, with a message, if it would not."""
    kind, answer = OUTPUTS[obj["kind"]], live.answer(obj["kind"])
    namespace, service = snapshot.situation.key
    row = cache_of(caches_of(live), kind).rows.get((namespace, name_of(obj)))
    attempt = Attempt(kind, obj, b"", kind.projected(obj), row, ApplyHistory())
    decided = before_dry_run(attempt, service, snapshot.owners, 0.0)
    if isinstance(decided, Refusal):
        result.notes.append(decided.message)
        return None
    if decided is not None:
        return before
    if answer.unknown or not answer.served:
        problem = answer.unknown or f"{kind.resource.api_version} is not served"
        result.notes.append(f"{described(obj)}: not compared: {problem}")
        return None
    if before is None and kind is not LWS:
        return obj
    return await _proposed(reader, _controller_request(kind, obj, before), obj, result)


def _controller_request(kind: Kind[Any], desired: Object, live: Object | None) -> Request:
    """Return the dry run of the controller's write, which keeps the live value of some fields."""
    manager = FIELD_MANAGER if is_applied(live or {}) else DIFF
    if live is None:
        return create(kind.path(desired["metadata"]["namespace"]), desired, dry_run=True, manager=manager)
    spec = mapping(live.get("spec"))
    kept = {key: spec[key] for key in kind.kept_fields if key in spec}
    body = desired | {"spec": kept | desired["spec"]} if kept else desired
    return apply(kind.path_of(desired), body, dry_run=True, manager=manager)


def _deleted(snapshot: Snapshot, desired: Desired, missing: set[str], live: Live) -> Iterator[Object]:
    """Yield what the controller would delete: by its own rules, of the owners that there are."""
    caches = caches_of(live)
    owners = {
        obj["metadata"].get("uid")
        for kind in OWNER_KINDS.values()
        for obj in live.of(kind)
        if is_owner(obj, caches[kind.kind].project(obj), snapshot)
    }
    for kind, row in prunable(snapshot, desired, missing):
        if any(owner.uid in owners for owner in row.owners) and (obj := live.named(kind, row.name)):
            yield obj


# --- one object -------------------------------------------------------------------------------------


def unified(change: ObjectDiff) -> Iterator[str]:
    """Yield the lines of the unified diff of an object."""
    before, after = (
        yaml.dump(obj).splitlines() if obj is not None else [] for obj in (change.before, change.after)
    )
    name = described(change.after or change.before or {})
    return unified_diff(before, after, f"LIVE {name}", f"MERGED {name}", lineterm="")


def cleaned(obj: Object | None) -> Object | None:
    """Return an object without what a server sets and what only records."""
    if obj is None:
        return None
    notes = {key: value for key, value in annotations(obj).items() if key not in RECORDS}
    owners = [  # the uid of an object that does not exist yet is made up
        {key: value for key, value in mapping(owner).items() if key != "uid"}
        for owner in listed(metadata(obj).get("ownerReferences"))
    ]
    known = metadata(obj) | {"annotations": notes, "ownerReferences": owners}
    kept = {key: value for key, value in known.items() if key not in SET_BY_SERVER and value not in ({}, [])}
    rest = {key: value for key, value in obj.items() if key != "status"}
    return rest | {"metadata": kept}
