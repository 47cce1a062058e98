"""Builds the input of a status from a snapshot and the desired objects, and computes the status."""

from typing import Final, TypeVar

from intent import Object
from intent.errors import FieldError, Finding
from intent.inferenceservice.members import member_name
from intent.inferenceservice.read import InferenceServiceIntent
from intent.names import api_name, picker_name
from sync.kinds import (
    API,
    AUTOSCALER,
    DEPLOYMENT,
    GATEWAYS,
    HTTP_ROUTE,
    INGRESS,
    LWS,
    OBJECTIVE,
    OUTPUTS,
    POD,
    POD_GROUP,
    POOL,
    ROUTES,
    SERVICE_KIND,
    Kind,
)
from sync.observed.cached import CachedObject
from sync.parts.api import ingress_name
from sync.parts.desired import Desired
from sync.parts.routes import IGNORED
from sync.parts.wanted import pool_name, route_name
from sync.snapshot import Snapshot
from sync.status import differs, status
from sync.status.inputs import Observed, ObservedRoutes

P = TypeVar("P")
ASIDE: Final = ROUTES | {API, AUTOSCALER.kind}
"""Kinds that are judged apart: pods start and run without them."""
SERVING_ROUTES: Final = ROUTES - {OBJECTIVE.kind}
"""Kinds of routes without which no request is served."""
SEEN: Final = frozenset({LWS.kind, POD.kind, POD_GROUP.kind})
"""Kinds without which a status would be wrong: it would report pods as missing that cannot be listed."""


def report(snapshot: Snapshot, desired: Desired, now: str) -> Object | None:
    """Return the status at a time (RFC 3339).

    None if there is no InferenceService, if the status is stored already, or if too little is known.
    """
    if snapshot.service is None or snapshot.unknown.keys() & SEEN:
        return None
    new = status(observed(snapshot, desired), snapshot.service.status, now)
    return new if differs(new, snapshot.service.status) else None


def observed(snapshot: Snapshot, desired: Desired) -> Observed:
    """Build the input of a status. Of an InferenceService that cannot be read only the name is known."""
    value = snapshot.routed or snapshot.value or _unread(snapshot)
    pod_group = snapshot.situation.stored
    return Observed(
        service=value,
        sets=_sets(snapshot, value),
        pods=tuple(row.projection for row in snapshot.of(POD)),
        pod_group=pod_group if pod_group and pod_group.service else None,
        routes=_routes(snapshot, value, desired),
        api=_api(snapshot, desired),
        errors=_errors(desired.findings),
        settled=snapshot.unapplied <= ASIDE and snapshot.value is not None and not snapshot.is_deleting,
        templates=snapshot.templates,
    )


def _unread(snapshot: Snapshot) -> InferenceServiceIntent:
    service = snapshot.service
    namespace, name = snapshot.situation.key
    return InferenceServiceIntent(namespace, name, generation=service.generation if service else 0)


def _sets(snapshot: Snapshot, value: InferenceServiceIntent) -> Object:
    """Return the LeaderWorkerSets by role, without those of an earlier InferenceService of the same name."""
    uid = snapshot.service.uid if snapshot.service else ""
    rows = {
        row.name: row.projection.report
        for row in snapshot.of(LWS)
        for owner in row.owners
        if owner.controller and owner.uid == uid
    }
    there = {role.name: rows.get(member_name(value, role)) for role in value.roles}
    return {role: row for role, row in there.items() if row}


def _routes(snapshot: Snapshot, value: InferenceServiceIntent, desired: Desired) -> ObservedRoutes | None:
    """Return the observed objects of the routes; None if no routes are desired."""
    router, name = value.router, value.name
    if router is None:
        return None
    return ObservedRoutes(
        picker=_projection(snapshot, DEPLOYMENT, picker_name(name)) if router.is_picked else None,
        pool=_projection(snapshot, POOL, router.pool or pool_name(name)),
        http_route=_projection(snapshot, HTTP_ROUTE, route_name(name)),
        attached=router.is_attached and router.is_routed,
        picked=router.is_picked,
        own_pool=router.pool,
        ingress=_projection(snapshot, INGRESS, ingress_name(name)),
        wants_ingress=router.ingress is not None,
        gateways=tuple(row.projection for row in snapshot.of(GATEWAYS)),
        unknown=snapshot.unknown,
        errors=_errors(desired.of_routes),
        settled=not snapshot.unapplied & SERVING_ROUTES and not snapshot.is_deleting,
        prioritized=OBJECTIVE.kind not in snapshot.unapplied
        and all(one.error.code != IGNORED for one in desired.of_routes),
    )


def _api(snapshot: Snapshot, desired: Desired) -> str:
    """Return the name of the Service on the leaders, if it is desired and stored as it is desired."""
    name = api_name(snapshot.situation.key[1])
    is_desired = any(
        (one["kind"], one["metadata"]["name"]) == (SERVICE_KIND, name) for one in desired.objects
    )
    is_stored = API not in snapshot.unapplied and snapshot.ours(OUTPUTS[SERVICE_KIND], name) is not None
    return name if is_desired and is_stored else ""


def _projection(snapshot: Snapshot, kind: Kind[CachedObject[P]], name: str) -> P | None:
    return next((row.projection for row in snapshot.of(kind) if row.name == name), None)


def _errors(findings: tuple[Finding, ...]) -> tuple[FieldError, ...]:
    """Return the errors of findings, each once even if several members have it."""
    return tuple({(found.error.code, found.error.message): found.error for found in findings}.values())
