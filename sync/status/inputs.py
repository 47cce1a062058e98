"""The input of a status."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from intent.applied import TemplateVersion
from intent.errors import FieldError
from intent.inferenceservice.read import InferenceServiceIntent
from sync.observed.inferencetemplate import NONE_NAMED, NamedTemplates
from sync.observed.lws import LeaderWorkerSet
from sync.observed.pod import ObservedPod
from sync.observed.pod_group import PodGroup
from sync.observed.routes import Deployment, Gateway, HTTPRoute, InferencePool, Ingress
from sync.status.groups import RoleView, views


@dataclass(frozen=True, slots=True)
class ObservedRoutes:
    """The observed objects of a service's routes."""

    picker: Deployment | None = None
    pool: InferencePool | None = None
    http_route: HTTPRoute | None = None
    attached: bool = True
    """Whether an HTTPRoute is desired."""
    picked: bool = True
    """Whether a pool and an endpoint picker are desired."""
    own_pool: str = ""
    """The name of the author's InferencePool; empty: there is none."""
    ingress: Ingress | None = None
    wants_ingress: bool = False
    """Whether an Ingress is desired."""
    gateways: tuple[Gateway, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Kinds of which not all objects are known, and why."""
    errors: tuple[FieldError, ...] = ()
    """Findings about the routes alone, warnings included."""
    settled: bool = True
    """Whether all desired objects are stored; InferenceObjectives do not count."""
    prioritized: bool = True
    """Whether all desired InferenceObjectives are stored; requests are served without them."""


@dataclass(frozen=True, slots=True)
class FailureMemory:
    """What failed before, in this generation.

    LeaderWorkerSet replaces the group of a crashed pod, and the new pods look healthy until they crash too.
    So a failure is remembered until the role is complete.
    """

    roles: frozenset[str] = frozenset()
    message: str = ""


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

    memory: FailureMemory = FailureMemory()
    """What the stored status remembers; `status` reads it."""

    @property
    def applied(self) -> tuple[TemplateVersion, ...]:
        """The versions of templates that its roles have, each once, in the order in which it names them."""
        found = {one for lws in self.sets.values() for one in lws.templates}
        names = self.templates.names
        return tuple(
            sorted((one for one in found if one.name in names), key=lambda one: (names.index(one.name), one))
        )

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
    service = seen.service
    if not service.roles:
        return "its spec could not be read"
    if not seen.settled:
        return unstored(seen)
    late = [one.lws for one in seen.roles if one.lws and not one.lws.current]
    texts = (
        f"LeaderWorkerSet {one.name} has a status of generation {one.observed}, not {one.generation}"
        for one in late
    )
    return "; ".join(texts)
