"""`RoutesReady`: the answers of the gateways, and whether the endpoint picker runs."""

from collections.abc import Iterable, Iterator
from typing import Final

from sync.observed.condition import ObservedCondition
from sync.observed.routes import (
    Deployment,
    Gateway,
    HTTPRoute,
    InferencePool,
    Ingress,
    Parent,
    ParentStatus,
)
from sync.status.observed import Observed, ObservedRoutes, behind, first, unstored
from sync.status.reasons import Verdict

UNKNOWN_KIND: Final = "InvalidKind"
"""The reason of `ResolvedRefs` from a gateway that does not know InferencePool (`RouteReasonInvalidKind`)."""
NO_ROUTES: Final = Verdict("NoRoutesWanted")


def routes_ready(seen: Observed) -> Verdict:
    """Judge `RoutesReady`: requests can come in through the routes."""
    if seen.routes is None:
        return NO_ROUTES if seen.service.roles else Verdict("NotObserved", behind(seen))
    if refused := first(seen.routes.errors):
        return Verdict("RoutesRefused", refused)
    return next(_problems(seen.routes), None) or _accepted(seen, seen.routes)


def _accepted(seen: Observed, routes: ObservedRoutes) -> Verdict:
    if late := unstored(seen):
        return Verdict("NotObserved", late)
    if not routes.prioritized:
        return Verdict("PriorityNotApplied", _unprioritized(routes))
    if not routes.router.is_routed:
        return Verdict("IngressCreated", _reached(routes.ingress)) if routes.ingress else NO_ROUTES
    picker = f", picked by {routes.picker.picker}" if routes.picker and routes.picker.picker else ""
    if not routes.attached:
        name = routes.pool.name if routes.pool else ""
        return Verdict("NoHTTPRouteWanted", f"InferencePool {name} exists{picker}")
    names = sorted({str(parent) for parent in routes.http_route.parents}) if routes.http_route else []
    return Verdict("RoutesAccepted", f"accepted by {', '.join(names)}{picker}")


def _unprioritized(routes: ObservedRoutes) -> str:
    """Return that requests get no priority, and why."""
    problem = "requests are served, all with priority 0"
    found = (error for error in routes.errors if error.softened and "priority" in error.path)
    return next((f"{problem}: {error.message}" for error in found), problem)


def _reached(ingress: Ingress) -> str:
    """Return where the Ingress is reached; its controller need not say."""
    return f"Ingress {ingress.name} has {', '.join(ingress.addresses) or 'no address yet'}"


# --- possible problems ------------------------------------------------------------------------------


def _problems(routes: ObservedRoutes) -> Iterator[Verdict]:
    """Yield what is wrong, the most telling first."""
    yield from _missing(routes)
    route, pool = routes.http_route if routes.attached else None, routes.pool
    named = {parent.gateway for parent in route.parents if parent.kind == "Gateway"} if route else set()
    gateways = [gateway for gateway in routes.gateways if gateway.key in named]
    if route:
        yield from _route_refused(route)
    for answer in _of_gateways(pool, route) if pool else ():
        yield from _refusal(answer, "InferencePool", "PoolNotAccepted")
    for gateway in gateways:
        yield from _not_programmed(gateway)
    if routes.picker:
        yield from _picker_down(routes.picker)
    if route and pool:
        yield from _unanswered(route, pool, {gateway.key for gateway in gateways})
    if unsaid := [str(gateway) for gateway in gateways if not _says(gateway.programmed, "True")]:
        yield Verdict("WaitingForGateway", f"not known to be programmed: {', '.join(unsaid)}")


def _missing(routes: ObservedRoutes) -> Iterator[Verdict]:
    """Yield which objects do not exist, or that it is not known; the author's InferencePool by its name."""
    router = routes.router
    parts = {
        f"InferencePool {router.pool}".rstrip(): router.is_routed and routes.pool is None,
        "Deployment of the endpoint picker": router.is_picked and routes.picker is None,
        "HTTPRoute": routes.attached and routes.http_route is None,
        "Ingress": router.ingress is not None and routes.ingress is None,
    }
    missing = [name for name, absent in parts.items() if absent]
    for name in missing:
        if why := routes.unknown.get(name.partition(" ")[0]):
            yield Verdict("NotObserved", why)
    if missing:
        yield Verdict("RouteMissing", f"missing: {', '.join(missing)}")


def _route_refused(route: HTTPRoute) -> Iterator[Verdict]:
    """Yield the parents for which no controller accepts the route, and why; one that has not answered may."""
    if not route.parents:
        yield Verdict("RouteNotAccepted", f"HTTPRoute {route.name} has no parentRefs; name a Gateway there")
    for parent in route.parents:
        answers = _to(parent, route.answers)
        for answer in () if any(map(_takes, answers)) else answers:
            yield from _refusal(answer, "HTTPRoute", "RouteNotAccepted")


def _refusal(answer: ParentStatus, kind: str, not_accepted: str) -> Iterator[Verdict]:
    """Yield why a controller refuses an object of a kind, if it does."""
    accepted, resolved = answer.accepted, answer.resolved
    if accepted and accepted.status == "False":
        yield Verdict(not_accepted, _message(answer.parent, f"refuses the {kind}", accepted))
    if resolved and resolved.status == "False" and resolved.reason == UNKNOWN_KIND:
        problem = "does not know InferencePool: this gateway lacks the inference extension"
        yield Verdict("GatewayWithoutInferencePool", _message(answer.parent, problem, resolved))
    if resolved and resolved.status == "False":
        problem = f"cannot resolve a reference of the {kind}"
        yield Verdict("RefsNotResolved", _message(answer.parent, problem, resolved))


def _not_programmed(gateway: Gateway) -> Iterator[Verdict]:
    """Yield that the controller of a Gateway does not accept it, or cannot program it."""
    for condition in (gateway.accepted, gateway.programmed):
        if condition and condition.status == "False":
            yield Verdict("GatewayNotProgrammed", _message(gateway, "is not programmed", condition))


def _picker_down(picker: Deployment) -> Iterator[Verdict]:
    """Yield that the endpoint picker does not run, or only the previous one."""
    if not picker.current:
        late = "the status of the endpoint picker's Deployment is of an earlier generation"
        yield Verdict("NotObserved", late)
    if not picker.available:
        why = picker.message or "no pod of it is ready"
        yield Verdict("PickerNotAvailable", f"the endpoint picker is not available: {why}")
    if picker.replacing:
        problem = f"the endpoint picker is being replaced, and the previous one serves: {picker.message}"
        yield Verdict("PickerNotAvailable" if picker.message else "NotObserved", problem.removesuffix(": "))


def _unanswered(route: HTTPRoute, pool: InferencePool, there: set[tuple[str, str]]) -> Iterator[Verdict]:
    """Yield the gateways without an answer for the present generation of the route, or of the pool.

    `there` are those that exist: old answers of others may still be in the status of the route.
    """
    gateways = (parent for parent in route.parents if parent.kind == "Gateway")
    if gone := [str(parent) for parent in gateways if parent.gateway not in there]:
        yield Verdict("WaitingForGateway", f"missing: {', '.join(gone)}")
    if silent := [
        str(parent) for parent in route.parents if not any(map(_takes, _to(parent, route.answers)))
    ]:
        yield Verdict("WaitingForGateway", f"no answer for HTTPRoute {route.name} from {', '.join(silent)}")
    if not any(_says(one.accepted, "True") for one in _of_gateways(pool, route)):
        problem = f"no answer for InferencePool {pool.name} from any of its gateways"
        yield Verdict("WaitingForGateway", problem)


# --- answers ----------------------------------------------------------------------------------------


def accepted_by(route: HTTPRoute) -> tuple[Parent, ...]:
    """Return the parents that accept a route, in the order in which it names them."""
    return tuple(parent for parent in route.parents if any(map(_takes, _to(parent, route.answers))))


def _to(parent: Parent, answers: Iterable[ParentStatus]) -> list[ParentStatus]:
    """Return the answers to one reference; several controllers may answer it."""
    return [one for one in answers if one.parent == parent]


def _takes(answer: ParentStatus) -> bool:
    return _says(answer.accepted, "True") and _says(answer.resolved, "True")


def _says(condition: ObservedCondition | None, status: str) -> bool:
    return condition is not None and condition.status == status


def _of_gateways(pool: InferencePool, route: HTTPRoute | None) -> Iterator[ParentStatus]:
    """Yield the answers of the route's gateways about the pool; without a route of ours, all answers."""
    gateways = {parent.gateway for parent in route.parents} if route else None
    return (one for one in pool.answers if gateways is None or one.parent.gateway in gateways)


def _message(subject: Parent | Gateway, problem: str, condition: ObservedCondition) -> str:
    message = f": {condition.message}" if condition.message else ""
    return f"{subject} {problem} ({condition.reason}{message})"
