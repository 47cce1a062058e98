"""The kinds that the controller reads and writes: one row each."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Any, Final, Generic, TypeVar

from catalog.pickers.generations import OBJECTIVES_API, PICKERS
from intent import Object, lws
from intent.annotations import INJECT, SERVICE, UNANSWERED
from intent.gang import ENDINGS
from intent.inferenceservice import v1alpha1
from intent.inferencetemplate import v1alpha1 as template
from intent.names import API_ENDING, DNS_LABEL, PICKER_ENDING, POOL_ENDING, api_path
from intent.settings import Settings
from sync.observed import autoscaler, pod, routes
from sync.observed.cached import AppliedObject, Row, applied_object
from sync.observed.index_keys import GATEWAY, INFERENCE_POOL
from sync.observed.inferenceservice import CachedInferenceService, cached_inferenceservice
from sync.observed.inferencetemplate import CachedTemplate, cached_template
from sync.observed.lws import CachedLeaderWorkerSet, cached_leader_worker_set
from sync.observed.pod_group import API_VERSION as POD_GROUP_API_VERSION
from sync.observed.pod_group import KIND as POD_GROUP_KIND
from sync.observed.pod_group import PodGroup, pod_group, pruned_fields, surplus

A = TypeVar("A", bound=AppliedObject)
R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True)
class Resource:
    """How the API server serves a kind."""

    api_version: str
    kind: str
    plural: str
    selector: str = ""
    """The label selector with which it is listed and watched; empty: all objects."""
    source: str = ""
    """The product whose CRDs define it; empty if every cluster has it."""

    @property
    def collection(self) -> str:
        """The path of the objects of all namespaces."""
        return f"{self._root}/{self.plural}"

    def path(self, namespace: str, *name: str) -> str:
        """Return the path of an object, or without a name of a namespace's objects."""
        return api_path(f"{self._root}/namespaces", namespace, self.plural, *name)

    @property
    def _root(self) -> str:
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"


@dataclass(frozen=True)
class Kind(Generic[R]):
    """One kind: its resource, its projection, and how its objects are applied beside other writers."""

    resource: Resource
    project: Callable[[Object], R | None]
    """Project an object, as a cache holds it; None if it does not concern the controller."""
    endings: str = ""
    """What follows the service's name in names, in any state and release: a regular expression."""
    requires: frozenset[str] = frozenset()
    """Kinds that must be applied first: without them an object of this kind has no effect."""
    most: float = 2**18
    """The longest JSON of an object that is parsed, in bytes; of a longer one only the metadata is known."""
    kept_fields: tuple[str, ...] = ()
    """Fields of the spec that keep their live value when they are no longer desired."""
    seal: Callable[[Object], Object] = lambda desired: desired
    """Change what is sent, so that the API server rejects it unless our admission answers."""
    blocked: Callable[[R | None, R], str] = lambda _stored, _desired: ""
    """Return why an object is not written at all; empty if it is. Nothing may be stored (None)."""
    restarts: bool = False
    """Whether a write may restart pods of engines.

    A write with the same result as a write of nothing is left out: another webhook has new rules.
    """
    verify: Callable[[Object, Object], str] = lambda _desired, _answer: ""
    """Return the problem with the answer to a dry run; empty if there is none."""
    premerge: Callable[[R, Object, bool], Object] = lambda _stored, _desired, _invalid: {}
    """Return a merge patch that precedes the apply; empty if none is needed.

    Server-side apply leaves in what other field managers added. The flag: the API server rejected the desired
    object because of these fields.
    """

    @cached_property
    def kind(self) -> str:
        """The kind's name, which is its key in tables."""
        return self.resource.kind

    def projected(self, obj: Object) -> R:
        """Project an object that the controller applied, or will apply. Raises ValueError if that is None."""
        row = self.project(obj)
        if row is None:
            raise ValueError(f"a {self.kind} that the controller applies has no projection")
        return row

    def path(self, namespace: str, *name: str) -> str:
        """Return the path of an object, or without a name of a namespace's objects."""
        return self.resource.path(namespace, *name)

    def name(self, service: str) -> str:
        """Return the name of a service's one object of the kind; of other kinds it has several (`names`)."""
        return service + self.endings

    def names(self, service: str, name: str) -> bool:
        """Return whether the controller's rules make a name for a service."""
        return re.fullmatch(re.escape(service) + f"({self.endings})", name) is not None

    def path_of(self, obj: Object) -> str:
        """Return the path of an object."""
        return self.path(obj["metadata"]["namespace"], obj["metadata"]["name"])


SERVICE_KIND: Final = "Service"
"""The kind that routes share with clients that use none."""
DESTINATION_RULE: Final = "DestinationRule"
"""The kind by which gateways of Istio learn that an endpoint picker serves TLS."""
API: Final = f"{SERVICE_KIND}/api"
"""The part of a service that is its Service `<service>-api`: without it, routes are complete."""


def part_of(kind: str, name: str) -> str:
    """Return the part of a service to which an object belongs: its kind, but for one Service."""
    return API if kind == SERVICE_KIND and name.endswith(API_ENDING) else kind


def is_ours(kind: Kind[Any], row: AppliedObject, service: str, owners: frozenset[str]) -> bool:
    """Return whether the controller made an object for a service: the one rule of ownership (ADR 53).

    `owners` are the uids of the service's InferenceService and of its members. Whoever may patch an object
    writes entry and owner, so the name limits which objects these are. A label is no proof, save for an
    object that lost its owners (`kubectl delete --cascade=orphan`): the controller makes none without one. If
    another field manager has rewritten its spec, it is that manager's.
    """
    is_orphan = not row.owners and not row.replaced and row.service == service
    of_service = is_orphan or any(one.uid in owners for one in row.owners)
    return row.applied and kind.names(service, row.name) and of_service


# --- rules of single kinds --------------------------------------------------------------------------

IDENTIFYING: Final = ("apiVersion", "kind", "metadata")
"""Fields that identify an object; the others are its content."""


def sealed(lws: Object) -> Object:
    """Set a service label that the API server rejects unless admission replaces it (ADR 13)."""
    metadata = lws["metadata"]
    return lws | {"metadata": metadata | {"labels": metadata.get("labels", {}) | {SERVICE: UNANSWERED}}}


def _excluded_from_admission(stored: CachedLeaderWorkerSet | None, desired: CachedLeaderWorkerSet) -> str:
    """Return that a LeaderWorkerSet is excluded from admission, which then would not expand it."""
    if desired.disabled:
        return f"{INJECT} is disabled; LeaderWorkerSet {desired.name} is neither created nor changed"
    if stored and stored.disabled:
        return f"LeaderWorkerSet {desired.name} has {INJECT}: disabled; it is not changed"
    return ""


def _whole_content(_stored: AppliedObject, desired: Object, invalid: bool) -> Object:  # noqa: FBT001 - a cell of the table
    """Replace whole lists where an item of another field manager makes ours invalid; these lists are ours."""
    return {field: value for field, value in desired.items() if field not in IDENTIFYING} if invalid else {}


def _without_surplus(stored: PodGroup, desired: Object, _invalid: bool) -> Object:  # noqa: FBT001 - the same
    """Remove the fields that belong to the controller alone and are not desired."""
    fields = surplus(stored, pod_group(desired))
    return {"spec": dict.fromkeys(fields)} if fields else {}


# --- the table --------------------------------------------------------------------------------------

GATEWAY_API: Final = "gateway.networking.k8s.io/v1"
RBAC: Final = "rbac.authorization.k8s.io/v1"
OF_ROLE: Final = f"-{DNS_LABEL}"


def _applied(
    resource: Resource, endings: str, *requires: str, project: Callable[[Object], A | None]
) -> Kind[A]:
    """Build a kind whose lists are ours as a whole."""
    return Kind(resource, project, endings, frozenset(requires), premerge=_whole_content)


def _plain(
    api_version: str, kind: str, plural: str, endings: str, *requires: str, source: str = ""
) -> Kind[AppliedObject]:
    """Build a kind of the routes of which a cache keeps the common fields alone."""
    resource = Resource(api_version, kind, plural, SERVICE, source)
    return replace(_applied(resource, endings, *requires, project=applied_object), most=inf)


INFERENCE_SERVICE: Final[Kind[CachedInferenceService]] = Kind(
    Resource(v1alpha1.API_VERSION, v1alpha1.KIND, "inferenceservices"), cached_inferenceservice, most=inf
)
"""Of these and the next ones, `intent.budget` limits the spec."""
LWS: Final[Kind[CachedLeaderWorkerSet]] = Kind(
    Resource(lws.API_VERSION, lws.KIND, "leaderworkersets", source="LeaderWorkerSet"),
    cached_leader_worker_set,
    OF_ROLE,
    most=inf,
    kept_fields=("replicas",),
    seal=sealed,
    blocked=_excluded_from_admission,
    restarts=True,
)
POD_GROUP: Final[Kind[PodGroup]] = Kind(
    Resource(POD_GROUP_API_VERSION, POD_GROUP_KIND, "podgroups", source="Volcano 1.14.1 or later"),
    pod_group,
    ENDINGS,
    verify=pruned_fields,
    premerge=_without_surplus,
)
GATEWAYS: Final = _applied(
    Resource(GATEWAY_API, GATEWAY, "gateways", source="the Gateway API"),
    "-gateway",
    project=routes.project_gateway,
)
HTTP_ROUTE: Final = _applied(
    Resource(GATEWAY_API, "HTTPRoute", "httproutes", SERVICE, source="the Gateway API"),
    *("-httproute", INFERENCE_POOL, GATEWAY),
    project=routes.project_http_route,
)
POOL: Final = _applied(
    Resource(
        *("inference.networking.k8s.io/v1", INFERENCE_POOL, "inferencepools"),
        source="the Gateway API Inference Extension",
    ),
    POOL_ENDING,
    project=routes.project_pool,
)
"""All of them are watched: a router may refer to one of its author's."""
DEPLOYMENT: Final = _applied(
    Resource("apps/v1", "Deployment", "deployments", SERVICE),
    *(PICKER_ENDING, "RoleBinding", "ConfigMap", INFERENCE_POOL),
    project=routes.project_deployment,
)
AUTOSCALER: Final = _applied(
    Resource(autoscaler.API_VERSION, autoscaler.KIND, "horizontalpodautoscalers"),
    *(OF_ROLE, lws.KIND),
    project=autoscaler.cached_autoscaler,
)
"""All of them are watched: those of others may scale our LeaderWorkerSets too."""
INGRESS: Final = _applied(
    Resource("networking.k8s.io/v1", "Ingress", "ingresses", SERVICE),
    *("-ingress", API),
    project=routes.project_ingress,
)
OBJECTIVE: Final = _plain(
    OBJECTIVES_API,
    "InferenceObjective",
    "inferenceobjectives",
    *(rf"(\.{DNS_LABEL})?", INFERENCE_POOL),
    source="InferenceObjective, of the Gateway API Inference Extension 1.5: later releases have none",
)
"""Without it requests are served all the same, with the priority of all others."""
OBJECTIVES: Final = tuple(
    replace(OBJECTIVE.resource, api_version=one)
    for one in dict.fromkeys(one for row in PICKERS.values() for one in row.objectives)
)
"""The InferenceObjectives of every group that an endpoint picker reads."""
CONFIG_MAP: Final = _plain("v1", "ConfigMap", "configmaps", f"{PICKER_ENDING}-config")
ROUTE_KINDS: Final[tuple[Kind[Any], ...]] = (
    _plain("v1", "ServiceAccount", "serviceaccounts", PICKER_ENDING),
    _plain(RBAC, "RoleBinding", "rolebindings", f"{PICKER_ENDING}(-read|-election)?", "ServiceAccount"),
    CONFIG_MAP,
    POOL,
    DEPLOYMENT,
    _plain("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", PICKER_ENDING),
    _plain("v1", SERVICE_KIND, "services", f"{PICKER_ENDING}|{API_ENDING}"),
    _plain("networking.istio.io/v1", DESTINATION_RULE, "destinationrules", PICKER_ENDING, source="Istio"),
    GATEWAYS,
    HTTP_ROUTE,
    INGRESS,
    OBJECTIVE,
)
ROUTES: Final = frozenset(kind.kind for kind in ROUTE_KINDS)
APPLIED: Final[tuple[Kind[Any], ...]] = (LWS, AUTOSCALER, POD_GROUP, *ROUTE_KINDS)
OUTPUTS: Final[Mapping[str, Kind[Any]]] = {kind.kind: kind for kind in APPLIED}
"""The kinds that the controller applies, in this order, and prunes, in the reverse order."""
POD: Final = Kind(Resource("v1", "Pod", "pods", SERVICE), pod.project)
WATCHED: Final[tuple[Kind[Any], ...]] = (INFERENCE_SERVICE, *OUTPUTS.values(), POD)


def templates(shared: str) -> Kind[CachedTemplate]:
    """Return the kind InferenceTemplate; templates of the namespace `shared` serve all namespaces."""
    resource = Resource(v1alpha1.API_VERSION, template.KIND, template.PLURAL)
    return Kind(resource, partial(cached_template, shared=shared))


def watched(settings: Settings) -> tuple[Kind[Any], ...]:
    """Return the kinds that the controller lists and watches: those of parts that are not switched off."""
    kept = {SERVICE_KIND} if settings.api_services else set[str]()
    off = set[str]() if settings.routes else ROUTES - kept
    shared = settings.templates_namespace
    return (
        *(kind for kind in WATCHED if kind.kind not in off),
        *((templates(shared),) if shared else ()),
    )
