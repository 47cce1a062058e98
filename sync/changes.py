"""What one reconcile changed in the cluster, and the Events that say so.

The subjects are those of findings: the InferenceService, else the LeaderWorkerSets that own a changed object.
The Event of an undone change is recorded for the changed object, too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from intent import Object
from intent.annotations import PAUSED
from intent.errors import Subject
from intent.lws import KIND as LWS
from intent.shapes import listed, mapping, text
from sync.decide import ChangeVerb
from sync.events import Occurrence, event_name
from sync.kinds import OUTPUTS, ROUTES
from sync.observe import ServiceMemory
from sync.observed.cached import AppliedObject
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.pod_group import KIND as POD_GROUP
from sync.snapshot import Snapshot
from sync.status import by_type
from sync.status.reasons import EVENTS


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


def occurrences(changes: Iterable[Change], snapshot: Snapshot) -> Iterator[Occurrence]:
    """Yield what to record about the changes of one reconcile; several changes of one sort are one Event."""
    sorts: dict[tuple[Subject, ChangeVerb, str], list[str]] = {}
    for one in changes:
        if one.verb in {"restored", "recreated"}:
            yield from _undone(one, snapshot)
            continue
        for subject in _subjects(one, snapshot):
            sorts.setdefault((subject, one.verb, _reason(one)), []).append(str(one))
    for (subject, verb, reason), texts in sorts.items():
        message = f"{verb} {', '.join(texts)}"
        yield _occurrence(subject, reason, message, about=message)


def conditions_changed(
    memory: ServiceMemory, before: Object, service: CachedInferenceService
) -> Iterator[Occurrence]:
    """Yield what to record about the conditions of a service, and remember its status.

    `before` is an earlier status, with which the first one is compared. A changed template is recorded once
    for each version that was applied, and again after templates were not known.
    """
    before = before if memory.status is None else memory.status
    old, new = by_type(before), by_type(service.status)
    was, ready = (text(one.get("Ready", {}).get("status")) for one in (old, new))
    was = memory.ready or was
    if ready == "True" != was or (was, ready) == ("True", "False"):
        reason = "ServiceReady" if ready == "True" else "ServiceNotReady"
        yield _occurrence(service.subject, reason, text(new["Ready"].get("message")))
    applied, message = (text(new.get("TemplatesApplied", {}).get(key)) for key in ("reason", "message"))
    known, versions = (listed(one.get("appliedTemplates")) for one in (before, service.status))
    is_new = any(one.get("current") is False and one not in known for one in map(mapping, versions))
    if applied == "TemplateChanged" and is_new:
        yield _occurrence(service.subject, applied, message, about=message)
    memory.status = service.status
    memory.ready = ready if ready in {"True", "False"} else was


def _reason(one: Change) -> str:
    if one.verb != "created":
        return "Updated" if one.verb == "changed" else "Deleted"
    if one.kind == POD_GROUP:
        return "GangOpened"
    return "RoutesCreated" if one.kind in ROUTES else "Created"


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
    """Return what happened; `about` distinguishes several of one reason, empty if the reason is enough."""
    name = event_name(subject, reason, about)
    return Occurrence(subject, reason, message, name, EVENTS[reason].event or "Normal")
