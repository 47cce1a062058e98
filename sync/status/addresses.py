"""`status.addresses` and `status.url`: where a service is reached.

First the listeners that accept the route, then the Ingress, last the Service for clients in the cluster.
"""

from collections.abc import Iterator
from typing import Final

from intent import Object
from intent.inferenceservice.v1alpha1 import MOST_ADDRESSES
from sync.observed.routes import Gateway, HTTPRoute, Ingress, Listener, Parent
from sync.status.observed import Observed
from sync.status.routes import accepted_by

SCHEMES: Final = {"HTTP": ("http", 80), "HTTPS": ("https", 443)}
"""Scheme and default port, by the protocol of a listener; an HTTPRoute attaches to no other."""
Address = tuple[str, str]
"""The object that serves a URL, and the URL."""


def addresses(seen: Observed) -> Object:
    """Return `status.addresses`, and `status.url`: the first one for clients outside of the cluster."""
    outside = tuple(_outside(seen))
    # Every DNS of a cluster resolves this short form.
    inside = [(f"Service {seen.api}", f"http://{seen.api}.{seen.service.namespace}.svc")] if seen.api else []
    found = tuple(dict.fromkeys((*outside, *inside)))[:MOST_ADDRESSES]
    listed = [{"name": name, "url": url} for name, url in found]
    first = {"url": outside[0][1]} if outside else {}
    return {**first, **({"addresses": listed} if listed else {})}


def _outside(seen: Observed) -> Iterator[Address]:
    routes = seen.routes
    if routes and routes.http_route and routes.attached:
        yield from _of_gateways(routes.http_route, routes.gateways)
    if routes and routes.ingress:
        yield from _of_ingress(routes.ingress)


def _of_ingress(ingress: Ingress) -> Iterator[Address]:
    """Yield the URLs of an Ingress that has an address: of its hosts, else of its addresses."""
    scheme = "https" if ingress.tls else "http"
    for host, path in ingress.entries if ingress.addresses else ():
        for name in (host,) if host else ingress.addresses:
            yield f"Ingress {ingress.name}", f"{scheme}://{_authority(name)}{path}"


def _authority(host: str) -> str:
    """Return a host as in a URL."""
    return f"[{host}]" if ":" in host else host


def _of_gateways(route: HTTPRoute, gateways: tuple[Gateway, ...]) -> Iterator[Address]:
    by_name = {gateway.key: gateway for gateway in gateways}
    for parent in accepted_by(route):
        gateway = by_name.get(parent.gateway) if parent.kind == "Gateway" else None
        for listener in gateway.listeners if gateway else ():
            for host in _hosts(route, listener, gateway) if gateway and _is_meant(listener, parent) else ():
                scheme, usual = SCHEMES[listener.protocol]
                port = "" if listener.port == usual else f":{listener.port}"
                yield str(gateway), f"{scheme}://{_authority(host)}{port}{route.prefix}"


def _is_meant(listener: Listener, parent: Parent) -> bool:
    named = parent.section in {"", listener.name} and parent.port in {0, listener.port}
    return named and listener.protocol in SCHEMES


def _hosts(route: HTTPRoute, listener: Listener, gateway: Gateway) -> Iterator[str]:
    """Yield the hostnames that route and listener share, then addresses, if any hostname is served.

    If all hostnames are wildcards the addresses are all that is known.
    """
    asked = route.hostnames or ("",)
    shared = [one for one in asked if _covers(listener.hostname, one)]
    shared += [listener.hostname] if any(_covers(one, listener.hostname) for one in asked) else []
    exact = [name for name in shared if name and not name.startswith("*.")]
    yield from exact
    if shared and ("" in shared or not exact):
        yield from gateway.addresses


def _covers(wide: str, narrow: str) -> bool:
    """Return whether one hostname covers every name of the other."""
    if not wide or wide == narrow:
        return True
    return wide.startswith("*.") and narrow.endswith(wide[1:])
