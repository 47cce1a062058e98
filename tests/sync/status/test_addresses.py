"""The addresses of a service, and the URL that is the first of them."""

from dataclasses import replace
from typing import Any

import pytest

from intent.inferenceservice.v1alpha1 import MOST_ADDRESSES
from sync.observed.routes import Ingress, Listener, Parent, ParentStatus, project_ingress
from sync.status import status
from sync.status.observed import ObservedRoutes
from tests.sync.status.samples import ALONE, GATEWAY, NOW, gateway, route, routes, said, seen

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
    ("listeners", "fields", "expected"),
    [
        ((WEB,), {}, "http://10.0.0.1"),
        ((HIGH,), {}, "http://10.0.0.1:8080"),
        ((TLS,), {}, "https://10.0.0.1"),
        ((replace(TLS, port=8443),), {}, "https://10.0.0.1:8443"),
        ((RAW, WEB), {}, "http://10.0.0.1"),
        ((WEB, TLS), {"parent": replace(GATEWAY, section="tls")}, "https://10.0.0.1"),
        ((WEB, HIGH), {"parent": replace(GATEWAY, port=8080)}, "http://10.0.0.1:8080"),
        ((WEB,), {"prefix": "/r1"}, "http://10.0.0.1/r1"),
        ((HIGH,), {"address": "fd00::1"}, "http://[fd00::1]:8080"),
        ((WEB,), {"address": ""}, None),
        (
            (replace(TLS, hostname="a.example.com"), WEB),
            {"hostnames": ("b.example.com",)},
            "http://b.example.com",
        ),
    ],
    ids=[
        *("HTTP", "another port", "HTTPS", "another port of HTTPS", "another protocol is skipped"),
        *("the listener of the route", "the port of the route", "a prefix", "IPv6", "no address"),
        "a listener of other hosts is skipped",
    ],
)
def test_a_url_is_that_of_the_first_listener_that_serves_the_route(
    listeners: tuple[Listener, ...], fields: dict[str, Any], expected: str | None
) -> None:
    assert url(*listeners, **fields) == expected


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


@pytest.mark.parametrize(
    ("found", "there"),
    [(routes(http_route=route(ParentStatus(GATEWAY))), False), (None, False), (routes(picker=None), True)],
    ids=["no answer", "no routes", "the endpoint picker is down"],
)
def test_there_is_a_url_while_a_gateway_takes_the_route(found: ObservedRoutes | None, *, there: bool) -> None:
    assert ("url" in status(seen(routes=found), {}, NOW)) == there


def of_ingress(*rules: Any, addresses: tuple[Any, ...] = ({"ip": "10.0.0.1"},), **spec: Any) -> Any:
    """Return the status of a service with this Ingress alone."""
    ingress = project_ingress(
        {
            "metadata": {"name": "r1-ingress"},
            "spec": {"rules": list(rules), **spec},
            "status": {"loadBalancer": {"ingress": list(addresses)}},
        }
    )
    alone = ObservedRoutes(ALONE, ingress=ingress)
    return status(seen(routes=alone), {}, NOW)


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
    assert of_ingress(*rules, **fields).get("url") == expected


def test_the_url_of_a_gateway_comes_first() -> None:
    taken = route(ParentStatus(GATEWAY, said(), said()), parents=(GATEWAY,))
    at = gateway(listeners=(WEB,), addresses=("10.0.0.1",))
    ingress = Ingress("team-a", "r1-ingress", addresses=("10.0.0.2",), entries=(("", ""),))
    both = routes(http_route=taken, gateways=(at,), ingress=ingress)

    made = status(seen(routes=both, api="r1-api"), {}, NOW)

    assert made["url"] == "http://10.0.0.1"
    assert made["addresses"] == [
        {"name": "Gateway team-a/gw", "url": "http://10.0.0.1"},
        {"name": "Ingress r1-ingress", "url": "http://10.0.0.2"},
        {"name": "Service r1-api", "url": "http://r1-api.team-a.svc"},
    ]


def urls(*listeners: Listener, hostnames: tuple[str, ...] = (), addresses: tuple[str, ...]) -> list[str]:
    """Return all addresses of a route at a gateway."""
    taken = route(ParentStatus(GATEWAY, said(), said()), parents=(GATEWAY,), hostnames=hostnames)
    at = gateway(listeners=listeners, addresses=addresses)
    made = status(seen(routes=routes(http_route=taken, gateways=(at,))), {}, NOW)
    return [one["url"] for one in made.get("addresses", [])]


def test_every_listener_and_every_address_is_listed_once() -> None:
    assert urls(WEB, TLS, WEB, RAW, addresses=("10.0.0.1", "fd00::1")) == [
        *("http://10.0.0.1", "http://[fd00::1]"),
        *("https://10.0.0.1", "https://[fd00::1]"),
    ]


def test_every_hostname_is_listed_and_no_address_under_which_it_is_not_served() -> None:
    assert urls(WEB, hostnames=("a.b", "*.c", "d.e"), addresses=("10.0.0.1",)) == ["http://a.b", "http://d.e"]


def test_every_host_of_an_ingress_is_listed_with_its_path() -> None:
    rules = [{"host": "a.b", "http": http("/x")}, {"host": "*.c"}, {"http": http("/y")}, {"host": "d.e"}]

    made = of_ingress(*rules)["addresses"]

    assert [one["url"] for one in made] == ["http://a.b/x", "http://d.e", "http://10.0.0.1/y"]


def test_no_more_addresses_are_listed_than_the_definition_allows() -> None:
    many = tuple(f"h{number}.example.com" for number in range(40))

    assert len(urls(WEB, hostnames=many, addresses=("10.0.0.1",))) == MOST_ADDRESSES


def test_a_service_without_routes_has_the_address_in_the_cluster_and_no_url() -> None:
    made = status(seen(api="r1-api"), {}, NOW)

    assert made["addresses"] == [{"name": "Service r1-api", "url": "http://r1-api.team-a.svc"}]
    assert "url" not in made
