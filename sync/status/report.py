"""What is seen of an InferenceService, put together for its status."""

from typing import Any, Final

from intent import Object, lws
from intent.errors import FieldError, Finding
from intent.inferenceservice.members import member_name
from intent.inferenceservice.read import InferenceServiceIntent
from intent.names import picker_name
from sync.desired.routes import pool_name, route_name
from sync.desired.service import Desired
from sync.kinds import DEPLOYMENT, GATEWAYS, HTTP_ROUTE, POD, POD_GROUP, POOL, ROUTES
from sync.observed.snapshot import Snapshot
from sync.status import differs, status
from sync.status.observed import Observed, ObservedRoutes

SEEN: Final = frozenset({lws.KIND, POD.kind, POD_GROUP.kind})
"""Kinds without which a status would say what is not so: that pods are missing which nobody can see."""


def report(snapshot: Snapshot, desired: Desired, now: str) -> Object | None:
    """Give the status at a time (RFC 3339).

    None if there is nobody to tell, if what is stored says it, or if too little is known.
    """
    if snapshot.service is None or snapshot.unknown.keys() & SEEN:
        return None
    said = status(observed(snapshot, desired), snapshot.service.status, now)
    return said if differs(said, snapshot.service.status) else None


def observed(snapshot: Snapshot, desired: Desired) -> Observed:
    """Put together what a status is made from. Of one that cannot be read only its name is known."""
    value = snapshot.value or _unread(snapshot)
    pod_group = snapshot.situation.stored
    return Observed(
        service=value,
        sets=_sets(snapshot, value),
        pods=tuple(row.projection for row in snapshot.rows[POD.kind]),
        pod_group=pod_group if pod_group and pod_group.service else None,
        routes=_routes(snapshot, value, desired),
        errors=_errors(desired.findings),
        settled=snapshot.unapplied <= ROUTES and snapshot.value is not None and not snapshot.going,
    )


def _unread(snapshot: Snapshot) -> InferenceServiceIntent:
    service = snapshot.service
    namespace, name = snapshot.situation.key
    return InferenceServiceIntent(namespace, name, generation=service.generation if service else 0)


def _sets(snapshot: Snapshot, value: InferenceServiceIntent) -> Object:
    """Give its LeaderWorkerSets by role; one of a service of its name that is gone is none of its own."""
    uid = snapshot.service.uid if snapshot.service else ""
    rows = {row.name: row.projection.report for row in snapshot.rows[lws.KIND] if row.controller.uid == uid}
    there = {role.name: rows.get(member_name(value, role)) for role in value.roles}
    return {role: row for role, row in there.items() if row}


def _routes(snapshot: Snapshot, value: InferenceServiceIntent, desired: Desired) -> ObservedRoutes | None:
    """Give what there is of the routes; None if none are asked for."""
    router, name = value.router, value.name
    if router is None:
        return None
    return ObservedRoutes(
        picker=_facts(snapshot, DEPLOYMENT.kind, picker_name(name)),
        pool=_facts(snapshot, POOL.kind, pool_name(name)),
        http_route=_facts(snapshot, HTTP_ROUTE.kind, route_name(name)),
        attached=router.is_attached,
        gateways=tuple(row.projection for row in snapshot.rows[GATEWAYS.kind]),
        errors=_errors(desired.of_routes),
        settled=not snapshot.unapplied & ROUTES and not snapshot.going,
    )


def _facts(snapshot: Snapshot, kind: str, name: str) -> Any:
    return next((row.projection for row in snapshot.rows[kind] if row.name == name), None)


def _errors(findings: tuple[Finding, ...]) -> tuple[FieldError, ...]:
    """Say once what was found on several members."""
    return tuple({(found.error.code, found.error.message): found.error for found in findings}.values())
