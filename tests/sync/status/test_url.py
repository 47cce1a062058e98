"""The URL of a service."""

from dataclasses import replace
from typing import Any

import pytest

from sync.observed.routes import Ingress, Listener, Parent, ParentStatus, project_ingress
from sync.status import ObservedRoutes, status
from tests.sync.status.samples import GATEWAY, NOW, gateway, route, routes, said, seen

WEB = Listener("web", 80, "HTTP")
HIGH = Listener("high", 8080, "HTTP")
TLS = Listener("tls", 443, "HTTPS")
RAW = Listener("raw", 5432, "TCP")


def url(*listeners: Listener, address: str = "10.0.0.1", parent: Parent = GATEWAY, **fields: Any) -> Any:
    """Return the URL of a route at a gateway with these listeners."""
    taken = route(ParentStatus(parent, said(), said()), parents=(parent,), **fields)
    at = gateway(listeners=listeners, addresses=(address,) if address else ())
    made = status(seen(routes=routes(http_route=taken, gateways=(at,))), {}, NOW)
    return made.get("url")


@pytest.mark.parametrize(
    ("listener", "expected"),
    [
        (WEB, "http://10.0.0.1"),
        (HIGH, "http://10.0.0.1:8080"),
        (TLS, "https://10.0.0.1"),
        (replace(TLS, port=8443), "https://10.0.0.1:8443"),
    ],
)
def test_scheme_and_port_are_those_of_the_listener(listener: Listener, expected: str) -> None:
    assert url(listener) == expected


def test_a_listener_of_another_protocol_is_skipped() -> None:
    assert url(RAW, WEB) == "http://10.0.0.1"


def test_the_listener_that_the_route_names_is_used() -> None:
    assert url(WEB, TLS, parent=replace(GATEWAY, section="tls")) == "https://10.0.0.1"


def test_the_port_that_the_route_names_is_used() -> None:
    assert url(WEB, HIGH, parent=replace(GATEWAY, port=8080)) == "http://10.0.0.1:8080"


def test_the_prefix_is_added() -> None:
    assert url(WEB, prefix="/r1") == "http://10.0.0.1/r1"


def test_an_ipv6_address_is_in_brackets() -> None:
    assert url(HIGH, address="fd00::1") == "http://[fd00::1]:8080"


@pytest.mark.parametrize(
    ("hostnames", "listener", "host"),
    [
        (("r1.example.com",), "", "r1.example.com"),
        (("r1.example.com",), "*.example.com", "r1.example.com"),
        (("*.example.com",), "r1.example.com", "r1.example.com"),
        ((), "r1.example.com", "r1.example.com"),
        (("*.example.com",), "", "10.0.0.1"),
        (("*.example.com", "r1.example.com"), "", "r1.example.com"),
    ],
)
def test_the_host_is_one_that_route_and_listener_share(
    hostnames: tuple[str, ...], listener: str, host: str
) -> None:
    assert url(replace(WEB, hostname=listener), hostnames=hostnames) == f"http://{host}"


def test_a_listener_of_other_hosts_is_skipped() -> None:
    assert url(replace(TLS, hostname="a.example.com"), WEB, hostnames=("b.example.com",)) == (
        "http://b.example.com"
    )


def test_without_an_address_there_is_none() -> None:
    assert url(WEB, address="") is None


def test_without_an_answer_there_is_none() -> None:
    made = status(seen(routes=routes(http_route=route(ParentStatus(GATEWAY)))), {}, NOW)

    assert "url" not in made


def test_without_routes_there_is_none() -> None:
    assert "url" not in status(seen(), {}, NOW)


def test_it_is_kept_while_the_endpoint_picker_is_down() -> None:
    assert "url" in status(seen(routes=routes(picker=None)), {}, NOW)


def of_ingress(*rules: Any, addresses: tuple[Any, ...] = ({"ip": "10.0.0.1"},), **spec: Any) -> Any:
    """Return the URL of a service with this Ingress alone."""
    ingress = project_ingress(
        {
            "metadata": {"name": "r1-ingress"},
            "spec": {"rules": list(rules), **spec},
            "status": {"loadBalancer": {"ingress": list(addresses)}},
        }
    )
    alone = ObservedRoutes(picked=False, attached=False, wants_ingress=True, ingress=ingress)
    return status(seen(routes=alone), {}, NOW).get("url")


def http(path: str, kind: str = "Prefix") -> Any:
    return {"paths": [{"path": path, "pathType": kind}]}


@pytest.mark.parametrize(
    ("rules", "fields", "expected"),
    [
        ((), {}, "http://10.0.0.1"),
        ((), {"addresses": ({"hostname": "lb.example.com", "ip": "10.0.0.1"},)}, "http://lb.example.com"),
        ((), {"addresses": ({"ip": "fd00::1"},)}, "http://[fd00::1]"),
        ((), {"addresses": ()}, None),
        (({"host": "a.b", "http": http("/")},), {}, "http://a.b"),
        (({"host": "a.b", "http": http("/chat/")},), {}, "http://a.b/chat"),
        (({"host": "a.b", "http": http("/chat(/|$)", "ImplementationSpecific")},), {}, "http://a.b"),
        (({"host": "*.b"}, {"host": "c.b"}), {}, "http://c.b"),
        (({"host": "a.b"},), {"tls": [{"hosts": ["a.b"]}]}, "https://a.b"),
    ],
)
def test_an_ingress_has_the_url_of_its_first_rule(
    rules: tuple[Any, ...], fields: dict[str, Any], expected: str | None
) -> None:
    assert of_ingress(*rules, **fields) == expected


def test_the_url_of_a_gateway_comes_first() -> None:
    taken = route(ParentStatus(GATEWAY, said(), said()), parents=(GATEWAY,))
    at = gateway(listeners=(WEB,), addresses=("10.0.0.1",))
    ingress = Ingress("r1-ingress", ("10.0.0.2",))
    both = routes(http_route=taken, gateways=(at,), ingress=ingress, wants_ingress=True)

    assert status(seen(routes=both), {}, NOW)["url"] == "http://10.0.0.1"
