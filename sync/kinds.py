"""The kinds that the loop reads and writes: one row each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from intent import Object, budget, lws
from intent.annotations import EXPANSION, INJECT, SERVICE, UNANSWERED
from intent.inferenceservice import v1alpha1
from intent.service.member import Member, ServiceKey, member
from intent.shapes import mapping
from sync.observed import lws as leader_worker_set
from sync.observed import pod, routes, volcano
from sync.observed.cached import CachedObject, TooLargeError, cached_object, watched
from sync.observed.index_keys import GATEWAY, index_key, of_parents, of_set, own
from sync.observed.inferenceservice import cached_inferenceservice
from sync.observed.pod_group import API_VERSION as POD_GROUP_API_VERSION
from sync.observed.pod_group import KIND as POD_GROUP_KIND
from sync.observed.pod_group import PodGroup, pod_group, surplus


def sealed(lws: Object) -> Object:
    """Give what is sent to be stored: its label is refused unless admission replaces it (ADR 13)."""
    metadata = lws["metadata"]
    return lws | {"metadata": metadata | {"labels": metadata.get("labels", {}) | {SERVICE: UNANSWERED}}}


@dataclass(frozen=True, slots=True)
class Codes:
    """What is said if an object of a kind cannot be written."""

    absent: str = "FI870"
    """The API server has no such kind, or an older one."""
    foreign: str = "FI871"
    """Somebody else has an object of that name."""
    refused: str = "FI872"
    unkept: str = "FI873"
    """What would be stored is not what it should be: the guard says so, or admission did not answer."""
    barred: str = ""
    """It is not to be written."""
    fought: str = "FI876"
    """Somebody undoes each write."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One row."""

    api_version: str
    kind: str
    plural: str
    project: Callable[[Object], Any]
    """What is kept of an object; None if it does not concern us.

    It has `namespace`, `name`, `uid`, `service` and `version`; of what we write also `fingerprint`,
    `deleting`, `applied` and `owners`.
    """
    keys: Callable[[Any], tuple[ServiceKey, ...]]
    """By what a row is looked up."""
    selector: str = ""
    barred: Callable[[Any, Any], str] = lambda _stored, _asked: ""
    """Why an object is not written at all, by what is stored (None: nothing) and asked; empty if it is."""
    sealed: Callable[[Object], Object] = lambda desired: desired
    """What is sent to be stored: what is wanted, so that the API server refuses it without our admission."""
    kept: tuple[str, ...] = ()
    """Fields of the spec that keep their live value when they are not wanted any more."""
    guard: Callable[[Object, Object], str] = lambda _asked, _answer: ""
    """What is wrong with the answer of a dry run to what was asked; empty if nothing is."""
    first: Callable[[Any, Object, bool], Object] = lambda _stored, _wanted, _invalid: {}
    """What is merged into what is stored before what is wanted is applied; empty if nothing is.

    Server-side apply leaves in what others added. `invalid`: the API server refuses ours beside that.
    """
    needs: frozenset[str] = frozenset()
    """Kinds without which it is of no use."""
    source: str = ""
    """Whose CRDs bring it; empty if every cluster has it."""
    codes: Codes = Codes()

    @property
    def collection(self) -> str:
        """The path of all of them, in every namespace."""
        return f"{_root(self.api_version)}/{self.plural}"

    def path(self, namespace: str, name: str = "") -> str:
        """Give the path of one of them, or of those in a namespace."""
        items = f"{_root(self.api_version)}/namespaces/{namespace}/{self.plural}"
        return f"{items}/{name}" if name else items


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


# --- by what rows are found -------------------------------------------------------------------------


def _of_service(row: Any) -> tuple[ServiceKey, ...]:
    label = ((row.namespace, row.service),) if row.service else ()
    return (*label, *row.index_keys)


def _of_pod_group(row: PodGroup) -> tuple[ServiceKey, ...]:
    own = (row.namespace, row.name)
    return (own, index_key(lws.KIND, row.namespace, row.made_for)) if row.made_for else (own,)


# --- what goes before an apply ----------------------------------------------------------------------

NAMING: Final = ("apiVersion", "kind", "metadata")
"""What says which object it is; the rest is what it should be."""


def _whole(_stored: CachedObject, desired: Object, invalid: bool) -> Object:  # noqa: FBT001 - a cell of the table
    """Set whole lists where an item of somebody else makes ours invalid: nobody else has a say in them."""
    return {field: value for field, value in desired.items() if field not in NAMING} if invalid else {}


def _without_surplus(cached_object: PodGroup, desired: Object, _invalid: bool) -> Object:  # noqa: FBT001 - the same
    """Take out the fields that are nobody's but ours, and not wanted."""
    fields = surplus(cached_object, pod_group(desired))
    return {"spec": dict.fromkeys(fields)} if fields else {}


# --- rows -------------------------------------------------------------------------------------------

GATEWAY_API: Final = "gateway.networking.k8s.io/v1"
RBAC: Final = "rbac.authorization.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class LeaderWorkerSetProjection:
    """What is kept of a LeaderWorkerSet beside: the member that it is, and how it does."""

    member: Member | None
    """None if it was not expanded."""
    report: leader_worker_set.LeaderWorkerSet | None = None
    """Of one that an InferenceService controls: nobody asks of others."""
    disabled: bool = False
    """Whether admission is told to leave it alone."""


def _leader_worker_set(obj: Object) -> CachedObject | None:
    """Keep a member, and whatever an InferenceService controls or did; drop what only has the label.

    Raises TooLargeError for an expanded one that is over the budget of admission: to read it takes seconds.
    """
    row, annotations = (
        cached_object(obj, index_keys=of_set),
        mapping(mapping(obj.get("metadata")).get("annotations")),
    )
    if EXPANSION in annotations and (over := budget.of_leaderworkerset(obj)):
        raise TooLargeError(over.message)
    controlled = row.controller.kind == v1alpha1.KIND
    report = leader_worker_set.project(obj) if controlled else None
    disabled = annotations.get(INJECT) == "disabled"
    known = LeaderWorkerSetProjection(member(obj), report, disabled)
    return replace(row, projection=known) if known.member or controlled or row.applied else None


def _left_alone(cached_object: CachedObject | None, asked: CachedObject) -> str:
    """Say that admission is told not to answer for a LeaderWorkerSet: then nobody would expand it."""
    if asked.projection.disabled:
        return f"{INJECT} is disabled; LeaderWorkerSet {asked.name} is neither made nor changed"
    if cached_object and cached_object.projection.disabled:
        return f"LeaderWorkerSet {asked.name} has {INJECT}: disabled; it is left as it is"
    return ""


def _part(  # noqa: PLR0913 - a row of the table below
    api_version: str,
    kind: str,
    plural: str,
    *needs: str,
    source: str = "",
    selector: str = SERVICE,
    project: Callable[[Object], Any] = cached_object,
) -> Kind:
    """Write the row of a part of the routes."""
    return Kind(
        *(api_version, kind, plural, project, _of_service, selector),
        first=_whole,
        needs=frozenset(needs),
        source=source,
    )


INFERENCE_SERVICE: Final = Kind(
    *(v1alpha1.API_VERSION, v1alpha1.KIND, "inferenceservices", cached_inferenceservice, _of_service)
)
LWS: Final = Kind(
    *(lws.API_VERSION, lws.KIND, "leaderworkersets", _leader_worker_set, _of_service, SERVICE),
    barred=_left_alone,
    sealed=sealed,
    kept=("replicas",),
    source="LeaderWorkerSet",
    codes=Codes(barred="FI874"),
)
POD_GROUP: Final = Kind(
    *(POD_GROUP_API_VERSION, POD_GROUP_KIND, "podgroups", pod_group, _of_pod_group),
    guard=volcano.refusal,
    first=_without_surplus,
    source="Volcano 1.14.1 or later",
    codes=Codes(absent="FI408", foreign="FI407", refused="FI411", unkept="FI408"),
)
GATEWAYS: Final = _part(
    *(GATEWAY_API, GATEWAY, "gateways"),
    source="the Gateway API",
    selector="",
    project=partial(cached_object, projection=routes.project_gateway, index_keys=partial(own, GATEWAY)),
)
HTTP_ROUTE: Final = _part(
    *(GATEWAY_API, "HTTPRoute", "httproutes", "InferencePool", GATEWAY),
    source="the Gateway API",
    project=partial(cached_object, projection=routes.project_http_route, index_keys=of_parents),
)
POOL: Final = _part(
    *("inference.networking.k8s.io/v1", "InferencePool", "inferencepools"),
    source="the Gateway API Inference Extension",
    project=partial(cached_object, projection=routes.project_pool),
)
DEPLOYMENT: Final = _part(
    *("apps/v1", "Deployment", "deployments", "RoleBinding", "ConfigMap", "InferencePool"),
    project=partial(cached_object, projection=routes.project_deployment),
)
PARTS: Final = (
    _part("v1", "ServiceAccount", "serviceaccounts"),
    _part(RBAC, "Role", "roles"),
    _part(RBAC, "RoleBinding", "rolebindings", "ServiceAccount", "Role"),
    _part("v1", "ConfigMap", "configmaps"),
    POOL,
    DEPLOYMENT,
    _part("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    _part("v1", "Service", "services"),
    _part("networking.istio.io/v1", "DestinationRule", "destinationrules", source="Istio"),
    GATEWAYS,
    HTTP_ROUTE,
)
ROUTES: Final = frozenset(kind.kind for kind in PARTS)
OUTPUTS: Final[Mapping[str, Kind]] = {kind.kind: kind for kind in (LWS, POD_GROUP, *PARTS)}
"""What the loop applies and prunes, in that order."""
POD: Final = Kind("v1", "Pod", "pods", partial(watched, projection=pod.project), _of_service, SERVICE)
WATCHED: Final = (INFERENCE_SERVICE, *OUTPUTS.values(), POD)
