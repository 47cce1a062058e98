"""`status.addresses` and `status.url`: where a service is reached.

First the listeners that accept the route, then the Ingress, last the Service for clients in the cluster.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from intent import Object
from intent.inferenceservice.v1alpha1 import MOST_ADDRESSES
from sync.observed.routes import Gateway, HTTPRoute, Ingress, Listener, Parent
from sync.status.inputs import Observed
from sync.status.routes import accepted_by

SCHEMES: Final = {"HTTP": ("http", 80), "HTTPS": ("https", 443)}
"""Scheme and default port, by the protocol of a listener; an HTTPRoute attaches to no other."""


@dataclass(frozen=True, slots=True)
class ServedAddress:
    """A URL, and the object that serves it."""

    name: str
    url: str
    is_internal: bool = False
    """Whether only clients in the cluster reach it."""

    @property
    def address(self) -> Object:
        """The item of `status.addresses`."""
        return {"name": self.name, "url": self.url}


def served(seen: Observed) -> tuple[ServedAddress, ...]:
    """Return the addresses of the service: of gateways that accept its route, of its Ingress, its Service."""
    found = (*_outside(seen), *_of_service(seen))
    return tuple({(one.name, one.url): one for one in found}.values())[:MOST_ADDRESSES]


def addresses(found: tuple[ServedAddress, ...]) -> Object:
    """Return `status.url`, the first address outside of the cluster, and `status.addresses`, if any."""
    first = next((one.url for one in found if not one.is_internal), "")
    listed = [one.address for one in found]
    return {**({"url": first} if first else {}), **({"addresses": listed} if listed else {})}


def _outside(seen: Observed) -> Iterator[ServedAddress]:
    routes = seen.routes
    if routes is None:
        return
    if routes.http_route and routes.attached:
        yield from _of_gateways(routes.http_route, routes.gateways)
    if routes.ingress and routes.wants_ingress:
        yield from _of_ingress(routes.ingress)


def _of_service(seen: Observed) -> Iterator[ServedAddress]:
    """Yield the address of the Service on the leaders; every DNS of a cluster resolves this short form."""
    if seen.api:
        url = f"http://{seen.api}.{seen.service.namespace}.svc"
        yield ServedAddress(f"Service {seen.api}", url, is_internal=True)


def _of_ingress(ingress: Ingress) -> Iterator[ServedAddress]:
    """Yield the URLs of an Ingress that has an address: of its hosts, else of its addresses."""
    scheme = "https" if ingress.tls else "http"
    for host, path in ingress.entries if ingress.addresses else ():
        for name in (host,) if host else ingress.addresses:
            yield ServedAddress(f"Ingress {ingress.name}", f"{scheme}://{_authority(name)}{path}")


def _authority(host: str) -> str:
    """Return a host as in a URL."""
    return f"[{host}]" if ":" in host else host


def _of_gateways(route: HTTPRoute, gateways: tuple[Gateway, ...]) -> Iterator[ServedAddress]:
    by_name = {gateway.key: gateway for gateway in gateways}
    for parent in accepted_by(route):
        gateway = by_name.get(parent.gateway)
        for listener in gateway.listeners if gateway and parent.kind == "Gateway" else ():
            for host in _hosts(route, listener, gateway) if gateway and _is_meant(listener, parent) else ():
                yield ServedAddress(str(gateway), f"{_origin(listener, host)}{route.prefix}")


def _is_meant(listener: Listener, parent: Parent) -> bool:
    named = parent.section in {"", listener.name} and parent.port in {0, listener.port}
    return named and listener.protocol in SCHEMES


def _hosts(route: HTTPRoute, listener: Listener, gateway: Gateway) -> Iterator[str]:
    """Yield the hostnames that route and listener share, then addresses, if any hostname is served.

    If all hostnames are wildcards the addresses are all that is known.
    """
    shared = [name for one in route.hostnames or ("",) for name in _shared(one, listener.hostname)]
    exact = [name for name in shared if name and not name.startswith("*.")]
    yield from exact
    if shared and ("" in shared or not exact):
        yield from gateway.addresses


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
    name = _authority(host)
    return f"{scheme}://{name}" if listener.port == usual else f"{scheme}://{name}:{listener.port}"
