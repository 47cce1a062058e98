"""Check an InferenceService: its own fields, and the LeaderWorkerSets that are rendered from it.

Findings about a LeaderWorkerSet get the path in the InferenceService, and are left out if a finding of the
InferenceService has that path already.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from intent import Object, budget
from intent.annotations import INJECT, NO_ROUTING, Routing
from intent.errors import FieldError, ratcheted
from intent.gang import DISAGGREGATED
from intent.inferenceservice import crd
from intent.inferenceservice.members import authored, leader_worker_sets
from intent.inferenceservice.read import InferenceServiceIntent, Router, read
from intent.pickers.configuration import check_config
from intent.schema import MOST, violations
from intent.service.allowed import brought, not_allowed
from intent.service.routes import picker_of
from intent.settings import Settings
from intent.shapes import annotations, mapping, metadata
from intent.template import Templates
from webhook import check as leaderworkerset
from webhook.expand import DEFAULTS

NO_PARENT: Final = "has no effect: set its parentRefs, or gateway; otherwise no HTTPRoute is created"


def check(
    live: Object,
    old: Object | None = None,
    settings: Settings = DEFAULTS,
    *,
    templates: Templates | None = None,
) -> list[FieldError]:
    """Return the findings, errors first. Without `templates`, a role that names some is not checked.

    Errors that the old object had too become warnings, as do those of a rendered LeaderWorkerSet whose input
    is unchanged.
    """
    if annotations(live).get(INJECT) == "disabled" or metadata(live).get("deletionTimestamp"):
        return []
    return sorted(_findings(live, old, settings, templates), key=lambda finding: finding.severity != "error")


def _findings(
    live: Object, old: Object | None, settings: Settings, templates: Templates | None
) -> Iterator[FieldError]:
    over = budget.of_inferenceservice(live, old)
    if over is not None:
        yield over
        return
    service, errors = _read(live)
    if service is None:
        yield from errors
        return
    known_service, _ = read(old)
    yield from ratcheted(errors, lambda: _read(old, None)[1])
    rendered_before = leader_worker_sets(known_service) if known_service else ()
    before = {lws["metadata"]["name"]: lws for lws in rendered_before}
    reported = {(error.path, "") for error in errors}
    for role, lws in zip(service.roles, leader_worker_sets(service), strict=True):
        known = before.get(lws["metadata"]["name"])
        for error in leaderworkerset.check(lws, known, settings, mutated=False, templates=templates):
            finding = authored(error, service, role)
            key = (finding.path, finding.code + finding.message)
            if reported.isdisjoint({(finding.path, ""), key}):
                reported.add(key)
                yield finding
    if service.router:
        yield from _about_router(service.router, service, known_service, settings)


def _read(
    obj: Object | None, most: int | None = MOST
) -> tuple[InferenceServiceIntent | None, list[FieldError]]:
    """Read an object, and report what the schema of its spec refuses, at most `most` violations.

    The API server leaves the ranges of formats to Go's types, which the LeaderWorkerSet of a role has.
    """
    service, errors = read(obj)
    refused = islice(violations(mapping(obj).get("spec"), crd.schema()["properties"]["spec"], "spec"), most)
    reported = {error.path for error in errors}
    return service, [*errors, *(error for error in refused if error.path not in reported)]


def _about_router(
    router: Router, service: InferenceServiceIntent, known: InferenceServiceIntent | None, settings: Settings
) -> Iterator[FieldError]:
    """Check the configuration of a router, the parent of its HTTPRoute, and what the operator allows it."""
    asked, split = _configuration(service)
    where = f"spec.roles[{router.index}]"
    if asked.config:
        is_kept = split and not asked.picker  # of the generation of the sidecars, which are not here
        is_same = known is not None and (is_kept or _configuration(known) == (asked, split))
        picker = picker_of(asked, split=split, settings=settings)
        for finding in check_config(asked.config, picker, f"{where}.endpointPickerConfig"):
            yield replace(finding, softened=is_same)
    if asked.http_route and not router.is_attached:
        yield FieldError(f"{where}.httproute", None, NO_PARENT, "FI752")
    is_same = known is not None and brought(known.router) == brought(router)
    for finding in not_allowed(router, settings):
        yield replace(finding, softened=is_same)


def _configuration(service: InferenceServiceIntent) -> tuple[Routing, bool]:
    """Return what the router asks for, and whether roles are disaggregated."""
    split = any(role.component_type in DISAGGREGATED for role in service.roles)
    return service.router.routing if service.router else NO_ROUTING, split
