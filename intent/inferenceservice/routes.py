"""What a router asks of the Gateway API, held against what the API server would take of it."""

from collections.abc import Iterator

from intent.errors import FieldError
from intent.gateway_api.check import check
from intent.gateway_api.types import GATEWAY_SPEC, HTTP_ROUTE_SPEC
from intent.inferenceservice.read import Router

NOWHERE = "leads nowhere: without parentRefs, or gateway beside it, there is no HTTPRoute"


def is_attached(router: Router) -> bool:
    """Whether the HTTPRoute of a router has a Gateway to hang on; without one there is none."""
    return bool(router.routing.http_route.get("parentRefs") or router.gateway)


def findings(router: Router) -> Iterator[FieldError]:
    """Say what no cluster would take, and what has no effect (FI710, FI711, FI751, FI752)."""
    path = f"spec.roles[{router.index}]"
    if router.routing.http_route:
        yield from check(router.routing.http_route, HTTP_ROUTE_SPEC, f"{path}.httproute")
        if not is_attached(router):
            yield FieldError(f"{path}.httproute", None, NOWHERE, "FI752")
    if router.gateway:
        yield from check(router.gateway, GATEWAY_SPEC, f"{path}.gateway")
