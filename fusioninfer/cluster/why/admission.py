"""Causes in admission, in the rules of a service, and in the controller."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from fusioninfer.cluster.check.installed import lease_problem
from fusioninfer.cluster.service import absent_objects
from fusioninfer.cluster.text import name_of
from fusioninfer.cluster.why.case import Case
from fusioninfer.cluster.why.cause import Cause, Effect, cause
from intent import Object
from intent.annotations import EXPANSION, INJECT, SERVICE, is_paused
from intent.lws import KIND as LWS
from intent.service.member import ejected
from intent.shapes import annotations, labels, metadata, text
from sync.kinds import INFERENCE_SERVICE
from sync.observed.pod_group import KIND as POD_GROUP
from webhook.check import check

HOLDING: Final = frozenset({LWS, POD_GROUP})
"""Kinds without which no pod starts."""


def admission(case: Case) -> Iterator[Cause]:
    """Return what keeps the LeaderWorkerSets of a service from being expanded."""
    for lws in case.sets:
        yield from _of_object(lws, case)


def _of_object(lws: Object, case: Case) -> Iterator[Cause]:
    about, written = f"{LWS} {name_of(lws)}", annotations(lws)
    if metadata(lws).get("deletionTimestamp"):
        yield cause("BeingDeleted", about, "it is being deleted")
    if EXPANSION in written or ejected(lws):
        return
    if written.get(INJECT) == "disabled":
        yield cause("Bypassed", about, f"{INJECT} is disabled, so it was not expanded")
    elif SERVICE not in written:
        as_label = SERVICE in labels(lws)
        hint = f"{SERVICE} is a label; it must be an annotation" if as_label else f"it has no {SERVICE}"
        yield cause("NotAnnotated", about, hint)
    else:
        errors = check(lws, None, case.read.live.settings, mutated=False)
        wrong = next((one for one in errors if one.severity == "error"), None)
        if wrong:
            yield cause(wrong.code, about, f"it was not expanded: {wrong}", layer="admission")
        else:
            yield cause(
                "NotExpanded", about, "it is annotated, and was stored without an answer of the webhook"
            )


def rules(case: Case) -> Iterator[Cause]:
    """Return the errors that the controller finds in a service, by code."""
    errors = {
        (one.error.code, str(one.error)): one.subject
        for one in case.desired.findings
        if one.error.severity == "error"
    }
    for (code, message), subject in sorted(errors.items(), key=lambda item: item[0]):
        yield cause(code, f"{subject.kind} {subject.name}", message)


def controller(case: Case) -> Iterator[Cause]:
    """Return which objects of the controller are missing, and whether it is paused, or does not run."""
    missing = absent_objects(case.desired, case.read.live, case.read.namespace)
    if not missing:
        return
    names = f"missing: {', '.join(f'{kind} {name}' for kind, name in missing)}"
    effect: Effect = "blocks" if any(kind in HOLDING for kind, _ in missing) else "degrades"
    lease = case.read.answer("lease")
    services = (one for one in case.read.live.of(INFERENCE_SERVICE) if name_of(one) == case.read.service)
    paused = next((one for one in (*services, *case.sets) if is_paused(annotations(one))), None)
    if paused:
        about = f"{text(paused.get('kind'))} {name_of(paused)}"
        yield cause("Paused", about, f"it is paused; {names}", effect)
    elif not lease.unknown and (problem := lease_problem(lease.first, case.read.now)):
        yield cause("ControllerNotRunning", case.service, f"{names}; {problem}", effect)
    else:
        message = "; ".join((names, *_event_messages(case, missing)))
        yield cause("ObjectsMissing", case.service, message, effect)


def _event_messages(case: Case, missing: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Return what the controller said last about each missing object: why it is refused, and until when."""
    subjects = case.snapshot.subjects
    events = [event for subject in subjects for event in case.warnings(subject.kind, subject.name)]
    for kind, name in missing:
        messages = (text(event.get("message")) for event in events)
        yield from islice((message for message in messages if f"{kind} {name} " in message), 1)
