"""Which objects to propose: those of files, then what the controller makes of their services."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fusioninfer.cluster.answers import Answer
from fusioninfer.cluster.diff.change import ObjectDiff, differs
from fusioninfer.cluster.diff.propose import RefusedError, of_controller, of_file
from fusioninfer.cluster.reader import Reader
from fusioninfer.cluster.service import Live, caches_of, read_live, require, snapshot_of
from fusioninfer.cluster.text import described, name_of, service_of
from fusioninfer.lint.documents import Document
from intent import Object
from intent.errors import counted
from intent.names import is_label, is_subdomain
from intent.service.member import ServiceKey
from intent.settings import Settings
from intent.shapes import mapping, text
from sync.decide import foreign, prunable
from sync.kinds import AUTOSCALER, INFERENCE_SERVICE, LWS, OUTPUTS, Kind, is_ours, part_of
from sync.live import OWNER_KINDS, is_owner
from sync.parts.desired import Desired
from sync.parts.service import desired_state
from sync.snapshot import Snapshot
from sync.watch.cache import cache_of

KINDS: Final[Mapping[str, Kind[Any]]] = {kind.kind: kind for kind in (LWS, INFERENCE_SERVICE, AUTOSCALER)}
"""The kinds of files that are compared; for others there is `kubectl diff`."""


@dataclass(slots=True)
class DiffResult:
    """All changes, and what could not be found out."""

    changes: list[ObjectDiff] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, change: ObjectDiff) -> None:
        """Add a change unless it is noise."""
        if differs(change):
            self.changes.append(change)


async def differences(
    reader: Reader, documents: Iterable[Document], namespace: str, settings: Settings | None
) -> DiffResult:
    """Return what applying files would change. Raises `UnreachableError`."""
    await reader.reach()
    outcome = DiffResult()
    by_namespace = _placed(documents, namespace, outcome)
    for home, objects in by_namespace.items():
        live = await read_live(reader, home, settings)
        require(live.objects, (LWS, INFERENCE_SERVICE), home)
        outcome.notes += [one for one in live.notes if one not in outcome.notes]
        await _namespace(reader, home, objects, live, outcome)
    return outcome


def _placed(documents: Iterable[Document], namespace: str, outcome: DiffResult) -> dict[str, list[Object]]:
    """Return the objects of files that are compared, by namespace."""
    found: dict[str, list[Object]] = {}
    left = 0
    for document in documents:
        obj, metadata = document.object, mapping(document.object.get("metadata"))
        home = text(metadata.get("namespace")) or namespace
        if not _is_compared(obj):
            left += 1
        elif not (is_subdomain(text(metadata.get("name"))) and is_label(home)):
            outcome.errors.append(f"{document}: metadata.name is missing, or name or namespace is invalid")
        else:
            found.setdefault(home, []).append(obj | {"metadata": metadata | {"namespace": home}})
    if left:
        outcome.notes.append(f"{counted(left, 'object')} of other kinds left out: use kubectl diff")
    return found


def _is_compared(obj: Object) -> bool:
    kind = KINDS.get(text(obj.get("kind")))
    return kind is not None and _group(kind.resource.api_version) == _group(text(obj.get("apiVersion")))


def _group(api_version: str) -> str:
    return api_version.partition("/")[0]


async def _namespace(
    reader: Reader, namespace: str, objects: list[Object], live: Live, outcome: DiffResult
) -> None:
    services: dict[ServiceKey, None] = {}
    for obj in objects:
        kind = KINDS[obj["kind"]]
        resource = replace(kind.resource, api_version=obj["apiVersion"])
        try:
            change = await of_file(reader, resource, obj, _named(live.of(kind), obj))
        except RefusedError as error:
            outcome.errors.append(str(error))
            continue
        outcome.add(change)
        after = change.after or {}
        live = live.with_objects([after])
        if kind is INFERENCE_SERVICE:
            services[namespace, name_of(after)] = None
        elif kind is LWS and (name := service_of(after)):
            services[namespace, name] = None
    for key in services:
        await _service(reader, key, live, outcome)


def _named(objects: Iterable[Object], obj: Object) -> Object | None:
    """Return the stored object of the same name; None if there is none."""
    return next((one for one in objects if name_of(one) == name_of(obj)), None)


async def _service(reader: Reader, key: ServiceKey, live: Live, outcome: DiffResult) -> None:
    """Propose what the controller makes and deletes of a service, as `Controller.reconcile` does.

    LeaderWorkerSets come first: the rest is made of those that there are then.
    """
    missing: set[str] = set()
    for of_sets in (True, False):
        snapshot, caches, made = snapshot_of(live, key), caches_of(live), []
        desired = desired_state(snapshot, live.settings)
        for obj in (obj for obj in desired.objects if (obj["kind"] == LWS.kind) is of_sets):
            kind, name, after = OUTPUTS[obj["kind"]], obj["metadata"]["name"], None
            row = cache_of(caches, kind).rows.get((key[0], name))
            if row and not is_ours(kind, row, key[1], snapshot.owners):
                outcome.notes.append(foreign(kind, obj).message)
            elif not kind.ownership.requires & missing:
                after = await _proposed(reader, obj, live, outcome)
            made += [after] if after else []
            missing |= set() if after else {part_of(kind.kind, name)}
        gone = [
            one for one in _deleted(snapshot, desired, missing, live) if (one["kind"] == LWS.kind) is of_sets
        ]
        for one in gone:
            outcome.add(ObjectDiff("controller", one, None))
        live = live.with_objects((*made, *map(_deleting, gone)))
    outcome.notes += [str(one.error) for one in desired.all_findings if one.error.severity == "error"]


def _deleting(obj: Object) -> Object:
    return obj | {"metadata": obj["metadata"] | {"deletionTimestamp": "1970-01-01T00:00:00Z"}}


def _deleted(snapshot: Snapshot, desired: Desired, missing: Iterable[str], live: Live) -> list[Object]:
    """Return what the controller would delete: by its own rules, of the owners that there are."""
    caches = caches_of(live)
    owners = {
        one["metadata"].get("uid")
        for kind in OWNER_KINDS.values()
        for one in live.of(kind)
        if is_owner(one, caches[kind.kind].project(one), snapshot.situation.key)
    }
    rows = [
        (kind, row.name)
        for kind, row in prunable(snapshot, desired, missing)
        if any(one.uid in owners for one in row.owners)
    ]
    return [one for kind, name in rows for one in live.of(kind) if name_of(one) == name]


async def _proposed(reader: Reader, obj: Object, live: Live, outcome: DiffResult) -> Object | None:
    """Propose an object of a controller; return it as it would be stored."""
    kind = OUTPUTS[obj["kind"]]
    answer = live.objects.get(kind.kind, Answer())
    if answer.unknown or not answer.served:
        why = answer.unknown or f"{kind.resource.api_version} is not served"
        outcome.notes.append(f"{described(obj)}: not compared: {why}")
        return None
    try:
        change, why = await of_controller(reader, kind, obj, _named(answer.objects, obj))
    except RefusedError as error:
        outcome.errors.append(str(error))
        return None
    if why:
        outcome.notes.append(f"{described(obj)}: compared by the fields that the controller sets: {why}")
    outcome.add(change)
    return change.after
