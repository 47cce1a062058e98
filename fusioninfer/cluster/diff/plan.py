"""Which objects to propose: those of files, then what the controller makes of their services."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fusioninfer.cluster.answers import Answer
from fusioninfer.cluster.diff.change import ObjectDiff, differs
from fusioninfer.cluster.diff.propose import controller_request, file_request
from fusioninfer.cluster.reader import Reader, why
from fusioninfer.cluster.service import Live, caches_of, read_live, require, snapshot_of
from fusioninfer.cluster.text import described, name_of, service_of
from fusioninfer.lint.documents import Document
from fusioninfer.lint.offline import is_inferenceservice, is_lws
from intent import Object
from intent.errors import counted
from intent.names import is_label, is_subdomain
from intent.service.member import ServiceKey
from intent.shapes import metadata, text
from kube.client import NO_ANSWER, ApiError
from kube.request import Request
from sync.decide import ApplyHistory, Attempt, before_dry_run, prunable
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS, Kind, part_of
from sync.live import OWNER_KINDS, is_owner
from sync.parts.desired import Desired, Refusal
from sync.parts.service import desired_state
from sync.snapshot import Snapshot
from sync.watch.cache import cache_of

KINDS: Final[Mapping[str, Kind[Any]]] = {kind.kind: kind for kind in (LWS, INFERENCE_SERVICE)}
"""The kinds of files that are compared; for others there is `kubectl diff`."""
DELETED: Final = {"deletionTimestamp": "1970-01-01T00:00:00Z"}
FORBIDDEN: Final = 403


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


async def differences(reader: Reader, documents: Iterable[Document], namespace: str) -> DiffResult:
    """Return what applying files would change. Raises `UnreachableError`."""
    await reader.reach()
    outcome = DiffResult()
    for home, objects in _placed(documents, namespace, outcome).items():
        live = await read_live(reader, home)
        require(live.objects, (LWS, INFERENCE_SERVICE), home)
        outcome.notes += [one for one in live.notes if one not in outcome.notes]
        services: dict[ServiceKey, None] = {}
        for obj in objects:
            kind = KINDS[obj["kind"]]
            before = _named(live.of(kind), name_of(obj))
            after = await _proposed(reader, file_request(kind, obj, before), obj, outcome)
            if after is None:
                continue
            outcome.add(ObjectDiff("file", before, after))
            live = live.with_objects([after])
            if name := name_of(after) if kind is INFERENCE_SERVICE else service_of(after):
                services[home, name] = None
        for key in services:
            await _service(reader, key, live, outcome)
    return outcome


def _placed(documents: Iterable[Document], namespace: str, outcome: DiffResult) -> dict[str, list[Object]]:
    """Return the objects of files that are compared, by namespace."""
    placed: dict[str, list[Object]] = {}
    left = 0
    for document in documents:
        obj, of = document.object, metadata(document.object)
        home = text(of.get("namespace")) or namespace
        if not (is_lws(obj) or is_inferenceservice(obj)):
            left += 1
        elif not (is_subdomain(text(of.get("name"))) and is_label(home)):
            outcome.errors.append(f"{document}: metadata.name is missing, or name or namespace is invalid")
        else:
            placed.setdefault(home, []).append(obj | {"metadata": of | {"namespace": home}})
    if left:
        outcome.notes.append(f"{counted(left, 'object')} of other kinds left out: use kubectl diff")
    return placed


def _named(objects: Iterable[Object], name: str) -> Object | None:
    """Return the stored object of a name; None if there is none."""
    return next((one for one in objects if name_of(one) == name), None)


async def _proposed(reader: Reader, request: Request, obj: Object, outcome: DiffResult) -> Object | None:
    """Return an object as it would be stored; None, with a message, if that is refused.

    An author often may not write other objects than those of files, so that is no error.
    """
    try:
        return {key: obj[key] for key in ("apiVersion", "kind")} | await reader.send(request)
    except (ApiError, *NO_ANSWER) as error:
        is_right = isinstance(error, ApiError) and error.code == FORBIDDEN and obj["kind"] not in KINDS
        where = outcome.notes if is_right else outcome.errors
        where.append(f"{described(obj)}: not compared: {why(error)}")
        return None


async def _service(reader: Reader, key: ServiceKey, live: Live, outcome: DiffResult) -> None:
    """Propose what the controller makes and deletes of a service, as `Controller.reconcile` does.

    LeaderWorkerSets come first: the rest is made of those that there are then.
    """
    missing: set[str] = set()
    for of_sets in (True, False):
        snapshot, caches, stored = snapshot_of(live, key), caches_of(live), []
        desired = desired_state(snapshot, live.settings)
        for obj in (one for one in desired.objects if (one["kind"] == LWS.kind) is of_sets):
            kind, name = OUTPUTS[obj["kind"]], name_of(obj)
            before, after = _named(live.objects.get(kind.kind, Answer()).objects, name), None
            row = cache_of(caches, kind).rows.get((key[0], name))
            attempt = Attempt(kind, obj, b"", kind.projected(obj), row, ApplyHistory())
            decided = before_dry_run(attempt, key[1], snapshot.owners, 0.0)
            if isinstance(decided, Refusal):
                outcome.notes.append(decided.message)
            elif decided is not None:
                after = before
            elif not kind.ownership.requires & missing:
                after = await _of_controller(reader, obj, before, live, outcome)
            if after is None:
                missing.add(part_of(kind.kind, name))
            else:
                outcome.add(ObjectDiff("controller", before, after))
                stored.append(after)
        for one in _deleted(snapshot, desired, missing, live):
            if (one["kind"] == LWS.kind) is of_sets:
                outcome.add(ObjectDiff("controller", one, None))
                stored.append(one | {"metadata": one["metadata"] | DELETED})
        live = live.with_objects(stored)
    outcome.notes += [str(one.error) for one in desired.all_findings if one.error.severity == "error"]


async def _of_controller(
    reader: Reader, obj: Object, before: Object | None, live: Live, outcome: DiffResult
) -> Object | None:
    """Return an object of the controller as it would be stored; None, with a message, if unknown."""
    kind = OUTPUTS[obj["kind"]]
    answer = live.objects.get(kind.kind, Answer())
    if answer.unknown or not answer.served:
        problem = answer.unknown or f"{kind.resource.api_version} is not served"
        outcome.notes.append(f"{described(obj)}: not compared: {problem}")
        return None
    if before is None and kind is not LWS:
        return obj
    return await _proposed(reader, controller_request(kind, obj, before), obj, outcome)


def _deleted(snapshot: Snapshot, desired: Desired, missing: set[str], live: Live) -> Iterator[Object]:
    """Yield what the controller would delete: by its own rules, of the owners that there are."""
    caches = caches_of(live)
    owners = {
        one["metadata"].get("uid")
        for kind in OWNER_KINDS.values()
        for one in live.of(kind)
        if is_owner(one, caches[kind.kind].project(one), snapshot.situation.key)
    }
    for kind, row in prunable(snapshot, desired, missing):
        if any(one.uid in owners for one in row.owners):
            yield from (one for one in live.of(kind) if name_of(one) == row.name)
