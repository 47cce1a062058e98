"""The condition RoutesReady: answers of gateways, and the endpoint picker."""

from dataclasses import replace
from typing import Any

import pytest

from intent.errors import FieldError
from sync.observed.condition import ObservedCondition
from sync.observed.routes import Deployment, InferencePool, Ingress, Parent, ParentStatus
from sync.status import Observed, ObservedRoutes
from tests.sync.status.samples import GATEWAY, RULE, gateway, message, reason, route, routes, said, seen

OTHER = Parent("infra", "other")


def observed(**fields: Any) -> Observed:
    """Return routes that work, except for these fields."""
    return seen(routes=routes(**fields))


def refused(why: str, text: str = "no") -> ParentStatus:
    """Return an answer that accepts the route and cannot resolve its references."""
    return ParentStatus(GATEWAY, said(), said("False", why, text))


def test_a_service_without_routes_is_ready() -> None:
    assert reason("RoutesReady", seen()) == ("True", "NoRoutesWanted")


def test_routes_that_gateways_accept_are_ready() -> None:
    assert reason("RoutesReady", observed()) == ("True", "RoutesAccepted")
    assert message("RoutesReady", observed()) == "accepted by Gateway team-a/gw, picked by llm-d-0.7"


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("pool", "InferencePool"),
        ("picker", "Deployment of the endpoint picker"),
        ("http_route", "HTTPRoute"),
    ],
)
def test_a_missing_object_is_named(part: str, name: str) -> None:
    assert reason("RoutesReady", observed(**{part: None})) == ("False", "RouteMissing")
    assert message("RoutesReady", observed(**{part: None})) == f"missing: {name}"
    unread = observed(**{part: None}, unknown={name.partition(" ")[0]: "it cannot be read"})
    assert reason("RoutesReady", unread) == ("Unknown", "NotObserved")


def test_a_finding_about_routes_is_the_cause_of_their_absence() -> None:
    found = observed(pool=None, errors=(RULE,))

    assert reason("RoutesReady", found) == ("False", "RoutesRefused")
    assert reason("Failed", found) == ("True", "InferenceServiceFailed")


def test_requests_without_their_priority_are_served_and_the_reason_is_named() -> None:
    why = FieldError("spec.priority", None, "this cluster has none", "FI870", softened=True)

    found = observed(prioritized=False, errors=(why,))

    assert reason("RoutesReady", found) == ("True", "PriorityNotApplied")
    assert message("RoutesReady", found) == "requests are served, all with priority 0: this cluster has none"
    assert reason("Failed", found) == ("False", "NothingFailed")


def test_a_gateway_that_refuses_the_route_is_quoted() -> None:
    no = ParentStatus(GATEWAY, said("False", "NotAllowedByListeners", "namespace not allowed"), said())
    found = observed(http_route=route(no))

    assert reason("RoutesReady", found) == ("False", "RouteNotAccepted")
    assert message("RoutesReady", found) == (
        "Gateway team-a/gw refuses the HTTPRoute (NotAllowedByListeners: namespace not allowed)"
    )


def test_a_gateway_without_inference_pool_support_is_named() -> None:
    found = observed(http_route=route(refused("InvalidKind", "kind InferencePool")))

    assert reason("RoutesReady", found) == ("False", "GatewayWithoutInferencePool")
    assert "Gateway team-a/gw does not know InferencePool" in message("RoutesReady", found)


@pytest.mark.parametrize("why", ["BackendNotFound", "RefNotPermitted"])
def test_a_reference_that_cannot_be_resolved_is_reported(why: str) -> None:
    assert reason("RoutesReady", observed(http_route=route(refused(why)))) == ("False", "RefsNotResolved")


def test_one_of_two_controllers_that_accepts_the_route_is_enough() -> None:
    yes = ParentStatus(GATEWAY, said(), said())

    assert reason("RoutesReady", observed(http_route=route(refused("InvalidKind"), yes)))[0] == "True"


def test_every_parent_must_accept_the_route() -> None:
    both = route(
        ParentStatus(GATEWAY, said(), said()), ParentStatus(OTHER, said("False", "NoMatchingParent"))
    )
    found = observed(http_route=replace(both, parents=(GATEWAY, OTHER)))

    assert reason("RoutesReady", found) == ("False", "RouteNotAccepted")


def test_a_gateway_that_is_no_longer_a_parent_does_not_count() -> None:
    former = route(
        ParentStatus(OTHER, said("False", "NoMatchingParent")), ParentStatus(GATEWAY, said(), said())
    )

    assert reason("RoutesReady", observed(http_route=former))[0] == "True"


def test_a_gateway_without_an_answer_makes_it_unknown() -> None:
    found = observed(http_route=route(ParentStatus(GATEWAY)))

    assert reason("RoutesReady", found) == ("Unknown", "WaitingForGateway")
    assert message("RoutesReady", found) == "no answer for HTTPRoute r1-httproute from Gateway team-a/gw"


def test_a_gateway_that_is_not_programmed_is_quoted() -> None:
    no = said("False", "AddressNotAssigned", "no address is free")
    found = observed(gateways=(gateway(programmed=no),))

    assert reason("RoutesReady", found) == ("False", "GatewayNotProgrammed")
    assert message("RoutesReady", found) == (
        "Gateway team-a/gw is not programmed (AddressNotAssigned: no address is free)"
    )


def test_a_gateway_that_its_controller_refuses_is_quoted_with_the_cause() -> None:
    no = gateway(accepted=said("False", "InvalidParameters", "no such ConfigMap"), programmed=None)

    assert reason("RoutesReady", observed(gateways=(no,))) == ("False", "GatewayNotProgrammed")
    assert "InvalidParameters: no such ConfigMap" in message("RoutesReady", observed(gateways=(no,)))


@pytest.mark.parametrize("programmed", [None, said("Unknown", "Pending")])
def test_a_gateway_that_is_not_yet_programmed_makes_it_unknown(
    programmed: ObservedCondition | None,
) -> None:
    found = observed(gateways=(gateway(programmed=programmed),))

    assert reason("RoutesReady", found) == ("Unknown", "WaitingForGateway")
    assert message("RoutesReady", found) == "not known to be programmed: Gateway team-a/gw"


def test_a_gateway_of_another_route_of_the_service_does_not_count() -> None:
    other = replace(gateway(programmed=said("False", "Invalid")), name="other")

    assert reason("RoutesReady", observed(gateways=(gateway(), other)))[0] == "True"


def test_a_refused_route_comes_before_an_unprogrammed_gateway() -> None:
    no = ParentStatus(GATEWAY, said("False", "NotAllowedByListeners"), said())
    found = observed(http_route=route(no), gateways=(gateway(programmed=said("False", "Invalid")),))

    assert reason("RoutesReady", found) == ("False", "RouteNotAccepted")


def test_a_service_with_its_own_route_needs_no_gateway() -> None:
    gateways = (gateway(programmed=said("False", "Invalid")),)
    found = observed(attached=False, pool=InferencePool("r1-pool"), gateways=gateways)

    assert reason("RoutesReady", found) == ("True", "NoHTTPRouteWanted")


def test_a_route_without_parents_is_reported() -> None:
    assert reason("RoutesReady", observed(http_route=route(parents=()))) == ("False", "RouteNotAccepted")


def test_a_gateway_that_refuses_the_pool_is_quoted() -> None:
    pool = InferencePool("r1-pool", (ParentStatus(GATEWAY, said("False", "NotSupportedByParent", "no")),))

    assert reason("RoutesReady", observed(pool=pool)) == ("False", "PoolNotAccepted")


def test_a_pool_without_its_endpoint_picker_is_reported() -> None:
    pool = InferencePool("r1-pool", (ParentStatus(GATEWAY, said(), said("False", "InvalidExtensionRef")),))

    assert reason("RoutesReady", observed(pool=pool)) == ("False", "RefsNotResolved")


def test_a_pool_without_answers_makes_it_unknown() -> None:
    assert reason("RoutesReady", observed(pool=InferencePool("r1-pool"))) == ("Unknown", "WaitingForGateway")


def test_a_former_gateway_does_not_count_for_the_pool() -> None:
    pool = InferencePool("r1-pool", (ParentStatus(OTHER, said(), said()),))

    assert reason("RoutesReady", observed(pool=pool)) == ("Unknown", "WaitingForGateway")


def test_an_unavailable_endpoint_picker_is_reported_with_its_cause() -> None:
    picker = Deployment(available=False, message="exceeded quota", current=True)

    assert reason("RoutesReady", observed(picker=picker)) == ("False", "PickerNotAvailable")
    assert message("RoutesReady", observed(picker=picker)).endswith("not available: exceeded quota")


def test_an_endpoint_picker_that_is_being_replaced_is_not_current() -> None:
    picker = Deployment(available=True, current=True, replacing=True)

    assert reason("RoutesReady", observed(picker=picker)) == ("Unknown", "NotObserved")


def test_an_endpoint_picker_that_is_not_replaced_in_time_is_not_available() -> None:
    picker = Deployment(available=True, current=True, replacing=True, message="timed out")

    assert reason("RoutesReady", observed(picker=picker)) == ("False", "PickerNotAvailable")
    assert message("RoutesReady", observed(picker=picker)).endswith("the previous one serves: timed out")


def test_an_endpoint_picker_of_an_earlier_generation_proves_nothing() -> None:
    picker = Deployment(available=True, current=False)

    assert reason("RoutesReady", observed(picker=picker)) == ("Unknown", "NotObserved")


def test_routes_that_are_being_applied_prove_nothing() -> None:
    assert reason("RoutesReady", replace(observed(), settled=False)) == ("Unknown", "NotObserved")


def test_routes_that_are_not_all_stored_prove_nothing() -> None:
    assert reason("RoutesReady", observed(settled=False)) == ("Unknown", "NotObserved")


def test_a_service_with_its_own_route_needs_none_of_ours() -> None:
    found = observed(http_route=None, attached=False, pool=InferencePool("r1-pool"))

    assert reason("RoutesReady", found) == ("True", "NoHTTPRouteWanted")


def test_an_own_route_that_is_refused_is_reported() -> None:
    pool = InferencePool("r1-pool", (ParentStatus(OTHER, said("False", "NotSupportedByParent")),))

    assert reason("RoutesReady", observed(http_route=None, attached=False, pool=pool))[1] == "PoolNotAccepted"


# --- an Ingress alone -------------------------------------------------------------------------------


def alone(ingress: Ingress | None) -> Observed:
    """Return a service whose router has an Ingress and nothing else."""
    return seen(routes=ObservedRoutes(picked=False, attached=False, wants_ingress=True, ingress=ingress))


def test_an_ingress_alone_needs_no_endpoint_picker() -> None:
    ready = alone(Ingress("r1-ingress", ("10.0.0.1",)))

    assert reason("RoutesReady", ready) == ("True", "IngressCreated")
    assert message("RoutesReady", ready) == "Ingress r1-ingress has 10.0.0.1"


def test_an_ingress_whose_controller_reports_no_address_counts() -> None:
    assert message("RoutesReady", alone(Ingress("r1-ingress"))) == "Ingress r1-ingress has no address yet"


def test_an_ingress_that_is_missing_is_named() -> None:
    assert reason("RoutesReady", alone(None)) == ("False", "RouteMissing")
    assert "Ingress" in message("RoutesReady", alone(None))


def test_an_ingress_beside_a_route_must_exist_too() -> None:
    assert reason("RoutesReady", observed(wants_ingress=True)) == ("False", "RouteMissing")
    assert reason("RoutesReady", observed(wants_ingress=True, ingress=Ingress("r1-ingress"))) == (
        "True",
        "RoutesAccepted",
    )


def test_a_pool_of_the_author_that_does_not_exist_is_named() -> None:
    found = observed(pool=None, picker=None, picked=False, own_pool="theirs")

    assert reason("RoutesReady", found) == ("False", "PoolMissing")
    unread = observed(pool=None, own_pool="theirs", unknown={"InferencePool": "it cannot be read"})
    assert reason("RoutesReady", unread) == ("Unknown", "NotObserved")
    assert message("RoutesReady", found) == "there is no InferencePool theirs in this namespace"


def test_routes_to_a_pool_of_the_author_need_no_endpoint_picker() -> None:
    found = observed(picker=None, picked=False, own_pool="theirs")

    assert reason("RoutesReady", found) == ("True", "RoutesAccepted")
    assert message("RoutesReady", found) == "accepted by Gateway team-a/gw"
