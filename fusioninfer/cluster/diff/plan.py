"""Which objects to propose: those of files, then what the controller makes of their services."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from fusioninfer.cluster.answers import Answer, name_of
from fusioninfer.cluster.diff.change import ObjectDiff, differs
from fusioninfer.cluster.diff.propose import Proposer, RefusedError, described
from fusioninfer.cluster.reader import Reader, UnreachableError
from fusioninfer.cluster.service import Live, caches_of, read_live, service_of, snapshot_of
from fusioninfer.files.documents import Document
from intent import Object, disaggregatedset
from intent.annotations import REVISION, SLICE
from intent.names import is_label, is_subdomain
from intent.service.member import ServiceKey
from intent.settings import Settings
from intent.shapes import labels, mapping, text
from sync.decide import foreign, prunable
from sync.kinds import (
    AUTOSCALER,
    INFERENCE_SERVICE,
    LWS,
    OUTPUTS,
    Resource,
    is_ours,
    part_of,
)
from sync.live import OWNER_KINDS, is_owner
from sync.parts.desired import Desired
from sync.parts.service import desired_state
from sync.snapshot import Snapshot
from sync.watch.cache import cache_of

PLURALS: Final = {disaggregatedset.KIND: "disaggregatedsets"} | {
    kind.kind: kind.resource.plural for kind in (LWS, INFERENCE_SERVICE, AUTOSCALER)
}
GROUPS: Final = {
    disaggregatedset.KIND: disaggregatedset.GROUP,
    LWS.kind: "leaderworkerset.x-k8s.io",
    INFERENCE_SERVICE.kind: "fusioninfer.io",
    AUTOSCALER.kind: "autoscaling",
}
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
        _require(live, home)
        outcome.notes += [one for one in live.notes if one not in outcome.notes]
        await _namespace(Proposer(reader, live.settings), home, objects, live, outcome)
    if any(not change.exact for change in outcome.changes):
        outcome.notes.append(
            "without the right to write, differences were computed here, with the same functions"
        )
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
        outcome.notes.append(
            f"{left} object{'s' if left > 1 else ''} of other kinds left out: use kubectl diff"
        )
    return found


def _is_compared(obj: Object) -> bool:
    group = text(obj.get("apiVersion")).partition("/")[0]
    return GROUPS.get(text(obj.get("kind"))) == group


def _require(live: Live, namespace: str) -> None:
    for kind in (LWS, INFERENCE_SERVICE):
        if why := live.objects[kind.kind].unknown:
            raise UnreachableError(f"cannot list {kind.resource.plural} in namespace {namespace}: {why}")


async def _namespace(
    proposer: Proposer, namespace: str, objects: list[Object], live: Live, outcome: DiffResult
) -> None:
    services: dict[ServiceKey, None] = {}
    for obj in objects:
        resource = Resource(obj["apiVersion"], obj["kind"], PLURALS[obj["kind"]])
        stored = await _stored(proposer, resource, obj, live)
        try:
            change = await proposer.of_file(resource, obj, stored)
        except RefusedError as error:
            outcome.errors.append(str(error))
            continue
        outcome.add(change)
        after = change.after or {}
        made = (
            await _members(proposer, change, live, outcome)
            if obj["kind"] == disaggregatedset.KIND
            else [after]
        )
        live = live.with_objects(made)
        for one in made:
            name = one["metadata"]["name"] if one["kind"] == INFERENCE_SERVICE.kind else service_of(one)
            if name and one["kind"] != AUTOSCALER.kind:
                services[namespace, text(name)] = None
    for key in services:
        await _service(proposer, key, live, outcome)


async def _members(proposer: Proposer, change: ObjectDiff, live: Live, outcome: DiffResult) -> list[Object]:
    """Propose the LeaderWorkerSets of a DisaggregatedSet; return them as they would be stored."""
    before, after = (disaggregatedset.leader_worker_sets(one or {}) for one in (change.before, change.after))
    known, wanted = ({name_of(one) for _, one in sets} for sets in (before, after))
    if known & wanted:
        if known - wanted:
            outcome.notes.append(
                f"{described(change.identity)}: its controller deletes those of slices that go"
            )
        found = _resized([one for _, one in after if name_of(one) in known], live, outcome)
        revision = next((labels(one)[REVISION] for one in found if REVISION in labels(one)), "")
        made = disaggregatedset.leader_worker_sets(change.after or {}, revision)
        new = [one for (_, named), (_, one) in zip(after, made, strict=True) if name_of(named) not in known]
        return found + [one for each in new if (one := await _proposed(proposer, each, live, outcome))]
    outcome.notes.append(
        f"{described(change.identity)}: its controller names the LeaderWorkerSets by another revision"
        + ("; it deletes those of the present one at the end of the rollout" if before else "")
    )
    proposed = [await _proposed(proposer, one, live, outcome) for _, one in after]
    return [one for one in proposed if one]


def _resized(members: list[Object], live: Live, outcome: DiffResult) -> list[Object]:
    """Return the stored LeaderWorkerSets of a revision that stays, with the replicas of its roles."""
    found = []
    for member in members:
        stored = [one for one in live.of(LWS) if _same_role(one, member)]
        if stored:  # during a rollout there are those of the revision before, too
            newest = max(stored, key=lambda one: text(one["metadata"].get("creationTimestamp")))
            wanted = member["spec"].get("replicas", newest["spec"].get("replicas"))
            found.append(newest | {"spec": newest["spec"] | {"replicas": wanted}})
            outcome.add(ObjectDiff("controller", newest, found[-1]))
    return found


def _same_role(one: Object, other: Object) -> bool:
    """Return whether two LeaderWorkerSets are of one role of one DisaggregatedSet."""
    theirs, ours = (mapping(each["metadata"].get("labels")) for each in (one, other))
    keys = (disaggregatedset.NAME, disaggregatedset.ROLE)
    is_there = theirs.get(SLICE, "0") == ours.get(SLICE, "0")
    return is_there and all(theirs.get(key) == ours.get(key) for key in keys)


async def _stored(proposer: Proposer, resource: Resource, obj: Object, live: Live) -> Object | None:
    """Return the stored object; None if there is none."""
    name = obj["metadata"]["name"]
    known = live.objects.get(obj["kind"])
    if known is not None:
        return next((one for one in known.objects if one["metadata"]["name"] == name), None)
    answer = await proposer.reader.one(resource.path(obj["metadata"]["namespace"], name))
    if answer.unknown:
        raise UnreachableError(f"cannot read {described(obj)}: {answer.unknown}")
    return answer.first or None


async def _service(proposer: Proposer, key: ServiceKey, live: Live, outcome: DiffResult) -> None:
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
                after = await _proposed(proposer, obj, live, outcome)
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
        for kind, row in prunable(snapshot, desired, missing, caches)
        if any(one.uid in owners for one in row.owners)
    ]
    return [one for kind, name in rows for one in live.of(kind) if name_of(one) == name]


async def _proposed(proposer: Proposer, obj: Object, live: Live, outcome: DiffResult) -> Object | None:
    """Propose an object of a controller; return it as it would be stored."""
    kind = OUTPUTS[obj["kind"]]
    answer = live.objects.get(kind.kind, Answer())
    if answer.unknown or not answer.served:
        why = answer.unknown or f"{kind.resource.api_version} is not served"
        outcome.notes.append(f"{described(obj)}: not compared: {why}")
        return None
    stored = next((one for one in answer.objects if one["metadata"]["name"] == obj["metadata"]["name"]), None)
    try:
        change = await proposer.of_controller(kind, obj, stored)
    except RefusedError as error:
        outcome.errors.append(str(error))
        return None
    outcome.add(change)
    return change.after
