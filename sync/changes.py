"""What one reconcile changed in the cluster, and the Events that say so.

The subjects are those of findings: the InferenceService, else the LeaderWorkerSets that own a changed object.
The Event of an undone change is recorded for the changed object, too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from intent import Object
from intent.annotations import PAUSED, ROLES
from intent.errors import Subject
from intent.lws import KIND as LWS
from intent.shapes import listed, mapping
from sync.decide import ChangeVerb
from sync.events import Occurrence
from sync.kinds import OUTPUTS, ROUTES
from sync.observed.cached import AppliedObject
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.pod_group import KIND as POD_GROUP
from sync.parts.desired import Desired
from sync.snapshot import Snapshot
from sync.status import by_type
from sync.status.conditions import FOLLOWED
from sync.status.reasons import EVENTS

KEPT: Final = "pods keep theirs; to take it, run fusioninfer refresh, or set spec.followTemplates"


@dataclass(frozen=True, slots=True)
class Change:
    """A write to one object that took effect."""

    verb: ChangeVerb
    kind: str
    row: AppliedObject
    """The object as it is stored now, or was."""

    def __str__(self) -> str:
        """Return kind and name, as messages show them."""
        return f"{self.kind} {self.row.name}"


def occurrences(changes: Iterable[Change], snapshot: Snapshot, desired: Desired) -> Iterator[Occurrence]:
    """Yield what to record about the changes of one reconcile; several changes of one sort are one Event."""
    sorts: dict[tuple[Subject, ChangeVerb, str], list[str]] = {}
    for one in changes:
        if one.verb in {"restored", "recreated"}:
            yield from _undone(one, snapshot)
            continue
        for subject in _subjects(one, snapshot):
            sorts.setdefault((subject, one.verb, _reason(one)), []).append(_text(one, desired))
    for (subject, verb, reason), texts in sorts.items():
        message = f"{verb} {', '.join(texts)}"
        yield _occurrence(subject, reason, message, about=message)


def readiness(before: str, service: CachedInferenceService) -> tuple[str, Occurrence | None]:
    """Return the last known status of `Ready`, and what to record if it has changed from `before`."""
    condition = by_type(service.status).get("Ready", {})
    now = str(condition.get("status", ""))
    if now not in {"True", "False"}:
        return before, None
    if now == before or (now == "False" and not before):
        return now, None
    reason = "ServiceReady" if now == "True" else "ServiceNotReady"
    return now, _occurrence(service.subject, reason, str(condition.get("message", "")))


def templates_changed(before: Object, service: CachedInferenceService) -> Iterator[Occurrence]:
    """Yield what to record about templates that are no longer current, and were in the status `before`."""
    known = set(_outdated(before))
    later = FOLLOWED if service.value and service.value.follows else KEPT
    for version in _outdated(service.status):
        if version not in known:
            namespace, name, generation = version
            template = f"InferenceTemplate {namespace}/{name}"
            message = f"{template} is no longer as it was read (generation {generation}): {later}"
            yield _occurrence(service.subject, "TemplateChanged", message, about=template)


def _outdated(status: Object) -> Iterator[tuple[str, ...]]:
    """Yield namespace, name and generation of the templates that a status calls no longer current."""
    for one in map(mapping, listed(status.get("appliedTemplates"))):
        if one.get("current") is False:
            yield tuple(str(one.get(key)) for key in ("namespace", "name", "generation"))


def _reason(one: Change) -> str:
    if one.verb != "created":
        return "Updated" if one.verb == "changed" else "Deleted"
    if one.kind == POD_GROUP:
        return "GangOpened"
    return "RoutesCreated" if one.kind in ROUTES else "Created"


def _text(one: Change, desired: Desired) -> str:
    """Return the name of an object; of a new PodGroup also what starts together."""
    if (one.kind, one.verb) != (POD_GROUP, "created"):
        return str(one)
    found = (
        obj for obj in desired.objects if (obj["kind"], obj["metadata"]["name"]) == (one.kind, one.row.name)
    )
    return f"{one}: {_gate(next(found, {}))}"


def _gate(pod_group: Object) -> str:
    roles = mapping(mapping(pod_group.get("metadata")).get("annotations")).get(ROLES, "")
    count = mapping(pod_group.get("spec")).get("minMember", 1)
    return f"the required roles exist ({roles.replace(',', ', ')}); {count} pods start together"


def _undone(one: Change, snapshot: Snapshot) -> Iterator[Occurrence]:
    """Yield that a change of another client was undone."""
    done = "was changed by another client, and the change was undone"
    if one.verb == "recreated":
        done = "was deleted by another client, and was created again"
    instead = f"InferenceService {snapshot.service.name}" if snapshot.service else "the LeaderWorkerSets"
    message = f'{one} {done}; change {instead} instead, or set {PAUSED}: "true" there first'
    subjects = _subjects(one, snapshot)
    if one.verb == "restored":
        api_version = OUTPUTS[one.kind].resource.api_version
        subjects = (*subjects, Subject(api_version, one.kind, one.row.namespace, one.row.name, one.row.uid))
    for subject in dict.fromkeys(subjects):
        yield _occurrence(subject, "ChangeReverted", message, about=str(one))


def _subjects(one: Change, snapshot: Snapshot) -> tuple[Subject, ...]:
    """Return the InferenceService, else the members that own an object, else all members."""
    if snapshot.service:
        return snapshot.subjects
    uids = {owner.uid for owner in one.row.owners if owner.kind == LWS}
    return tuple(subject for subject in snapshot.subjects if subject.uid in uids) or snapshot.subjects


def _occurrence(subject: Subject, reason: str, message: str, about: str = "") -> Occurrence:
    return Occurrence(subject, reason, message, EVENTS[reason].event or "Normal", about)
