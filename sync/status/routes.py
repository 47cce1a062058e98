"""`RoutesReady`: the answers of the gateways, and whether the endpoint picker runs."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from sync.observed.condition import ObservedCondition
from sync.observed.routes import Gateway, HTTPRoute, InferencePool, Parent, ParentStatus
from sync.status import failures
from sync.status.inputs import Observed, ObservedRoutes, behind, unstored
from sync.status.reasons import Verdict

UNKNOWN_KIND: Final = "InvalidKind"
"""The reason of `ResolvedRefs` from a gateway that does not know InferencePool (`RouteReasonInvalidKind`)."""


def routes_ready(seen: Observed) -> Verdict:
    """Judge `RoutesReady`: requests can come in through the routes."""
    if seen.routes is None:
        return Verdict("NoRoutesWanted") if seen.service.roles else Verdict("NotObserved", behind(seen))
    if refused := failures.first(seen.routes.errors):
        return Verdict("RoutesRefused", refused)
    verdicts = (check(seen.routes) for check in CHECKS)
    return next((verdict for verdict in verdicts if verdict), _accepted(seen, seen.routes))


def _accepted(seen: Observed, routes: ObservedRoutes) -> Verdict:
    if late := unstored(seen):
        return Verdict("NotObserved", late)
    if not (routes.picked or routes.own_pool):
        return (
            Verdict("IngressCreated", _reached(routes)) if routes.wants_ingress else Verdict("NoRoutesWanted")
        )
    if not routes.attached:
        return Verdict(
            "NoHTTPRouteWanted",
            f"InferencePool {routes.pool.name if routes.pool else ''} exists{_picked_by(routes)}",
        )
    route = routes.http_route
    names = sorted({str(parent) for parent in route.parents}) if route else []
    return Verdict("RoutesAccepted", f"accepted by {', '.join(names)}{_picked_by(routes)}")


def _reached(routes: ObservedRoutes) -> str:
    """Return where the Ingress is reached; its controller need not say."""
    name, addresses = (routes.ingress.name, routes.ingress.addresses) if routes.ingress else ("", ())
    return f"Ingress {name} has {', '.join(addresses) or 'no address yet'}"


def _picked_by(routes: ObservedRoutes) -> str:
    return f", picked by {routes.picker.picker}" if routes.picker and routes.picker.picker else ""


# --- possible problems, the most telling first -----------------------------------------------------


def _missing(routes: ObservedRoutes) -> Verdict | None:
    """Return which objects do not exist, or that it is not known; the author's InferencePool comes first."""
    is_own = bool(routes.own_pool) and routes.pool is None
    parts = {
        "InferencePool": is_own or (routes.picked and routes.pool is None),
        "Deployment of the endpoint picker": routes.picked and routes.picker is None,
        "HTTPRoute": routes.attached and routes.http_route is None,
        "Ingress": routes.wants_ingress and routes.ingress is None,
    }
    missing = [name for name, absent in parts.items() if absent]
    unknown = [why for name in missing if (why := routes.unknown.get(name.partition(" ")[0]))]
    if unknown:
        return Verdict("NotObserved", unknown[0])
    if is_own:
        return Verdict("PoolMissing", f"there is no InferencePool {routes.own_pool} in this namespace")
    return Verdict("RouteMissing", f"missing: {', '.join(missing)}") if missing else None


def _route_refused(routes: ObservedRoutes) -> Verdict | None:
    """Return the first parent for which no controller accepts the route, and why."""
    route = routes.http_route
    if route is None or not routes.attached:
        return None
    if not route.parents:
        return Verdict("RouteNotAccepted", f"HTTPRoute {route.name} has no parentRefs; name a Gateway there")
    return next((verdict for parent in route.parents if (verdict := _of_parent(parent, route))), None)


def _pool_refused(routes: ObservedRoutes) -> Verdict | None:
    """Return why a gateway of the route refuses the pool."""
    if routes.pool is None:
        return None
    answers = _of_gateways(routes.pool, routes.http_route if routes.attached else None)
    refusals = (_refusal(one, "InferencePool", "PoolNotAccepted") for one in answers)
    return next((verdict for verdict in refusals if verdict), None)


def _gateway_refused(routes: ObservedRoutes) -> Verdict | None:
    """Return the first Gateway of the route that its controller does not accept, or has not programmed."""
    verdicts = (_gateway_verdict(gateway) for gateway in _gateways(routes))
    return next((verdict for verdict in verdicts if verdict), None)


def _picker_down(routes: ObservedRoutes) -> Verdict | None:
    picker = routes.picker
    if picker is None or (picker.available and picker.current and not picker.replacing):
        return None
    if not picker.current:
        return Verdict(
            "NotObserved", "the status of the endpoint picker's Deployment is of an earlier generation"
        )
    if not picker.available:
        why = picker.message or "no pod of it is ready"
        return Verdict("PickerNotAvailable", f"the endpoint picker is not available: {why}")
    problem = f"the endpoint picker is being replaced, and the previous one serves: {picker.message}"
    return Verdict("PickerNotAvailable" if picker.message else "NotObserved", problem.removesuffix(": "))


def _unanswered(routes: ObservedRoutes) -> Verdict | None:
    """Return the gateways without an answer for the present generation of the route, or of the pool."""
    route, pool = routes.http_route, routes.pool
    if route is None or pool is None or not routes.attached:
        return None
    gone = [str(parent) for parent in _gone(route, routes)]
    if gone:
        return Verdict("WaitingForGateway", f"missing: {', '.join(gone)}")
    silent = [str(parent) for parent in route.parents if not any(map(_takes, _to(parent, route.answers)))]
    if silent:
        return Verdict("WaitingForGateway", f"no answer for HTTPRoute {route.name} from {', '.join(silent)}")
    if not any(_says(one.accepted, "True") for one in _of_gateways(pool, route)):
        return Verdict(
            "WaitingForGateway", f"no answer for InferencePool {pool.name} from any of its gateways"
        )
    return None


def _unprogrammed(routes: ObservedRoutes) -> Verdict | None:
    """Return the Gateways of the route that are not known to be programmed in their present generation."""
    unsaid = [str(gateway) for gateway in _gateways(routes) if not _says(gateway.programmed, "True")]
    if not unsaid:
        return None
    return Verdict("WaitingForGateway", f"not known to be programmed: {', '.join(unsaid)}")


def _gateways(routes: ObservedRoutes) -> Iterator[Gateway]:
    """Yield the existing Gateways that the route names."""
    route = routes.http_route if routes.attached else None
    named = {parent.gateway for parent in route.parents if parent.kind == "Gateway"} if route else set()
    return (gateway for gateway in routes.gateways if gateway.key in named)


def _gone(route: HTTPRoute, routes: ObservedRoutes) -> Iterator[Parent]:
    """Yield the Gateways of the route that do not exist; their old answers may still be in its status."""
    there = {gateway.key for gateway in routes.gateways}
    return (parent for parent in route.parents if parent.kind == "Gateway" and parent.gateway not in there)


CHECKS: Final[tuple[Callable[[ObservedRoutes], Verdict | None], ...]] = (
    _missing,
    _route_refused,
    _pool_refused,
    _gateway_refused,
    _picker_down,
    _unanswered,
    _unprogrammed,
)


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


def _of_parent(parent: Parent, route: HTTPRoute) -> Verdict | None:
    """Return why no controller accepts the route for this parent; None if one does, or none has refused."""
    answers = _to(parent, route.answers)
    if any(map(_takes, answers)):
        return None
    refusals = (_refusal(one, "HTTPRoute", "RouteNotAccepted") for one in answers)
    return next((verdict for verdict in refusals if verdict), None)


def _refusal(answer: ParentStatus, kind: str, not_accepted: str) -> Verdict | None:
    """Return why a controller refuses an object of a kind; None if it does not."""
    accepted, resolved = answer.accepted, answer.resolved
    if accepted and accepted.status == "False":
        return Verdict(not_accepted, _message(answer.parent, f"refuses the {kind}", accepted))
    if resolved is None or resolved.status != "False":
        return None
    if resolved.reason == UNKNOWN_KIND:
        problem = "does not know InferencePool: this gateway lacks the inference extension"
        return Verdict("GatewayWithoutInferencePool", _message(answer.parent, problem, resolved))
    problem = f"cannot resolve a reference of the {kind}"
    return Verdict("RefsNotResolved", _message(answer.parent, problem, resolved))


def _gateway_verdict(gateway: Gateway) -> Verdict | None:
    for condition in (gateway.accepted, gateway.programmed):
        if condition and condition.status == "False":
            return Verdict("GatewayNotProgrammed", _message(gateway, "is not programmed", condition))
    return None


def _of_gateways(pool: InferencePool, route: HTTPRoute | None) -> Iterator[ParentStatus]:
    """Yield the answers of the route's gateways about the pool; without a route of ours, all answers."""
    gateways = {parent.gateway for parent in route.parents} if route else None
    return (one for one in pool.answers if gateways is None or one.parent.gateway in gateways)


def _message(subject: Parent | Gateway, problem: str, condition: ObservedCondition) -> str:
    message = f": {condition.message}" if condition.message else ""
    return f"{subject} {problem} ({condition.reason}{message})"
