"""Causes in admission, in the rules of a service, and in the controller."""

from collections.abc import Iterator

from fusioninfer.cluster.check.installed import lease_problem
from fusioninfer.cluster.service import absent_objects
from fusioninfer.cluster.text import name_of
from fusioninfer.cluster.why.case import Case, Cause, Effect, cause
from intent import Object
from intent.annotations import EXPANSION, INJECT, SERVICE, is_paused
from intent.lws import KIND as LWS
from intent.service.member import ejected
from intent.shapes import annotations, labels, metadata, text
from sync.kinds import INFERENCE_SERVICE
from sync.observed.pod_group import KIND as POD_GROUP
from webhook.check import check


def admission(case: Case) -> Iterator[Cause]:
    """Return what keeps the LeaderWorkerSets of a service from being expanded."""
    for lws in case.sets:
        about, written = f"{LWS} {name_of(lws)}", annotations(lws)
        if metadata(lws).get("deletionTimestamp"):
            yield cause("BeingDeleted", about, "it is being deleted")
        if not (EXPANSION in written or ejected(lws)):
            yield _not_expanded(lws, about, case)


def _not_expanded(lws: Object, about: str, case: Case) -> Cause:
    written = annotations(lws)
    if written.get(INJECT) == "disabled":
        return cause("Bypassed", about, f"{INJECT} is disabled, so it was not expanded")
    if SERVICE not in written:
        as_label = SERVICE in labels(lws)
        hint = f"{SERVICE} is a label; it must be an annotation" if as_label else f"it has no {SERVICE}"
        return cause("NotAnnotated", about, hint)
    for error in check(lws, None, case.live.settings, mutated=False):
        if error.severity == "error":
            return cause(error.code, about, f"it was not expanded: {error}", layer="admission")
    return cause("NotExpanded", about, "it is annotated, and was stored without an answer of the webhook")


def rules(case: Case) -> Iterator[Cause]:
    """Return the errors that the controller finds in a service, by code."""
    errors = {
        (finding.error.code, str(finding.error)): finding.subject
        for finding in case.desired.findings
        if finding.error.severity == "error"
    }
    for (code, message), subject in sorted(errors.items(), key=lambda item: item[0]):
        yield cause(code, f"{subject.kind} {subject.name}", message)


def controller(case: Case) -> Iterator[Cause]:
    """Return which objects of the controller are missing, and whether it is paused, or does not run.

    What the controller said last of each is quoted: why it is refused, and until when.
    """
    missing = absent_objects(case.desired, case.live)
    if not missing:
        return
    names = f"missing: {', '.join(f'{kind} {name}' for kind, name in missing)}"
    no_pod_starts = not {LWS, POD_GROUP}.isdisjoint(kind for kind, _ in missing)
    effect: Effect = "blocks" if no_pod_starts else "degrades"
    lease = case.answer("lease")
    services = (obj for obj in case.live.of(INFERENCE_SERVICE) if name_of(obj) == case.service)
    paused = next((obj for obj in (*services, *case.sets) if is_paused(annotations(obj))), None)
    if paused:
        about = f"{text(paused.get('kind'))} {name_of(paused)}"
        yield cause("Paused", about, f"it is paused; {names}", effect)
    elif not lease.unknown and (problem := lease_problem(lease.first, case.now)):
        yield cause("ControllerNotRunning", case.title, f"{names}; {problem}", effect)
    else:
        events = [event for one in case.snapshot.subjects for event in case.warnings(one.kind, one.name)]
        messages = [text(event.get("message")) for event in events]
        said = (next((line for line in messages if f"{' '.join(of)} " in line), "") for of in missing)
        yield cause("ObjectsMissing", case.title, "; ".join((names, *filter(None, said))), effect)
