"""What is seen of an InferenceService, put together for its status."""

from typing import Any, Final

from intent import Object, lws
from intent.errors import FieldError, Finding
from intent.inferenceservice.members import member_name
from intent.inferenceservice.read import InferenceService
from intent.inferenceservice.routes import is_attached
from sync.desired.names import picker_name, pool_name, route_name
from sync.desired.service import Wanted
from sync.kinds import DEPLOYMENT, GATEWAYS, HTTP_ROUTE, POD, POD_GROUP, POOL, ROUTES
from sync.observed.snapshot import Look
from sync.status import differs, status
from sync.status.observed import Observed, Routes

SEEN: Final = frozenset({lws.KIND, POD.kind, POD_GROUP.kind})
"""Kinds without which a status would say what is not so: that pods are missing which nobody can see."""


def report(look: Look, wants: Wanted, now: str) -> Object | None:
    """Give the status at a time (RFC 3339).

    None if there is nobody to tell, if what is stored says it, or if too little is known.
    """
    if look.service is None or look.unknown.keys() & SEEN:
        return None
    said = status(observed(look, wants), look.service.status, now)
    return said if differs(said, look.service.status) else None


def observed(look: Look, wants: Wanted) -> Observed:
    """Put together what a status is made from. Of one that cannot be read only its name is known."""
    value = look.value or _unread(look)
    pod_group = look.situation.stored
    return Observed(
        service=value,
        sets=_sets(look, value),
        pods=tuple(row.facts for row in look.rows[POD.kind]),
        pod_group=pod_group.report if pod_group and pod_group.service else None,
        routes=_routes(look, value, wants),
        errors=_errors(wants.findings),
        settled=look.undone <= ROUTES and look.value is not None and not look.going,
    )


def _unread(look: Look) -> InferenceService:
    service = look.service
    namespace, name = look.situation.key
    return InferenceService(namespace, name, generation=service.generation if service else 0)


def _sets(look: Look, value: InferenceService) -> Object:
    """Give its LeaderWorkerSets by role; one of a service of its name that is gone is none of its own."""
    uid = look.service.uid if look.service else ""
    rows = {row.name: row.facts.report for row in look.rows[lws.KIND] if row.controller.uid == uid}
    there = {role.name: rows.get(member_name(value, role)) for role in value.roles}
    return {role: row for role, row in there.items() if row}


def _routes(look: Look, value: InferenceService, wants: Wanted) -> Routes | None:
    """Give what there is of the routes; None if none are asked for."""
    router, name = value.router, value.name
    if router is None:
        return None
    return Routes(
        picker=_facts(look, DEPLOYMENT.kind, picker_name(name)),
        pool=_facts(look, POOL.kind, pool_name(name)),
        http_route=_facts(look, HTTP_ROUTE.kind, route_name(name)),
        attached=is_attached(router),
        gateways=tuple(row.facts for row in look.rows[GATEWAYS.kind]),
        errors=_errors(wants.of_routes),
        settled=not look.undone & ROUTES and not look.going,
    )


def _facts(look: Look, kind: str, name: str) -> Any:
    return next((row.facts for row in look.rows[kind] if row.name == name), None)


def _errors(findings: tuple[Finding, ...]) -> tuple[FieldError, ...]:
    """Say once what was found on several members."""
    return tuple({(found.error.code, found.error.message): found.error for found in findings}.values())
