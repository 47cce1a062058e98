"""Causes in admission, in the rules of a service, and in the controller."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from catalog.codes import CODES
from fusioninfer.cluster.check.controller import lease_problem
from fusioninfer.cluster.service import absent_objects
from fusioninfer.cluster.text import name_of
from fusioninfer.cluster.why.case import Case
from fusioninfer.cluster.why.cause import Cause, Effect, cause
from intent import Object
from intent.annotations import EXPANSION, INJECT, SERVICE, is_paused
from intent.lws import KIND as LWS
from intent.service.member import ejected
from intent.shapes import annotations, labels, listed, mapping, strings, text
from sync.observed.pod_group import KIND as POD_GROUP
from sync.status.failures import WAITING
from webhook.check import check

HOLDING: Final = frozenset({LWS, POD_GROUP})
"""Kinds without which no pod starts."""
NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"


def admission(case: Case) -> Iterator[Cause]:
    """Return what keeps the LeaderWorkerSets of a service from being expanded."""
    for lws in case.sets:
        yield from _of_object(lws, case)


def _of_object(lws: Object, case: Case) -> Iterator[Cause]:
    about, written = f"{LWS} {name_of(lws)}", annotations(lws)
    if mapping(lws.get("metadata")).get("deletionTimestamp"):
        yield cause("BeingDeleted", about, "it is being deleted")
    if EXPANSION in written:
        return
    if ejected(lws):
        yield cause("Ejected", about, "it has no record of an expansion", "note")
    elif written.get(INJECT) == "disabled":
        yield cause("Bypassed", about, f"{INJECT} is disabled, so it was not expanded")
    elif SERVICE not in written:
        as_label = SERVICE in labels(lws)
        hint = f"{SERVICE} is a label; it must be an annotation" if as_label else f"it has no {SERVICE}"
        yield cause("NotAnnotated", about, hint)
    else:
        yield _not_expanded(lws, about, case)


def _not_expanded(lws: Object, about: str, case: Case) -> Cause:
    """Return why an annotated object has no record."""
    errors = check(lws, None, case.read.live.settings, mutated=False)
    wrong = next((one for one in errors if one.severity == "error"), None)
    if wrong:
        return cause(wrong.code, about, f"it was not expanded: {wrong}", layer="admission")
    configurations = case.read.answer("mutating")
    named = [one for one in configurations.objects if name_of(one) == "mutate.fusioninfer.io"]
    if not named and not configurations.unknown:
        return cause(
            "WebhookMissing",
            about,
            "it is annotated and not expanded: MutatingWebhookConfiguration mutate.fusioninfer.io is missing",
        )
    if any(_excludes(one, case.read.namespace) for one in named):
        message = f"the webhook's namespaceSelector excludes namespace {case.read.namespace}"
        return cause("NamespaceExcluded", about, message)
    return cause("NotExpanded", about, "it is annotated, and was stored without an answer of the webhook")


def _excludes(configuration: Object, namespace: str) -> bool:
    """Return whether a namespaceSelector names a namespace as excluded."""
    selectors = (mapping(mapping(one).get("namespaceSelector")) for one in listed(configuration["webhooks"]))
    rules = (mapping(rule) for one in selectors for rule in listed(one.get("matchExpressions")))
    return any(
        rule.get("key") == NAMESPACE_LABEL
        and rule.get("operator") == "NotIn"
        and namespace in strings(rule.get("values"))
        for rule in rules
    )


def rules(case: Case) -> Iterator[Cause]:
    """Return the findings of the controller about a service, errors by code."""
    found = {
        (one.error.code, str(one.error)): one
        for one in case.desired.findings
        if one.error.code != WAITING  # scheduling says which role is missing
    }
    for (code, text_of), one in sorted(found.items(), key=lambda item: item[0]):
        if not _is_unknown(code):
            about = f"{one.subject.kind} {one.subject.name}"
            is_error = one.error.severity == "error"
            yield cause(code, about, text_of, "blocks" if is_error else "note")


def _is_unknown(code: str) -> bool:
    """Return whether a finding says that this command could not list a kind."""
    return code == "FI880" or code not in CODES


def controller(case: Case) -> Iterator[Cause]:
    """Return which objects of the controller are missing, and whether it runs."""
    paused = [one for one in (*case.sets, _inferenceservice(case)) if is_paused(annotations(one))]
    for one in paused[:1]:
        yield cause("Paused", f"{text(one.get('kind'))} {name_of(one)}", "it is paused", "note")
    missing = absent_objects(case.desired, case.read.live, case.read.namespace)
    if not missing:
        return
    names = ", ".join(f"{kind} {name}" for kind, name in missing)
    effect: Effect = "blocks" if any(kind in HOLDING for kind, _ in missing) else "degrades"
    lease = case.read.answer("lease")
    problem = "" if lease.unknown else lease_problem(lease.first, case.read.now)
    if problem:
        yield cause("ControllerNotRunning", case.service, f"missing: {names}; {problem}", effect)
    else:
        message = "; ".join((f"missing: {names}", *_event_messages(case, missing)))
        yield cause("ObjectsMissing", case.service, message, effect)


def _event_messages(case: Case, missing: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Return what the controller said last about each missing object: why it is refused, and until when."""
    subjects = case.snapshot.subjects
    events = [event for subject in subjects for event in case.warnings(subject.kind, subject.name)]
    for kind, name in missing:
        messages = (text(event.get("message")) for event in events)
        yield from islice((message for message in messages if f"{kind} {name} " in message), 1)


def _inferenceservice(case: Case) -> Object:
    named = case.read.live.objects.get("InferenceService")
    found = (one for one in (named.objects if named else ()) if name_of(one) == case.read.service)
    return next(found, {})
