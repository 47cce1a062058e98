"""The condition RoutesReady: answers of gateways, and the endpoint picker."""

from dataclasses import replace
from typing import Any, Final

import pytest

from intent.errors import FieldError
from intent.inferenceservice.read import Router
from sync.observed.routes import InferencePool, Ingress, Parent, ParentStatus
from sync.status.observed import Observed, ObservedRoutes
from tests.sync.status.samples import (
    ALONE,
    GATEWAY,
    ROUTER,
    RULE,
    Case,
    deployment,
    each,
    gateway,
    judged,
    message,
    reason,
    route,
    router,
    routes,
    said,
    seen,
)

OTHER: Final = Parent("infra", "other")
YES: Final = ParentStatus(GATEWAY, said(), said())
NO_LISTENER: Final = ParentStatus(GATEWAY, said("False", "NotAllowedByListeners", "forbidden"), said())
NO_PARENT: Final = ParentStatus(OTHER, said("False", "NoMatchingParent"))
INVALID: Final = (gateway(programmed=said("False", "Invalid")),)
POOL: Final = InferencePool("team-a", "r1-pool")
OWN_ROUTE: Final = router(attached=False)
OWN_POOL: Final = router(pool="theirs")
BOTH: Final = router(ingress=True)
REPLACED: Final = deployment(available=True, current=True, replacing=True)


def observed(router: Router = ROUTER, **fields: Any) -> Observed:
    """Return routes that work, except for these fields."""
    return seen(routes=routes(router, **fields))


def refused(why: str, text: str = "no") -> Observed:
    """Return routes whose gateway accepts the route and cannot resolve its references."""
    return observed(http_route=route(ParentStatus(GATEWAY, said(), said("False", why, text))))


def pool(*answers: ParentStatus) -> InferencePool:
    return InferencePool("team-a", "r1-pool", answers=answers)


def alone(ingress: Ingress | None) -> Observed:
    """Return a service whose router has an Ingress and nothing else."""
    return seen(routes=ObservedRoutes(ALONE, ingress=ingress))


OF_ROUTES: Final[dict[str, Case]] = {
    "no routes": (seen(), "True NoRoutesWanted"),
    "a router that wants none": (
        seen(routes=ObservedRoutes(router(picked=False, attached=False))),
        "True NoRoutesWanted",
    ),
    "accepted": (observed(), "True RoutesAccepted: accepted by Gateway team-a/gw, picked by llm-d-0.7"),
    "a finding is the cause of their absence": (observed(pool=None, errors=(RULE,)), "False RoutesRefused"),
    "being applied": (replace(observed(), settled=False), "Unknown NotObserved"),
    "not all stored": (observed(settled=False), "Unknown NotObserved"),
    "an own route": (observed(OWN_ROUTE, http_route=None, pool=POOL), "True NoHTTPRouteWanted"),
    "an own route needs no gateway": (
        observed(OWN_ROUTE, pool=POOL, gateways=INVALID),
        "True NoHTTPRouteWanted",
    ),
    "an own route that is refused": (
        observed(
            OWN_ROUTE,
            http_route=None,
            pool=pool(ParentStatus(OTHER, said("False", "NotSupportedByParent"))),
        ),
        "False PoolNotAccepted",
    ),
}
OF_PARENTS: Final[dict[str, Case]] = {
    "a refusal is quoted": (
        observed(http_route=route(NO_LISTENER)),
        "False RouteNotAccepted: Gateway team-a/gw refuses the HTTPRoute (NotAllowedByListeners: forbidden)",
    ),
    "BackendNotFound": (refused("BackendNotFound"), "False RefsNotResolved"),
    "RefNotPermitted": (refused("RefNotPermitted"), "False RefsNotResolved"),
    "one of two controllers is enough": (
        observed(http_route=route(ParentStatus(GATEWAY, said(), said("False", "InvalidKind")), YES)),
        "True RoutesAccepted",
    ),
    "every parent must accept": (
        observed(http_route=replace(route(YES, NO_PARENT), parents=(GATEWAY, OTHER))),
        "False RouteNotAccepted",
    ),
    "a former parent does not count": (observed(http_route=route(NO_PARENT, YES)), "True RoutesAccepted"),
    "no parents": (observed(http_route=route(parents=())), "False RouteNotAccepted"),
    "no answer": (
        observed(http_route=route(ParentStatus(GATEWAY))),
        "Unknown WaitingForGateway: no answer for HTTPRoute r1-httproute from Gateway team-a/gw",
    ),
}
OF_GATEWAYS: Final[dict[str, Case]] = {
    "not programmed": (
        observed(gateways=(gateway(programmed=said("False", "AddressNotAssigned", "no address")),)),
        "False GatewayNotProgrammed: Gateway team-a/gw is not programmed (AddressNotAssigned: no address)",
    ),
    "not yet programmed": (
        observed(gateways=(gateway(programmed=said("Unknown", "Pending")),)),
        "Unknown WaitingForGateway: not known to be programmed: Gateway team-a/gw",
    ),
    "no condition": (
        observed(gateways=(gateway(programmed=None),)),
        "Unknown WaitingForGateway: not known to be programmed: Gateway team-a/gw",
    ),
    "that of another route": (
        observed(gateways=(gateway(), replace(INVALID[0], name="other"))),
        "True RoutesAccepted",
    ),
    "a refused route comes first": (
        observed(http_route=route(NO_LISTENER), gateways=INVALID),
        "False RouteNotAccepted",
    ),
}
OF_POOLS: Final[dict[str, Case]] = {
    "refused": (
        observed(pool=pool(ParentStatus(GATEWAY, said("False", "NotSupportedByParent", "no")))),
        "False PoolNotAccepted",
    ),
    "without its endpoint picker": (
        observed(pool=pool(ParentStatus(GATEWAY, said(), said("False", "InvalidExtensionRef")))),
        "False RefsNotResolved",
    ),
    "no answers": (observed(pool=POOL), "Unknown WaitingForGateway"),
    "the answer of a former gateway": (
        observed(pool=pool(ParentStatus(OTHER, said(), said()))),
        "Unknown WaitingForGateway",
    ),
    "the author's": (
        observed(OWN_POOL, picker=None),
        "True RoutesAccepted: accepted by Gateway team-a/gw",
    ),
    "the author's does not exist": (
        observed(OWN_POOL, pool=None, picker=None),
        "False RouteMissing: missing: InferencePool theirs",
    ),
    "the author's cannot be read": (
        observed(OWN_POOL, pool=None, unknown={"InferencePool": "it cannot be read"}),
        "Unknown NotObserved",
    ),
}
OF_PICKERS: Final[dict[str, Case]] = {
    "being replaced": (observed(picker=REPLACED), "Unknown NotObserved"),
    "of an earlier generation": (
        observed(picker=deployment(available=True)),
        "Unknown NotObserved",
    ),
}
OF_INGRESSES: Final[dict[str, Case]] = {
    "alone": (
        alone(Ingress("team-a", "r1-ingress", addresses=("10.0.0.1",))),
        "True IngressCreated: Ingress r1-ingress has 10.0.0.1",
    ),
    "no address": (
        alone(Ingress("team-a", "r1-ingress")),
        "True IngressCreated: Ingress r1-ingress has no address yet",
    ),
    "missing": (alone(None), "False RouteMissing: missing: Ingress"),
    "missing beside a route": (observed(BOTH), "False RouteMissing"),
    "beside a route": (observed(BOTH, ingress=Ingress("team-a", "r1-ingress")), "True RoutesAccepted"),
}


@each(
    routes=OF_ROUTES,
    parents=OF_PARENTS,
    gateways=OF_GATEWAYS,
    pools=OF_POOLS,
    pickers=OF_PICKERS,
    ingresses=OF_INGRESSES,
)
def test_routes_are_ready_or_say_why_not(kind: str, observed: Observed, verdict: str, said: str) -> None:
    assert kind
    assert judged("RoutesReady", observed, said) == (verdict, said)


@pytest.mark.parametrize(
    ("part", "name"),
    [("pool", "InferencePool"), ("picker", "Deployment of the endpoint picker"), ("http_route", "HTTPRoute")],
)
def test_a_missing_object_is_named(part: str, name: str) -> None:
    lacks: dict[str, Any] = {part: None}
    assert reason("RoutesReady", observed(**lacks)) == ("False", "RouteMissing")
    assert message("RoutesReady", observed(**lacks)) == f"missing: {name}"
    unread = observed(**lacks, unknown={name.partition(" ")[0]: "it cannot be read"})
    assert reason("RoutesReady", unread) == ("Unknown", "NotObserved")


def test_a_finding_about_routes_is_a_failure() -> None:
    assert reason("Failed", observed(pool=None, errors=(RULE,))) == ("True", "InferenceServiceFailed")


def test_requests_without_their_priority_are_served_and_the_reason_is_named() -> None:
    why = FieldError("spec.priority", None, "this cluster has none", "FI870", softened=True)

    found = observed(prioritized=False, errors=(why,))

    assert reason("RoutesReady", found) == ("True", "PriorityNotApplied")
    assert message("RoutesReady", found) == "requests are served, all with priority 0: this cluster has none"
    assert reason("Failed", found) == ("False", "NothingFailed")


@pytest.mark.parametrize(
    ("found", "why", "words"),
    [
        (
            refused("InvalidKind", "kind InferencePool"),
            "GatewayWithoutInferencePool",
            "Gateway team-a/gw does not know InferencePool",
        ),
        (
            observed(
                gateways=(
                    gateway(
                        accepted=said("False", "InvalidParameters", "no such ConfigMap"), programmed=None
                    ),
                )
            ),
            "GatewayNotProgrammed",
            "InvalidParameters: no such ConfigMap",
        ),
        (
            observed(picker=deployment(available=False, message="exceeded quota", current=True)),
            "PickerNotAvailable",
            "not available: exceeded quota",
        ),
        (
            observed(picker=replace(REPLACED, message="timed out")),
            "PickerNotAvailable",
            "the previous one serves: timed out",
        ),
    ],
    ids=["gateway", "its controller", "endpoint picker", "not replaced in time"],
)
def test_a_cause_is_quoted(found: Observed, why: str, words: str) -> None:
    assert reason("RoutesReady", found) == ("False", why)
    assert words in message("RoutesReady", found)
