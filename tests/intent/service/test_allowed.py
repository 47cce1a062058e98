"""What operators allow InferenceServices to bring."""

import pytest

from intent.inferenceservice.read import InferenceServiceIntent, Router
from intent.service.allowed import brought, not_allowed
from intent.settings import Settings

Allowed = bool | tuple[str, ...]
PLAIN = InferenceServiceIntent("team-a", "svc")


def bringing(**gateway: str) -> InferenceServiceIntent:
    """Return an InferenceService with a Gateway of its own."""
    return InferenceServiceIntent("team-a", "svc", router=Router("router", gateway=dict(gateway), index=1))


ISTIO = bringing(gatewayClassName="istio")


@pytest.mark.parametrize(
    ("service", "gateways", "reported"),
    [
        *((ISTIO, gateways, []) for gateways in (True, ("istio",), ("other", "istio"))),
        (ISTIO, ("nginx",), [("spec.roles[1].gateway.gatewayClassName", "FI833")]),
        *((ISTIO, gateways, [("spec.roles[1].gateway", "FI833")]) for gateways in (False, ())),
        (bringing(), False, []),
    ],
)
def test_a_gateway_of_a_class_that_is_not_allowed_is_reported(
    service: InferenceServiceIntent, gateways: Allowed, reported: list[tuple[str, str]]
) -> None:
    assert service.router is not None
    errors = not_allowed(service.router, Settings(gateways=gateways))

    assert [(one.path, one.code) for one in errors] == reported


@pytest.mark.parametrize(("service", "fields"), [(PLAIN, set()), (bringing(), set()), (ISTIO, {"gateway"})])
def test_what_is_brought_can_be_compared(service: InferenceServiceIntent, fields: set[str]) -> None:
    assert brought(service.router).keys() == fields


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

    errors = not_allowed(router, Settings(ingresses=ingresses))

    assert [(one.path, one.code) for one in errors] == expected


def test_the_class_that_the_cluster_chooses_is_not_a_listed_one() -> None:
    router = Router("router", ingress={})

    assert [one.code for one in not_allowed(router, Settings(ingresses=("nginx",)))] == ["FI833"]
