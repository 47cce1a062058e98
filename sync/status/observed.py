"""All that a status is made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from intent.errors import FieldError
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent
from sync.observed.lws import LeaderWorkerSet
from sync.observed.pod import ObservedPod
from sync.observed.pod_group import PodGroup
from sync.observed.routes import Deployment, Gateway, HTTPRoute, InferencePool


@dataclass(frozen=True, slots=True)
class ObservedRoutes:
    """What there is of the routes that a service asks for."""

    picker: Deployment | None = None
    pool: InferencePool | None = None
    http_route: HTTPRoute | None = None
    attached: bool = True
    """Whether an HTTPRoute is asked for."""
    gateways: tuple[Gateway, ...] = ()
    errors: tuple[FieldError, ...] = ()
    """Findings about the routes alone, warnings too."""
    settled: bool = True
    """Whether all of them is stored as asked."""


@dataclass(frozen=True, slots=True)
class FailureMemory:
    """What failed before, in this generation.

    LeaderWorkerSet replaces the group of a pod that crashed, and the new pods look well until they crash
    too. So what failed stays so until the role is complete.
    """

    roles: frozenset[str] = frozenset()
    message: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """One InferenceService and what there is of it."""

    service: InferenceServiceIntent
    """Without roles if it cannot be read."""
    sets: Mapping[str, LeaderWorkerSet] = field(default_factory=dict)
    """Its LeaderWorkerSets, by the name of their role."""
    pods: tuple[ObservedPod, ...] = ()
    pod_group: PodGroup | None = None
    routes: ObservedRoutes | None = None
    """None: no routes are asked for."""
    errors: tuple[FieldError, ...] = ()
    """Findings about it, warnings too; those about its routes stand there."""
    settled: bool = True
    """Whether all that this generation asks for, but its routes, is stored as asked, and has been seen."""

    memory: FailureMemory = FailureMemory()
    """What the stored status says; `status` reads it."""

    def pods_of(self, role: RoleIntent) -> tuple[ObservedPod, ...]:
        """Give the pods of a role that are there to stay."""
        return tuple(one for one in self.all_pods_of(role) if not one.deleting)

    def all_pods_of(self, role: RoleIntent) -> tuple[ObservedPod, ...]:
        """Give the pods of a role, also those on their way out."""
        lws = self.sets.get(role.name)
        return tuple(one for one in self.pods if lws and one.lws == lws.name)


def desired(seen: Observed, role: RoleIntent) -> int:
    """Say how many replicas a role should have: what an autoscaler set, else what its author wrote."""
    lws = seen.sets.get(role.name)
    if role.replicas is not None and not (lws and lws.scaler):
        return role.replicas
    return lws.replicas if lws else 1


def unstored(seen: Observed) -> str:
    """Say that something is not stored as asked, routes too; empty if everything is."""
    if seen.settled and (seen.routes is None or seen.routes.settled):
        return ""
    said = f"what generation {seen.service.generation} asks for is not all stored yet"
    errors = (*seen.errors, *(seen.routes.errors if seen.routes else ()))
    return next((f"{said}: {error.message}" for error in errors if error.softened), said)


def behind(seen: Observed) -> str:
    """Say what of the roles does not speak of the present generation yet; empty if everything does."""
    service = seen.service
    if not service.roles:
        return "what it asks for could not be read"
    if not seen.settled:
        return unstored(seen)
    rows = (seen.sets.get(role.name) for role in service.roles)
    late = [row for row in rows if row and not row.current]
    words = (
        f"LeaderWorkerSet {one.name} reports of generation {one.observed}, not {one.generation}"
        for one in late
    )
    return "; ".join(words)
