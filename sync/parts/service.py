"""Computes everything that one service should have: LeaderWorkerSets, autoscalers, PodGroup, routes.

Rules of this file:
1. Each part is decided separately: a problem of one part does not change another.
2. An InferenceService that cannot be read, or is being deleted, changes nothing. While one breaks a rule,
 neither its LeaderWorkerSets nor its routes are deleted.
3. A refusal of the API server becomes a finding; only that of a PodGroup changes the desired objects.
4. Absence from a cache is no proof: nothing of a kind that is not known in full is deleted.
5. A service of too many members is left as it is: the cost of one service is bounded, for all tenants.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from catalog.pickers.generations import OBJECTIVES_API, PICKERS
from intent import Object, budget
from intent.annotations import PICKER, PRIORITY, SERVICE
from intent.errors import FieldError, Finding
from intent.inferenceservice.members import authored_routing
from intent.inferenceservice.read import KIND, InferenceServiceIntent
from intent.lws import KIND as LWS
from intent.names import api_name, picker_name
from intent.service.rules import present
from intent.settings import Settings
from sync.kinds import (
    API,
    AUTOSCALER,
    DEPLOYMENT,
    DESTINATION_RULE,
    INGRESS,
    OBJECTIVE,
    OUTPUTS,
    POD,
    POOL,
    ROUTE_KINDS,
    ROUTES,
    SERVICE_KIND,
    Kind,
)
from sync.kinds import LWS as LWS_KIND
from sync.observed.cached import CachedObject
from sync.observed.pod import ObservedPod
from sync.observed.pod_group import KIND as POD_GROUP
from sync.observed.routes import Deployment, InferencePool
from sync.parts.api import desired_api, ingress_name
from sync.parts.gang import Refusal, plan, plan_after_refusal, refusal_finding
from sync.parts.picker import USER
from sync.parts.render_api import api_objects
from sync.parts.routes import RoutePlan, Routes, config_name, desired_routes, held_pool, pool_name
from sync.parts.scaling import left_alone, scaling_errors
from sync.parts.templates import not_routed, versioned
from sync.parts.traffic import route_objects
from sync.parts.workloads import autoscalers, gang_objects, leader_worker_sets
from sync.snapshot import Situation, Snapshot

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Desired:
    """The objects that a service should have, in the order in which they are applied, and findings."""

    objects: tuple[Object, ...] = ()
    held: frozenset[str] = frozenset()
    """Kinds whose objects are not deleted."""
    findings: tuple[Finding, ...] = ()
    of_routes: tuple[Finding, ...] = ()
    """Findings about the routes alone."""
    requeue_after: float | None = None
    """Seconds after which the result may change by time alone."""
    held_objects: frozenset[tuple[str, str]] = frozenset()
    """Kind and name of single objects that are not deleted."""

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """All findings, those about routes last."""
        return self.findings + self.of_routes


def combined(parts: Iterable[Desired]) -> Desired:
    """Combine several parts."""
    parts = tuple(parts)
    seconds = [part.requeue_after for part in parts if part.requeue_after is not None]
    return Desired(
        objects=tuple(obj for part in parts for obj in part.objects),
        held=frozenset[str]().union(*(part.held for part in parts)),
        held_objects=frozenset[tuple[str, str]]().union(*(part.held_objects for part in parts)),
        findings=tuple(finding for part in parts for finding in part.findings),
        of_routes=tuple(finding for part in parts for finding in part.of_routes),
        requeue_after=min(seconds, default=None),
    )


ALL: Final = frozenset(OUTPUTS)
SETS: Final = frozenset({LWS, AUTOSCALER.kind})
UNAVAILABLE: Final = "FI880"
UNREADABLE: Final = "FI881"
FOLLOWED_WITHIN: Final = 20.0
"""Seconds after which a ConfigMap that a router refers to is read again: those of users are not watched."""
TOO_OLD: Final = "FI408"
"""The installed Volcano schedules no gang."""
IGNORED: Final = "FI827"
"""The endpoint picker reads InferenceObjectives of another group."""


def desired_state(snapshot: Snapshot, settings: Settings, refusals: tuple[Refusal, ...] = ()) -> Desired:
    """Compute what one service should have; `refusals` are those of this reconcile so far."""
    if snapshot.is_deleting:
        return combined((Desired(held=ALL), _unknown(snapshot)))
    if over := budget.of_service(snapshot.crowd or len(snapshot.members)):
        return Desired(held=ALL, findings=tuple(Finding(one, over) for one in snapshot.subjects[:1]))
    gangs = (_gang(situation, settings, refusals) for situation in snapshot.gangs)
    ejected = Desired(held_objects=_of_ejected(snapshot))
    parts = [_sets(snapshot), *gangs, _api(snapshot, settings), _routes(snapshot, settings), ejected]
    if LWS in snapshot.unknown:
        parts = [_unknown_sets(snapshot)]
    return combined(
        (*parts, _unknown(snapshot), *(_refusal_findings(snapshot, refusal) for refusal in refusals))
    )


def _unknown(snapshot: Snapshot) -> Desired:
    """Hold the kinds that are not known in full; without the InferenceService, all kinds."""
    held = ALL if snapshot.unknown.keys() & {LWS, KIND} else ALL & snapshot.unknown.keys()
    findings = (
        Finding(subject, FieldError("metadata", None, f"cannot be read: {why}; it is left alone", UNREADABLE))
        for subject, why in snapshot.unreadable
    )
    return Desired(held=held, findings=tuple(findings))


def _unknown_sets(snapshot: Snapshot) -> Desired:
    """Change nothing while not all members are known: a gang of some of them would strand the others."""
    refusal = unavailable(LWS, snapshot.unknown[LWS])
    return Desired(findings=tuple(refusal_finding(subject, "spec", refusal) for subject in snapshot.subjects))


def unavailable(kind: str, why: str) -> Refusal:
    """Return the refusal of an object whose kind is not known in full."""
    return Refusal(UNAVAILABLE, f"{kind} is not changed for now: {why}", kind, retryable=True)


def _sets(snapshot: Snapshot) -> Desired:
    """Desire a LeaderWorkerSet for each role, and the autoscalers; without an InferenceService neither.

    Users manage LeaderWorkerSets of their own, and the autoscalers of these.
    """
    if snapshot.service is None:
        return Desired(held=SETS)
    findings = tuple(Finding(snapshot.service.subject, error) for error in snapshot.service.errors)
    held = SETS if findings else frozenset[str]()
    if snapshot.value is None:
        return Desired((), held, findings)
    left = left_alone(snapshot, snapshot.value)
    sets = (
        _without_replicas(obj) if obj["metadata"]["name"] in left else obj
        for obj in versioned(leader_worker_sets(snapshot.value), snapshot)
    )
    scaling = (Finding(snapshot.service.subject, error) for error in scaling_errors(snapshot, snapshot.value))
    return Desired((*sets, *autoscalers(snapshot.value)), held, (*findings, *scaling))


def _without_replicas(lws: Object) -> Object:
    spec = {key: value for key, value in lws["spec"].items() if key != "replicas"}
    return lws | {"spec": spec}


def _gang(situation: Situation, settings: Settings, refusals: tuple[Refusal, ...]) -> Desired:
    """Desire the PodGroup of the existing members: those of the author and those of the controller."""
    decided = plan(situation, settings)
    for refusal in refusals:
        is_of_all = refusal.code == TOO_OLD or not refusal.name
        if refusal.kind == POD_GROUP and (is_of_all or refusal.name == situation.pod_group):
            decided = plan_after_refusal(decided, refusal, situation, settings)
    return Desired(
        gang_objects(decided),
        held_objects=frozenset({(POD_GROUP, situation.pod_group)} if decided.hold else ()),
        findings=decided.findings,
        requeue_after=decided.requeue_after,
    )


def _api(snapshot: Snapshot, settings: Settings) -> Desired:
    """Desire the Service on the leaders, and the Ingress to it; without a readable author nothing changes."""
    name = snapshot.situation.key[1]
    names = {SERVICE_KIND: api_name(name), INGRESS.kind: ingress_name(name)}
    if _has_no_author(snapshot):
        return Desired(held_objects=frozenset(names.items()))
    decided = desired_api(
        *(snapshot.situation.key, snapshot.members, snapshot.value, settings, snapshot.namesakes),
        pods=_pods(snapshot),
        is_made=_ours(snapshot, OUTPUTS[SERVICE_KIND], api_name(name)) is not None,
    )
    return Desired(
        api_objects(decided),
        findings=decided.findings,
        of_routes=decided.of_routes,
        held_objects=frozenset((kind, names[kind]) for kind in decided.kept),
    )


def _routes(snapshot: Snapshot, settings: Settings) -> Desired:
    """Desire the routes of the router; if no author can be read, nothing changes."""
    if _has_no_author(snapshot):
        return Desired(held=ROUTES)
    key, members, pods, pool = snapshot.situation.key, snapshot.members, _pods(snapshot), _pool(snapshot)
    picker = _ours(snapshot, DEPLOYMENT, picker_name(key[1]))
    picks = picker.projection.picker if picker else ""
    if snapshot.value and snapshot.routed is None:
        held_routes = held_pool(key, members, snapshot.value, settings, pods, picks, pool)
        findings = tuple(not_routed(snapshot)) if settings.routes else ()
        return Desired(route_objects(RoutePlan(held_routes, hold=True)), ROUTES, of_routes=findings)
    known = snapshot.namesakes, snapshot.configuration
    decided = desired_routes(key, members, snapshot.routed, settings, *known, pods, picks, pool)
    findings = tuple(_on_the_router(decided.findings, snapshot.routed))
    if decided.routes:
        errors = tuple(_unread(decided.routes, snapshot))
        findings += tuple(Finding(one, error) for one in snapshot.subjects for error in errors)
    if not settings.routes:
        kept = frozenset({(SERVICE_KIND, picker_name(snapshot.situation.key[1]))})
        return Desired(held=ROUTES - {SERVICE_KIND}, held_objects=kept, of_routes=findings)
    held = ROUTES if decided.hold or (snapshot.service and snapshot.service.errors) else frozenset()
    again = FOLLOWED_WITHIN if snapshot.configuration else None
    kept = _switched_off(snapshot, settings) if decided.routes else frozenset()
    if decided.keeps_picker:
        kept |= _of_picker(snapshot)
    if decided.routes and picker and _keeps_user(decided.routes, picker.projection):
        decided = replace(decided, routes=replace(decided.routes, has_user=True))
    objects = (one for one in route_objects(decided) if (one["kind"], one["metadata"]["name"]) not in kept)
    return Desired(tuple(objects), held, of_routes=findings, requeue_after=again, held_objects=kept)


def _keeps_user(routes: Routes, stored: Deployment) -> bool:
    """Return whether the endpoint picker keeps its uid: nothing else gives its pods another template."""
    return stored.user == USER and stored.picker == routes.picker.name and not routes.security


def _unread(routes: Routes, snapshot: Snapshot) -> Iterator[FieldError]:
    """Yield what the endpoint picker lacks of the InferenceObjectives of this cluster."""
    picker, known = routes.picker, snapshot.objectives
    served = [one for one, is_served in known.items() if is_served]
    if routes.pool:
        return
    if OBJECTIVES_API in known and not picker.starts(served):
        family = picker.name.rpartition("-")[0]
        *_, newest = (one.name for one in PICKERS.values() if one.name.startswith(family) and not one.needs)
        yield FieldError(
            f"metadata.annotations[{PICKER}]",
            picker.name,
            f"does not start without the CRD {picker.needs[0]}, which this cluster lacks: choose {newest}, "
            "or install that CRD of the Gateway API Inference Extension 1.5",
            "FI826",
        )
    first = picker.reads(served)
    if routes.objectives and first not in {"", OBJECTIVES_API}:
        shown = " and ".join(f"{name} with priority {priority}" for name, priority in routes.objectives)
        message = f"{picker.name} reads the InferenceObjectives of {first} alone: create {shown} there"
        yield FieldError(_priority_path(snapshot), None, message, IGNORED, softened=True)


def _priority_path(snapshot: Snapshot) -> str:
    return "spec.priority" if snapshot.service else f"metadata.annotations[{PRIORITY}]"


def _switched_off(snapshot: Snapshot, settings: Settings) -> frozenset[tuple[str, str]]:
    """Return the DestinationRule where these are switched off: gateways of Istio still need an existing one.

    Without TLS there is none: the gateway would speak TLS to an endpoint picker that does not.
    """
    if settings.destination_rules or not settings.secure_serving:
        return frozenset()
    return frozenset({(DESTINATION_RULE, picker_name(snapshot.situation.key[1]))})


def _ours(snapshot: Snapshot, kind: Kind[CachedObject[P]], name: str) -> CachedObject[P] | None:
    """Return the row of an object of the service that the controller applied, if there is one."""
    return next((row for row in snapshot.of(kind) if row.applied and row.name == name), None)


def _pool(snapshot: Snapshot) -> CachedObject[InferencePool] | None:
    """Return the service's InferencePool that the controller applied, with the owners that were ejected."""
    row, ejected = _ours(snapshot, POOL, pool_name(snapshot.situation.key[1])), _ejected(snapshot)
    return row and replace(row, owners=tuple(one for one in row.owners if one.uid in ejected))


def _of_picker(snapshot: Snapshot) -> frozenset[tuple[str, str]]:
    """Return the workload and the configuration of the endpoint picker, as far as they are there.

    Without its configuration no pod of it starts again: one that was deleted is made anew.
    """
    name = snapshot.situation.key[1]
    names = {DEPLOYMENT.kind: picker_name(name), "ConfigMap": config_name(name)}
    rows = ((kind, row.name) for kind in names for row in snapshot.of(OUTPUTS[kind]))
    return frozenset((kind, found) for kind, found in rows if found == names[kind])


def _pods(snapshot: Snapshot) -> tuple[ObservedPod, ...] | None:
    """Return the pods of the service; None if they are not known in full."""
    is_known = POD.kind not in snapshot.unknown
    return tuple(row.projection for row in snapshot.of(POD)) if is_known else None


def _has_no_author(snapshot: Snapshot) -> bool:
    """Return whether the InferenceService cannot be read, or all members were ejected and own routes."""
    if snapshot.service:
        return snapshot.value is None
    return not present(snapshot.members) and bool(_of_ejected(snapshot))


def _of_ejected(snapshot: Snapshot) -> frozenset[tuple[str, str]]:
    """Return kind and name of the routes that an ejected LeaderWorkerSet owns: they stay while it exists.

    Members are ejected one after the other, and the first one may be the one whose annotations want routes.
    """
    ejected = _ejected(snapshot)
    return frozenset(
        (kind.kind, row.name)
        for kind in ROUTE_KINDS
        for row in snapshot.of(kind)
        if any(owner.uid in ejected for owner in row.owners)
    )


def _ejected(snapshot: Snapshot) -> frozenset[str]:
    """Return the uids of the ejected LeaderWorkerSets that are not being deleted."""
    rows = snapshot.of(LWS_KIND)
    return frozenset(row.uid for row in rows if row.projection.ejected and not row.deleting)


def _on_the_router(
    findings: tuple[Finding, ...], service: InferenceServiceIntent | None
) -> Iterator[Finding]:
    """Yield findings about the routing of members once, on the field of the router that causes them."""
    reported = []
    for finding in findings:
        error = authored_routing(finding.error, service) if service else None
        if service is None or error is None:
            yield finding
        elif error not in reported:
            reported.append(error)
            yield Finding(service.subject, error)


def _refusal_findings(snapshot: Snapshot, refusal: Refusal) -> Desired:
    """Report a refusal of the API server to the authors; the plan reports that of a PodGroup."""
    if refusal.kind == POD_GROUP:
        return Desired()
    if refusal.kind == API:
        return _refused_api(snapshot, refusal)
    if refusal.kind == OBJECTIVE.kind:
        return _refused_objective(snapshot, refusal)
    path = "spec" if snapshot.service else f"metadata.annotations[{SERVICE}]"
    findings = tuple(refusal_finding(subject, path, refusal) for subject in snapshot.subjects)
    return Desired(of_routes=findings) if refusal.kind in ROUTES else Desired(findings=findings)


def _refused_objective(snapshot: Snapshot, refusal: Refusal) -> Desired:
    """Report that requests get no priority: a warning, since they are served."""
    refusal = replace(refusal, retryable=True)
    path = _priority_path(snapshot)
    return Desired(of_routes=tuple(refusal_finding(one, path, refusal) for one in snapshot.subjects))


def _refused_api(snapshot: Snapshot, refusal: Refusal) -> Desired:
    """Report that there is no Service: a warning, since the engines run; with an Ingress an error."""
    router = snapshot.value.router if snapshot.value else None
    if router and router.ingress is not None:
        where = f"spec.roles[{router.index}].ingress"
        return Desired(of_routes=tuple(refusal_finding(one, where, refusal) for one in snapshot.subjects))
    path = "spec" if snapshot.service else f"metadata.annotations[{SERVICE}]"
    refusal = replace(refusal, retryable=True)
    return Desired(findings=tuple(refusal_finding(one, path, refusal) for one in snapshot.subjects))
