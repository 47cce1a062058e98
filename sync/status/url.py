"""`status.url`: the URL of the first listener that accepts the route, else of the Ingress."""

from collections.abc import Iterator
from typing import Final

from sync.observed.routes import Gateway, HTTPRoute, Ingress, Listener, Parent
from sync.status.inputs import Observed
from sync.status.routes import accepted_by

SCHEMES: Final = {"HTTP": ("http", 80), "HTTPS": ("https", 443)}
"""Scheme and default port, by the protocol of a listener; an HTTPRoute attaches to no other."""


def url(seen: Observed) -> str:
    """Return the URL of the service; empty while no gateway accepts its route, or nothing has an address."""
    routes = seen.routes
    if routes is None:
        return ""
    found = _urls(routes.http_route, routes.gateways) if routes.http_route and routes.attached else iter(())
    return next(found, "") or (_of_ingress(routes.ingress) if routes.ingress and routes.wants_ingress else "")


def _of_ingress(ingress: Ingress) -> str:
    """Return the URL of an Ingress; empty while it has no address."""
    if not ingress.addresses:
        return ""
    host = ingress.host or ingress.addresses[0]
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if ingress.tls else 'http'}://{name}{ingress.prefix}"


def _urls(route: HTTPRoute, gateways: tuple[Gateway, ...]) -> Iterator[str]:
    by_name = {gateway.key: gateway for gateway in gateways}
    for parent in accepted_by(route):
        gateway = by_name.get(parent.gateway)
        for listener in gateway.listeners if gateway and parent.kind == "Gateway" else ():
            host = _host(route, listener, gateway) if gateway and _is_meant(listener, parent) else ""
            if host:
                yield f"{_origin(listener, host)}{route.prefix}"


def _is_meant(listener: Listener, parent: Parent) -> bool:
    named = parent.section in {"", listener.name} and parent.port in {0, listener.port}
    return named and listener.protocol in SCHEMES


def _host(route: HTTPRoute, listener: Listener, gateway: Gateway) -> str:
    """Return a hostname that route and listener share, else an address; empty if they share none."""
    shared = [name for one in route.hostnames or ("",) for name in _shared(one, listener.hostname)]
    if not shared:
        return ""
    exact = [name for name in shared if name and not name.startswith("*.")]
    return next(iter((*exact, *gateway.addresses)), "")


def _shared(hostname: str, listener: str) -> tuple[str, ...]:
    """Return the narrower of two hostnames if one covers the other; empty stands for all."""
    if _covers(listener, hostname):
        return (hostname,)
    return (listener,) if _covers(hostname, listener) else ()


def _covers(wide: str, narrow: str) -> bool:
    """Return whether one hostname covers every name of the other."""
    if not wide or wide == narrow:
        return True
    return wide.startswith("*.") and narrow.endswith(wide[1:])


def _origin(listener: Listener, host: str) -> str:
    scheme, usual = SCHEMES[listener.protocol]
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" if listener.port == usual else f"{scheme}://{name}:{listener.port}"
