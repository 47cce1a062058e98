"""The input of a status: one InferenceService, and what is desired and observed of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeVar

from catalog.codes import CODES
from intent.applied import TemplateVersion
from intent.errors import FieldError, Finding
from intent.inferenceservice.members import member_name
from intent.inferenceservice.read import InferenceServiceIntent, Router
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
    POOL,
    ROUTES,
    SERVICE_KIND,
    Kind,
)
from sync.observed.cached import Row
from sync.observed.inferencetemplate import NONE_NAMED, NamedTemplates
from sync.observed.lws import LeaderWorkerSet
from sync.observed.pod import ObservedPod
from sync.observed.pod_group import PodGroup
from sync.observed.routes import Deployment, Gateway, HTTPRoute, InferencePool, Ingress
from sync.parts.desired import Desired
from sync.parts.routes import IGNORED
from sync.snapshot import Snapshot
from sync.status.groups import RoleView, views

R = TypeVar("R", bound=Row)
ASIDE: Final = ROUTES | {API, AUTOSCALER.kind}
"""Kinds that are judged apart: pods start and run without them."""
SERVING_ROUTES: Final = ROUTES - {OBJECTIVE.kind}
"""Kinds of routes without which no request is served."""


@dataclass(frozen=True, slots=True)
class ObservedRoutes:
    """The router of a service, and the observed objects of its routes."""

    router: Router
    picker: Deployment | None = None
    pool: InferencePool | None = None
    http_route: HTTPRoute | None = None
    ingress: Ingress | None = None
    gateways: tuple[Gateway, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Kinds of which not all objects are known, and why."""
    errors: tuple[FieldError, ...] = ()
    """Findings about the routes alone, warnings included."""
    settled: bool = True
    """Whether all desired objects are stored; InferenceObjectives do not count."""
    prioritized: bool = True
    """Whether all desired InferenceObjectives are stored; requests are served without them."""

    @property
    def attached(self) -> bool:
        """Whether an HTTPRoute is desired."""
        return self.router.is_attached and self.router.is_routed


@dataclass(frozen=True)
class Observed:
    """One InferenceService and its observed objects."""

    service: InferenceServiceIntent
    """Without roles if it cannot be read."""
    sets: Mapping[str, LeaderWorkerSet] = field(default_factory=dict)
    """Its LeaderWorkerSets, by the name of their role."""
    pods: tuple[ObservedPod, ...] = ()
    pod_group: PodGroup | None = None
    routes: ObservedRoutes | None = None
    """None: no routes are desired."""
    api: str = ""
    """The name of the Service on the leaders; empty if it is not stored, or not desired."""
    errors: tuple[FieldError, ...] = ()
    """Findings about it, warnings included; those about its routes are in `routes`."""
    settled: bool = True
    """Whether everything that serves, routes aside, is stored as this generation desires it, and observed."""
    templates: NamedTemplates = NONE_NAMED
    """The InferenceTemplates that it names."""
    failed: frozenset[str] = frozenset()
    """The roles that failed before, in this generation; `status` reads them from the stored status.

    LeaderWorkerSet replaces the group of a crashed pod, and the new pods look healthy until they crash too.
    So a failure is remembered until the role is complete.
    """
    failure: str = ""
    """The message of that failure."""

    @property
    def applied(self) -> tuple[TemplateVersion, ...]:
        """The versions of templates that its roles have, each once, in the order in which it names them."""
        found = {one for lws in self.sets.values() for one in lws.templates}
        names = self.templates.names
        return tuple(
            sorted((one for one in found if one.name in names), key=lambda one: (names.index(one.name), one))
        )

    @property
    def outdated(self) -> tuple[TemplateVersion, ...]:
        """The applied templates that were changed or deleted since; none while they are not known."""
        named = self.templates
        return () if named.trouble else tuple(one for one in self.applied if named.source(one.name) != one)

    @cached_property
    def roles(self) -> tuple[RoleView, ...]:
        """Its roles with what was counted of their pods."""
        return tuple(views(self.service.roles, self.sets, self.pods))


def unstored(seen: Observed) -> str:
    """Return that a desired object that serves is not stored, routes included; empty if all are."""
    if seen.settled and (seen.routes is None or seen.routes.settled):
        return ""
    problem = f"not all objects of generation {seen.service.generation} are applied yet"
    errors = (*seen.errors, *(seen.routes.errors if seen.routes else ()))
    return next((f"{problem}: {error.message}" for error in errors if error.softened), problem)


def behind(seen: Observed) -> str:
    """Return which objects of the roles are not of the present generation yet; empty if all are."""
    if not seen.service.roles:
        return "its spec could not be read"
    if not seen.settled:
        return unstored(seen)
    late = [one.lws for one in seen.roles if one.lws and not one.lws.current]
    texts = (
        f"LeaderWorkerSet {one.name} has a status of generation {one.observed}, not {one.generation}"
        for one in late
    )
    return "; ".join(texts)


def first(errors: Iterable[FieldError]) -> str:
    """Return the first of these errors by code, then by path, with its remedy; empty if there is none."""
    wrong = (error for error in errors if error.severity == "error")
    found = sorted(wrong, key=lambda error: (error.code, error.path, error.message))
    return f"{found[0]}. To repair it: {CODES[found[0].code].remedy}" if found else ""


def cause(seen: Observed) -> str:
    """Return the first error among all findings (`first`)."""
    return first((*seen.errors, *(seen.routes.errors if seen.routes else ())))


# --- from a snapshot and the desired objects --------------------------------------------------------------


def observed(snapshot: Snapshot, desired: Desired) -> Observed:
    """Build the input of a status. Of an InferenceService that cannot be read only the name is known."""
    (namespace, name), row, stored = snapshot.situation.key, snapshot.service, snapshot.situation.stored
    unread = InferenceServiceIntent(namespace, name, generation=row.generation if row else 0)
    value = snapshot.routed or snapshot.value or unread
    api, objects = api_name(name), {(one["kind"], one["metadata"]["name"]) for one in desired.objects}
    is_served = (SERVICE_KIND, api) in objects and API not in snapshot.unapplied
    return Observed(
        service=value,
        sets=_sets(snapshot, value),
        pods=snapshot.of(POD),
        pod_group=stored if stored and stored.service else None,
        routes=_routes(snapshot, value.router, desired) if value.router else None,
        api=api if is_served and snapshot.ours(OUTPUTS[SERVICE_KIND], api) else "",
        errors=_errors(desired.findings),
        settled=snapshot.unapplied <= ASIDE and snapshot.value is not None and not snapshot.is_deleting,
        templates=snapshot.templates,
    )


def _sets(snapshot: Snapshot, value: InferenceServiceIntent) -> Mapping[str, LeaderWorkerSet]:
    """Return the LeaderWorkerSets by role, without those of an earlier InferenceService of the same name."""
    uid = snapshot.service.uid if snapshot.service else ""
    rows = {
        row.name: row.report
        for row in snapshot.of(LWS)
        if any(owner.controller and owner.uid == uid for owner in row.owners)
    }
    return {role.name: row for role in value.roles if (row := rows.get(member_name(value, role)))}


def _routes(snapshot: Snapshot, router: Router, desired: Desired) -> ObservedRoutes:
    name, errors = snapshot.situation.key[1], _errors(desired.of_routes)
    return ObservedRoutes(
        router,
        picker=_row(snapshot, DEPLOYMENT, picker_name(name)) if router.is_picked else None,
        pool=_row(snapshot, POOL, router.pool or POOL.name(name)),
        http_route=_row(snapshot, HTTP_ROUTE, HTTP_ROUTE.name(name)),
        ingress=_row(snapshot, INGRESS, INGRESS.name(name)) if router.ingress is not None else None,
        gateways=snapshot.of(GATEWAYS),
        unknown=snapshot.unknown,
        errors=errors,
        settled=not snapshot.unapplied & SERVING_ROUTES and not snapshot.is_deleting,
        prioritized=OBJECTIVE.kind not in snapshot.unapplied and all(one.code != IGNORED for one in errors),
    )


def _row(snapshot: Snapshot, kind: Kind[R], name: str) -> R | None:
    return next((row for row in snapshot.of(kind) if row.name == name), None)


def _errors(findings: tuple[Finding, ...]) -> tuple[FieldError, ...]:
    """Return the errors of findings, each once even if several members have it."""
    return tuple({(found.error.code, found.error.message): found.error for found in findings}.values())
