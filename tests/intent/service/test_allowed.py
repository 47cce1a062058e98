"""What operators allow InferenceServices to bring."""

import pytest

from intent import Object
from intent.inferenceservice.read import InferenceServiceIntent, Router
from intent.service.allowed import brought, not_allowed
from intent.settings import Settings

Allowed = bool | tuple[str, ...]
PLAIN = InferenceServiceIntent("team-a", "svc")


def bringing(**gateway: str) -> InferenceServiceIntent:
    """Return an InferenceService with a Gateway of its own."""
    return InferenceServiceIntent("team-a", "svc", router=Router("router", gateway=dict(gateway), index=1))


ISTIO = bringing(gatewayClassName="istio")


def found(service: InferenceServiceIntent, *, gateways: Allowed) -> list[tuple[str, str]]:
    """Return path and code of what is not allowed."""
    return [(one.path, one.code) for one in not_allowed(service, Settings(gateways=gateways))]


@pytest.mark.parametrize("gateways", [True, ("istio",), ("other", "istio")])
def test_a_gateway_of_an_allowed_class_is_allowed(gateways: Allowed) -> None:
    assert found(ISTIO, gateways=gateways) == []


def test_a_gateway_of_another_class_is_reported_at_its_class() -> None:
    assert found(ISTIO, gateways=("nginx",)) == [("spec.roles[1].gateway.gatewayClassName", "FI833")]


@pytest.mark.parametrize("gateways", [False, ()])
def test_where_no_gateways_are_allowed_the_gateway_is_reported(gateways: Allowed) -> None:
    assert found(ISTIO, gateways=gateways) == [("spec.roles[1].gateway", "FI833")]


@pytest.mark.parametrize("service", [PLAIN, bringing()])
def test_without_a_gateway_nothing_is_reported(service: InferenceServiceIntent) -> None:
    assert found(service, gateways=False) == []


@pytest.mark.parametrize(
    ("service", "expected"), [(PLAIN, {}), (bringing(), {"gateway": {}, "ingress": None})]
)
def test_what_is_brought_can_be_compared(service: InferenceServiceIntent, expected: Object) -> None:
    assert brought(service) == expected


@pytest.mark.parametrize(
    ("ingresses", "expected"),
    [
        (True, []),
        (("nginx",), []),
        (("other",), [("spec.roles[1].ingress.ingressClassName", "FI833")]),
        (False, [("spec.roles[1].ingress", "FI833")]),
    ],
)
def test_an_ingress_is_restricted_like_a_gateway(ingresses: Allowed, expected: list[tuple[str, str]]) -> None:
    router = Router("router", index=1, ingress={"ingressClassName": "nginx"})
    service = InferenceServiceIntent("team-a", "svc", router=router)

    errors = not_allowed(service, Settings(ingresses=ingresses))

    assert [(one.path, one.code) for one in errors] == expected


def test_the_class_that_the_cluster_chooses_is_not_a_listed_one() -> None:
    service = InferenceServiceIntent("team-a", "svc", router=Router("router", ingress={}))

    assert [one.code for one in not_allowed(service, Settings(ingresses=("nginx",)))] == ["FI833"]
