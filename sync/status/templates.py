"""What the status says of InferenceTemplates: which versions roles have, and whether they are current."""

from typing import Final

from intent import Object
from intent.applied import TemplateVersion
from intent.inferenceservice.v1alpha1 import MOST_APPLIED
from sync.parts.templates import outdated
from sync.status.inputs import Observed
from sync.status.reasons import Verdict

KEPT: Final = "pods keep what they have until a refresh"
FOLLOWED: Final = "the service follows, and pods get it once admission allows it"


def applied_templates(seen: Observed) -> Object:
    """Return the field of the status; nothing for a service without templates, or before any is known."""
    found = [
        _entry(one, is_current=one not in outdated(seen.templates, seen.applied)) for one in seen.applied
    ]
    return {"appliedTemplates": found[:MOST_APPLIED]} if found and not seen.templates.trouble else {}


def _entry(one: TemplateVersion, *, is_current: bool) -> Object:
    return {
        "name": one.name,
        "namespace": one.namespace,
        "generation": one.generation,
        "current": is_current,
    }


def templates_applied(seen: Observed) -> Verdict | None:
    """Judge `TemplatesApplied`: every role has its templates as they are now; None if none are named."""
    named = seen.templates
    if not named.names:
        return None
    if named.trouble:
        return Verdict("TemplatesUnknown", f"InferenceTemplates are not known: {named.trouble}")
    if missing := _missing(seen):
        return Verdict("TemplateMissing", "; ".join(missing))
    if changed := outdated(named, seen.applied):
        later = FOLLOWED if seen.service.follows else KEPT
        return Verdict("TemplateChanged", f"{_changes(seen, changed)}; {later}")
    if late := [one.name for one in seen.roles if one.role.base_refs and one.lws is None]:
        return Verdict("NotApplied", f"no LeaderWorkerSet yet of {' and '.join(late)}")
    return Verdict("TemplatesCurrent", "every role has its templates as they are now")


def _missing(seen: Observed) -> list[str]:
    """Return the templates that do not exist and are needed, by the router or a role that has none yet."""
    named, applied = seen.templates, {one.name for one in seen.applied}
    home = seen.service.namespace
    return [
        f"InferenceTemplate {name} exists neither in namespace {home} nor in that of FusionInfer"
        for name in named.missing
        if name not in applied or seen.service.router is not None
    ]


def _changes(seen: Observed, changed: tuple[TemplateVersion, ...]) -> str:
    gone = set(seen.templates.missing)
    return ", ".join(
        f"InferenceTemplate {one.namespace}/{one.name} was {'deleted' if one.name in gone else 'changed'}"
        for one in changed
    )
