"""The HTTPRoute of a service: its author's own, with the pool where a rule names no backend.

Source: kubernetes-sigs/gateway-api `apis/v1/httproute_types.go`.
"""

from typing import Any, Final

from intent import Object
from intent.shapes import listed, mapping
from sync.desired.names import route_name
from sync.desired.render.metadata import metadata
from sync.desired.render.pool import backend
from sync.desired.routes import Routes

API_VERSION: Final = "gateway.networking.k8s.io/v1"
KIND: Final = "HTTPRoute"
EVERYTHING: Final[Object] = {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}
NO_TIMEOUT: Final[Object] = {"request": "0s"}
"""A long generation outlasts what gateways allow by default (Envoy: 15 seconds)."""


def http_route(routes: Routes) -> Object:
    """Render the route; all that its author wrote stays."""
    rules = routes.http_route.get("rules") or [EVERYTHING]
    filled = [_rule(rule, routes.service) for rule in rules] if isinstance(rules, list) else rules
    spec = {**routes.http_route, "rules": filled}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata(routes, route_name(routes.service)),
        "spec": spec,
    }


def _rule(rule: Any, service: str) -> Any:
    """Send a rule without backends to the pool; one that redirects needs none."""
    if not isinstance(rule, dict) or rule.get("backendRefs") or _redirects(rule):
        return rule
    return {"timeouts": NO_TIMEOUT, **rule, "backendRefs": [backend(service)]}


def _redirects(rule: Object) -> bool:
    return any(mapping(one).get("type") == "RequestRedirect" for one in listed(rule.get("filters")))
