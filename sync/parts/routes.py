"""Plans the routes of a service from its members: an InferencePool, its endpoint picker, an HTTPRoute.

Routing comes from the router of the InferenceService, else from the members' annotations. While these
contradict each other, or a role is missing, nothing changes: existing routes stay, and none are made. The
routes of a DisaggregatedSet span its revisions: old pods get requests until they are gone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from catalog.pickers.generations import PICKERS, Picker
from intent import Object
from intent.annotations import NO_ROUTING, PICKER, SERVICE, Routing, path
from intent.errors import FieldError, Finding, Subject
from intent.inferenceservice.picker import has_image
from intent.inferenceservice.read import InferenceServiceIntent
from intent.lora import label_of
from intent.names import POOL_ENDING, picker_name
from intent.priority import number_of
from intent.service.allowed import forbidden_gateway
from intent.service.member import Member, ServiceKey
from intent.service.routes import (
    contradictions,
    disagreements,
    gone,
    is_split,
    keeping,
    merged_routing,
    named_like_picker,
    oldest_of,
    picker_of,
    serving_members,
    unlike_ports,
    unreachable,
    waiting,
)
from intent.service.rules import fitting_members, present
from intent.settings import Settings
from sync.observed.cached import CachedObject
from sync.observed.configuration import Configuration, reference
from sync.observed.pod import ObservedPod
from sync.observed.routes import InferencePool
from sync.parts.endpoints import Endpoints, endpoints
from sync.parts.strategies import preset_text

NO_PICKER: Final = Picker("", "", active_ports=False)


def config_name(service: str) -> str:
    """Return the name of the endpoint picker's ConfigMap."""
    return f"{picker_name(service)}-config"


def pool_name(service: str) -> str:
    """Return the name of the InferencePool."""
    return service + POOL_ENDING


def route_name(service: str) -> str:
    """Return the name of the HTTPRoute."""
    return f"{service}-httproute"


def gateway_name(service: str) -> str:
    """Return the name of the service's own Gateway."""
    return f"{service}-gateway"


def objective_name(service: str, adapter: str) -> str:
    """Return the name of an adapter's InferenceObjective; that of the service has the service's name.

    No service has a dot in its name, so no service's InferenceObjective has this name.
    """
    return f"{service}.{label_of(adapter)}"


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes that a service should have."""

    namespace: str
    service: str
    picker: Picker
    config: str
    """The EndpointPickerConfig, as text."""
    endpoints: Endpoints
    """The pods that the pool selects, and their ports."""
    objectives: tuple[tuple[str, int], ...] = ()
    """Name and priority of each InferenceObjective."""
    split: bool = False
    """Whether prefillers and decoders share the pool."""
    replicas: int = 1
    """The number of endpoint pickers; more than one elect a leader."""
    secure_serving: bool = True
    destination_rule: bool = False
    """Whether Istio needs a DestinationRule to call the endpoint picker."""
    http_route: Object = field(default_factory=dict)
    """The spec of the HTTPRoute, without its backends; empty: none."""
    gateway: Object = field(default_factory=dict)
    """The spec of the service's own Gateway; empty: none."""
    registry: str = ""
    """The registry of the endpoint picker's image; empty: that of its project."""
    pods: Object = field(default_factory=dict)
    """Fields of the endpoint picker's pods that the operator sets."""
    resources: Object = field(default_factory=dict)
    """Requests and limits of the endpoint picker; empty: the defaults."""
    security: Object = field(default_factory=dict)
    """The security context of the endpoint picker's container; empty: the default."""
    has_user: bool = False
    """Whether the pods keep the uid that earlier releases gave them: without it they would restart."""
    template: Object = field(default_factory=dict)
    """The author's changes of the endpoint picker's pods, a PodTemplateSpec; empty: none."""
    pool: str = ""
    """The name of an InferencePool of the author; empty: one is made, with an endpoint picker."""
    members: tuple[tuple[str, str], ...] = ()
    """Name and uid of the LeaderWorkerSets; they own the routes if there is no InferenceService."""
    owner: tuple[str, str] | None = None
    """Name and uid of the InferenceService."""


@dataclass(frozen=True, slots=True)
class RoutePlan:
    """The plan of one service's routes, and findings for its authors."""

    routes: Routes | None = None
    """None: there should be none."""
    hold: bool = False
    """Whether routes are left as they are: nothing is created or deleted, nothing changed but the pool."""
    findings: tuple[Finding, ...] = ()
    keeps_picker: bool = False
    """Whether the endpoint picker and its configuration are left as they are."""


def desired_routes(  # noqa: PLR0913, PLR0917 - the parts of a snapshot that routes depend on
    key: ServiceKey,
    members: tuple[Member, ...],
    service: InferenceServiceIntent | None,
    settings: Settings,
    namesakes: tuple[Subject, ...] = (),
    read: Configuration | None = None,
    pods: tuple[ObservedPod, ...] | None = (),
    picks: str = "",
    pool: CachedObject[InferencePool] | None = None,
) -> RoutePlan:
    """Plan the routes of one service; `namesakes` are LeaderWorkerSets with the name of a Service of it.

    `read` is the configuration that the router refers to, if it was read; `pods` are None if not known.
    `picks` is the generation of the endpoint picker that there is, `pool` the pool of ours (`held_pool`).
    """
    live = present(members)
    fitting = fitting_members(live)
    served = serving_members(fitting)
    routing = _router_routing(service, read) if service else merged_routing(live)
    settings = keeping(settings, {one.sidecar for one in served} - {""} or (picks,))
    router = service.router if service else None
    hints = () if router and (router.pool or router.config_ref) else tuple(unreachable(live, routing))
    if not settings.routes:
        asks = routing.wanted or router
        return RoutePlan(hold=True, findings=tuple(_switched_off(live, service)) if asks else ())
    if not (router.is_routed if router else routing.wanted):
        return RoutePlan(findings=hints)
    if not served:
        return RoutePlan(hold=True, findings=hints)
    wrong = (
        *_unread(service, read),
        *disagreements(live),
        *contradictions(served, routing, settings),
        *_taken_name(namesakes, key[1]),
        *_forbidden(service, settings),
    )
    wanted = picker_of(routing, split=is_split(fitting), settings=settings)
    has_sidecars = any(one.sidecar for one in live) and not (router and router.pool)
    is_there = bool(picks) or not routing.config  # the author's configuration needs the one to come
    picker = _picker(wanted, live, pods, picks) if has_sidecars and is_there else wanted
    waits = tuple(waiting(served))
    unknown = bool(router and router.config_ref and not router.pool and not (read and read.text))
    if waits or unknown or any(one.error.severity == "error" for one in wrong):
        held = held_pool(key, members, service, settings, pods, picks, pool)
        return RoutePlan(held, hold=True, findings=(*hints, *wrong, *waits))
    later = tuple(_later(served, picker, wanted)) if has_sidecars else ()
    is_ours = router is None or not (router.pool or has_image(router.template))
    lost = gone(wanted, routing, settings, split=is_split(fitting)) if is_ours else None
    later += tuple(Finding(one.subject, lost) for one in served if lost)
    keeps = picker is not wanted and bool(routing.config)  # it was checked against the generation to come
    routes = _routes(key, fitting, service, routing, settings, pods, picker)
    return RoutePlan(routes, findings=(*hints, *wrong, *later), keeps_picker=keeps)


def held_pool(  # noqa: PLR0913, PLR0917 - what selects pods
    key: ServiceKey,
    members: tuple[Member, ...],
    service: InferenceServiceIntent | None,
    settings: Settings,
    pods: tuple[ObservedPod, ...] | None,
    picks: str,
    stored: CachedObject[InferencePool] | None,
) -> Routes | None:
    """Return what the pool of held routes is made of; None if it is left alone, or there is none.

    It goes on to select the pods that serve: what they serve is no part of what an author got wrong. Other
    halves of a service need another picker. One that selects a component type goes on to do so: pods of
    others may come. The owners of `stored` stay: they were ejected, and its other routes have them too.
    """
    fitting = fitting_members(present(members))
    served, picker = serving_members(fitting), PICKERS.get(picks, NO_PICKER)
    if stored is None or stored.projection.split is not is_split(fitting):
        return None
    errors = (one for one in unlike_ports(served, picker) if one.error.severity == "error")
    if not served or any(waiting(served)) or any(errors):
        return None
    found = _routes(key, fitting, service, NO_ROUTING, settings, pods, picker)
    owners = {*found.members, *((one.name, one.uid) for one in stored.owners)}
    kind = found.endpoints.kind or stored.projection.kind
    return replace(found, endpoints=found.endpoints._replace(kind=kind), members=tuple(sorted(owners)))


def _picker(
    wanted: Picker, live: tuple[Member, ...], pods: tuple[ObservedPod, ...] | None, picks: str
) -> Picker:
    """Return the generation for now: another one than wanted until the last pod with its sidecar has gone.

    Pods of a generation that a template has do not go: the wanted one is the oldest of those. Pods of no
    member say nothing, whatever their labels: copies of pods, and those that ended and were left.
    """
    names = {one.name for one in live}
    there = {picks} if pods is None else {pod.sidecar for pod in pods if pod.lws in names}
    going = there - {wanted.name} - {one.sidecar for one in live}
    return PICKERS[oldest_of(going) or wanted.name]


def _later(served: tuple[Member, ...], picker: Picker, wanted: Picker) -> Iterator[Finding]:
    """FI823: say on decoders that the endpoint picker is of another generation, and how long."""
    coming = f"becomes {wanted.name} after the last pod with the routing sidecar of {picker.name} has gone"
    for one in served:
        other = f"is {picker.name}, as another decoder's routing sidecar: this one's is of {one.sidecar}"
        message = coming if picker is not wanted else other if one.sidecar not in {"", picker.name} else ""
        if message and one.component_type == "decoder":
            yield Finding(one.subject, FieldError(path(PICKER), None, message, "FI823", softened=True))


def _taken_name(namesakes: tuple[Subject, ...], service: str) -> Iterator[Finding]:
    """Report a LeaderWorkerSet that has the endpoint picker's name (FI821)."""
    for one in namesakes:
        if error := named_like_picker(one.name, service):
            yield Finding(one, error)


def _switched_off(live: tuple[Member, ...], service: InferenceServiceIntent | None) -> Iterator[Finding]:
    """FI834: a warning on members, since a decoder needs the strategy for its sidecar."""
    message = "no routes are created, changed or deleted: the operator has switched routes off"
    if service and service.router:
        yield Finding(
            service.subject, FieldError(f"spec.roles[{service.router.index}]", None, message, "FI834")
        )
        return
    for one in live:
        if one.routing.wanted:
            yield Finding(one.subject, FieldError(path(SERVICE), None, message, "FI834", softened=True))


def _forbidden(service: InferenceServiceIntent | None, settings: Settings) -> Iterator[Finding]:
    """Report what the operator does not allow (FI833)."""
    if service and service.router:
        yield from (Finding(service.subject, one) for one in forbidden_gateway(service.router, settings))


def _unread(service: InferenceServiceIntent | None, read: Configuration | None) -> Iterator[Finding]:
    """FI836, FI837: the configuration that a router refers to is known, and not empty."""
    ref = reference(service)
    if service is None or service.router is None or ref is None:
        return
    where = f"spec.roles[{service.router.index}].configRef"
    if read is None:
        message = f"ConfigMap {ref.name} is not among the files: no routes are shown"
        yield Finding(service.subject, FieldError(where, None, message, "FI837"))
    elif read.problem:
        message = f"{read.problem}; the routes stay as they are"
        yield Finding(service.subject, FieldError(where, None, message, "FI836", softened=read.is_transient))


def _router_routing(service: InferenceServiceIntent, read: Configuration | None) -> Routing:
    """Return the routing of the router role, in the form of the annotations; without a router, none.

    The members are not read: they may still have the annotations of an earlier router.
    """
    router = service.router
    if router is None:
        return NO_ROUTING
    routing = replace(router.routing, gateway=gateway_name(service.name) if router.gateway else "")
    if router.config_ref is None or router.pool:
        return routing
    return replace(routing, strategy="", config=read.text if read else "")


def _routes(  # noqa: PLR0913, PLR0917 - what routes are made of
    key: ServiceKey,
    members: tuple[Member, ...],
    service: InferenceServiceIntent | None,
    routing: Routing,
    settings: Settings,
    pods: tuple[ObservedPod, ...] | None,
    picker: Picker,
) -> Routes:
    router = service.router if service else None
    pool = router.pool if router else ""
    return Routes(
        *key,
        picker=picker,
        config="" if pool else _config(picker.name, routing, members),
        endpoints=endpoints(members, pods, picks=picker.active_ports),
        objectives=tuple(_objectives(key[1], routing, service)),
        split=is_split(members),
        replicas=routing.picker_replicas or settings.picker_replicas,
        secure_serving=settings.secure_serving,
        destination_rule=settings.destination_rules and settings.secure_serving,
        http_route=_http_route(routing),
        gateway=router.gateway if router else {},
        registry=settings.picker_registry,
        pods=_pods(settings),
        resources=settings.picker_resources,
        security=settings.picker_security_context,
        template=router.template if router else {},
        pool=pool,
        members=tuple(sorted((one.name, one.uid) for one in members)),
        owner=(service.name, service.uid) if service else None,
    )


def _config(picker: str, routing: Routing, members: tuple[Member, ...]) -> str:
    """Return the author's EndpointPickerConfig, or that of the strategy."""
    has_adapters = any(one.has_adapters for one in members)
    return (
        preset_text(picker, routing.strategy, adapters=has_adapters) if routing.strategy else routing.config
    )


def _objectives(
    name: str, routing: Routing, service: InferenceServiceIntent | None
) -> Iterator[tuple[str, int]]:
    """Yield name and priority of each InferenceObjective; clients send the name in a header."""
    adapters = service.adapters if service else ()
    asked = [(name, routing.priority), *((objective_name(name, one), text) for one, text in adapters)]
    for objective, text in asked:
        if (priority := number_of(text)) is not None:
            yield objective, priority


def _pods(settings: Settings) -> Object:
    """Return the fields of the endpoint picker's pods that the operator sets."""
    found = {
        "imagePullSecrets": [{"name": name} for name in settings.picker_image_pull_secrets],
        "tolerations": list(settings.picker_tolerations),
        "nodeSelector": settings.picker_node_selector,
        "priorityClassName": settings.picker_priority_class_name,
        "securityContext": settings.picker_pod_security_context,
    }
    return {name: value for name, value in found.items() if value}


def _http_route(routing: Routing) -> Object:
    """Return the author's own spec; the gateway is its parent where it names none."""
    parents = routing.http_route.get("parentRefs") or _parents(routing.gateway)
    if not parents:
        return {}
    hostnames = {"hostnames": list(routing.hostnames)} if routing.hostnames else {}
    return {**hostnames, **routing.http_route, "parentRefs": parents}


def _parents(gateway: str) -> list[Object]:
    namespace, slash, name = gateway.rpartition("/")
    if not gateway:
        return []
    return [{"name": name, "namespace": namespace} if slash else {"name": name}]
