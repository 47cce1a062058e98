"""Which templates the roles of an InferenceService have, and which ones they should have.

Admission reads templates and keeps their content. The controller only watches them: it says where the content
is not that of now, and for a service that follows its templates it changes an annotation, on which admission
reads them again.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from intent import Object
from intent.annotations import BASE_REFS, TEMPLATES_VERSION
from intent.applied import TemplateVersion
from intent.errors import FieldError, Finding
from intent.shapes import annotations
from sync.observed.cached import digest
from sync.observed.inferencetemplate import NamedTemplates
from sync.observed.lws import LeaderWorkerSet
from sync.snapshot import Snapshot

LENGTH: Final = 16
"""Characters of a version."""
NOT_ROUTED: Final = "FI977"


def versioned(sets: Iterable[Object], snapshot: Snapshot) -> Iterator[Object]:
    """Yield rendered LeaderWorkerSets with the version of the templates that they should have."""
    follows = snapshot.value is not None and snapshot.value.follows
    for lws in sets:
        stored = snapshot.reports.get(lws["metadata"]["name"])
        version = _version(lws, stored, snapshot.templates, follows=follows)
        yield _with_version(lws, version)


def _version(lws: Object, stored: LeaderWorkerSet | None, named: NamedTemplates, *, follows: bool) -> str:
    """Return the version of a role: while it cannot be known, or does not follow, the stored one.

    Without the stored one admission would read the templates again.
    """
    refs = annotations(lws).get(BASE_REFS)
    if not isinstance(refs, str):
        return ""
    sources = [named.source(name) for name in refs.split(",")]
    if not follows or named.trouble or None in sources:
        return stored.templates_version if stored else ""
    return digest([list(one) for one in sources if one]).hex()[:LENGTH]


def _with_version(lws: Object, version: str) -> Object:
    """Return a LeaderWorkerSet with a version of its templates; without the annotation if there is none."""
    of = lws["metadata"]
    notes = {key: value for key, value in of["annotations"].items() if key != TEMPLATES_VERSION}
    return {
        **lws,
        "metadata": {**of, "annotations": notes | ({TEMPLATES_VERSION: version} if version else {})},
    }


def outdated(named: NamedTemplates, applied: Iterable[TemplateVersion]) -> tuple[TemplateVersion, ...]:
    """Return the applied templates that were changed or deleted since; none while they are not known."""
    return () if named.trouble else tuple(one for one in applied if named.source(one.name) != one)


def not_routed(snapshot: Snapshot) -> Iterator[Finding]:
    """FI977: the routes stay as they are, since the router parts of templates are not known."""
    value, named = snapshot.value, snapshot.templates
    if value is None or value.router is None or snapshot.service is None:
        return
    why = named.trouble or f"{' and '.join(named.missing)} cannot be found"
    message = f"routes are neither created nor changed: InferenceTemplates are not known: {why}"
    yield Finding(snapshot.service.subject, FieldError("spec.baseRefs", None, message, NOT_ROUTED))
