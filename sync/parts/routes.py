"""The routes of a service: an InferencePool, its endpoint picker, an HTTPRoute.

Routing comes from the router of the InferenceService, else from the members' annotations. While these
contradict each other, or a role is missing, nothing changes: existing routes stay, and none are made. The
routes of a DisaggregatedSet span its revisions: old pods get requests until they are gone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from catalog.pickers.generations import OBJECTIVES_API, PICKERS, Picker
from intent import Object
from intent.annotations import NO_ROUTING, PICKER, PRIORITY, SERVICE, Routing, path
from intent.errors import FieldError, Finding
from intent.inferenceservice.members import authored_routing
from intent.inferenceservice.read import InferenceServiceIntent, Router
from intent.names import picker_name
from intent.service.allowed import not_allowed
from intent.service.member import Member
from intent.service.routes import (
    contradictions,
    disagreements,
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
from intent.settings import Settings
from sync.kinds import CONFIG_MAP, DEPLOYMENT, DESTINATION_RULE, GATEWAYS, POOL, ROUTES, SERVICE_KIND
from sync.observed.configuration import Configuration, reference
from sync.observed.pod import ObservedPod
from sync.observed.routes import Deployment
from sync.parts.desired import Desired, owners
from sync.parts.endpoints import endpoints
from sync.parts.picker import USER, picker_objects
from sync.parts.traffic import (
    NO_ROUTER,
    Routes,
    destination_rule,
    gateway,
    http_route,
    inference_pool,
    objectives,
)
from sync.snapshot import Snapshot

NO_PICKER: Final = Picker("", "", active_ports=False)
NO_DEPLOYMENT: Final = Deployment("", "")
FOLLOWED_WITHIN: Final = 20.0
"""Seconds after which a ConfigMap that a router refers to is read again: those of users are not watched."""
IGNORED: Final = "FI827"
"""The endpoint picker reads InferenceObjectives of another group."""


def routes(snapshot: Snapshot, settings: Settings) -> Desired:
    """Desire the routes; if no author, or not all of what an author says, can be read, nothing changes."""
    service = snapshot.routed
    if snapshot.has_no_author:
        return Desired(held=ROUTES)
    if snapshot.value and service is None:
        return _held(snapshot, settings, _untemplated(snapshot) if settings.routes else ())
    if not settings.routes:
        return _off(snapshot)
    found = _asked(snapshot, settings)
    if service:
        found = replace(found, of_routes=_on_the_router(found.of_routes, service))
    if snapshot.configuration:
        found = replace(found, requeue_after=FOLLOWED_WITHIN)
    return replace(found, held=ROUTES) if snapshot.service and snapshot.service.errors else found


def _off(snapshot: Snapshot) -> Desired:
    """Leave the routes as they are: the operator has switched routes off (FI834).

    A warning on members, since a decoder needs the strategy for its sidecar.
    """
    router = snapshot.routed.router if snapshot.routed else None
    where = f"spec.roles[{router.index}]" if router else path(SERVICE)
    message = "no routes are created, changed or deleted: the operator has switched routes off"
    error = FieldError(where, None, message, "FI834", softened=router is None)
    asking = [one.subject for one in snapshot.live if one.routing.wanted]
    subjects = asking if snapshot.routed is None else snapshot.subjects if router else ()
    kept = frozenset({(SERVICE_KIND, picker_name(snapshot.situation.key[1]))})
    findings = tuple(Finding(one, error) for one in subjects)
    return Desired(held=ROUTES - {SERVICE_KIND}, held_objects=kept, of_routes=findings)


def _asked(snapshot: Snapshot, settings: Settings) -> Desired:
    """Desire what the router asks for, or the members."""
    service, live, pods, name = snapshot.routed, snapshot.live, snapshot.pods, snapshot.situation.key[1]
    router, fitting, read = service.router if service else None, snapshot.fitting, snapshot.configuration
    served, picks = serving_members(fitting), _present_picker(snapshot).picker
    routing = _router_routing(service, read) if service else merged_routing(live)
    settings = keeping(settings, {one.sidecar for one in served} - {""} or (picks,))
    hints = () if router and (router.pool or router.config_ref) else tuple(unreachable(live, routing))
    if not (router.is_routed if router else routing.wanted):
        return Desired(of_routes=hints)
    if not served:
        return Desired(held=ROUTES, of_routes=hints)
    errors = tuple(_router_errors(service, router, read, settings)) if service and router else ()
    wrong = (
        *(Finding(one, error) for error in errors for one in snapshot.subjects),
        *disagreements(live),
        *contradictions(served, routing, settings),
        *(Finding(one, error) for one in snapshot.namesakes if (error := named_like_picker(one.name, name))),
    )
    wanted = picker_of(routing, split=is_split(fitting), settings=settings)
    has_sidecars = any(one.sidecar for one in live) and not (router and router.pool)
    is_there = bool(picks) or not routing.config  # the author's configuration needs the one to come
    picker = _picker(wanted, live, pods, picks) if has_sidecars and is_there else wanted
    waits = tuple(waiting(served))
    unknown = bool(router and router.config_ref and not router.pool and not (read and read.text))
    if waits or unknown or any(one.error.severity == "error" for one in wrong):
        return _held(snapshot, settings, (*hints, *wrong, *waits))
    later = tuple(_later(served, picker, wanted)) if has_sidecars else ()
    kept = set[tuple[str, str]]()
    if picker is not wanted and routing.config:  # it was checked against the generation to come
        kept = {(DEPLOYMENT.kind, picker_name(name)), (CONFIG_MAP.kind, CONFIG_MAP.name(name))}
    if settings.secure_serving and not settings.destination_rules:  # gateways of Istio need an existing one
        kept.add((DESTINATION_RULE, picker_name(name)))
    found = _routes(snapshot, settings, routing, picker)
    lacking = () if found.router.pool else tuple(_lacking(found, snapshot))
    later += tuple(Finding(one, error) for one in snapshot.subjects for error in lacking)
    return Desired(
        tuple(one for one in route_objects(found) if (one["kind"], one["metadata"]["name"]) not in kept),
        held_objects=frozenset(kept),
        of_routes=(*hints, *wrong, *later),
    )


def _routes(snapshot: Snapshot, settings: Settings, routing: Routing, picker: Picker) -> Routes:
    """Return what the routes of the members that fit are made of."""
    fitting, service, stored = snapshot.fitting, snapshot.routed or snapshot.value, _present_picker(snapshot)
    router = service.router if service else None
    # Nothing else gives its pods another template.
    has_user = stored.user == USER and stored.picker == picker.name and not settings.picker_security_context
    return Routes(
        *snapshot.situation.key,
        picker=picker,
        endpoints=endpoints(fitting, snapshot.pods, picks=picker.active_ports),
        routing=routing,
        settings=settings,
        members=fitting,
        router=router or NO_ROUTER,
        adapters=service.adapters if service else (),
        owners=owners(service, fitting),
        has_user=has_user,
    )


def route_objects(routes: Routes) -> Iterator[Object]:
    """Render every object of the routes of a service, in the order of applying."""
    if not routes.router.pool:
        yield from picker_objects(routes)
        if routes.settings.destination_rules and routes.settings.secure_serving:
            yield destination_rule(routes)
    if routes.router.gateway:
        yield gateway(routes)
    if routes.parents:
        yield http_route(routes)
    yield from objectives(routes)


def _held(snapshot: Snapshot, settings: Settings, findings: Iterable[Finding]) -> Desired:
    """Leave the routes as they are, but for the pool.

    It goes on to select the pods that serve: what they serve is no part of what an author got wrong. Other
    halves of a service need another picker. While members are ejected it keeps its owners, which its other
    routes have too.
    """
    held = Desired(held=ROUTES, of_routes=tuple(findings))
    fitting = snapshot.fitting
    stored = snapshot.ours(POOL, POOL.name(snapshot.situation.key[1]))
    served, picker = serving_members(fitting), PICKERS.get(_present_picker(snapshot).picker, NO_PICKER)
    if stored is None or snapshot.ejected or stored.split is not is_split(fitting):
        return held
    errors = (one for one in unlike_ports(served, picker) if one.error.severity == "error")
    if not served or any(waiting(served)) or any(errors):
        return held
    return replace(held, objects=(inference_pool(_routes(snapshot, settings, NO_ROUTING, picker)),))


# --- the endpoint picker ------------------------------------------------------------------------------


def _present_picker(snapshot: Snapshot) -> Deployment:
    """Return the Deployment of the service's endpoint picker; `NO_DEPLOYMENT` if there is none of ours."""
    return snapshot.ours(DEPLOYMENT, picker_name(snapshot.situation.key[1])) or NO_DEPLOYMENT


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


# --- findings -----------------------------------------------------------------------------------------


def _untemplated(snapshot: Snapshot) -> Iterator[Finding]:
    """FI977: the routes stay as they are, since the router parts of templates are not known."""
    named = snapshot.templates
    why = named.trouble or f"{' and '.join(named.missing)} cannot be found"
    message = f"routes are neither created nor changed: InferenceTemplates are not known: {why}"
    for subject in snapshot.subjects:
        yield Finding(subject, FieldError("spec.baseRefs", None, message, "FI977"))


def _router_errors(
    service: InferenceServiceIntent, router: Router, read: Configuration | None, settings: Settings
) -> Iterator[FieldError]:
    """Report what the operator does not allow (FI833), and a configuration without a text (FI836, FI837)."""
    where, ref = f"spec.roles[{router.index}].configRef", reference(service)
    if ref and read is None:
        message = f"ConfigMap {ref.name} is not among the files: no routes are shown"
        yield FieldError(where, None, message, "FI837")
    elif ref and read and read.problem:
        message = f"{read.problem}; the routes stay as they are"
        yield FieldError(where, None, message, "FI836", softened=read.is_transient)
    yield from not_allowed(router, settings, {"gateway"})


def _router_routing(service: InferenceServiceIntent, read: Configuration | None) -> Routing:
    """Return the routing of the router role, in the form of the annotations; without a router, none.

    The members are not read: they may still have the annotations of an earlier router.
    """
    router = service.router
    if router is None:
        return NO_ROUTING
    routing = replace(router.routing, gateway=GATEWAYS.name(service.name) if router.gateway else "")
    if router.config_ref is None or router.pool:
        return routing
    return replace(routing, strategy="", config=read.text if read else "")


def _lacking(routes: Routes, snapshot: Snapshot) -> Iterator[FieldError]:
    """Report what the endpoint picker lacks of the InferenceObjectives of this cluster (FI826, FI827)."""
    picker, known = routes.picker, snapshot.objectives
    served = [one for one, is_served in known.items() if is_served]
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
    shown = " and ".join(f"{name} with priority {priority}" for name, priority in routes.objectives)
    if shown and first not in {"", OBJECTIVES_API}:
        message = f"{picker.name} reads the InferenceObjectives of {first} alone: create {shown} there"
        yield FieldError(priority_path(snapshot), None, message, IGNORED, softened=True)


def priority_path(snapshot: Snapshot) -> str:
    """Return the field with which an author sets the priority."""
    return "spec.priority" if snapshot.service else f"metadata.annotations[{PRIORITY}]"


def _on_the_router(findings: Iterable[Finding], service: InferenceServiceIntent) -> tuple[Finding, ...]:
    """Return findings about the routing of members once, on the field of the router that causes them."""
    found: list[Finding] = []
    for one in findings:
        error = authored_routing(one.error, service)
        moved = Finding(service.subject, error) if error else one
        if moved not in found:
            found.append(moved)
    return tuple(found)
